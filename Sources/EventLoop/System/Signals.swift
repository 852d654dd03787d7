import CLinux
import Glibc
import LockstepModel

/// Signals, read from a descriptor instead of by interrupting handlers. Make it on the main thread
/// before any other thread is started: threads inherit the blocked signals.
@usableFromInline
package final class Signals: Sendable {
  private let descriptor: Descriptor

  /// Blocks the signals. The default, SIGTERM and SIGINT, are the requests to end.
  @usableFromInline
  package init(_ numbers: [Int32] = [SIGTERM, SIGINT]) throws(SystemFault) {
    Syscall.ignoreBrokenPipes()
    descriptor = try Syscall.makeSignalDescriptor(numbers)
  }

  /// Readable once a signal has come.
  package var rawValue: Int32 { descriptor.rawValue }

  /// Returns the numbers of the signals since the last call. Does not block. A signal that comes
  /// again before it is taken counts once.
  package func receive() throws(SystemFault) -> [Int32] {
    try withUnsafeTemporaryAllocation(of: signalfd_siginfo.self, capacity: 4) {
      (buffer) throws(SystemFault) in
      switch try Syscall.read(descriptor.rawValue, UnsafeMutableRawBufferPointer(buffer)) {
      case .done(let bytes):
        buffer.prefix(bytes / MemoryLayout<signalfd_siginfo>.size).map { Int32($0.ssi_signo) }
      case .wouldBlock: []
      }
    }
  }
}

/// Callbacks of the thread that waits for the end of a group. It has no other work, so it responds
/// even while every loop is busy.
@usableFromInline
package struct MainThreadHandler {
  /// Called for each signal. SIGTERM and SIGINT also call `NodeGroup.stop`.
  @usableFromInline package var handleSignal: (_ number: Int32) -> Void
  /// Called when the wait begins, after every signal, and at the time that it returned last.
  /// Returns the next such time, or nil to be called after signals only. Must not block.
  @usableFromInline package var tick: (_ now: Instant) -> Instant?

  @usableFromInline
  package init(
    handleSignal: @escaping (_ number: Int32) -> Void = { _ in },
    tick: @escaping (_ now: Instant) -> Instant? = { _ in nil }
  ) {
    self.handleSignal = handleSignal
    self.tick = tick
  }
}
