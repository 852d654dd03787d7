import Changes

/// What a node has done and holds, in plain numbers, for logs and metrics.
public struct RelayStatus: Sendable, Hashable {
  // What stands now.
  public var connections = 0
  public var sockets = 0
  public var parkedPolls = 0
  public var storeRequestsWaiting = 0
  public var bodyBytes = 0
  // What has happened since the start.
  public var connectionsOpened = 0
  public var requests = 0
  public var messages = 0
  public var commits = 0
  public var recordsSaved = 0
  /// Changes that went out as frames or as answers to parked polls, one a receiver.
  public var pushes = 0
  /// `changed` messages.
  public var hints = 0
  public var storeFailures = 0
  /// Refusals in the order of `RefusalCode.allCases`.
  public var refusals = Array(repeating: 0, count: RefusalCode.allCases.count)

  public init() {}
}
