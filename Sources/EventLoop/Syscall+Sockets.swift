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

  /// Only for the options that are a whole number.
  static func option(_ descriptor: Int32, _ level: Int32, _ option: Int32) -> Int32 {
    var value: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    infallible("getsockopt") { Int(getsockopt(descriptor, level, option, &value, &length)) }
    return value
  }

  /// The error that waits at a socket, which this takes away; nil when there is none.
  static func takeError(_ descriptor: Int32) -> SystemFault? {
    let code = option(descriptor, SOL_SOCKET, SO_ERROR)
    return code == 0 ? nil : SystemFault(call: "connect", code: code)
  }

  static func bind(_ descriptor: Int32, _ address: SocketAddress) throws(SystemFault) {
    try address.withPointer { (pointer, length) throws(SystemFault) in
      // Not a mistake of ours, even where the system calls it invalid: a link-local address that
      // names no interface is somebody's option.
      guard Glibc.bind(descriptor, pointer, length) == 0 else {
        throw SystemFault(call: "bind", code: errno)
      }
    }
  }

  static func listen(_ descriptor: Int32, backlog: Int) throws(SystemFault) {
    try result("listen") { Int(Glibc.listen(descriptor, Int32(backlog))) }
  }

  /// True when the connection stands at once, false when it will be told by the poll.
  static func connect(_ descriptor: Int32, _ address: SocketAddress) throws(SystemFault) -> Bool {
    try address.withPointer { (pointer, length) throws(SystemFault) in
      if Glibc.connect(descriptor, pointer, length) == 0 { return true }
      // An interrupted connect goes on by itself, as one that is in progress.
      if errno == EINPROGRESS || errno == EINTR { return false }
      throw SystemFault(call: "connect", code: errno)
    }
  }

  /// nil when nobody waits; otherwise `address` is the peer's.
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

  /// nil when the peer is gone already.
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

  /// The same where nobody wants the bytes: they are not copied (tcp(7), MSG_TRUNC).
  static func discard(_ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer)
    throws(SystemFault) -> Progress
  {
    try progress("recv") {
      recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_TRUNC))
    }
  }

  /// The peer reads the end of the stream; it may be gone already, which changes nothing.
  static func shutdownWriting(_ descriptor: Int32) {
    let result = shutdown(descriptor, Int32(SHUT_WR))
    precondition(result == 0 || errno == ENOTCONN, "shutdown: \(SystemFault.text(of: errno))")
  }

  /// Who tries to connect from here on is refused.
  static func stopListening(_ descriptor: Int32) throws(SystemFault) {
    try result("shutdown") { Int(shutdown(descriptor, Int32(SHUT_RD))) }
  }

  static func setMode(_ descriptor: borrowing Descriptor, _ mode: mode_t) throws(SystemFault) {
    let number = descriptor.rawValue
    try result("fchmod") { Int(fchmod(number, mode)) }
  }
}
