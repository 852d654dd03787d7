public import LockstepClient
public import LockstepModel

/// Test of one connection to a relay.
public struct ProbePlan: Hashable, Sendable {
  public enum Question: Hashable, Sendable {
    /// Only the connection.
    case connection
    /// An HTTP request, until the end of its answer.
    case request(HTTPCallRequest)
    /// A long-poll from a cursor in the account's changes, held for this many seconds.
    case longPoll(token: String, since: ChangeToken, seconds: Int)
    /// An event stream from the newest cursor, until its first event.
    case events(token: String)
    /// A WebSocket: opened, welcomed, and asked for the time.
    case socket(token: String)
  }

  public var relay: RelayAddress
  public var question: Question
  /// A change that another device makes while the question is pending, and that the tested
  /// connection must report. nil: no change is made.
  public var change: HTTPCallRequest?
  /// Time for which a socket stays open after everything else, and only answers pings.
  public var idleMilliseconds: Int64 = 0

  /// Time limit for everything except the idle time.
  public static let milliseconds: Int64 = 6_000
  /// Time for which a long-poll must have waited before the change is made.
  static let quietMilliseconds: Int64 = 300

  public init(_ relay: RelayAddress, _ question: Question, change: HTTPCallRequest? = nil) {
    self.relay = relay
    self.question = question
    self.change = change
  }
}

/// Result of a probe, with times.
public struct ProbeReport: Hashable, Sendable {
  public enum End: Hashable, Sendable {
    /// All expected data arrived.
    case done
    /// No connection was made.
    case unreachable(String)
    /// The server answered but could not be authenticated as the relay.
    case untrusted(String)
    /// The connection was open, and ended or sent invalid data.
    case broken(String)
    /// The time limit was reached.
    case late
  }

  public var end = End.late
  public var begun: Moment
  public var ended: Moment
  /// Time at which the connection was open and the request was sent.
  public var opened: Instant?
  /// TLS version, for example `TLSv1.3`.
  public var version: String?
  /// End of the certificate, milliseconds since the Unix epoch.
  public var certificateEnd: Int64?
  /// Time of the answer's head; for a socket, of the upgrade.
  public var answered: Instant?
  public var status: Int?
  /// Header fields that the relay does not send itself: a proxy added them.
  public var signs: [String] = []
  /// Body of a complete answer.
  public var body: [UInt8] = []
  /// Time of the first event, or of the socket's welcome.
  public var greeted: Instant?
  /// The account's newest change token at that time.
  public var token: ChangeToken?
  /// Time of the socket's answer to the time request.
  public var timed: Instant?
  /// Time at which the change was requested.
  public var changed: Instant?
  /// Time at which this connection reported the change.
  public var told: Instant?
  /// Time since which the socket was idle.
  public var idleSince: Instant?
  /// Number of answered pings.
  public var pings = 0

  public init(begun: Moment) {
    self.begun = begun
    ended = begun
  }

  /// Returns the time between two instants, in nanoseconds; nil if one of them is missing.
  func lapse(_ from: Instant?, _ to: Instant?) -> Int64? {
    guard let from, let to else { return nil }
    return to.nanoseconds - from.nanoseconds
  }

  /// Time from requesting the change until it was reported, including the save; nil if one of them
  /// is missing, or the report came earlier.
  public var pushNanoseconds: Int64? {
    lapse(changed, told).flatMap { $0 < 0 ? nil : $0 }
  }
}
