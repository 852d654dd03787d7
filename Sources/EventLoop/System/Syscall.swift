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

  /// Writes to a socket, at less cost than `writeVectors`.
  static func send(_ descriptor: Int32, _ bytes: iovec) throws(SystemFault) -> Progress {
    try progress("send") {
      Glibc.send(descriptor, bytes.iov_base, bytes.iov_len, Int32(MSG_NOSIGNAL))
    }
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
      Int(poll(&requests, nfds_t(requests.count), end.map(pollMilliseconds) ?? -1))
    }
    return requests.map { $0.revents != 0 }
  }

  /// Waits until an event (`POLLIN`, `POLLOUT`) of the descriptor, or an error. Returns false if
  /// none has come until `end`.
  static func wait(for descriptor: Int32, _ event: Int32, until end: Instant) -> Bool {
    var request = pollfd(fd: descriptor, events: Int16(event), revents: 0)
    infallible("poll") {
      Int(poll(&request, 1, pollMilliseconds(until: end)))
    }
    return request.revents != 0
  }

  /// Returns the time left, for a poll. It is rounded up, to avoid repeated polls within the last
  /// millisecond.
  private static func pollMilliseconds(until end: Instant) -> Int32 {
    let now = SystemClock.instant()
    guard now < end else { return 0 }
    return Int32(min(3_600_000, (end.nanoseconds - now.nanoseconds) / 1_000_000 + 1))
  }

  // MARK: Signals, entropy, counters

  /// Blocks the signals for the calling thread and the threads it starts, and returns a descriptor
  /// to read them from.
  static func makeSignalDescriptor(_ numbers: [Int32]) throws(SystemFault) -> Descriptor {
    var set = sigset_t()
    infallible("sigemptyset") { Int(sigemptyset(&set)) }
    for number in numbers {
      infallible("sigaddset") { Int(sigaddset(&set, number)) }
    }
    let code = pthread_sigmask(SIG_BLOCK, &set, nil)
    precondition(code == 0)
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

extension Syscall {
  static func makeSocket(
    _ family: Int32, _ type: __socket_type = SOCK_STREAM
  ) throws(SystemFault) -> Descriptor {
    let kind =
      Int32(type.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    let number = try result("socket") { Int(socket(family, kind, 0)) }
    return Descriptor(adopting: Int32(number))
  }

  static func setOption(
    _ descriptor: borrowing Descriptor, _ level: Int32, _ option: Int32, _ value: Int32
  ) throws(SystemFault) {
    let number = descriptor.rawValue
    var value = value
    try result("setsockopt") {
      Int(setsockopt(number, level, option, &value, socklen_t(MemoryLayout<Int32>.size)))
    }
  }

  /// Only for options whose value is an integer.
  static func option(_ descriptor: Int32, _ level: Int32, _ option: Int32) -> Int32 {
    var value: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    infallible("getsockopt") { Int(getsockopt(descriptor, level, option, &value, &length)) }
    return value
  }

  /// Reads and clears the socket's pending error; nil if there is none.
  static func readPendingError(_ descriptor: Int32) -> SystemFault? {
    let code = option(descriptor, SOL_SOCKET, SO_ERROR)
    return code == 0 ? nil : SystemFault(call: "connect", code: code)
  }

  static func bind(_ descriptor: Int32, _ address: SocketAddress) throws(SystemFault) {
    try address.withPointer { (pointer, length) throws(SystemFault) in
      // Not a bug here, even if the system returns EINVAL: a user may configure a link-local
      // address that names no interface.
      guard Glibc.bind(descriptor, pointer, length) == 0 else {
        throw SystemFault(call: "bind", code: errno)
      }
    }
  }

  static func listen(_ descriptor: Int32, backlog: Int) throws(SystemFault) {
    try result("listen") { Int(Glibc.listen(descriptor, Int32(backlog))) }
  }

  /// Returns true if connected at once, false if the poll will report the result.
  static func connect(_ descriptor: Int32, _ address: SocketAddress) throws(SystemFault) -> Bool {
    try address.withPointer { (pointer, length) throws(SystemFault) in
      if Glibc.connect(descriptor, pointer, length) == 0 { return true }
      // An interrupted connect continues in the background, like one that is in progress.
      if errno == EINPROGRESS || errno == EINTR { return false }
      throw SystemFault(call: "connect", code: errno)
    }
  }

  /// Returns nil if no connection waits; otherwise sets `address` to the peer's.
  static func accept(_ listener: Int32, _ address: inout SocketAddress) throws(SystemFault)
    -> Descriptor?
  {
    let progress = try progress("accept4") {
      Int(linux_accept(listener, &address.storage, &address.length))
    }
    switch progress {
    case .done(let number): return Descriptor(adopting: Int32(number))
    case .wouldBlock: return nil
    }
  }

  static func localAddress(_ descriptor: Int32) -> SocketAddress {
    var address = SocketAddress()
    address.length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    infallible("getsockname") {
      address.withMutablePointer { Int(getsockname(descriptor, $0, $1)) }
    }
    return address
  }

  /// Returns nil if the peer is already gone.
  static func remoteAddress(_ descriptor: Int32) -> SocketAddress? {
    var address = SocketAddress()
    address.length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let result = address.withMutablePointer { getpeername(descriptor, $0, $1) }
    return result == 0 ? address : nil
  }

  /// Returns the IP addresses of this machine's interfaces.
  static func interfaceAddresses() throws(SystemFault) -> [SocketAddress] {
    var first: UnsafeMutablePointer<ifaddrs>?
    try result("getifaddrs") { Int(getifaddrs(&first)) }
    defer { freeifaddrs(first) }
    var addresses: [SocketAddress] = []
    var next = first
    while let entry = next {
      if let address = entry.pointee.ifa_addr.flatMap({ SocketAddress(copying: $0) }) {
        addresses.append(address)
      }
      next = entry.pointee.ifa_next
    }
    return addresses
  }

  static func receive(_ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer)
    throws(SystemFault) -> Progress
  {
    try progress("recv") { recv(descriptor, buffer.baseAddress, buffer.count, 0) }
  }

  /// Receives and discards bytes without copying them (tcp(7), MSG_TRUNC).
  static func discard(_ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer)
    throws(SystemFault) -> Progress
  {
    try progress("recv") {
      recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_TRUNC))
    }
  }

  /// Ends the stream to the peer. A peer that is already gone is no error.
  static func shutdownWriting(_ descriptor: Int32) {
    let result = shutdown(descriptor, Int32(SHUT_WR))
    precondition(result == 0 || errno == ENOTCONN, "shutdown: \(SystemFault.text(of: errno))")
  }

  /// Makes the kernel refuse later connections.
  static func stopListening(_ descriptor: Int32) throws(SystemFault) {
    try result("shutdown") { Int(shutdown(descriptor, Int32(SHUT_RD))) }
  }

  static func setMode(_ descriptor: borrowing Descriptor, _ mode: mode_t) throws(SystemFault) {
    let number = descriptor.rawValue
    try result("fchmod") { Int(fchmod(number, mode)) }
  }
}

