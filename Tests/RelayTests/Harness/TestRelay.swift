import LockstepModel
import LockstepRuntime
import LockstepStorage
import LockstepWire

@testable import LockstepRelay

/// Some relay nodes over one store in memory, with a manual clock. Requests to the store and their
/// results wait in queues, so that a test can choose the order; `runUntilIdle` runs all of them
/// until none is left.
final class TestRelay {
  /// A node, and the events that wait for it.
  final class NodeEntry {
    var node: RelayNode
    /// News and outcomes of commits, in the order of the commits.
    var commitEvents: [NodeEvent<StoreOutcome, RelayOrder, RelayNews>] = []
    var reads: [(JobID, StoreReadJob)] = []
    var readEvents: [NodeEvent<StoreOutcome, RelayOrder, RelayNews>] = []
    var fileEvents: [NodeEvent<StoreOutcome, RelayOrder, RelayNews>] = []
    /// News from other nodes.
    var remoteNews: [RelayNews] = []

    init(_ node: consuming RelayNode) { self.node = node }
  }

  /// One connection, as seen by the network between client and node.
  final class Wire {
    let node: Int
    /// Bytes that the client has not read yet.
    var incoming: [UInt8] = []
    /// Bytes that the node sent, while the client's side takes none.
    var waiting: [UInt8] = []
    var takesBytes = true
    var isPaused = false
    /// Bytes of the client that a pause delays.
    var heldBack: [UInt8] = []
    var closed: CloseManner?

    init(node: Int) { self.node = node }
  }

  /// True if the nodes are separate relays, which share the store and send each other only hints.
  let areSeparateRelays: Bool
  var store: MemoryZoneStore
  let files: MemoryChunkStore
  /// The owner's pages.
  var pages: (any PageFolder)?
  var entries: [NodeEntry] = []
  var wires: [ConnectionID: Wire] = [:]
  var commits: [(node: Int, JobID, StoreCommitJob)] = []
  var fileJobs: [(node: Int, JobID, StoreFileJob)] = []
  var reports: [RelayReport] = []
  var moment = Moment(instant: Instant(nanoseconds: 1_000_000_000), wall: 1_700_000_000_000)
  /// Errors of commits, reads and the chunk store.
  var commitFault: StorageError?
  var readFault: StorageError?
  var chunkFault: StorageError?
  private(set) var readsDone = 0
  /// Other relays that the store has seen lately.
  var seenRelays: [RelaySighting] = []
  /// Nodes whose next check tells that the store had forgotten what their relay follows.
  var forgottenNodes: Set<Int> = []
  /// Nodes that separate relays announce an account's commits to.
  var listeners: [AccountID: Set<Int>] = [:]
  /// Multicasts: the size of each, and the number of receivers.
  private(set) var multicasts: [(bytes: Int, receivers: Int)] = []
  private var lastConnection: UInt64 = 0
  /// Connections that a node opened, which are still to be accepted.
  private var opening: [(node: Int, id: ConnectionID, peer: PeerAddress)] = []
  /// Connections that nodes have opened, in order, with their addresses.
  private(set) var opened: [(id: ConnectionID, peer: PeerAddress)] = []
  /// Connections whose reading is resumed, with delayed bytes.
  private var resumed: [ConnectionID] = []
  /// Connections that the node closed, without any bytes held.
  private var released: [ConnectionID] = []

