import LockstepModel
import LockstepStorage
import LockstepWire
import Testing

@testable import LockstepRelay

/// Sockets, long-polls and polls on two nodes, while commits, reads, news and slow readers come in
/// any order: each device gets every change exactly once, and is notified of each.
struct InterleavingTests {
  @Test(arguments: 0..<8)
  func nobodyMissesAChange(block: Int) throws {
    for seed in UInt64(block * 10)..<UInt64(block * 10 + 5) {
      var story = try Story(seed: seed, subscribes: false)
      try story.run(steps: 250)
      try story.end()
      #expect(story.breaches.isEmpty, "seed \(seed): \(story.breaches.prefix(1))")
      if !story.breaches.isEmpty { return }
    }
  }

  /// The two nodes are separate relays, and some of their hints to each other are lost.
  @Test(arguments: 0..<8)
  func nobodyMissesAChangeOfAnotherRelay(block: Int) throws {
    for seed in UInt64(block * 10)..<UInt64(block * 10 + 5) {
      var story = try Story(
        seed: 2_000 + seed, subscribes: block.isMultiple(of: 2), areSeparateRelays: true)
      try story.run(steps: 300)
      try story.rest()
      try story.unsubscribe()
      try story.end()
      #expect(story.breaches.isEmpty, "seed \(seed): \(story.breaches.prefix(1))")
      if !story.breaches.isEmpty { return }
    }
  }

  /// Devices subscribe and unsubscribe meanwhile. Each is notified of changes that match its
  /// filter, and once all have unsubscribed, all have all changes.
  @Test(arguments: 0..<8)
  func nobodySleepsThroughWhatWakesThem(block: Int) throws {
    for seed in UInt64(block * 10)..<UInt64(block * 10 + 5) {
      var story = try Story(seed: 1_000 + seed, subscribes: true)
      try story.run(steps: 300)
      try story.rest()
      try story.unsubscribe()
      try story.end()
      #expect(story.breaches.isEmpty, "seed \(seed): \(story.breaches.prefix(1))")
      if !story.breaches.isEmpty { return }
    }
  }
}

/// One run from a seed.
private struct Story {
  let relay: TestRelay
  let subscribes: Bool
  var random: SeededRandom
  var devices: [ModelDevice] = []
  var pollers: [ModelPoller] = []
  var savers: [(client: HTTPClient, device: TestDevice)] = []
  var breaches: [String] = []
  var batches = 0

  init(seed: UInt64, subscribes: Bool, areSeparateRelays: Bool = false) throws {
    self.subscribes = subscribes
    random = SeededRandom(seed: seed)
    let queueBytes = [300, 2_000, 1 << 18].randomElement(using: &random) ?? 300
    relay = TestRelay(nodes: 2, areSeparateRelays: areSeparateRelays, seed: seed) {
      $0.isOpen = true
      $0.limits.sendQueueBytes = queueBytes
    }
    let first = try relay.newAccount()
    let all = [first, try relay.newDevice(beside: first), try relay.newDevice(beside: first)]
    for device in all {
      devices.append(
        try ModelDevice(relay, node: Int.random(in: 0...1, using: &random), as: device))
    }
    pollers = [
      ModelPoller(relay, node: 0, as: all[0], wait: 60),
      ModelPoller(relay, node: 1, as: all[1], wait: 60),
      ModelPoller(relay, node: 1, as: all[2], wait: 0),
    ]
    savers = all.map { (HTTPClient(relay, node: Int.random(in: 0...1, using: &random)), $0) }
  }

  mutating func run(steps: Int) throws {
    for _ in 0..<steps {
      passTime()
      try step()
      try collect()
    }
  }

  /// Advances a millisecond, so that bytes sent in one moment are past.
  private func passTime() {
    relay.moment.instant = relay.moment.instant.advanced(milliseconds: 1)
    for node in relay.entries.indices { relay.deliver(node, .deadlineReached) }
  }

  private mutating func step() throws {
    let node = Int.random(in: 0...1, using: &random)
    let device = devices[Int.random(in: 0..<devices.count, using: &random)]
    if subscribes, Int.random(in: 0..<12, using: &random) == 0 { changeSubscription() }
    switch Int.random(in: 0..<24, using: &random) {
    case 0...3: device.save(nextSave())
    case 4, 5: saveByHTTP()
    case 6: device.fetch(limit: Int.random(in: 1...4, using: &random))
    case 7: device.actOnHint()
    case 8: try device.reconnect(node: node)
    case 9: relay.setTakesBytes(device.socket.id, false)
    case 10, 11: relay.setTakesBytes(device.socket.id, true)
    case 12, 13: pollers[Int.random(in: 0..<pollers.count, using: &random)].ask()
    case 14...16:
      if !relay.commits.isEmpty {
        relay.runCommits(Int.random(in: 1...relay.commits.count, using: &random))
      }
    case 17...19: _ = relay.deliverCommitEvent(node)
    case 20, 21: _ = relay.runRead(node)
    case 22: _ = relay.deliverRead(node)
    default:
      if relay.areSeparateRelays, Int.random(in: 0..<4, using: &random) == 0,
        !relay.entries[node].remoteNews.isEmpty
      {
        relay.entries[node].remoteNews.removeFirst()
      }
      _ = relay.deliverRemoteNews(node)
    }
  }

  private mutating func nextSave() -> SaveRequest {
    batches += 1
    var request = save(
      "r\(Int.random(in: 0..<6, using: &random))", value: batches,
      zone: Bool.random(using: &random) ? "a" : "b", id: batch(batches))
    if Int.random(in: 0..<12, using: &random) == 0 {
      // Too large for a push.
      request.mutations[0].fields =
        Array("{\"v\":\"".utf8)
        + Array(repeating: UInt8(ascii: "x"), count: Limits.pushBytes) + Array("\"}".utf8)
    }
    return request
  }

