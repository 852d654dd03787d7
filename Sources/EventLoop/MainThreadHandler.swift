public import LockstepModel

/// Callbacks of the thread that waits for the end of a group. It has no other work, so it responds
/// even while every loop is busy.
public struct MainThreadHandler {
  /// Called for each signal. SIGTERM and SIGINT also call `NodeGroup.stop`.
  public var signalled: (_ number: Int32) -> Void
  /// Called when the wait begins, after every signal, and at the time that it returned last.
  /// Returns the next such time, or nil to be called after signals only. Must not block.
  public var attend: (_ now: Instant) -> Instant?

  public init(
    signalled: @escaping (_ number: Int32) -> Void = { _ in },
    attend: @escaping (_ now: Instant) -> Instant? = { _ in nil }
  ) {
    self.signalled = signalled
    self.attend = attend
  }
}