  init(
    nodes: Int = 1, areSeparateRelays: Bool = false, seed: UInt64 = 1,
    store: MemoryZoneStore = MemoryZoneStore(),
    files: MemoryChunkStore = MemoryChunkStore(), isSettled: Bool = true,
    adminSessions: any AdminSessionStore = AdminSessionTable(),
    _ configure: (inout RelayConfiguration) -> Void = { $0.isOpen = true }
  ) {
    self.areSeparateRelays = areSeparateRelays
    self.store = store
    self.files = files
    var random = SeededRandom(seed: seed)
    for node in 0..<nodes {
      var configuration = RelayConfiguration()
      configuration.node = areSeparateRelays ? 0 : node
      configuration.nodes = areSeparateRelays ? 1 : nodes
      configuration.sharesStore = areSeparateRelays
      // Most tests are not about hosts.
      configuration.hosts = .any
      configure(&configuration)
      precondition(configuration.validate().isEmpty)
      let source = TestSecrets(random.branch())
      entries.append(
        NodeEntry(
          RelayNode(
            configuration: configuration, secrets: SecretSource { source.bytes($0) },
            random: random.branch(), adminSessions: adminSessions)))
    }
    for node in entries.indices { perform(node) }
    if isSettled { runUntilIdle() }
  }

  // MARK: connections

  func open(
    node: Int = 0, listenerKind: Opening.ListenerKind = .public, from host: String = "192.0.2.1"
  ) -> ConnectionID {
    lastConnection += 1
    let id = ConnectionID(rawValue: lastConnection)
    wires[id] = Wire(node: node)
    deliver(node, .opened(id, Opening(listenerKind: listenerKind, peer: .host(host, port: 40_000))))
    return id
  }

  func wire(_ id: ConnectionID) -> Wire {
    guard let wire = wires[id] else { preconditionFailure("no such connection") }
    return wire
  }

  func send(_ id: ConnectionID, _ bytes: [UInt8]) {
    let wire = wire(id)
    guard wire.closed == nil else { return }
    wire.heldBack += bytes
    pass(id)
  }

  /// Passes the client's bytes to the node, in portions as a loop reads, until the node pauses.
  private func pass(_ id: ConnectionID) {
    let wire = wire(id)
    while !wire.isPaused, !wire.heldBack.isEmpty, wire.closed == nil {
      let bytes = Array(wire.heldBack.prefix(Limits.receiveBytes))
      wire.heldBack.removeFirst(bytes.count)
      entries[wire.node].node.received(id, bytes.span.bytes, at: moment)
      perform(wire.node)
    }
  }

  /// Cuts the connection on the client's side.
  func cut(_ id: ConnectionID, _ cause: CloseCause = .endOfStream) {
    let wire = wire(id)
    guard wire.closed == nil else { return }
    wire.closed = .now
    deliver(wire.node, .closed(id, cause))
    deliver(wire.node, .holding(id, bytes: 0))
  }

  /// Closes the client's sending side; the client still reads.
  func endWriting(_ id: ConnectionID) {
    let wire = wire(id)
    guard wire.closed == nil else { return }
    deliver(wire.node, .closed(id, .endOfStream))
    wire.closed = .afterSending
    if wire.waiting.isEmpty { deliver(wire.node, .holding(id, bytes: 0)) }
  }

  /// Stops the client from taking bytes, or lets it take all that wait and all that follow.
  func setTakesBytes(_ id: ConnectionID, _ takes: Bool) {
    let wire = wire(id)
    wire.takesBytes = takes
    guard takes, wire.closed != .now else { return }
    wire.incoming += wire.waiting
    wire.waiting = []
    deliver(wire.node, wire.closed == nil ? .drained(id, unsent: 0) : .holding(id, bytes: 0))
  }

  /// Lets the client take `count` of the bytes that wait for it.
  func takeBytes(_ id: ConnectionID, _ count: Int) {
    let wire = wire(id)
    wire.incoming += wire.waiting.prefix(count)
    wire.waiting.removeFirst(min(count, wire.waiting.count))
    if wire.closed == nil { deliver(wire.node, .drained(id, unsent: wire.waiting.count)) }
  }

  // MARK: running

  /// Passes an event to a node and performs its actions, except the store's work.
  func deliver(_ node: Int, _ event: NodeEvent<StoreOutcome, RelayOrder, RelayNews>) {
    entries[node].node.handle(event, at: moment)
    perform(node)
  }

