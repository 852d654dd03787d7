import LockstepModel
import LockstepRuntime

/// One connection to APNs, and the pushes on its streams.
struct APNsConnection {
  /// Push on its way to an outcome.
  struct Attempt {
    let notification: APNsNotification
    /// Time at which it must have its outcome.
    let deadline: Instant
    /// Number of times that it was sent.
    var count = 0
    /// Number of the provider token with which it was sent last.
    var tokenNumber = 0
    var sentAt = Instant(nanoseconds: 0)
  }

  enum Stage: Hashable {
    /// The connection, or the peer's first SETTINGS frame, is awaited. → ready
    case connecting
    /// Pushes can be sent. → draining
    case ready
    /// Open streams go on; no new ones. → closed when there are none
    case draining
  }

  let id: ConnectionID
  let http: HTTP2Client
  var stage = Stage.connecting
  /// By stream.
  var attempts: [Int32: Attempt] = [:]
  let openedAt: Instant
  var heardAt: Instant
  /// True once a push on it was answered.
  var hasAnswered = false
  /// Time of the last PING without a sign of life since; nil if there is none.
  var pingedAt: Instant?

  init(_ id: ConnectionID, _ http: HTTP2Client, at now: Instant) {
    self.id = id
    self.http = http
    openedAt = now
    heardAt = now
  }

  /// Number of further pushes that it takes now.
  var room: Int {
    guard stage == .ready else { return 0 }
    return max(0, min(http.streamsMax, GatewayLimits.streams) - attempts.count)
  }

  /// Time at which something must be done about it, apart from its pushes' own deadlines.
  var deadline: Instant {
    if stage == .connecting {
      return openedAt.advanced(milliseconds: GatewayLimits.connectMilliseconds)
    }
    if let pingedAt { return pingedAt.advanced(milliseconds: GatewayLimits.pingMilliseconds) }
    return heardAt.advanced(milliseconds: GatewayLimits.silenceMilliseconds)
  }

  mutating func markHeard(at now: Instant) {
    heardAt = now
    pingedAt = nil
  }

  /// Deadline of the push that is over first; nil if there is none.
  var earliestDeadline: Instant? {
    attempts.min { $0.value.deadline < $1.value.deadline }?.value.deadline
  }

  /// Streams whose pushes are over time, in their order.
  func overdueStreams(at now: Instant) -> [Int32] {
    attempts.filter { $0.value.deadline <= now }.map(\.key).sorted()
  }

  /// Removes and returns all pushes, in the order of their streams.
  mutating func takeAttempts() -> [Attempt] {
    let taken = attempts.sorted { $0.key < $1.key }.map(\.value)
    attempts = [:]
    return taken
  }
}
