import LockstepJSON
import LockstepModel

@testable import LockstepWire

/// Random messages and their parts, from a seed, for round trips.
extension SeededRandom {
  mutating func chance() -> Bool { Bool.random(using: &self) }

  mutating func count(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self) }

  mutating func number() -> Int64 { Int64.random(in: 0..<Limits.sequenceLimit, using: &self) }

  mutating func text(_ length: ClosedRange<Int> = 1...12) -> String {
    let alphabet: [Character] = [
      "a", "Z", "7", " ", "\"", "\\", "/", "é", "電", "😀", "\u{2028}", "~", "e\u{301}",
    ]
    return String((0..<count(length)).map { _ in alphabet.randomElement(using: &self)! })
  }

  mutating func name() -> Name { Name(trusted: text()) }

  mutating func token() -> ChangeToken {
    let sequence = number()
    return ChangeToken(
      generation: UInt32.random(in: 0 ... .max, using: &self), sequence: sequence,
      zoneDigest: chance() ? UInt32.random(in: 0 ... .max, using: &self) : nil,
      pinned: chance() ? Int64.random(in: sequence..<Limits.sequenceLimit, using: &self) : nil)
  }

  mutating func fields() -> [UInt8] {
    let value = JSONValue.object((0..<count(0...4)).map { JSONMember("\($0)", .string(text())) })
    return value.serialized()
  }

  mutating func record() -> Record {
    Record(
      zone: name(), name: name(), type: name(), fields: chance() ? fields() : nil,
      modifiedAt: number(), device: DeviceID(rawValue: next()), tag: chance() ? number() : 0,
      includes: fingerprints())
  }

  mutating func fingerprints() -> [VersionFingerprint] {
    (0..<count(0...Limits.includes)).map { _ in VersionFingerprint(rawValue: next()) }
  }

  mutating func records() -> [Record] { (0..<count(0...4)).map { _ in record() } }

  mutating func refusal() -> Refusal {
    Refusal(
      RefusalCode.allCases.randomElement(using: &self)!, text(0...30),
      retryAfterMilliseconds: chance() ? Int64(count(0...90)) * 1000 : nil,
      relayTime: chance() ? number() : nil)
  }

  mutating func saveRequest() -> SaveRequest {
    let mutations = (0..<count(0...4)).map { index -> Mutation in
      let isDelete = chance()
      return Mutation(
        name: Name(trusted: "\(index)" + text()), type: isDelete ? nil : name(),
        fields: isDelete ? nil : fields(), modifiedAt: number(), baseTag: chance() ? number() : nil,
        unlessDeleted: chance(), includes: fingerprints())
    }
    return SaveRequest(
      id: BatchID(random: &self), zone: name(), atomic: chance(), timed: chance(),
      mutations: mutations)
  }

  mutating func saveAnswer() -> SaveAnswer {
    let results = (0..<count(0...5)).map { _ -> MutationResult in
      switch count(0...2) {
      case 0: .saved(name: name(), tag: number())
      case 1: .conflict(name: name(), record: record())
      default: .refused(name: name(), refusal())
      }
    }
    return SaveAnswer(
      since: token(), token: token(), results: results, timing: chance() ? timing() : nil)
  }

  mutating func timing() -> SaveTiming {
    SaveTiming(received: number(), durable: number(), pushed: number())
  }

  mutating func page() -> ChangePage {
    ChangePage(
      since: chance() ? token() : nil, token: token(), more: chance(), changes: records(),
      lostTags: (0..<count(0...2)).map { _ in TagGap(after: number(), through: number()) })
  }

  mutating func anyNumber() -> JSONNumber {
    JSONNumber(["0", "-0.50", "1e3", "\(number())", "1789.25"].randomElement(using: &self)!)!
  }

  mutating func deviceMessage() -> DeviceMessage {
    switch count(0...3) {
    case 0: .hello(token: chance() ? text() : nil, since: chance() ? token() : nil)
    case 1: .save(saveRequest())
    case 2:
      .fetch(
        id: text(),
        FetchQuery(
          since: chance() ? token() : nil, zone: chance() ? name() : nil,
          limit: count(1...Limits.pageRecords)))
    default: .time(id: text(), t0: anyNumber())
    }
  }

  mutating func relayMessage() -> RelayMessage {
    switch count(0...6) {
    case 0:
      .welcome(
        account: AccountID(rawValue: next()), device: DeviceID(rawValue: next()), token: token(),
        time: number(), keepAliveMilliseconds: number())
    case 1: .saved(id: BatchID(random: &self), saveAnswer())
    case 2: .changes(id: chance() ? text() : nil, page())
    case 3: .changed(token: token())
    case 4: .time(id: text(), t0: anyNumber(), t1: number(), t2: number())
    case 5: .error(id: chance() ? text() : nil, refusal())
    default: .unknown(op: "later" + text())
    }
  }
}

extension [UInt8] {
  /// Changes one byte or a few: replaces, removes, inserts, or doubles them with the bytes after
  /// them.
  mutating func mutate(using random: inout SeededRandom) {
    let index = isEmpty ? 0 : random.count(0...count - 1)
    let byte =
      random.chance()
      ? UInt8.random(in: 0...255, using: &random)
      : Array("{}[]\",:\\0123456789eE+-.tfnu ".utf8).randomElement(using: &random)!
    switch random.count(0...4) {
    case 0 where !isEmpty: self[index] = byte
    case 1 where !isEmpty: remove(at: index)
    case 2: insert(contentsOf: self[index...].prefix(random.count(1...20)), at: index)
    case 3: removeSubrange(index..<Swift.min(count, index + random.count(1...20)))
    default: insert(byte, at: index)
    }
  }
}

/// Returns the refusal of a throwing decoder; nil if it succeeds.
func refusal<Value>(_ decode: () throws(Refusal) -> Value) -> Refusal? {
  do throws(Refusal) {
    _ = try decode()
    return nil
  } catch { return error }
}

func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
