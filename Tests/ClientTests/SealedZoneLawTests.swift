import LockstepModel
import LockstepSealing
import LockstepStorage
import Testing

@testable import LockstepClient

/// Laws of a sealed zone under a relay that does as it likes: once it is honest again, all devices
/// hold the same, and no edit of anybody is lost.
struct SealedZoneLawTests {
  @Test(arguments: 0..<8) func noEditIsLostToAHostileRelay(part: UInt64) throws {
    for seed in (part * 12)..<(part * 12 + 12) {
      var world = try HostileWorld(seed: seed)
      for _ in 0..<80 { try world.step() }
      try world.heal()
      let faults = try world.faults()
      #expect(faults.isEmpty, "seed \(seed)")
      if !faults.isEmpty { return }
    }
  }

  /// Without faults nothing is merged that need not be, and nothing is saved twice.
  @Test func anHonestRelayGetsNoMoreThanTheEdits() throws {
    for seed in UInt64(1_000)..<1_040 {
      var world = try HostileWorld(seed: seed, isHostile: false)
      for _ in 0..<80 { try world.step() }
      let saves = world.relay.saves
      try world.heal()
      #expect(try world.faults().isEmpty, "seed \(seed)")
      #expect(saves <= world.editCount, "seed \(seed)")
    }
  }
}

/// Three devices with a sealed zone of counters and notes, and a relay without the key. Everything
/// follows from the seed.
private struct HostileWorld {
  private(set) var relay = KeylessRelay()
  private(set) var editCount = 0
  private let isHostile: Bool
  private var random: SeededRandom
  private var devices: [ReplicaHarness] = []
  /// Edits of a counter by a device.
  private var counts: [String: Int64] = [:]
  /// All records that the relay ever had.
  private var history: [Record] = []
  private var backup = KeylessRelay()

  private static let counters = ["c0", "c1"]
  private static let notes = ["n0", "n1"]
  private static let question = "q"

  init(seed: UInt64, isHostile: Bool = true) throws {
    random = SeededRandom(seed: seed)
    self.isHostile = isHostile
    for number in UInt64(1)...3 {
      var device = try ReplicaHarness(device: number)
      #expect(device.seal(sealKeys([1])) == true)
      device.page([], from: nil, to: 1)
      devices.append(device)
    }
  }

  /// One act of a person, a device or the relay.
  mutating func step() throws {
    let index = number(devices.count)
    devices[index].pass(milliseconds: Int64(number(50)))
    switch number(isHostile ? 26 : 12) {
    case 0, 1, 2: edit(index)
    case 3: editNote(index)
    case 4, 5, 6: try send(index)
    case 7, 8: try read(index)
    case 9: devices[index].reopen()
    case 10: editQuestion(index)
    case 11: decide(index, keepsLocal: number(2) == 0)
    default: try misbehave(index)
    }
    history += relay.records
    if history.count > 400 { history.removeFirst(history.count - 400) }
  }

  // MARK: people and devices

  private mutating func edit(_ index: Int) {
    let name = Self.counters[number(Self.counters.count)]
    guard case .success = devices[index].edit(.count(name)) else { return }
    counts["\(name) \(index)", default: 0] += 1
    editCount += 1
  }

  private mutating func editNote(_ index: Int) {
    let name = Self.notes[number(Self.notes.count)]
    editCount += 1
    if number(4) == 0 {
      devices[index].edit(.delete(name))
    } else {
      devices[index].edit(.note(name, "\(editCount)"))
    }
  }

  /// Edits a record whose conflicts a person decides.
  private mutating func editQuestion(_ index: Int) {
    editCount += 1
    devices[index].edit(
      .fields(Self.question, TestApp.choice, ["v": .init(integerLiteral: Int64(editCount))]))
  }

  private mutating func decide(_ index: Int, keepsLocal: Bool) {
    guard case .success = devices[index].decide(Self.question, keepLocal: keepsLocal) else {
      return
    }
    editCount += 1
  }

  private mutating func send(_ index: Int) throws {
    guard let batch = devices[index].freezeBatch() else { return }
    try devices[index].answer(batch, relay.save(batch, by: devices[index].device))
    guard !isHostile, case .success(.applied(let applied)) = devices[index].outcome.result else {
      return
    }
    #expect(applied.retryLater == nil, "an honest relay is asked later")
  }

  private mutating func read(_ index: Int) throws {
    try devices[index].apply(relay.changes(for: devices[index].device))
    devices[index].bringBack()
  }

  // MARK: the relay

