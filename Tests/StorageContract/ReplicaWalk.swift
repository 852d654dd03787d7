import LockstepModel
import LockstepStorage
import Testing

/// Random walk, repeatable by its seed, of a device's store and the reference in parallel: the same
/// writes, and the same content after each.
package struct ReplicaWalk {
  private var random: SeededRandom

  package init(seed: UInt64) { random = SeededRandom(seed: seed) }

  /// `reopening` closes the store and returns the reopened one; it is called at random.
  package mutating func lead(
    _ subject: any ReplicaStore, steps: Int,
    reopening: (any ReplicaStore) throws -> any ReplicaStore
  ) throws {
    let reference = MemoryReplicaStore()
    var subject = subject
    for step in 0..<steps {
      let changes = (0..<Int.random(in: 0...5, using: &random)).map { _ in change() }
      try subject.write(changes)
      try reference.write(changes)
      if Int.random(in: 0..<50, using: &random) == 0 { subject = try reopening(subject) }
      try #require(
        try ReplicaWalk.content(subject) == ReplicaWalk.content(reference), "step \(step)")
    }
  }

  /// Everything that a store returns.
  private struct Content: Equatable {
    var identity: HomeIdentity?
    var cursor: ChangeToken?
    var records: [Record]
    var ofTypes: [[Record]]
    var single: [Record?]
    var outbox: [OutboxEntry]
    var notes: [String?]
    var unnamed: [[UnnamedRecord]]
    var following: [[Record]]
    var lost: [[Record]]
    var isLost: [Bool]
    var ancestors: [[VersionFingerprint]]
    var versions: [RecordVersion?]
    var greatestTag: ChangeTag
    var chunks: [HeldChunk]
    var namedChunks: [ChunkHash]
  }

  private static let zones = ["A", "B"].map(Name.init(trusted:))
  private static let types = ["T", "U"].map(Name.init(trusted:))
  private static let names = ["a", "A", "é", "e\u{301}", "z"].map(Name.init(trusted:))
  private static let snapshots: ClosedRange<Int64> = 1...3
  private static let places = zones.flatMap { zone in
    names.map { RecordKey(zone: zone, name: $0) }
  }

  private static let hashes = [1, 2, 3].compactMap {
    ChunkHash(bytes: .init(repeating: $0, count: 32))
  }

  private static func content(_ store: any ReplicaStore) throws -> Content {
    Content(
      identity: try store.identity(), cursor: try store.cursor(), records: try store.allRecords(),
      ofTypes: try zones.flatMap { zone in
        try types.map { try store.records(zone: zone, type: $0) }
      },
      single: try places.map { try store.record($0) }, outbox: try store.outbox(),
      notes: try ["a", "b"].map { try store.value($0) },
      unnamed: try snapshots.map { try store.unnamed(bySnapshot: $0) },
      following: try [nil, places[1], places[8]].map { try store.records(after: $0, limit: 3) },
      lost: try [1, 9].map { try store.lostRecords(limit: $0, bytes: 20) },
      isLost: try places.map { try store.isLost($0) },
      ancestors: try places.map { try store.ancestors($0) },
      versions: try places.map { try store.version($0) }, greatestTag: try store.greatestTag(),
      chunks: try store.chunks(after: hashes[0], limit: 2) + store.chunks(hashes),
      namedChunks: try store.namedChunks(hashes))
  }

  private mutating func change() -> ReplicaChange {
    switch Int.random(in: 0..<17, using: &random) {
    case 0: .setIdentity(chance(4) ? nil : identity())
    case 1: .setCursor(chance(4) ? nil : ChangeToken(generation: 1, sequence: number(1_000)))
    case 2...4:
      .putRecord(
        record(), snapshot: chance(2) ? nil : snapshot(),
        replacing: (0..<number(4)).map { _ in VersionFingerprint(rawValue: random.next()) },
        version: chance(2) ? nil : version())
    case 5: .removeRecord(key())
    case 6...8: .putEntry(entry())
    case 9: .removeEntry(number: number(8))
    case 12, 13: .markInSnapshot(key(), snapshot: snapshot())
    case 14: .markLost(key())
    case 15: .putChunk(chunk())
    case 16: .removeChunk(pick(ReplicaWalk.hashes))
    case let draw:
      .setValue(key: draw == 10 ? "a" : "b", chance(4) ? nil : "\(number(1_000))")
    }
  }

  private mutating func identity() -> HomeIdentity {
    let credentials = Credentials(
      account: AccountID(rawValue: random.next()), device: DeviceID(rawValue: random.next()),
      token: "t\(number(9))",
      scope: DeviceScope(zones: chance(2) ? nil : [key().zone], isReadOnly: chance(4)))
    return HomeIdentity(relay: "r\(number(9))", credentials: credentials, deviceName: "")
  }

  private mutating func record() -> Record {
    let key = key()
    return Record(
      zone: key.zone, name: key.name, type: pick(ReplicaWalk.types), fields: fields(),
      modifiedAt: number(1_000), device: DeviceID(rawValue: random.next()), tag: number(1_000),
      chunks: chance(2) ? [] : [pick(ReplicaWalk.hashes), pick(ReplicaWalk.hashes)])
  }

  private mutating func id(above number: Int64) -> VersionID {
    VersionID(
      writer: WriterID(rawValue: random.next()), number: number + 1 + self.number(1_000))
  }

  private mutating func vector() -> VersionVector {
    (0..<number(4)).reduce(VersionVector()) { vector, _ in vector.adding(id(above: 0)) }
  }

  private mutating func version() -> RecordVersion? {
    let made = vector()
    return RecordVersion(id(above: made.greatest), madeOn: made)
  }

  private mutating func lineage() -> OutboxEntry.Lineage {
    OutboxEntry.Lineage(
      base: version(), made: vector(), id: chance(2) ? nil : id(above: 0),
      given: (0..<number(3)).map { _ in id(above: 0) },
      asked: chance(2) ? nil : version(), isMerge: chance(2))
  }

  private mutating func chunk() -> HeldChunk {
    HeldChunk(
      hash: pick(ReplicaWalk.hashes), file: random.next(), bytes: Int(number(9)),
      idleSince: chance(2) ? nil : number(1_000))
  }

  private mutating func snapshot() -> Int64 {
    Int64.random(in: ReplicaWalk.snapshots, using: &random)
  }

  private mutating func entry() -> OutboxEntry {
    let states: [OutboxEntry.State] = [
      .waiting, .sent(BatchID(random: &random)), .asking(record()),
      .parked(Refusal(pick(RefusalCode.allCases), "Because \(number(9)).", relayTime: number(9))),
    ]
    return OutboxEntry(
      number: number(8), key: key(), type: pick(ReplicaWalk.types), fields: fields(),
      modifiedAt: number(1_000), isStampTrusted: chance(2), base: chance(2) ? nil : record(),
      state: pick(states), group: chance(2) ? nil : number(4),
      timeMade: chance(2) ? nil : record(), firstSent: chance(2) ? nil : number(1_000),
      includes: (0..<number(3)).map { _ in VersionFingerprint(rawValue: random.next()) },
      lineage: chance(2) ? nil : lineage())
  }

  private mutating func fields() -> [UInt8]? {
    if chance(4) { return nil }
    return Array("{\"n\":\(number(1_000))}".utf8)
  }

  private mutating func key() -> RecordKey { pick(ReplicaWalk.places) }

  private mutating func number(_ limit: Int64) -> Int64 {
    Int64.random(in: 0..<limit, using: &random)
  }

  /// Returns true with a probability of 1 in `count`.
  private mutating func chance(_ count: Int) -> Bool {
    Int.random(in: 0..<count, using: &random) == 0
  }

  private mutating func pick<Element>(_ choices: [Element]) -> Element {
    choices[Int.random(in: 0..<choices.count, using: &random)]
  }
}
