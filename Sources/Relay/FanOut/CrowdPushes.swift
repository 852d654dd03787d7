import LockstepModel
import LockstepRuntime

/// Changes of one account with very many sockets (`Limits.crowdConnections`), to be sent together:
/// each socket is then accessed once, and gets one frame queued, in one system call, however many
/// changes there are. Each change follows on the one before.
///
/// They wait until the end of the turn; if sockets of the account have saves under way, until those
/// are done, but not as long as the sending takes (`Limits.crowdNanosecondsPerSocket`). A socket
/// that requested one of them gets them all at once, because its answer is next.
struct CrowdPushes: Sendable {
  private(set) var changes: [AccountChange] = []
  private var bytes = 0
  /// Time at which they are sent at the latest.
  private(set) var deadline = Instant(nanoseconds: 0)
  /// Sockets that have all changes.
  private(set) var served: [ConnectionID] = []
  /// Each socket of the crowd is compared with all of these.
  private static let servedMost = 16

  var isEmpty: Bool { changes.isEmpty }
  /// True if they must be sent now.
  var isFull: Bool { served.count >= CrowdPushes.servedMost }

  /// True if `change`, whose push has `count` bytes, can be sent together with the others.
  func accepts(_ change: borrowing AccountChange, bytes count: Int) -> Bool {
    guard let last = changes.last else { return true }
    return last.account == change.account && last.token == change.since
      && bytes + count <= Limits.pushBytes
  }

  var account: AccountID? { changes.first?.account }

  /// `sockets`: number of the account's sockets.
  mutating func append(
    _ change: AccountChange, bytes count: Int, sockets: Int, at now: Instant
  ) {
    if changes.isEmpty {
      deadline = Instant(
        nanoseconds: now.nanoseconds + Int64(sockets) * Limits.crowdNanosecondsPerSocket)
    }
    changes.append(change)
    bytes += count
  }

  mutating func addServed(_ id: ConnectionID) { served.append(id) }

  func isServed(_ id: ConnectionID) -> Bool { served.contains(id) }

  /// True if one of the frames is compressed for clients that accept it.
  var isCompressible: Bool { changes.contains { $0.frame?.count ?? 0 >= Limits.deflateBytes } }

  /// Returns the frames of all changes as one block of bytes.
  func joinedFrames() -> [UInt8] {
    if changes.count == 1, let frame = changes.first?.frame { return frame }
    var joined: [UInt8] = []
    joined.reserveCapacity(bytes)
    for change in changes { joined += change.frame ?? [] }
    return joined
  }
}

extension RelayNode {
  /// Defers the change for the sockets of a crowd. Returns false if it must be sent at once.
  mutating func deferPush(
    _ change: AccountChange, _ watchers: Hub.Watchers, _ unmatchedDevices: Set<DeviceID>
  ) -> Bool {
    guard services.stage == .running, watchers.sockets.count >= Limits.crowdConnections,
      unmatchedDevices.isEmpty, let frame = change.frame
    else {
      sendCrowdPushes()
      return false
    }
    if !crowdPushes.accepts(change, bytes: frame.count) { sendCrowdPushes() }
    let served = crowdPushes.served.compactMap { connections.slot(of: $0) }
    if !served.isEmpty { pushToSockets(served, change, []) }
    crowdPushes.append(
      change, bytes: frame.count, sockets: watchers.sockets.count, at: services.moment.instant)
    if change.origin?.node == services.configuration.node,
      let slot = change.origin?.connection.flatMap({ connections.slot(of: $0) })
    {
      serveCrowdPushes(to: slot)
    }
    if crowdPushes.isFull { sendCrowdPushes() }
    return true
  }

  /// Passes the changes so far to a socket, if it is one of the crowd.
  mutating func serveCrowdPushes(to slot: Hub.Slot) {
    guard connections[slot].isSocket, connections[slot].session?.account == crowdPushes.account,
      !crowdPushes.isServed(connections[slot].id)
    else { return }
    for change in crowdPushes.changes { pushToSockets([slot], change, []) }
    crowdPushes.addServed(connections[slot].id)
  }

  /// Time at which the deferred changes are to be sent; nil if there are none.
  var crowdDeadline: Instant? {
    guard let account = crowdPushes.account else { return nil }
    return services.hub.hasSaves(account) ? crowdPushes.deadline : services.moment.instant
  }

  /// Sends the deferred changes if it is time.
  mutating func sendDueCrowdPushes() {
    if let crowdDeadline, crowdDeadline <= services.moment.instant { sendCrowdPushes() }
  }

  /// Sends the deferred changes.
  mutating func sendCrowdPushes() {
    guard let first = crowdPushes.changes.first, let last = crowdPushes.changes.last else { return }
    var pushes = CrowdPushes()
    swap(&pushes, &crowdPushes)
    guard let watchers = services.hub.watchers(of: first.account) else { return }
    let frames = pushes.joinedFrames()
    let limit = services.sendQueueLimit(for: .account(first.account))
    var joined: [ConnectionID] = []
    joined.reserveCapacity(watchers.sockets.count)
    var others: [Hub.Slot] = []
    for slot in watchers.sockets {
      let id = connections[slot].id
      if pushes.isServed(id) { continue }
      let isAdvanced = connections[slot].handleCommits(
        since: first.since, token: last.token, bytes: frames.count,
        isCompressible: pushes.isCompressible, limit: limit, &services)
      if isAdvanced { joined.append(id) } else { others.append(slot) }
    }
    services.status.pushes += joined.count * pushes.changes.count
    if !joined.isEmpty { services.actions.append(.multicast(frames, joined)) }
    for change in pushes.changes {
      let before = services.status.pushes
      if !others.isEmpty { pushToSockets(others, change, []) }
      measureLag(of: change, receivers: joined.count + services.status.pushes - before)
    }
  }
}
