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