  private mutating func saveByHTTP() {
    let (client, device) = savers[Int.random(in: 0..<savers.count, using: &random)]
    let request = nextSave()
    client.send(
      "POST", "/v1/zones/\(request.zone)/records", token: device.token, request.encodedBody())
  }

  private mutating func changeSubscription() {
    let (client, device) = savers[Int.random(in: 0..<savers.count, using: &random)]
    let path = "/v1/subscriptions/\(Int.random(in: 0...1, using: &random))"
    let value = Int.random(in: 0...batches + 9, using: &random)
    let bodies = [
      nil, nil, #"{"kind":"zone","zone":"a"}"#, #"{"kind":"zone","zone":"b"}"#,
      #"{"kind":"zone","zone":"c"}"#, #"{"kind":"database"}"#,
      #"{"kind":"query","recordType":"t","events":["create"]}"#,
      #"{"kind":"query","recordType":"t","zone":"b","events":["delete"]}"#,
      #"{"kind":"query","recordType":"t","where":{"v":\#(value)}}"#,
    ]
    if let body = bodies[Int.random(in: 0..<bodies.count, using: &random)] {
      client.send("PUT", path, token: device.token, Array(body.utf8))
    } else {
      client.send("DELETE", path, token: device.token)
    }
  }

  mutating func unsubscribe() throws {
    for saver in savers {
      for id in 0...1 {
        saver.client.send("DELETE", "/v1/subscriptions/\(id)", token: saver.device.token)
      }
    }
  }

  /// Runs all that waits. Afterwards no change after a cursor matches that device's filter.
  mutating func rest() throws {
    try comeToRest()
    for (index, device) in devices.enumerated() {
      guard let cursor = device.cursor, try wakes(device.device, since: cursor) else { continue }
      breaches.append("device \(index) sleeps at \(cursor.text) through what wakes it")
    }
    for poller in pollers where poller.isAsking {
      guard let cursor = poller.cursor, try wakes(poller.device, since: cursor) else { continue }
      breaches.append("a poll sleeps at \(cursor.text) through what wakes it")
    }
  }

  private func wakes(_ device: TestDevice, since cursor: ChangeToken) throws -> Bool {
    guard
      case .principal(let principal) = try relay.store.read(
        .authenticate(tokenHash: DeviceToken.hash(device.token))),
      case .page(let page) = try relay.store.read(
        .changes(principal.account, since: cursor, zones: .all, limit: Limits.pageRecords))
    else { return true }
    guard let rule = SubscriptionFilter(principal.subscriptions) else {
      return !page.changes.isEmpty
    }
    var rules = FilterTable()
    rules.setFilter(rule, of: principal.device)
    // An older version of a record may have matched the filter, but a device that heard of it has
    // got it.
    return rules.audience(
      of: page.changes, page.changes.map { $0.isDeleted ? .delete : .update }
    ).isEverybody
  }

  private mutating func collect() throws {
    for device in devices { try device.takeMessages() }
    for poller in pollers { try poller.takeAnswer() }
    breaches = devices.flatMap(\.breaches) + pollers.flatMap(\.breaches)
  }

  /// Runs all that waits. Afterwards all devices must have all changes, without a further request.
  mutating func end() throws {
    try comeToRest()
    guard case .token(let newest)? = try newestToken() else {
      breaches.append("no newest token")
      return
    }
    for (index, device) in devices.enumerated() where device.cursor != nil {
      if !device.isQuiet { breaches.append("device \(index) is not quiet") }
      if device.cursor != newest {
        breaches.append("device \(index) sleeps at \(device.cursor?.text ?? "-") of \(newest.text)")
      }
    }
    for poller in pollers where poller.isAsking && poller.cursor != newest {
      breaches.append("a poll sleeps at \(poller.cursor?.text ?? "-") of \(newest.text)")
    }
    try compare()
  }

  private mutating func comeToRest() throws {
    for device in devices { relay.setTakesBytes(device.socket.id, true) }
    if relay.areSeparateRelays {
      relay.runUntilIdle()
      // The periodic check finds lost hints.
      relay.advance(Limits.versionCheckMilliseconds + 1)
      try collect()
    }
    for _ in 0..<40 {
      passTime()
      relay.runUntilIdle()
      try collect()
      for device in devices { device.actOnHint() }
    }
  }

  private mutating func compare() throws {
    for poller in pollers {
      passTime()
      poller.ask()
      relay.runUntilIdle()
      try poller.takeAnswer()
    }
    let expected = try storedRecords()
    for (index, device) in devices.enumerated() where device.cursor != nil {
      if device.records != expected { breaches.append("device \(index) holds other records") }
    }
    for (index, poller) in pollers.enumerated() where poller.records != expected {
      breaches.append("poller \(index) holds other records")
    }
  }

  private func storedRecords() throws -> [RecordKey: Record] {
    let account = devices[0].device.credentials.account
    var records: [RecordKey: Record] = [:]
    var since: ChangeToken?
    while true {
      let result = try relay.store.read(
        .changes(account, since: since, zones: .all, limit: Limits.pageRecords))
      guard case .page(let page) = result else { return [:] }
      for record in page.changes { records[record.key] = record }
      since = page.token
      if !page.more { return records }
    }
  }

  private func newestToken() throws -> ReadResult? {
    try relay.store.read(.newestToken(devices[0].device.credentials.account))
  }
}
