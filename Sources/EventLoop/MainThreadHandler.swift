public import LockstepModel

/// What the thread that waits for the end of a group does meanwhile: it is the only one that never
/// has anything else to do, so it answers even while every loop is busy.
public struct MainThreadHandler {
  /// A signal has come. SIGTERM and SIGINT are calls of `NodeGroup.stop` as well.
  public var signalled: (_ number: Int32) -> Void
  /// Called when the wait begins, after every signal, and when the moment has come that it gave the
  /// last time. Gives the next such moment; nil where only a signal matters. Must not block.
  public var attend: (_ now: Instant) -> Instant?

  public init(
    signalled: @escaping (_ number: Int32) -> Void = { _ in },
    attend: @escaping (_ now: Instant) -> Instant? = { _ in nil }
  ) {
    self.signalled = signalled
    self.attend = attend
  }
}
