import LockstepModel
import LockstepStorage
import Testing

/// Random walk of devices that read an account at different speeds, while records are saved,
/// deleted, and forgotten and older copies of the store are restored. However the reads are
/// interrupted, in the end each device has the records of the store: a token that is accepted never
/// hides a change.
package struct FollowerWalk {
  private var random: SeededRandom
  private var wall: Int64 = 1_700_000_000_000
  private var followers: [Follower]
  /// All tags that were ever given out, also in histories that are lost.
  private var given: Set<ChangeTag> = []
  private(set) package var restores = 0
  private(set) package var expiries = 0

  private static let account = AccountID(rawValue: 7)
  private static let device = DeviceID(rawValue: 1)
  private static let zones = ["A", "B"].map(Name.init(trusted:))
  private static let names = ["a", "b", "c", "d", "e"].map(Name.init(trusted:))

  package init(seed: UInt64) {
    random = SeededRandom(seed: seed)
    followers = [nil, nil, nil, FollowerWalk.zones[0], FollowerWalk.zones[1]].map(Follower.init)
  }

  /// `copying` keeps a copy of a store, and returns a function that restores it in place of the
  /// store at that time.
  package mutating func lead(
    _ first: any ZoneStore, steps: Int,
    copying: (any ZoneStore) throws -> ZoneScene.PutBack
  ) throws {
    var store = first
    var copies: [ZoneScene.PutBack] = []
    let create = CommitRequest.createAccount(
      FollowerWalk.account, generation: 1, label: "",
      device: ZoneScene.device(FollowerWalk.device, of: FollowerWalk.account), pairing: nil)
    try #require(try store.commit([create], wall: wall) == [.done])
    for _ in 0..<steps {
      wall += chance(60) ? ZoneWalk.rules.historyMilliseconds : number(2_000)
      switch number(100) {
      case 0..<45: try save(to: store)
      case 45..<50: _ = try store.commit([.collectChunks(atMost: 5)], wall: wall)
      case 50..<53: copies.append(try copying(store))
      case 53: try deleteZone(in: store)
      case 54:
        guard !copies.isEmpty else { continue }
        store = try copies[Int(number(Int64(copies.count)))](store)
        restores += 1
      default: try follow(Int(number(Int64(followers.count))), in: store)
      }
      if copies.count > 4 { copies.removeFirst() }
    }
    for index in followers.indices {
      while try follow(index, in: store) {}
      try compare(followers[index], with: store)
    }
  }

  private mutating func save(to store: any ZoneStore) throws {
    let zone = pick(FollowerWalk.zones)
    let first = Int(number(5))
    let mutations = (0...Int(number(3))).map { offset in
      let isDelete = chance(3)
      return Mutation(
        name: FollowerWalk.names[(first + offset) % 5],
        type: isDelete ? nil : Name(trusted: "T"),
        fields: isDelete ? nil : Array("{\"n\":\(number(1_000_000))}".utf8), modifiedAt: wall,
        baseTag: nil)
    }
    let request = SaveRequest(
      id: BatchID(random: &random), zone: zone, atomic: false, mutations: mutations)
    let save = SaveCommit(
      account: FollowerWalk.account, device: FollowerWalk.device, request: request, digest: [])
    let results = try store.commit([.save(save)], wall: wall)
    guard case .saved(let outcome) = results.first else { throw Unexpected(what: "\(results)") }
    for record in outcome.changed {
      #expect(given.insert(record.tag).inserted, "tag \(record.tag) was given twice")
    }
  }

  private mutating func deleteZone(in store: any ZoneStore) throws {
    let request = CommitRequest.deleteZone(
      FollowerWalk.account, FollowerWalk.device, pick(FollowerWalk.zones), through: nil)
    let results = try store.commit([request], wall: wall)
    guard case .zoneDeleted(let deletion) = results.first else {
      throw Unexpected(what: "\(results)")
    }
    for record in deletion.changed ?? [] {
      #expect(given.insert(record.tag).inserted, "tag \(record.tag) was given twice")
    }
  }

  /// Reads a page. Returns false if the follower has everything.
  @discardableResult private mutating func follow(
    _ index: Int, in store: any ZoneStore
  ) throws -> Bool {
    let read = ReadRequest.changes(
      FollowerWalk.account, since: followers[index].cursor,
      zones: ZoneSelection(followers[index].zone),
      limit: Int(1 + number(3)))
    switch try store.read(read) {
    case .page(let page):
      followers[index].applyPage(page)
      // A snapshot ends at the tag at which it began; later saves follow it.
      return page.more || page.token.horizon != nil
    case .refused(let refusal):
      try #require([.tokenExpired, .storeRestored, .badChangeToken].contains(refusal.code))
      if refusal.code == .tokenExpired { expiries += 1 }
      if let through = refusal.restoredThrough {
        try checkKept(followers[index], through: through, in: store)
      }
      followers[index].restart()
      return true
    case let other: throw Unexpected(what: "\(other)")
    }
  }

  /// Checks that the follower's records up to the tag that the relay confirmed exist unchanged, or
  /// were changed since.
  private func checkKept(
    _ follower: Follower, through: ChangeTag, in store: any ZoneStore
  ) throws {
    // Until a snapshot is complete, the follower has records from a history that may not be this
    // one.
    if follower.isUnsettled { return }
    for held in follower.held where held.tag <= through {
      let read = ReadRequest.record(FollowerWalk.account, held.key)
      guard case .record(let record) = try store.read(read) else { continue }
      #expect(record.tag > held.tag || record == held, "what was promised to be there is not")
    }
  }

  private func compare(_ follower: Follower, with store: any ZoneStore) throws {
    let read = ReadRequest.changes(
      FollowerWalk.account, since: nil, zones: ZoneSelection(follower.zone), limit: 1_000)
    guard case .page(let page) = try store.read(read) else { throw Unexpected(what: "no page") }
    #expect(follower.held == page.changes.sorted { $0.key < $1.key })
  }

  private mutating func number(_ limit: Int64) -> Int64 {
    Int64.random(in: 0..<limit, using: &random)
  }

  private mutating func chance(_ count: Int64) -> Bool { number(count) == 0 }

  private mutating func pick(_ choices: [Name]) -> Name {
    choices[Int(number(Int64(choices.count)))]
  }
}

/// Device that reads, and saves nothing.
private struct Follower {
  let zone: Name?
  private(set) var cursor: ChangeToken?
  private var records: [RecordKey: Record] = [:]
  /// Records named by the snapshot, while it is read.
  private var named: Set<RecordKey> = []
  /// True from the refusal of its cursor until it has read a complete snapshot.
  private(set) var isUnsettled = false

  init(zone: Name?) { self.zone = zone }

  /// All live records of the follower, by key.
  var held: [Record] { records.values.sorted { $0.key < $1.key } }

  mutating func restart() {
    cursor = nil
    named = []
    isUnsettled = true
  }

  mutating func applyPage(_ page: ChangePage) {
    let isSnapshot = cursor == nil || cursor?.pinned != nil
    for record in page.changes {
      records[record.key] = record.isDeleted ? nil : record
      named.insert(record.key)
    }
    if isSnapshot && !page.more {
      records = records.filter { named.contains($0.key) }
      isUnsettled = false
    }
    if !isSnapshot || !page.more { named = [] }
    cursor = page.token
  }
}
