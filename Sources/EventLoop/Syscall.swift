import CLinux
import Glibc
import LockstepModel

/// One wrapper per system call. An interrupted call is repeated; "would block" is a value; an errno
/// that only a bug here can cause ends the process; any other is thrown with the call's name.
enum Syscall {
  /// Result of a call on a non-blocking descriptor.
  enum Progress {
    case done(Int)
    case wouldBlock
  }

  @inline(__always)
  static func progress(_ name: StaticString, _ call: () -> Int) throws(SystemFault) -> Progress {
    while true {
      let result = call()
      if result >= 0 { return .done(result) }
      let code = errno
      if code == EINTR { continue }
      if code == EAGAIN { return .wouldBlock }
      throw fault(name, code)
    }
  }

  /// For calls that cannot block.
  @inline(__always) @discardableResult
  static func result(_ name: StaticString, _ call: () -> Int) throws(SystemFault) -> Int {
    while true {
      let result = call()
      if result >= 0 { return result }
      let code = errno
      if code != EINTR { throw fault(name, code) }
    }
  }

  /// For calls that cannot fail for a reason outside this process.
  @inline(__always) @discardableResult
  static func infallible(_ name: StaticString, _ call: () -> Int) -> Int {
    while true {
      let result = call()
      if result >= 0 { return result }
      let code = errno
      if code != EINTR {
        preconditionFailure("\(name): \(SystemFault.text(of: code))")
      }
    }
  }

  @inline(never)
  private static func fault(_ name: StaticString, _ code: Int32) -> SystemFault {
    let isOurMistake = code == EBADF || code == EFAULT || code == EINVAL || code == ENOTSOCK
    precondition(!isOurMistake, "\(name): \(SystemFault.text(of: code))")
    return SystemFault(call: "\(name)", code: code)
  }

  // MARK: Descriptors

  static func close(_ descriptor: Int32) {
    // Linux frees the number even if close returns EINTR or a write error, so only EBADF is a bug.
    let result = Glibc.close(descriptor)
    precondition(result == 0 || errno != EBADF)
  }

  static func open(_ path: String, _ flags: Int32) throws(SystemFault) -> Descriptor {
    let number = try result("open") { Int(Glibc.open(path, flags | O_CLOEXEC)) }
    return Descriptor(adopting: Int32(number))
  }

  static func read(_ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer)
    throws(SystemFault) -> Progress
  {
    try progress("read") { Glibc.read(descriptor, buffer.baseAddress, buffer.count) }
  }

  static func writeVectors(_ descriptor: Int32, _ vectors: UnsafePointer<iovec>, _ count: Int)
    throws(SystemFault) -> Progress
  {
    try progress("writev") { Glibc.writev(descriptor, vectors, Int32(count)) }
  }

  static func fileKind(_ path: String) throws(SystemFault) -> mode_t {
    var status = stat()
    try result("stat") { Int(stat(path, &status)) }
    return status.st_mode & S_IFMT
  }

  static func unlink(_ path: String) throws(SystemFault) {
    try result("unlink") { Int(Glibc.unlink(path)) }
  }

  // MARK: epoll and eventfd

  static func makePoll() throws(SystemFault) -> Descriptor {
    let number = try result("epoll_create1") { Int(epoll_create1(Int32(EPOLL_CLOEXEC))) }
    return Descriptor(adopting: Int32(number))
  }

  static func controlPoll(
    _ poll: Int32, _ operation: Int32, _ descriptor: Int32, _ interest: UInt32, _ data: UInt64
  ) throws(SystemFault) {
    var event = epoll_event()
    event.events = interest
    event.data.u64 = data
    try result("epoll_ctl") { Int(epoll_ctl(poll, operation, descriptor, &event)) }
  }

  /// Returns the number of events; 0 after `nanoseconds` or if a signal interrupted the wait. A
  /// negative time waits without limit.
  static func waitForEvents(
    _ poll: Int32, _ events: UnsafeMutablePointer<epoll_event>, _ capacity: Int,
    nanoseconds: Int64
  ) -> Int {
    let count = linux_epoll_wait(poll, events, Int32(capacity), nanoseconds)
    if count >= 0 { return Int(count) }
    precondition(errno == EINTR, "epoll_wait: \(SystemFault.text(of: errno))")
    return 0
  }

  static func makeEventCounter(isBlocking: Bool) throws(SystemFault) -> Descriptor {
    let flags = isBlocking ? EFD_CLOEXEC : EFD_CLOEXEC | EFD_NONBLOCK
    let number = try result("eventfd") { Int(eventfd(0, Int32(flags))) }
    return Descriptor(adopting: Int32(number))
  }

  static func add(_ count: UInt64, toEventCounter descriptor: Int32) {
    var count = count
    infallible("write") { Glibc.write(descriptor, &count, 8) }
  }

  /// Waits until the counter is not zero, and resets it to zero.
  static func waitForEventCounter(_ descriptor: Int32) {
    var count: UInt64 = 0
    infallible("read") { Glibc.read(descriptor, &count, 8) }
  }

  /// Waits until one of `descriptors` is readable or `end` has come. Returns for each if it is
  /// readable.
  static func waitUntilReadable(_ descriptors: [Int32], until end: Instant? = nil) -> [Bool] {
    var requests = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    infallible("poll") {
      // Rounded up, to avoid repeated polls within the last millisecond.
      let milliseconds = end.map { end in
        let now = SystemClock.instant()
        return end <= now
          ? 0 : min(3_600_000, (end.nanoseconds - now.nanoseconds) / 1_000_000 + 1)
      }
      return Int(poll(&requests, nfds_t(requests.count), milliseconds.map(Int32.init) ?? -1))
    }
    return requests.map { $0.revents != 0 }
  }

  // MARK: Signals, entropy, counters

  /// Blocks the signals for the calling thread and the threads it starts, and returns a descriptor
  /// to read them from.
  static func takeSignals(_ numbers: [Int32]) throws(SystemFault) -> Descriptor {
    var set = sigset_t()
    infallible("sigemptyset") { Int(sigemptyset(&set)) }
    for number in numbers {
      infallible("sigaddset") { Int(sigaddset(&set, number)) }
    }
    precondition(pthread_sigmask(SIG_BLOCK, &set, nil) == 0)
    let number = try result("signalfd") {
      Int(signalfd(-1, &set, Int32(SFD_CLOEXEC | SFD_NONBLOCK)))
    }
    return Descriptor(adopting: Int32(number))
  }

  /// Ignores SIGPIPE: the error of the write reports a peer that is gone.
  static func ignoreBrokenPipes() { signal(SIGPIPE, SIG_IGN) }

  static func getrandom(_ buffer: UnsafeMutableRawBufferPointer) {
    var filled = 0
    while filled < buffer.count {
      let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
      guard let start = rest.baseAddress else { return }
      filled += infallible("getrandom") { linux_getrandom(start, rest.count) }
    }
  }

  static func openInstructionCounter() throws(SystemFault) -> Descriptor {
    // A machine without the counter returns EINVAL or ENOENT, which is not a bug here.
    let number = linux_open_instruction_counter()
    guard number >= 0 else { throw SystemFault(call: "perf_event_open", code: errno) }
    return Descriptor(adopting: number)
  }

  static func readCounter(_ descriptor: Int32) -> UInt64 {
    var count: UInt64 = 0
    infallible("read") { Glibc.read(descriptor, &count, 8) }
    return count
  }
}
