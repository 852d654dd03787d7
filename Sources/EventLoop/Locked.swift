import Glibc

/// A value that many threads share, one at a time.
///
/// It stands on the system's own mutex, which the thread sanitizer knows. The slow path of the
/// standard library's is hidden from it, and so it reports races where there are none.
public final class Locked<Value: Sendable>: @unchecked Sendable {
  @usableFromInline let value: UnsafeMutablePointer<Value>
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>

  public init(_ value: Value) {
    self.value = .allocate(capacity: 1)
    self.value.initialize(to: value)
    mutex = .allocate(capacity: 1)
    let code = pthread_mutex_init(mutex, nil)
    precondition(code == 0)
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
    value.deinitialize(count: 1)
    value.deallocate()
  }

  /// Must not be called again from within `body`.
  @inlinable
  public func withLock<Result, Fault: Error>(_ body: (inout Value) throws(Fault) -> Result)
    throws(Fault) -> Result
  {
    lock()
    defer { unlock() }
    return try body(&value.pointee)
  }

  @usableFromInline
  func lock() {
    let code = pthread_mutex_lock(mutex)
    precondition(code == 0)
  }

  @usableFromInline
  func unlock() {
    let code = pthread_mutex_unlock(mutex)
    precondition(code == 0)
  }
}
