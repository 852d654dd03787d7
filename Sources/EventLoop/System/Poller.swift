import CLinux
import Glibc

/// epoll. Each descriptor is named by a `Registration` in the kernel's 64 bits of user data. So an
/// event of a closed connection is never taken for one of its successor with the same descriptor or
/// in the same slot.
///
/// ```
/// bit 63      62 … 32         31 … 0
/// ┌───────┬──────────────┬─────────────┐
/// │ other │  generation  │    slot     │   a connection (0), or the mailbox and listeners (1)
/// └───────┴──────────────┴─────────────┘
/// ```
struct Poller: ~Copyable {
  private let descriptor: Descriptor
  private let events: UnsafeMutablePointer<epoll_event>
  private static let capacity = 256

  struct Registration: Hashable {
    var rawValue: UInt64

    init(rawValue: UInt64) { self.rawValue = rawValue }

    init(slot: Int, generation: UInt32) {
      rawValue = UInt64(generation) << 32 | UInt64(slot)
    }

    /// Registration of the `number`-th descriptor that is not a connection.
    static func other(_ number: Int) -> Registration {
      Registration(rawValue: 1 << 63 | UInt64(number))
    }

    var slot: Int { Int(rawValue & 0xFFFF_FFFF) }
    var generation: UInt32 { UInt32(rawValue >> 32) }
    var isOther: Bool { rawValue >> 63 == 1 }

    /// Highest generation that fits in its 31 bits.
    static let generationLimit = UInt32(Int32.max)
  }

  struct Event {
    var registration: Registration
    var mask: UInt32

    var canRead: Bool { mask & EPOLLIN.rawValue != 0 }
    var canWrite: Bool { mask & EPOLLOUT.rawValue != 0 }
    /// True on a pending error or if both directions are closed. The kernel reports this unasked.
    var isBroken: Bool { mask & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 }
  }

  /// Events to report, level-triggered.
  struct Interest: OptionSet {
    // One byte, because each connection has one.
    var rawValue: UInt8
    static let reading = Interest(rawValue: 1)
    static let writing = Interest(rawValue: 2)
    /// Edge-triggered: for a counter that is never read.
    static let edgeTriggered = Interest(rawValue: 4)

    fileprivate var mask: UInt32 {
      (contains(.reading) ? EPOLLIN.rawValue : 0) | (contains(.writing) ? EPOLLOUT.rawValue : 0)
        | (contains(.edgeTriggered) ? EPOLLET.rawValue : 0)
    }
  }

  init() throws(SystemFault) {
    descriptor = try Syscall.makePoll()
    events = .allocate(capacity: Self.capacity)
  }

  deinit { events.deallocate() }

  func add(_ watched: Int32, _ interest: Interest, as registration: Registration)
    throws(SystemFault)
  {
    try Syscall.controlPoll(
      descriptor.rawValue, EPOLL_CTL_ADD, watched, interest.mask, registration.rawValue)
  }

  func change(_ watched: Int32, _ interest: Interest, as registration: Registration)
    throws(SystemFault)
  {
    try Syscall.controlPoll(
      descriptor.rawValue, EPOLL_CTL_MOD, watched, interest.mask, registration.rawValue)
  }

  /// Removes a descriptor. Needed only if it stays open: closing it also removes it.
  func remove(_ watched: Int32) throws(SystemFault) {
    try Syscall.controlPoll(descriptor.rawValue, EPOLL_CTL_DEL, watched, 0, 0)
  }

  /// Returns the number of events available by `event`. A negative time waits without limit.
  func wait(nanoseconds: Int64) -> Int {
    Syscall.waitForEvents(descriptor.rawValue, events, Self.capacity, nanoseconds: nanoseconds)
  }

  func event(_ index: Int) -> Event {
    let event = events[index]
    return Event(registration: Registration(rawValue: event.data.u64), mask: event.events)
  }
}
