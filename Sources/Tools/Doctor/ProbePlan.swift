public import LockstepClient
public import LockstepModel

/// What one connection to a relay is tried with.
public struct ProbePlan: Hashable, Sendable {
  public enum Question: Hashable, Sendable {
    /// The connection alone.
    case connection
    /// A request by HTTP, to the end of its answer.
    case request(HTTPCallRequest)
    /// A long-poll from a place in the account's changes, which is held for so many seconds.
    case longPoll(token: String, since: ChangeToken, seconds: Int)
    /// A stream of events from the account's newest place, until it is told of the first.
    case events(token: String)
    /// A WebSocket: it is opened and greeted, and asked for the time.
    case socket(token: String)
  }

  public var relay: RelayAddress
  public var question: Question
  /// What another device asks meanwhile, once the question stands: a change, of which this one is
  /// to be told. nil: nothing is changed.
  public var change: HTTPCallRequest?
  /// A socket stays for so long after all else, and only answers pings.
  public var idleMilliseconds: Int64 = 0

  /// From the first moment to the end of what is not idle.
  public static let milliseconds: Int64 = 6_000
  /// How long a long-poll must have stood before there is a change.
  static let quietMilliseconds: Int64 = 300

  public init(_ relay: RelayAddress, _ question: Question, change: HTTPCallRequest? = nil) {
    self.relay = relay
    self.question = question
    self.change = change
  }
}

/// What came of it, and when.
public struct ProbeReport: Hashable, Sendable {
  public enum End: Hashable, Sendable {
    /// All that was asked came.
    case done
    /// No connection came about.
    case unreachable(String)
    /// Somebody is there who is not believed to be the relay.
    case untrusted(String)
    /// The connection stood, and ended, or said what it must not.
    case broken(String)
    /// The time was up.
    case late
  }

  public var end = End.late
  public var begun: Moment
  public var ended: Moment
  /// The connection stood, and the request left.
  public var opened: Instant?
  /// Of TLS, as `TLSv1.3`.
  public var version: String?
  /// Milliseconds since the Unix epoch.
  public var certificateEnd: Int64?
  /// The answer's head; of a socket, its upgrade.
  public var answered: Instant?
  public var status: Int?
  /// Fields of the head that the relay does not send by itself: whoever stands before it does.
  public var signs: [String] = []
  /// Of a whole answer.
  public var body: [UInt8] = []
  /// The first event, or the socket's welcome.
  public var greeted: Instant?
  /// Where the account stood then.
  public var token: ChangeToken?
  /// The socket's answer to the question for the time.
  public var timed: Instant?
  /// The change was asked for.
  public var changed: Instant?
  /// This end was told of it.
  public var told: Instant?
  /// From when on the socket was idle.
  public var idleSince: Instant?
  /// Pings that were answered.
  public var pings = 0

  public init(begun: Moment) {
    self.begun = begun
    ended = begun
  }

  /// From one moment to another, in nanoseconds; nil where one of them did not come.
  func lapse(_ from: Instant?, _ to: Instant?) -> Int64? {
    guard let from, let to else { return nil }
    return to.nanoseconds - from.nanoseconds
  }

  /// From asking for the change to being told of it, what the save took included; nil where one of
  /// them did not come, or was told before.
  public var pushNanoseconds: Int64? {
    lapse(changed, told).flatMap { $0 < 0 ? nil : $0 }
  }
}
