import Glibc
import LockstepModel

/// Queue of messages from many threads to one. The reader takes all waiting messages at once; a
/// writer makes the wakeup system call only if the reader sleeps.
@usableFromInline
package final class Mailbox<Message: Sendable>: Sendable {
  @usableFromInline struct State: Sendable {
    @usableFromInline var messages: [Message] = []
    @usableFromInline var isAsleep = false
    @usableFromInline var isClosed = false
    @inlinable init() {}

    /// Appends the messages, unless the mailbox is closed. Leaves `added` with arbitrary content.
    @inlinable
    mutating func append(allOf added: inout [Message]) {
      if isClosed { return }
      if messages.isEmpty {
        swap(&messages, &added)
      } else {
        messages.append(contentsOf: added)
      }
    }
  }

  @usableFromInline let state = Locked(State())
  @usableFromInline let wakeup: WakeupDescriptor

  /// `isBlocking`: the reader sleeps in `waitForMessages` rather than in a poll.
  @inlinable
  package init(isBlocking: Bool) throws(SystemFault) {
    wakeup = try WakeupDescriptor(isBlocking: isBlocking)
  }

  @inlinable
  package func post(_ message: Message) {
    let mustWake = state.withLock { state in
      if state.isClosed { return false }
      state.messages.append(message)
      return state.isAsleep.testAndClear()
    }
    if mustWake { wakeup.signal() }
  }

  /// Posts all messages. Leaves `messages` empty.
  @inlinable
  package func post(allOf messages: inout [Message]) {
    if messages.isEmpty { return }
    let mustWake = state.withLock { state in
      state.append(allOf: &messages)
      return state.isAsleep.testAndClear()
    }
    messages.removeAll(keepingCapacity: true)
    if mustWake { wakeup.signal() }
  }

  /// Posts each list to the mailbox at the same index, atomically: no reader receives its messages
  /// before all mailboxes have theirs. Empties the lists.
  @inlinable
  package static func post(_ lists: inout [[Message]], to mailboxes: [Mailbox]) {
    post(&lists, to: mailboxes, from: 0)
  }

  /// Takes the locks in the order of the indices and releases none before the last list is posted.
  @inlinable
  static func post(_ lists: inout [[Message]], to mailboxes: [Mailbox], from index: Int) {
    guard index < mailboxes.count else { return }
    if lists[index].isEmpty { return post(&lists, to: mailboxes, from: index + 1) }
    let mustWake = mailboxes[index].state.withLock { state in
      state.append(allOf: &lists[index])
      post(&lists, to: mailboxes, from: index + 1)
      return state.isAsleep.testAndClear()
    }
    lists[index].removeAll(keepingCapacity: true)
    if mustWake { mailboxes[index].wakeup.signal() }
  }

  /// Swaps the waiting messages with `messages`, which must be empty. Marks the reader as awake.
  @inlinable
  package func drain(into messages: inout [Message]) {
    state.withLock { state in
      state.isAsleep = false
      swap(&state.messages, &messages)
    }
  }

  @inlinable
  package var isEmpty: Bool { state.withLock { $0.messages.isEmpty } }

  /// Marks the reader as about to sleep. Returns false and leaves it awake if messages wait.
  @inlinable
  package func prepareToSleep() -> Bool {
    state.withLock { state in
      state.isAsleep = state.messages.isEmpty && !state.isClosed
      return state.isAsleep
    }
  }

  /// Sleeps until there are messages or the mailbox is closed. Returns false once it is closed and
  /// empty.
  @inlinable
  package func waitForMessages(into messages: inout [Message]) -> Bool {
    while waitForMessages(into: &messages, until: nil) {
      if !messages.isEmpty { return true }
    }
    return false
  }

  /// Sleeps as above, but no longer than until `end`; then there may be no messages. Returns false
  /// once the mailbox is closed and empty.
  @inlinable
  package func waitForMessages(into messages: inout [Message], until end: Instant?) -> Bool {
    drain(into: &messages)
    if !messages.isEmpty { return true }
    if state.withLock({ $0.isClosed }) { return false }
    if prepareToSleep() {
      wakeup.wait(until: end)
      drain(into: &messages)
    }
    return true
  }

  /// Sleeps as above, and ends the sleep also when `descriptor` is readable.
  package func waitForMessages(
    into messages: inout [Message], orReadable descriptor: Int32, until end: Instant?
  ) -> Bool {
    drain(into: &messages)
    if !messages.isEmpty { return true }
    if state.withLock({ $0.isClosed }) { return false }
    if prepareToSleep() {
      let ready = Syscall.waitUntilReadable([wakeup.rawValue, descriptor], until: end)
      if ready[0] { wakeup.wait() }
      drain(into: &messages)
    }
    return true
  }

  /// Closes the mailbox: later messages are dropped; waiting ones can still be taken.
  @inlinable
  package func close() {
    let mustWake = state.withLock { state in
      state.isClosed = true
      return state.isAsleep.testAndClear()
    }
    if mustWake { wakeup.signal() }
  }
}

extension Bool {
  /// Sets it to false and returns the old value.
  @inlinable mutating func testAndClear() -> Bool {
    let value = self
    self = false
    return value
  }
}

/// An eventfd. An edge-triggered poll never has to read it.
@usableFromInline
struct WakeupDescriptor: ~Copyable, Sendable {
  private let descriptor: Descriptor

  @usableFromInline
  init(isBlocking: Bool) throws(SystemFault) {
    descriptor = try Syscall.makeEventCounter(isBlocking: isBlocking)
  }

  var rawValue: Int32 { descriptor.rawValue }

  @usableFromInline func signal() { Syscall.add(1, toEventCounter: descriptor.rawValue) }

  @usableFromInline func wait() { Syscall.waitForEventCounter(descriptor.rawValue) }

  /// Waits, but no longer than until `end`.
  @usableFromInline
  func wait(until end: Instant?) {
    guard let end else { return wait() }
    if Syscall.waitUntilReadable([descriptor.rawValue], until: end)[0] { wait() }
  }
}

/// Value protected by a mutex.
///
/// It uses the pthread mutex, which the thread sanitizer knows. The sanitizer cannot see the slow
/// path of the standard library's mutex, and so reports false races.
@usableFromInline
package final class Locked<Value: Sendable>: @unchecked Sendable {
  @usableFromInline let value: UnsafeMutablePointer<Value>
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>

  @usableFromInline
  package init(_ value: Value) {
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
  package func withLock<Result, Fault: Error>(_ body: (inout Value) throws(Fault) -> Result)
    throws(Fault) -> Result
  {
    lock()
    defer { unlock() }
    return try body(&value.pointee)
  }

  /// Calls `body` with the lock held, as `withLock` does; returns nil if another thread holds it.
  package func withLockIfFree<Result>(_ body: (inout Value) -> Result) -> Result? {
    guard pthread_mutex_trylock(mutex) == 0 else { return nil }
    defer { unlock() }
    return body(&value.pointee)
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
