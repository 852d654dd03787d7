import Glibc

/// Value protected by a mutex.
///
/// It uses the pthread mutex, which the thread sanitizer knows. The sanitizer cannot see the slow
/// path of the standard library's mutex, and so reports false races.
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

  /// Calls `body` with the lock held. Not recursive: `body` must not call it again.
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