  /// Runs all that waits, until nothing is left.
  func runUntilIdle() {
    while step() {}
  }

  /// Runs the next waiting item; returns false if there is none.
  func step() -> Bool {
    if !commits.isEmpty {
      runCommits(commits.count)
      return true
    }
    for node in entries.indices {
      if deliverCommitEvent(node) || runRead(node) || deliverRead(node) || deliverRemoteNews(node)
        || deliverFileEvent(node)
      {
        return true
      }
    }
    return runFileJob() || deliverDueDeadline()
  }

  /// Reaches a deadline of this moment: changes to a crowd are sent at the end of a turn.
  private func deliverDueDeadline() -> Bool {
    let due = entries.indices.first {
      entries[$0].node.nextDeadline.map { $0 <= moment.instant } ?? false
    }
    guard let due else { return false }
    deliver(due, .deadlineReached)
    return true
  }

  /// Performs the first `count` waiting commits in one transaction.
  func runCommits(_ count: Int) {
    let batch = commits.prefix(count)
    commits.removeFirst(count)
    let results: [StoreWork.Finished]
    if let commitFault {
      results = batch.map { _ in
        StoreWork.Finished(outcome: .failure(commitFault), news: nil)
      }
    } else {
      results = StoreWork.commit(batch.map { $0.2 }, on: store, wall: moment.wall)
    }
    for (entry, result) in zip(batch, results) {
      if let news = result.news?.durable(at: moment.instant) {
        distribute(news, from: entry.node)
      }
      entries[entry.node].commitEvents.append(.finished(entry.1, .commit(result.outcome)))
    }
  }

  private func distribute(_ news: RelayNews, from node: Int) {
    for other in entries.indices {
      if areSeparateRelays, other != node {
        if let (account, hint) = news.hint, listeners[account]?.contains(other) == true {
          entries[other].remoteNews.append(hint)
        }
      } else {
        entries[other].commitEvents.append(.news(news))
      }
    }
  }

  func runRead(_ node: Int) -> Bool {
    guard !entries[node].reads.isEmpty else { return false }
    let (id, job) = entries[node].reads.removeFirst()
    readsDone += 1
    if readFault == nil { follow(job, node) }
    var outcome = readFault.map { .read(.failure($0)) } ?? StoreWork.read(job, on: store)
    if case .read(.success(.accountVersions(let versions, _, _))) = outcome {
      outcome = .read(
        .success(
          .accountVersions(
            versions, relays: seenRelays, wasRegistered: !forgottenNodes.contains(node))))
      forgottenNodes.remove(node)
    }
    entries[node].readEvents.append(.finished(id, .read(outcome)))
    return true
  }

  /// Registers the node as a listener.
  private func follow(_ job: StoreReadJob, _ node: Int) {
    guard case .read(.followAccounts(let accounts, let leaving, _)) = job else { return }
    for account in leaving { listeners[account]?.remove(node) }
    for account in accounts { listeners[account, default: []].insert(node) }
  }

  /// Performs the next waiting job of the chunk store.
  func runFileJob() -> Bool {
    guard !fileJobs.isEmpty else { return false }
    let (node, id, job) = fileJobs.removeFirst()
    let outcome =
      chunkFault.map { .chunk(.failure($0)) } ?? StoreWork.perform(job, on: files, pages: pages)
    entries[node].fileEvents.append(.finished(id, .file(outcome)))
    return true
  }

  func deliverFileEvent(_ node: Int) -> Bool {
    guard !entries[node].fileEvents.isEmpty else { return false }
    deliver(node, entries[node].fileEvents.removeFirst())
    return true
  }

  func deliverCommitEvent(_ node: Int) -> Bool {
    guard !entries[node].commitEvents.isEmpty else { return false }
    deliver(node, entries[node].commitEvents.removeFirst())
    return true
  }

  func deliverRead(_ node: Int) -> Bool {
    guard !entries[node].readEvents.isEmpty else { return false }
    deliver(node, entries[node].readEvents.removeFirst())
    return true
  }

