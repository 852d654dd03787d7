import CLinux
import Glibc

/// Thread of the operating system.
@usableFromInline
package struct LoopThread: Sendable {
  private let handle: pthread_t

  /// Scheduling class of a thread when processors are scarce.
  @usableFromInline
  package enum Urgency: Sendable {
    /// Short tasks with low latency: scheduled before threads that compute for long.
    case prompt
    case usual
    /// Long computations: if there are not enough processors, the thread gets a tenth of one, and
    /// it never interrupts another thread.
    case patient
  }

  private final class Start: Sendable {
    let name: String
    let urgency: Urgency
    let body: @Sendable () -> Void

    init(name: String, urgency: Urgency, body: @escaping @Sendable () -> Void) {
      self.name = name
      self.urgency = urgency
      self.body = body
    }
  }

  /// Scheduler slice of prompt threads, in nanoseconds. A short slice is scheduled sooner.
  private static var promptSlice: UInt64 { 100_000 }

  /// Niceness of patient threads: a tenth of the weight of others (sched(7)).
  private static var patientNiceness: Int32 { 10 }

  /// Starts the thread. `name`: for debuggers and top, which show the first 15 bytes.
  @usableFromInline
  package init(
    _ name: String, _ urgency: Urgency = .usual, _ body: @escaping @Sendable () -> Void
  ) throws(SystemFault) {
    var handle = pthread_t()
    let start = Unmanaged.passRetained(Start(name: name, urgency: urgency, body: body))
    let code = pthread_create(
      &handle, nil,
      { argument in
        guard let argument else { return nil }
        let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
        linux_name_thread(start.name)
        // Otherwise inherited from the thread that starts this one.
        linux_set_slice(start.urgency == .prompt ? LoopThread.promptSlice : 0)
        if start.urgency == .patient {
          linux_set_niceness(LoopThread.patientNiceness)
          linux_never_preempt_others()
        }
        start.body()
        return nil
      }, start.toOpaque())
    guard code == 0 else {
      start.release()
      throw SystemFault(call: "pthread_create", code: code)
    }
    self.handle = handle
  }

  /// Waits for the end of the thread. Call it once.
  @usableFromInline
  package func join() {
    let code = pthread_join(handle, nil)
    precondition(code == 0)
  }

  /// Detaches the thread: it is never joined.
  package func detach() {
    let code = pthread_detach(handle)
    precondition(code == 0)
  }
}
