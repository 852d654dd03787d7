import CLinux

/// Counts the instructions that the calling thread runs in user mode: the one measure of cost that
/// repeats on a busy machine. Not every machine has it; virtual ones often hide it.
public struct InstructionCounter: ~Copyable {
  private let descriptor: Descriptor

  /// Throws where the hardware, or the system's settings, give no counter.
  public init() throws(SystemFault) {
    descriptor = try Syscall.openInstructionCounter()
  }

  /// Instructions since the counter was made. To be called by the thread that made it.
  public func read() -> UInt64 { Syscall.readCounter(descriptor.rawValue) }
}
