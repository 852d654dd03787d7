import CLinux
import Glibc

/// A thread of the operating system.
@usableFromInline
package struct LoopThread: Sendable {
  private let handle: pthread_t

  /// The claim of a thread to a processor that others want too.
  @usableFromInline
  package enum Urgency: Sendable {
    /// It does little at a time, and somebody waits for that: it goes before threads that compute
    /// for long.
    case prompt
    case usual
    /// It computes for long: where there are not processors enough, it has a tenth of one.
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

  /// So little time at once, in nanoseconds, do threads ask for that somebody waits for.
  private static var promptSlice: UInt64 { 100_000 }

  /// The niceness of patient threads: a tenth of the weight of others (sched(7)).
  private static var patientNiceness: Int32 { 10 }

  /// `name`: for debuggers and top; the first 15 bytes are shown.
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
        // Inherited otherwise, from whoever starts it.
        linux_set_slice(start.urgency == .prompt ? LoopThread.promptSlice : 0)
        if start.urgency == .patient { linux_set_niceness(LoopThread.patientNiceness) }
        start.body()
        return nil
      }, start.toOpaque())
    guard code == 0 else {
      start.release()
      throw SystemFault(call: "pthread_create", code: code)
    }
    self.handle = handle
  }

  /// Waits for the end of the thread; to be called once.
  @usableFromInline
  package func join() {
    let code = pthread_join(handle, nil)
    precondition(code == 0)
  }

  /// Nobody waits for its end.
  package func detach() {
    let code = pthread_detach(handle)
    precondition(code == 0)
  }
}
