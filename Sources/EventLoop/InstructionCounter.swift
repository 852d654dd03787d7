import CLinux

/// Counter of the instructions that the calling thread runs in user mode: the one measure of cost
/// that is repeatable on a busy machine. Not every machine has it; virtual machines often hide it.
public struct InstructionCounter: ~Copyable {
  private let descriptor: Descriptor

  /// Throws if the hardware or the system's settings provide no counter.
  public init() throws(SystemFault) {
    descriptor = try Syscall.openInstructionCounter()
  }

  /// Returns the instructions since the counter was made. Call it on the thread that made it.
  public func read() -> UInt64 { Syscall.readCounter(descriptor.rawValue) }
}
