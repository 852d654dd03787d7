import Glibc
import LockstepModel
import LockstepRuntime

/// Listening socket. It listens from its creation: connections made before a node runs wait in the
/// kernel's queue.
@usableFromInline
package final class Listener: Sendable {
  @usableFromInline package let listenerKind: Opening.ListenerKind
  /// Bound address. If port 0 was requested, it contains the port that the kernel chose.
  @usableFromInline package let address: PeerAddress
  /// Limiter of accepted connections; nil: no limit.
  let limiter: ConnectionLimiter?
  /// Certificate for TLS, which every connection must then use; nil: plain bytes.
  let certificate: ServerCertificate?
  private let descriptor: Descriptor

  private init(
    _ descriptor: consuming Descriptor, listenerKind: Opening.ListenerKind, address: PeerAddress,
    limiter: ConnectionLimiter?,
    certificate: ServerCertificate? = nil
  ) {
    self.descriptor = descriptor
    self.listenerKind = listenerKind
    self.address = address
    self.limiter = limiter
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
  @usableFromInline
  package static func open(
    _ address: PeerAddress, listenerKind: Opening.ListenerKind, count: Int = 1,
    limiter: ConnectionLimiter? = nil,
    certificate: ServerCertificate? = nil
  ) throws(ListenFault) -> [Listener] {
    precondition(count > 0)
    switch address {
    case .host(let host, let port):
      return try openTCP(host, port, listenerKind, count, limiter, certificate)
    case .secure, .http2: preconditionFailure("a listener is secure by its certificate")
    case .screened: preconditionFailure("only outgoing connections are screened")
    case .local(let path):
      precondition(count == 1 && certificate == nil)
      return [try openLocal(path, listenerKind, limiter)]
    }
  }

  // MARK: TCP

  /// Opens TCP listeners. Sockets that share a port must all have SO_REUSEPORT; but with it,
  /// another process of the same user that also sets it could take the port unnoticed. So the first
  /// socket is bound without the option, which fails if the port is in use, and gets the option
  /// only then. From there on it holds the port.
  private static func openTCP(
    _ host: String, _ port: UInt16, _ listenerKind: Opening.ListenerKind, _ count: Int,
    _ limiter: ConnectionLimiter?, _ certificate: ServerCertificate?
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
      var listeners = [try listening(first, listenerKind, bound, limiter, certificate)]
      while listeners.count < count {
        let next = try socket(bound)
        try Syscall.setOption(next, SOL_SOCKET, SO_REUSEPORT, 1)
        try Syscall.bind(next.rawValue, bound)
        listeners.append(try listening(next, listenerKind, bound, limiter, certificate))
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
    _ descriptor: consuming Descriptor, _ listenerKind: Opening.ListenerKind,
    _ bound: SocketAddress,
    _ limiter: ConnectionLimiter?,
    _ certificate: ServerCertificate?
  ) throws(SystemFault) -> Listener {
    try Syscall.listen(descriptor.rawValue, backlog: backlog)
    return Listener(
      descriptor, listenerKind: listenerKind, address: bound.peer, limiter: limiter,
      certificate: certificate)
  }

  /// The kernel caps this at its own limit (net.core.somaxconn).
  private static let backlog = 4_096

  // MARK: Unix sockets

  private static func openLocal(
    _ path: String, _ listenerKind: Opening.ListenerKind, _ limiter: ConnectionLimiter?
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
      return Listener(
        descriptor, listenerKind: listenerKind, address: .local(path: path), limiter: limiter)
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

/// Limiter of a listener's connections: in all, and per network. One limiter serves all loops of
/// the process. It runs when a connection is accepted, before any byte is read and before any
/// memory is allocated for it, so a refused connection costs next to nothing.
@usableFromInline
package final class ConnectionLimiter: Sendable {
  /// A network with counted connections.
  private struct NetworkCount: Sendable {
    var network: PeerNetwork
    var connections: Int
  }

  private struct Counts: Sendable {
    var all = 0
    /// Only connections that are limited by network; a connection without a network is not counted.
    /// The elements named by `free` have no network.
    var networks: [NetworkCount] = []
    var positions: [PeerNetwork: Int32] = [:]
    var free: [Int32] = []

    mutating func position(of network: PeerNetwork) -> Int32 {
      if let position = positions[network] { return position }
      let count = NetworkCount(network: network, connections: 0)
      let position = free.popLast() ?? Int32(networks.count)
      if position == networks.count {
        networks.append(count)
      } else {
        networks[Int(position)] = count
      }
      positions[network] = position
      return position
    }

    mutating func releaseNetwork(at position: Int) {
      networks[position].connections -= 1
      guard networks[position].connections == 0 else { return }
      positions[networks[position].network] = nil
      free.append(Int32(position))
    }
  }

  private let connections: Int
  private let connectionsPerNetwork: Int
  private let exempt: [IPNetwork]
  private let counts = Locked(Counts())

  /// `exempt`: networks whose connections count in all, but not per network.
  @usableFromInline
  package init(connections: Int, connectionsPerNetwork: Int = .max, exempt: [IPNetwork] = []) {
    self.connections = connections
    self.connectionsPerNetwork = connectionsPerNetwork
    self.exempt = exempt
  }

  /// Number of permits in use.
  @usableFromInline package var count: Int { counts.withLock { $0.all } }

  /// Number of networks with at least one counted connection.
  var networkCount: Int { counts.withLock { $0.positions.count } }

  enum Answer: ~Copyable {
    case admitted(ConnectionPermit)
    case connectionRejected(ConnectionRejection)
  }

  func admit(_ opening: Opening) -> Answer {
    let isExempt = opening.address.map(exempt.contains) ?? false
    let isCounted = connectionsPerNetwork < .max && !isExempt
    let network = isCounted ? PeerNetwork(of: opening) : nil
    var position: Int32 = -1
    let refusal: ConnectionRejection? = counts.withLock { counts in
      guard counts.all < connections else { return .connections }
      if let network {
        position = counts.position(of: network)
        guard counts.networks[Int(position)].connections < connectionsPerNetwork else {
          return .connectionsPerAddress
        }
        counts.networks[Int(position)].connections += 1
      }
      counts.all += 1
      return nil
    }
    if let refusal { return .connectionRejected(refusal) }
    return .admitted(ConnectionPermit(self, position))
  }

  fileprivate func releasePermit(_ position: Int32) {
    counts.withLock { counts in
      counts.all -= 1
      if position >= 0 { counts.releaseNetwork(at: Int(position)) }
    }
  }
}

/// Permit of one connection. The connection's slot holds it, and its deinit returns it to the
/// limiter: exactly once per connection, however the connection ends.
struct ConnectionPermit: ~Copyable, Sendable {
  private let limiter: ConnectionLimiter
  /// Position of its network in the limiter's table; negative if that is not counted.
  private let position: Int32

  fileprivate init(_ limiter: ConnectionLimiter, _ position: Int32) {
    self.limiter = limiter
    self.position = position
  }

  deinit { limiter.releasePermit(position) }
}