  func deliverRemoteNews(_ node: Int) -> Bool {
    guard !entries[node].remoteNews.isEmpty else { return false }
    deliver(node, .news(entries[node].remoteNews.removeFirst()))
    return true
  }

  /// Advances the clock: reaches every deadline on the way, and performs all that follows.
  func advance(_ milliseconds: Int64) {
    let end = moment.instant.advanced(milliseconds: milliseconds)
    while true {
      let due = entries.indices.compactMap { node in
        entries[node].node.nextDeadline.map { (at: $0, node: node) }
      }.min { $0.at < $1.at }
      guard let due, !(end < due.at) else { break }
      setTime(to: max(due.at, moment.instant))
      deliver(due.node, .deadlineReached)
      runUntilIdle()
    }
    setTime(to: end)
  }

  private func setTime(to instant: Instant) {
    moment.wall += instant.milliseconds(since: moment.instant)
    moment.instant = instant
  }

  private func perform(_ node: Int) {
    while let action = entries[node].node.nextAction() {
      switch action {
      case .open(let id, let peer):
        wires[id] = Wire(node: node)
        opening.append((node, id, peer))
        opened.append((id, peer))
      case .send(let id, let bytes): take(bytes, for: id)
      case .multicast(let bytes, let ids):
        multicasts.append((bytes.count, ids.count))
        for id in ids { take(bytes, for: id) }
      case .close(let id, let manner): close(id, manner)
      case .pauseReading(let id): wires[id]?.isPaused = true
      case .resumeReading(let id):
        wires[id]?.isPaused = false
        resumed.append(id)
      case .run(let id, .commit(let job)): commits.append((node, id, job))
      case .run(let id, .read(let job)): entries[node].reads.append((id, job))
      case .run(let id, .file(let job)): fileJobs.append((node, id, job))
      case .report(let report): reports.append(report)
      case .broadcast(let news):
        for other in entries.indices where other != node { entries[other].remoteNews.append(news) }
      }
    }
    while !opening.isEmpty {
      let (node, id, peer) = opening.removeFirst()
      deliver(node, .opened(id, Opening(listenerKind: .outgoing, peer: peer, isSecure: true)))
    }
    while !released.isEmpty {
      let id = released.removeFirst()
      entries[wire(id).node].node.handle(.holding(id, bytes: 0), at: moment)
    }
    while !resumed.isEmpty { pass(resumed.removeFirst()) }
  }

  private func take(_ bytes: [UInt8], for id: ConnectionID) {
    guard let wire = wires[id], wire.closed == nil else { return }
    if wire.takesBytes {
      wire.incoming += bytes
    } else {
      let isFirst = wire.waiting.isEmpty
      wire.waiting += bytes
      guard isFirst else { return }
      entries[wire.node].node.handle(.drained(id, unsent: wire.waiting.count), at: moment)
    }
  }

  private func close(_ id: ConnectionID, _ manner: CloseManner) {
    guard let wire = wires[id], wire.closed == nil else { return }
    wire.closed = manner
    if manner == .now { wire.waiting = [] }
    if manner == .afterSending, wire.waiting.isEmpty { released.append(id) }
  }
}

extension RelayNews {
  /// The hint that a relay on the same store gets about the news, if it listens to the account.
  fileprivate var hint: (account: AccountID, RelayNews)? {
    switch self {
    case .changed(let change): (change.account, .remoteCommit(change.account, change.token))
    case .revoked(let account, _, _), .planChanged(let account, _), .subscribed(let account, _, _),
      .accountRemoved(let account):
      (account, .remoteMembershipChange(account))
    default: nil
    }
  }
}

/// Secrets from a seed.
private final class TestSecrets: @unchecked Sendable {
  // A test drives its nodes from one thread.
  private var random: SeededRandom

  init(_ random: SeededRandom) { self.random = random }

  func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next() >> 32) }
  }
}
