import Changes
import Link

/// One HTTP request to one address, and its response as a report: for the commands that join, pair
/// and list devices.
public struct HTTPCall: Node {
  public typealias Job = Never
  public typealias Outcome = Never
  public typealias Order = Never
  public typealias Report = HTTPCallReport
  public typealias News = Never

  private var actions = ActionQueue<NodeAction<Never, HTTPCallReport, Never>>()

  public init(_ call: HTTPCallRequest, to relay: RelayAddress, at moment: Moment) {}

  public mutating func received(_ id: ConnectionID, _ bytes: RawSpan, at moment: Moment) {}

  public mutating func handle(_ event: NodeEvent<Never, Never, Never>, at moment: Moment) {}

  public mutating func nextAction() -> NodeAction<Never, HTTPCallReport, Never>? {
    actions.popFirst()
  }

  public var nextDeadline: Instant? { nil }
}

/// What to ask.
public struct HTTPCallRequest: Hashable, Sendable {
  public var method: String
  /// Path and query, percent-encoded.
  public var target: String
  public var token: String?
  /// JSON; nil: no body.
  public var body: [UInt8]?
  /// From the start to the response's last byte.
  public var deadlineMilliseconds = Limits.answerMilliseconds

  public init(_ method: String, _ target: String, token: String? = nil, body: [UInt8]? = nil) {
    self.method = method
    self.target = target
    self.token = token
    self.body = body
  }
}

/// How the call ended; told once.
public enum HTTPCallReport: Hashable, Sendable {
  /// Any status; problems are in the body (`Refusal.decoded(problem:status:)`).
  case answered(status: Int, body: [UInt8])
  /// The relay could not be reached, did not answer in time, or does not speak HTTP.
  case failed(reason: String)
}