/// Owner of one file descriptor. Its deinit closes the descriptor.
package struct Descriptor: ~Copyable, Sendable {
  package let rawValue: Int32

  /// Takes over ownership: no other code may close `rawValue` from here on.
  package init(adopting rawValue: Int32) {
    precondition(rawValue >= 0)
    self.rawValue = rawValue
  }

  deinit { Syscall.close(rawValue) }
}

/// Failed system call, for a reason outside this process: the call's name and its errno.
@usableFromInline
package struct SystemFault: Error, Hashable, Sendable, CustomStringConvertible {
  /// Name of the call, as in its manual page.
  @usableFromInline package let call: String
  /// The errno.
  @usableFromInline package let code: Int32

  package init(call: String, code: Int32) {
    self.call = call
    self.code = code
  }

  /// The system's text, such as `Connection refused`.
  @usableFromInline package var text: String { SystemFault.text(of: code) }

  @usableFromInline package var description: String { "\(call): \(text)" }

  static func text(of code: Int32) -> String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
      guard let base = buffer.baseAddress, strerror_r(code, base, buffer.count) == 0 else {
        return "error \(code)"
      }
      return String(cString: base)
    }
  }
}

/// Error of a listener that could not be opened. Each description names the next step.
@usableFromInline
package enum ListenFault: Error, Hashable, Sendable, CustomStringConvertible {
  /// Another process, or another listener of this one, uses the address.
  case addressInUse(String)
  /// Ports below 1024 and directories of others need more rights.
  case notPermitted(String)
  /// The address does not belong to this machine, or its name is unknown.
  case addressUnknown(String, detail: String)
  /// The path of a Unix socket may have `limit` bytes.
  case pathTooLong(String, limit: Int)
  /// The path of the socket exists and is not a socket.
  case notASocket(path: String)
  case failed(String, SystemFault)

  @usableFromInline
  package var description: String {
    switch self {
    case .addressInUse(let address):
      "\(address) is in use by another process; stop that one, or choose another address"
    case .notPermitted(let address):
      "this user may not use \(address); choose a port above 1023, or a directory that you own"
    case .addressUnknown(let address, let detail):
      "\(address) is not an address of this machine (\(detail)); try 127.0.0.1 or 0.0.0.0"
    case .pathTooLong(let path, let limit):
      "the socket path \(path) is longer than the \(limit) bytes that the system allows; "
        + "choose a directory with a shorter name"
    case .notASocket(let path):
      "\(path) exists and is not a socket; move it away, or choose another path"
    case .failed(let address, let fault):
      "\(address) cannot be listened on (\(fault)); choose another address"
    }
  }
}
