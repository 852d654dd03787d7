import CLinux
import Glibc

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
  static func takeError(_ descriptor: Int32) -> SystemFault? {
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
