import CLinux
import Glibc

/// A thread of the operating system.
@usableFromInline
package struct LoopThread: Sendable {
  private let handle: pthread_t

  private final class Start: Sendable {
    let name: String
    let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
      self.name = name
      self.body = body
    }
  }

  /// `name`: for debuggers and top; the first 15 bytes are shown.
  @usableFromInline
  package init(_ name: String, _ body: @escaping @Sendable () -> Void) throws(SystemFault) {
    var handle = pthread_t()
    let start = Unmanaged.passRetained(Start(name: name, body: body))
    let code = pthread_create(
      &handle, nil,
      { argument in
        guard let argument else { return nil }
        let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
        linux_name_thread(start.name)
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
