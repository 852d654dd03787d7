import CLinux
import Glibc

/// A thread of the operating system.
@usableFromInline
package struct LoopThread: Sendable {
  private let handle: pthread_t

  private final class Start: Sendable {
    let name: String
    let isPrompt: Bool
    let body: @Sendable () -> Void

    init(name: String, isPrompt: Bool, body: @escaping @Sendable () -> Void) {
      self.name = name
      self.isPrompt = isPrompt
      self.body = body
    }
  }

  /// So little time at once, in nanoseconds, do threads ask for that somebody waits for.
  private static var promptSlice: UInt64 { 100_000 }

  /// `name`: for debuggers and top; the first 15 bytes are shown. `isPrompt`: it does little at a
  /// time, and somebody waits for that, so it goes before threads that compute for long.
  @usableFromInline
  package init(
    _ name: String, isPrompt: Bool = false, _ body: @escaping @Sendable () -> Void
  ) throws(SystemFault) {
    var handle = pthread_t()
    let start = Unmanaged.passRetained(Start(name: name, isPrompt: isPrompt, body: body))
    let code = pthread_create(
      &handle, nil,
      { argument in
        guard let argument else { return nil }
        let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
        linux_name_thread(start.name)
        // Inherited otherwise, from whoever starts it.
        linux_set_slice(start.isPrompt ? LoopThread.promptSlice : 0)
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
