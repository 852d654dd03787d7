import LockstepModel
import LockstepStorage
import LockstepWire
import Testing

@testable import LockstepRelay

/// All four transports use the same cursor: a client changes from one to another at any moment,
/// connections are cut in the middle of any message, others save all the time, and no change is
/// missed.
struct SwitchingTests {
  @Test(arguments: 0..<8)
  func aClientThatChangesItsWayMissesNothing(seed: UInt64) throws {
    var story = try Story(seed: seed)
    try story.run(steps: 3_000)
    try story.end()
    #expect(story.breaches.isEmpty, "seed \(seed): \(story.breaches.prefix(3))")
    #expect(story.changes > 1_500)
    for wanderer in story.wanderers {
      for way in Wanderer.Way.allCases {
        #expect(wanderer.served[way, default: 0] > 0, "seed \(seed): nothing came by \(way)")
      }
    }
  }

  /// The test itself must be able to fail.
  @Test func aPageThatIsLostIsNoticed() throws {
    var story = try Story(seed: 99)
    try story.run(steps: 300)
    try story.end()
    #expect(story.breaches.isEmpty)
    try story.loseAnEvent()
    #expect(story.wanderers[0].gaps > 0)
    try story.end()
    #expect(story.breaches.isEmpty, "\(story.breaches.prefix(3))")
  }
}

/// One run from a seed.
private struct Story {
  let relay: TestRelay
  let account: AccountID
  var random: SeededRandom
  var wanderers: [Wanderer] = []
  var savers: [(client: HTTPClient, device: TestDevice)] = []
  var breaches: [String] = []
  var batches = 0
  var changes = 0

  init(seed: UInt64) throws {
    random = SeededRandom(seed: seed &* 31 &+ 5)
    let queueBytes = [400, 4_000, 1 << 18].randomElement(using: &random) ?? 400
    relay = TestRelay(nodes: 2, seed: seed) {
      $0.isOpen = true
      $0.limits.sendQueueBytes = queueBytes
    }
    let first = try relay.newAccount()
    account = first.credentials.account
    let all = [first, try relay.newDevice(beside: first), try relay.newDevice(beside: first)]
    wanderers = [0, 1].map { Wanderer(relay, as: all[$0], random: random.branch()) }
    savers = all.map { (HTTPClient(relay, node: Int.random(in: 0...1, using: &random)), $0) }
    for wanderer in wanderers { try wanderer.change(to: .poll) }
  }

  mutating func run(steps: Int) throws {
    for step in 0..<steps {
      passTime()
      try act()
      try collect()
      if step % 50 == 0 { try check() }
    }
  }

  /// Advances a millisecond, so that bytes sent in one moment are past.
  private func passTime() {
    relay.moment.instant = relay.moment.instant.advanced(milliseconds: 1)
    for node in relay.entries.indices { relay.deliver(node, .deadlineReached) }
  }

  private mutating func act() throws {
    let node = Int.random(in: 0...1, using: &random)
    let wanderer = wanderers[Int.random(in: 0..<wanderers.count, using: &random)]
    switch Int.random(in: 0..<38, using: &random) {
    case 0...7: save()
    case 8, 9: try wanderer.change(to: Wanderer.Way.allCases.randomElement(using: &random) ?? .poll)
    case 10: wanderer.poll()
    case 11:
      if let id = wanderer.connections.randomElement(using: &random) {
        relay.setTakesBytes(id, false)
      }
    case 12, 13: for id in wanderer.connections { relay.setTakesBytes(id, true) }
    case 14...18:
      if !relay.commits.isEmpty {
        relay.runCommits(Int.random(in: 1...relay.commits.count, using: &random))
      }
    case 19...24: _ = relay.deliverCommitEvent(node)
    case 25...30: _ = relay.runRead(node)
    case 31...36: _ = relay.deliverRead(node)
    default: _ = relay.deliverRemoteNews(node)
    }
    wanderer.act()
  }

