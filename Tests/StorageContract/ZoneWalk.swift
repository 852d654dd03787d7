import LockstepJSON
import LockstepModel
import LockstepStorage
import Testing

/// Random walk, repeatable by its seed, of a relay's store and the reference in parallel: the same
/// requests, and the same results. Names and ids are few, so that requests affect the same records.
package struct ZoneWalk {
  private var random: SeededRandom
  private var wall: Int64 = 1_700_000_000_000
  /// Tokens that were returned, for later reads.
  private var tokens: [ChangeToken] = []
  /// Batches that were sent, for retries.
  private var sent: [SaveCommit] = []
  /// Number of the last file of a chunk.
  private var lastFile: Int64 = 0
  private var newest: ChangeTag = 0

  private let rules: StoreRules

  /// `rules`: those of the store.
  package init(seed: UInt64, rules: StoreRules = ZoneWalk.rules) {
    random = SeededRandom(seed: seed)
    self.rules = rules
  }

  /// Rules of a store: limits so small that the walk reaches them.
  package static let rules: StoreRules = {
    var rules = StoreRules()
    rules.historyMilliseconds = 60_000
    rules.chunkBytesPerAccount = 60
    rules.chunkLeaseMilliseconds = 20_000
    return rules
  }()

  /// `reopening` closes the store and returns the reopened one; it is called at random. Returns the
  /// store at the end.
  @discardableResult package mutating func lead(
    _ subject: any ZoneStore, steps: Int, reopening: (any ZoneStore) throws -> any ZoneStore
  ) throws -> any ZoneStore {
    let reference = MemoryZoneStore(rules: rules)
    var subject = subject
    let creations = makeAccounts()
    try #require(
      try subject.commit(creations, wall: wall) == reference.commit(creations, wall: wall))
    for step in 0..<steps {
      wall += chance(100) ? ZoneWalk.rules.historyMilliseconds / 2 : number(2_000)
      let requests = (0..<Int.random(in: 1...6, using: &random)).map { _ in request() }
      let results = try reference.commit(requests, wall: wall)
      let found: [CommitResult]
      do {
        found = try subject.commit(requests, wall: wall)
      } catch {
        Issue.record("commit of step \(step): \(requests)")
        throw error
      }
      let differing = zip(requests, zip(found, results)).first { $0.1.0 != $0.1.1 }
      try #require(
        found == results, "commit of step \(step): \(differing.map { "\($0)" } ?? "number")")
      for result in results { learn(from: result) }
      if chance(10) { try subject.performMaintenance() }
      if chance(100) { subject = try reopening(subject) }
      for _ in 0..<3 {
        let read = read()
        let told = try reference.read(read)
        let found = try subject.read(read)
        try #require(
          found.withoutMembershipVersion == told.withoutMembershipVersion,
          "read of step \(step): \(read)")
        if case .page(let page) = told { tokens.append(page.token) }
      }
      if tokens.count > 60 { tokens.removeFirst(30) }
    }
    return subject
  }

  /// Checks that chunks named by no live record are collected after their lease, and no others; and
  /// that all are once no record is left.
  package mutating func clear(_ subject: any ZoneStore) throws {
    for isLast in [false, true] {
      wall += ZoneWalk.rules.chunkLeaseMilliseconds
      _ = try subject.commit([.collectChunks(atMost: .max)], wall: wall)
      for offset in 0..<3 as Range<UInt64> {
        let account = AccountID(rawValue: .max - offset)
        let named = try self.named(by: account, in: subject)
        #expect(!isLast || named.isEmpty)
        for hash in ZoneWalk.chunks {
          guard case .chunk = try subject.read(.chunk(account, hash)) else {
            #expect(!named.contains(hash), "a chunk that a record names is gone")
            continue
          }
          #expect(named.contains(hash), "a chunk that no record names is kept")
        }
      }
    }
  }

  /// Returns the chunks that an account's records name, and deletes the records.
  private mutating func named(
    by account: AccountID, in subject: any ZoneStore
  ) throws -> Set<ChunkHash> {
    var records: [Record] = []
    var token: ChangeToken?
    while true {
      let read = ReadRequest.changes(account, since: token, zones: .all, limit: 1_000)
      guard case .page(let page) = try subject.read(read) else { return [] }
      records += page.changes
      token = page.token
      if !page.more { break }
    }
    let device = ZoneScene.device(DeviceID(rawValue: 99), of: account)
    let code = NewPairing(codeHash: ZoneScene.hash(98), expiresAt: wall + 1)
    var requests: [CommitRequest] = [
      .issuePairing(account, code), .redeemPairing(codeHash: code.codeHash, device: device),
    ]
    requests += records.map { record in
      let deletion = Mutation(
        name: record.name, type: nil, fields: nil, modifiedAt: wall, baseTag: record.tag)
      let request = SaveRequest(
        id: BatchID(random: &random), zone: record.zone, atomic: false, mutations: [deletion])
      return .save(
        SaveCommit(account: account, device: device.id, request: request, digest: []))
    }
    _ = try subject.commit(requests, wall: wall)
    return Set(records.flatMap(\.chunks))
  }

  private mutating func learn(from result: CommitResult) {
    guard case .saved(let outcome) = result else { return }
    newest = outcome.answer.token.sequence
    tokens.append(outcome.answer.token)
  }

  // MARK: Requests

  /// Returns requests that make all accounts with most of their devices, so that later requests
  /// find them.
  private mutating func makeAccounts() -> [CommitRequest] {
    (0..<3 as Range<UInt64>).flatMap { offset -> [CommitRequest] in
      let account = AccountID(rawValue: .max - offset)
      let code = NewPairing(codeHash: ZoneScene.hash(99), expiresAt: wall + 1)
      let create = CommitRequest.createAccount(
        account, generation: 1, label: "", device: nil, pairing: nil)
      let join = (0..<5 as Range<UInt64>).flatMap { number -> [CommitRequest] in
        let device = ZoneScene.device(DeviceID(rawValue: number), of: account)
        return [
          .issuePairing(account, code), .redeemPairing(codeHash: code.codeHash, device: device),
        ]
      }
      return [create] + join
    }
  }

  private mutating func request() -> CommitRequest {
    switch Int.random(in: 0..<44, using: &random) {
    case 0:
      .createAccount(
        account(), generation: 1, label: "", device: chance(2) ? nil : newDevice(),
        pairing: chance(2) ? nil : pairing())
    case 1...2: .issuePairing(account(), pairing())
    case 3...5: .redeemPairing(codeHash: hash(20), device: newDevice())
    case 6: .renameDevice(account(), device(), deviceName: "n\(number(9))")
    case 7: chance(4) ? .revokeDevice(account(), device()) : .touchDevices([])
    case 10:
      chance(4)
        ? .setPlan(account(), plan()) : .putSubscription(account(), device(), subscription())
    case 11: .putSubscription(account(), device(), subscription())
    case 12: .removeSubscription(account(), device(), pick(ZoneWalk.names))
    case 14...16: addChunk()
    case 17: .renewChunks(account(), [pick(ZoneWalk.chunks), pick(ZoneWalk.chunks)])
    case 18:
      chance(4)
        ? chance(2) ? .confirmChunks([file(), file()]) : .markChunksMissing([file(), file()])
        : .collectChunks(atMost: Int(number(3)))
    case 19:
      .deleteZone(
        account(), device(), pick(ZoneWalk.zones),
        through: chance(2) || tokens.isEmpty ? nil : pick(tokens))
    case 13: chance(12) ? .removeAccount(account()) : .checkWritable
    case 40...43: wake()
    case 8...9:
      .touchDevices([
        DeviceSighting(account: account(), device: device(), lastSeen: wall - 500 + number(1_000)),
        DeviceSighting(account: account(), device: device(), lastSeen: wall),
      ])
    default: .save(save())
    }
  }

  private mutating func wake() -> CommitRequest {
    switch Int.random(in: 0..<12, using: &random) {
    case 0...2:
      .putWake(
        account(), device(), registration(), keyMadeAt: number(2), codeHash: hash(2))
    case 3...4: .verifyWake(account(), device(), registration().id, codeHash: hash(2))
    case 5: .removeWake(account(), device(), registration().id)
    case 6...7: .claimWakes((0..<4).map { _ in sleeper() }, keys: keyTimes())
    case 8...9: .reportWakes((0..<2).map { _ in WakeReport(id: sleeper(), event: wakeEvent()) })
    case 10:
      .addWakeKey(WakeKey(madeAt: number(9), privateKey: hash(9)), onlyFirst: chance(2))
    default:
      .touchDevices(
        (0..<2).map { _ in
          DeviceSighting(
            account: account(), device: device(), lastSeen: wall,
            contact: WakeContact(
              seen: chance(2) ? nil : mark(), told: chance(2) ? nil : mark(), at: wall))
        })
    }
  }

  private mutating func wakeEvent() -> WakeReport.Event {
    switch Int.random(in: 0..<6, using: &random) {
    case 0: .verification(wakeResult())
    case 1: .passed(mark(), since: mark())
    case 2: .keysEnded(keyTimes())
    default: .finished(chance(3) ? .newKey : .change, [wakeResult(), wakeResult()])
    }
  }

  private mutating func keyTimes() -> WakeKeyTimes {
    WakeKeyTimes(oldest: number(2), newest: number(3))
  }

  private mutating func wakeResult() -> WakeResult {
    let registration = registration()
    let outcome: WakeResult.Outcome =
      switch Int.random(in: 0..<4, using: &random) {
      case 0: .failed(pick(WakeFault.allCases), retryAfter: chance(2) ? nil : number(9_000))
      case 1: .gone
      default: .sent
      }
    return WakeResult(
      id: registration.id, endpoint: registration.endpoint, outcome: outcome,
      toldKey: chance(3) ? number(3) : nil, sentAt: chance(2) ? number(9_000) : nil)
  }

  private mutating func save() -> SaveCommit {
    if chance(6), !sent.isEmpty {
      var again = pick(sent)
      if chance(8) { again.digest = hash(4) }
      return again
    }
    let first = Int.random(in: 0..<ZoneWalk.names.count, using: &random)
    let count = Int.random(in: 0...4, using: &random)
    let mutations = (0..<count).map { offset in
      mutation(ZoneWalk.names[(first + offset) % ZoneWalk.names.count])
    }
    let request = SaveRequest(
      id: BatchID(random: &random), zone: pick(ZoneWalk.zones), atomic: chance(3),
      mutations: mutations)
    let save = SaveCommit(
      account: account(), device: device(), request: request, digest: hash(4))
    sent.append(save)
    if sent.count > 200 { sent.removeFirst(100) }
    return save
  }

  private mutating func mutation(_ name: Name) -> Mutation {
    let isDelete = chance(4)
    return Mutation(
      name: name, type: isDelete ? nil : pick(ZoneWalk.types), fields: isDelete ? nil : fields(),
      modifiedAt: wall, baseTag: baseTag(),
      chunks: chance(3) ? [pick(ZoneWalk.chunks), pick(ZoneWalk.chunks)] : [],
      refusal: chance(20) ? refusal() : nil)
  }

  private mutating func baseTag() -> ChangeTag? {
    switch Int.random(in: 0..<3, using: &random) {
    case 0: nil
    case 1: 0
    default: max(0, newest - number(20))
    }
  }

  private mutating func fields() -> [UInt8] {
    if chance(100) { return [UInt8](repeating: UInt8(ascii: " "), count: 900_000) }
    return Array("{\"n\":\(number(1_000))}".utf8)
  }

  private mutating func refusal() -> Refusal {
    Refusal(pick([.clockAhead, .recordTooLarge, .chunksMissing]), "Found before.", relayTime: wall)
  }

  // MARK: Reads

  private mutating func read() -> ReadRequest {
    switch Int.random(in: 0..<13, using: &random) {
    case 0: .authenticate(tokenHash: hash(20))
    case 12: wakeRead()
    case 1: .record(account(), RecordKey(zone: pick(ZoneWalk.zones), name: pick(ZoneWalk.names)))
    case 2: .newestToken(account())
    case 3: .devices(account())
    case 4:
      chance(2)
        ? .accountCount : .accounts(after: chance(2) ? nil : account(), limit: Int(number(4)))
    case 6:
      switch Int.random(in: 0..<3, using: &random) {
      case 0: .chunk(account(), pick(ZoneWalk.chunks))
      case 1: .fileUses([file(), file()])
      default:
        .namedChunks(
          account(), [pick(ZoneWalk.chunks), pick(ZoneWalk.chunks)], zones: [pick(ZoneWalk.zones)])
      }
    case 5:
      chance(2)
        ? .account(account())
        : .zones(account(), after: nil, within: scope().zones, limit: Int(number(4)))
    default: changes()
    }
  }

  private mutating func wakeRead() -> ReadRequest {
    switch Int.random(in: 0..<4, using: &random) {
    case 0: .wakes(account(), device())
    case 1: .sleepers(.accounts([account(), account()]))
    case 2: .sleepers(.after(chance(2) ? nil : sleeper(), limit: Int(number(5))))
    default: .wakeKeys
    }
  }

  private mutating func changes() -> ReadRequest {
    let zone = chance(2) ? nil : pick(ZoneWalk.zones)
    let limit = Int.random(in: -1...12, using: &random)
    var since = chance(5) || tokens.isEmpty ? nil : pick(tokens)
    let scope = zone == nil && chance(2) ? scope().zones : nil
    // Usually with the zone that the token belongs to.
    if !chance(10) { since?.zoneDigest = zone.map(ChangeToken.digest) }
    if chance(20) { since?.sequence += number(50) }
    if chance(20) { since?.generation = 2 }
    if let pinned = since?.pinned, let sequence = since?.sequence, pinned < sequence {
      since?.pinned = sequence
    }
    let zones = scope.map { ZoneSelection.scope($0) } ?? ZoneSelection(zone)
    return .changes(account(), since: since, zones: zones, limit: limit)
  }

  // MARK: Values

  private static let zones = ["A", "B"].map(Name.init(trusted:))
  private static let types = ["T", "U"].map(Name.init(trusted:))
  private static let names = ["a", "A", "b", "é", "e\u{301}", "x/y", "z"].map(Name.init(trusted:))

  private static let chunks = (1...6).compactMap { ChunkHash(bytes: ZoneScene.hash($0)) }

  private mutating func addChunk() -> CommitRequest {
    let file = newFile()
    return .addChunk(
      file.account, pick(ZoneWalk.chunks), file, bytes: Int(number(30)))
  }

  private mutating func file() -> ChunkFile {
    ChunkFile(account: account(), number: UInt64(number(max(lastFile, 1) + 1)))
  }

  /// Returns a file that was never named: each upload has one of its own.
  private mutating func newFile() -> ChunkFile {
    lastFile += 1
    return ChunkFile(account: account(), number: UInt64(lastFile))
  }

  private mutating func account() -> AccountID { AccountID(rawValue: .max - UInt64(number(3))) }

  private mutating func device() -> DeviceID { DeviceID(rawValue: UInt64(number(6))) }

  private mutating func newDevice() -> NewDevice {
    NewDevice(
      id: device(),
      description: DeviceDescription(
        deviceName: "d\(number(9))", platform: "", appVersion: "\(number(9))"),
      tokenHash: hash(20))
  }

  private mutating func pairing() -> NewPairing {
    NewPairing(
      codeHash: hash(20), expiresAt: wall + number(20_000), scope: scope(),
      wrapped: chance(2) ? nil : "AAA\(number(9))")
  }

  private mutating func scope() -> DeviceScope {
    if chance(2) { return .everything }
    let zones =
      chance(3) ? nil : Array(ZoneWalk.zones.shuffled(using: &random).prefix(1 + Int(number(2))))
    return DeviceScope(zones: zones, isReadOnly: chance(2))
  }

  private mutating func plan() -> Plan {
    chance(3) ? .everything : Plan(zones: Array(ZoneWalk.zones.prefix(Int(number(3)))))
  }

  private mutating func subscription() -> Subscription {
    let kind: Subscription.Kind =
      chance(2)
      ? .zone(pick(ZoneWalk.zones))
      : .query(
        Subscription.Query(
          recordType: pick(ZoneWalk.types), zone: chance(2) ? nil : pick(ZoneWalk.zones),
          conditions: [JSONMember("n", .number(JSONNumber(number(9))))], events: .update))
    return Subscription(id: pick(ZoneWalk.names), kind: kind)
  }

  private mutating func registration() -> WakeRegistration {
    WakeRegistration(
      id: pick(ZoneWalk.names), endpoint: "https://push.example/\(number(2))", p256dh: [],
      auth: hash(1), expiresAt: chance(4) ? wall + number(20_000) : nil)
  }

  private mutating func sleeper() -> SleeperID {
    SleeperID(account: account(), device: device())
  }

  private mutating func mark() -> WakeMark {
    WakeMark(generation: 1, sequence: max(0, newest - number(4)))
  }

  private mutating func hash(_ choices: Int64) -> [UInt8] {
    ZoneScene.hash(UInt8(number(choices)))
  }

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
