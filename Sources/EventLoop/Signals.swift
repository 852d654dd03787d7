import CLinux
import Glibc

/// Signals, read from a descriptor instead of interrupting somebody. Make it on the main thread
/// before any other thread is started: threads inherit that they are held back.
public final class Signals: Sendable {
  private let descriptor: Descriptor

  /// What asks a program to end: SIGTERM and SIGINT, if not told otherwise.
  public init(_ numbers: [Int32] = [SIGTERM, SIGINT]) throws(SystemFault) {
    Syscall.ignoreBrokenPipes()
    descriptor = try Syscall.takeSignals(numbers)
  }

  /// Can be read once a signal has come.
  package var rawValue: Int32 { descriptor.rawValue }

  /// The numbers of those that have come since the last call; does not wait. One that comes again
  /// before it was taken counts once.
  package func take() throws(SystemFault) -> [Int32] {
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