  /// Saves or deletes a few records, by any of the devices, including those that change transports.
  private mutating func save() {
    let (client, device) = savers[Int.random(in: 0..<savers.count, using: &random)]
    batches += 1
    let names = Set(
      (0..<Int.random(in: 1...6, using: &random)).map { _ in
        Int.random(in: 0..<60, using: &random)
      }
    ).sorted()
    let size = Int.random(in: 0..<40, using: &random) == 0 ? Limits.pushBytes : 10
    let mutations = names.map { name in
      let isDeleted = Int.random(in: 0..<6, using: &random) == 0
      let text = String(repeating: "x", count: size)
      return Mutation(
        name: Name(trusted: "r\(name)"), type: isDeleted ? nil : Name(trusted: "t"),
        fields: isDeleted ? nil : Array(#"{"b":\#(batches),"x":"\#(text)"}"#.utf8),
        modifiedAt: Int64(batches), baseTag: nil)
    }
    let zone = Name(trusted: Bool.random(using: &random) ? "a" : "b")
    let request = SaveRequest(
      id: batch(batches), zone: zone, atomic: false, mutations: mutations)
    changes += mutations.count
    client.send(
      "POST", "/v1/zones/\(zone.text)/records", token: device.token, request.encodedBody())
  }

  private mutating func collect() throws {
    for wanderer in wanderers {
      try wanderer.take()
      breaches += wanderer.breaches
    }
  }

  /// Checks that each record that the cursor covers is held as it is in the store.
  private mutating func check() throws {
    let stored = try storedRecords()
    for (index, wanderer) in wanderers.enumerated() {
      guard let cursor = wanderer.cursor, cursor.pinned == nil else { continue }
      for record in stored where record.tag <= cursor.sequence {
        let held = wanderer.records[record.key]
        if held == record || (held == nil && record.isDeleted) { continue }
        breaches.append("\(index) lacks \(record.name) of tag \(record.tag) at \(cursor.text)")
      }
    }
  }

  /// Runs all that waits. Afterwards all devices must have all changes.
  mutating func end() throws {
    for wanderer in wanderers {
      for id in wanderer.connections { relay.setTakesBytes(id, true) }
    }
    // A device far behind reads page by page; one that missed a notification never catches up.
    for round in 0..<1_000 {
      passTime()
      relay.runUntilIdle()
      try collect()
      if round > 30, try wanderers.allSatisfy({ try $0.cursor == newestToken() }) { break }
      for wanderer in wanderers {
        wanderer.poll()
        wanderer.act()
      }
    }
    try check()
    let newest = try newestToken()
    for (index, wanderer) in wanderers.enumerated() where wanderer.cursor != newest {
      breaches.append(
        "\(index) sleeps at \(wanderer.cursor?.text ?? "-") of \(newest.text), by \(wanderer.way)")
    }
  }

  /// Sends a commit to the first wanderer, and loses the bytes on the way.
  mutating func loseAnEvent() throws {
    wanderers[0].mayLose = true
    try wanderers[0].change(to: .events)
    relay.runUntilIdle()
    try collect()
    for round in 0...1 {
      save()
      relay.runUntilIdle()
      guard round == 0, let stream = wanderers[0].connections.first else { continue }
      relay.wire(stream).incoming = []
    }
    try collect()
  }

  private func newestToken() throws -> ChangeToken {
    guard case .token(let token) = try relay.store.read(.newestToken(account)) else {
      throw Refusal(.internalError, "no newest token")
    }
    return token
  }

  private func storedRecords() throws -> [Record] {
    var token = try newestToken()
    token.sequence = 0
    var records: [Record] = []
    while true {
      let result = try relay.store.read(
        .changes(account, since: token, zones: .all, limit: Limits.pageRecords))
      guard case .page(let page) = result else { return records }
      records += page.changes
      token = page.token
      if !page.more { return records }
    }
  }
}
