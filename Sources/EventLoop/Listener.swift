import Glibc
import LockstepModel
public import LockstepWire

/// Listening socket. It listens from its creation: connections made before a node runs wait in the
/// kernel's queue.
public final class Listener: Sendable {
  public let door: Opening.Door
  /// Bound address. If port 0 was requested, it contains the port that the kernel chose.
  public let address: PeerAddress
  /// Limiter of accepted connections; nil: no limit.
  let gate: ConnectionLimiter?
  /// Certificate for TLS, which every connection must then use; nil: plain bytes.
  let certificate: ServerCertificate?
  private let descriptor: Descriptor

  private init(
    _ descriptor: consuming Descriptor, door: Opening.Door, address: PeerAddress,
    gate: ConnectionLimiter?,
    certificate: ServerCertificate? = nil
  ) {
    self.descriptor = descriptor
    self.door = door
    self.address = address
    self.gate = gate
    self.certificate = certificate
  }

  deinit {
    if case .local(let path) = address {
      // A missing file is fine.
      do throws(SystemFault) { try Syscall.unlink(path) } catch {}
    }
  }

  var rawValue: Int32 { descriptor.rawValue }

  /// Opens `count` listeners, one per loop. The kernel distributes connections among them.
  ///
  /// - A TCP address with port 0 gets a free port, the same for all listeners.
  /// - A Unix socket (`.local`) is accessible to its owner only (mode 0600) and belongs to one loop
  ///   (`count` 1). A socket file left behind by a dead process is replaced.
  /// - With a certificate, a TCP listener accepts TLS only.
  public static func open(
    _ address: PeerAddress, door: Opening.Door, count: Int = 1, gate: ConnectionLimiter? = nil,
    certificate: ServerCertificate? = nil
  ) throws(ListenFault) -> [Listener] {
    precondition(count > 0)
    switch address {
    case .host(let host, let port):
      return try openTCP(host, port, door, count, gate, certificate)
    case .secure: preconditionFailure("a listener is secure by its certificate")
    case .local(let path):
      precondition(count == 1 && certificate == nil)
      return [try openLocal(path, door, gate)]
    }
  }

  // MARK: TCP

  /// Opens TCP listeners. Sockets that share a port must all have SO_REUSEPORT; but with it,
  /// another process of the same user that also sets it could take the port unnoticed. So the first
  /// socket is bound without the option, which fails if the port is in use, and gets the option
  /// only then. From there on it holds the port.
  private static func openTCP(
    _ host: String, _ port: UInt16, _ door: Opening.Door, _ count: Int, _ gate: ConnectionLimiter?,
    _ certificate: ServerCertificate?
  ) throws(ListenFault) -> [Listener] {
    let name = text(host, port)
    let address: SocketAddress
    do throws(SocketAddress.LookupFault) {
      address = try SocketAddress.lookUp(host, port: port, as: .name, toListen: true)[0]
    } catch {
      throw .addressUnknown(name, detail: error.text)
    }
    do throws(SystemFault) {
      let first = try socket(address)
      try Syscall.bind(first.rawValue, address)
      if count > 1 { try Syscall.setOption(first, SOL_SOCKET, SO_REUSEPORT, 1) }
      let bound = Syscall.localAddress(first.rawValue)
      var listeners = [try listening(first, door, bound, gate, certificate)]
      while listeners.count < count {
        let next = try socket(bound)
        try Syscall.setOption(next, SOL_SOCKET, SO_REUSEPORT, 1)
        try Syscall.bind(next.rawValue, bound)
        listeners.append(try listening(next, door, bound, gate, certificate))
      }
      return listeners
    } catch {
      throw listenFault(name, error)
    }
  }

  private static func socket(_ address: SocketAddress) throws(SystemFault) -> Descriptor {
    let descriptor = try Syscall.makeSocket(address.family)
    // A restarted relay must not wait for old connections in TIME_WAIT.
    try Syscall.setOption(descriptor, SOL_SOCKET, SO_REUSEADDR, 1)
    // Accepted sockets inherit this: answers are sent at once, without Nagle's delay.
    try Syscall.setOption(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
    try Syscall.setOption(
      descriptor, Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT, Int32(Limits.kernelUnsentBytes))
    try Syscall.setOption(
      descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, Int32(Limits.vanishedMilliseconds))
    if address.family == AF_INET6 {
      try Syscall.setOption(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, 0)
    }
    return descriptor
  }

  private static func listening(
    _ descriptor: consuming Descriptor, _ door: Opening.Door, _ bound: SocketAddress,
    _ gate: ConnectionLimiter?,
    _ certificate: ServerCertificate?
  ) throws(SystemFault) -> Listener {
    try Syscall.listen(descriptor.rawValue, backlog: backlog)
    return Listener(
      descriptor, door: door, address: bound.peer, gate: gate, certificate: certificate)
  }

  /// The kernel caps this at its own limit (net.core.somaxconn).
  private static let backlog = 4_096

  // MARK: Unix sockets

  private static func openLocal(
    _ path: String, _ door: Opening.Door, _ gate: ConnectionLimiter?
  ) throws(ListenFault) -> Listener {
    let address: SocketAddress
    do throws(SocketAddress.PathLimit) {
      address = try SocketAddress(path: path)
    } catch {
      throw .pathTooLong(path, limit: error.bytes)
    }
    try removeAbandoned(path, address)
    do throws(SystemFault) {
      let descriptor = try Syscall.makeSocket(AF_UNIX)
      // Set before bind, so that other users can never connect.
      try Syscall.setMode(descriptor, 0o600)
      try Syscall.bind(descriptor.rawValue, address)
      try Syscall.listen(descriptor.rawValue, backlog: backlog)
      return Listener(descriptor, door: door, address: .local(path: path), gate: gate)
    } catch {
      throw listenFault(path, error)
    }
  }

  /// Removes the socket file of a dead process. A socket file outlives its process; it is removed
  /// only if no process accepts connections on it.
  private static func removeAbandoned(_ path: String, _ address: SocketAddress)
    throws(ListenFault)
  {
    switch Result(catching: { () throws(SystemFault) in try Syscall.fileKind(path) }) {
    case .success(S_IFSOCK): break
    case .success: throw .notASocket(path: path)
    case .failure(let fault) where fault.code == ENOENT: return
    case .failure(let fault): throw listenFault(path, fault)
    }
    let answer = Result { () throws(SystemFault) in
      let probe = try Syscall.makeSocket(AF_UNIX)
      return try Syscall.connect(probe.rawValue, address)
    }
    switch answer {
    case .success: throw .addressInUse(path)
    case .failure(let fault) where fault.code == EAGAIN: throw .addressInUse(path)
    case .failure(let fault) where fault.code == ECONNREFUSED: break
    case .failure(let fault): throw listenFault(path, fault)
    }
    do throws(SystemFault) { try Syscall.unlink(path) } catch { throw listenFault(path, error) }
  }

  // MARK: Errors

  private static func listenFault(_ name: String, _ fault: SystemFault) -> ListenFault {
    switch fault.code {
    case EADDRINUSE: .addressInUse(name)
    case EACCES, EPERM: .notPermitted(name)
    case EADDRNOTAVAIL: .addressUnknown(name, detail: fault.text)
    default: .failed(name, fault)
    }
  }

  private static func text(_ host: String, _ port: UInt16) -> String {
    host.contains(":") && !host.hasPrefix("[") ? "[\(host)]:\(port)" : "\(host):\(port)"
  }
}