  private mutating func misbehave(_ index: Int) throws {
    let device = devices[index].device
    switch number(14) {
    case 0: try answerFalsely(index)
    case 1:
      if let old = any(history) { relay.put(old) }
    case 2:
      if let record = any(relay.records) { relay.delete(record.key) }
    case 3:
      if let record = any(relay.records) { relay.forget(record.key) }
    case 4: try readSome(index)
    case 5:
      // It saves whatever comes.
      guard let batch = devices[index].freezeBatch() else { return }
      try devices[index].answer(batch, relay.take(batch, by: device))
    case 6:
      // The answer is lost.
      guard let batch = devices[index].freezeBatch() else { return }
      _ = number(2) == 0 ? relay.take(batch, by: device) : relay.save(batch, by: device)
    case 7: backup = relay
    case 8: relay = backup
    case 9:
      // A snapshot with old versions and holes.
      devices[index].perform(.forgetCursor(restoredThrough: nil))
      devices[index].page(some(relay.live + history.suffix(6)), from: nil, to: 1)
    case 10:
      devices[index].reportRestore(through: Int64(number(20)))
      devices[index].page(some(relay.live), from: nil, to: 1)
      devices[index].bringBack()
    case 11:
      if var record = any(relay.records) {
        change(&record)
        relay.put(record)
      }
    case 12:
      guard let batch = devices[index].freezeBatch() else { return }
      devices[index].perform(.setAside(batch.id))
      devices[index].perform(.retryRefused(withParked: true))
    default: devices[index].perform(.retryRefused(withParked: true))
    }
  }

  /// Answers a batch with made-up tags and with other versions than the relay has.
  private mutating func answerFalsely(_ index: Int) throws {
    guard let batch = devices[index].freezeBatch() else { return }
    let results = batch.mutations.map { mutation -> MutationResult in
      switch number(4) {
      case 0: return .saved(name: mutation.name, tag: Int64(number(60)))
      case 1:
        return .conflict(
          name: mutation.name,
          record: .nothing(at: RecordKey(zone: batch.zone, name: mutation.name)))
      default:
        guard var old = any(history.filter { $0.name == mutation.name }) else {
          return .saved(name: mutation.name, tag: 1)
        }
        old.tag = Int64(number(60))
        return .conflict(name: mutation.name, record: old)
      }
    }
    try devices[index].answer(batch, results)
  }

  private mutating func readSome(_ index: Int) throws {
    var records = some(relay.changes(for: devices[index].device))
    if number(3) == 0, !records.isEmpty { records[0].tag = Int64(number(60)) }
    try devices[index].apply(records)
  }

  private mutating func change(_ record: inout Record) {
    switch number(4) {
    case 0: record.modifiedAt += 10
    case 1: record.device = devices[number(devices.count)].device
    case 2: record.fields = Array(#"{"text":"false"}"#.utf8)
    default: record.fields = Array(#"{"key":"0011223344556677","sealed":"AAAA"}"#.utf8)
    }
  }

  // MARK: the end

  /// Makes the relay honest, and lets all devices come to rest. It keeps what it has, except
  /// records that it has made unreadable.
  mutating func heal() throws {
    let seal = ZoneSeal(sealKeys([1]))
    for record in relay.live where !seal.opens(record) { relay.forget(record.key) }
    for _ in 0..<12 {
      for index in devices.indices {
        devices[index].perform(.forgetCursor(restoredThrough: nil))
        devices[index].perform(.retryRefused(withParked: true))
        devices[index].page(relay.live, from: nil, to: 1)
        devices[index].bringBack()
        decide(index, keepsLocal: true)
        for _ in 0..<6 { try send(index) }
      }
    }
  }

  /// Returns what does not hold at the end.
  func faults() throws -> [String] {
    var faults: [String] = []
    let first = try content(of: devices[0])
    for (index, device) in devices.enumerated() {
      if device.outbox.unsent > 0 { faults.append("device \(index) has unsent changes") }
      if device.outbox.unreadableCount > 0 { faults.append("device \(index) cannot read all") }
      let held = try content(of: device)
      if held != first { faults.append("device \(index) has \(held), and not \(first)") }
      for name in Self.counters {
        let count = counts["\(name) \(index)"] ?? 0
        let held = try device.store.record(.desk(name))?.value?[device.device.text]?.int64 ?? 0
        if held != count {
          faults.append("\(name) of device \(index) is \(held), and not \(count)")
        }
      }
    }
    return faults
  }

  private func content(of device: ReplicaHarness) throws -> [String] {
    try device.store.allRecords().filter { !$0.isDeleted }.map { record in
      "\(record.name.text) \(record.tag) \(String(decoding: record.fields ?? [], as: UTF8.self))"
    }
  }

  // MARK: draws

  private mutating func number(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }

  private mutating func any(_ records: [Record]) -> Record? {
    records.randomElement(using: &random)
  }

  private mutating func some(_ records: [Record]) -> [Record] {
    var some: [Record] = []
    for record in records where number(3) > 0 { some.append(record) }
    return some.shuffled(using: &random)
  }
}

extension ZoneSeal {
  fileprivate func opens(_ record: Record) -> Bool {
    do throws(SealFault) {
      _ = try opened(record)
      return true
    } catch {
      return false
    }
  }
}
