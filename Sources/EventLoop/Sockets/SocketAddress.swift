import CLinux
import Glibc
import LockstepModel
import LockstepRuntime

/// Address in the kernel's format: IPv4, IPv6, or the path of a Unix socket.
struct SocketAddress: Sendable {
  var storage = sockaddr_storage()
  var length: socklen_t = 0

  init() {}

  /// Throws the limit, in bytes, if `path` is too long for a socket.
  init(path: String) throws(PathLimit) {
    let bytes = Array(path.utf8)
    let capacity = linux_unix_path_capacity()
    guard bytes.count <= capacity, !bytes.isEmpty, !bytes.contains(0) else {
      throw PathLimit(bytes: capacity)
    }
    storage.ss_family = sa_family_t(AF_UNIX)
    let start = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2
    withUnsafeMutableBytes(of: &storage) { raw in
      UnsafeMutableRawBufferPointer(rebasing: raw[start...]).copyBytes(from: bytes)
    }
    length = socklen_t(start + bytes.count + 1)
  }

  /// Address of a service manager's socket: a path, or `@` and a name in the abstract namespace,
  /// which begins with a zero byte and whose length is that of the address (unix(7)). Returns nil
  /// if it is neither.
  init?(notifying name: String) {
    let isAbstract = name.hasPrefix("@")
    var bytes = Array(name.utf8)
    guard isAbstract || name.hasPrefix("/"), bytes.count > 1, !bytes.contains(0),
      bytes.count <= linux_unix_path_capacity()
    else { return nil }
    if isAbstract { bytes[0] = 0 }
    storage.ss_family = sa_family_t(AF_UNIX)
    let start = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2
    withUnsafeMutableBytes(of: &storage) { raw in
      UnsafeMutableRawBufferPointer(rebasing: raw[start...]).copyBytes(from: bytes)
    }
    length = socklen_t(start + bytes.count + (isAbstract ? 0 : 1))
  }

  /// Copies an IP address; nil for an address of another kind.
  init?(copying address: UnsafePointer<sockaddr>) {
    let count: Int
    switch Int32(address.pointee.sa_family) {
    case AF_INET: count = MemoryLayout<sockaddr_in>.size
    case AF_INET6: count = MemoryLayout<sockaddr_in6>.size
    default: return nil
    }
    length = socklen_t(count)
    withUnsafeMutableBytes(of: &storage) { raw in
      raw.copyMemory(from: UnsafeRawBufferPointer(start: address, count: count))
    }
  }

  private init(copying info: addrinfo) {
    precondition(Int(info.ai_addrlen) <= MemoryLayout<sockaddr_storage>.size)
    length = info.ai_addrlen
    withUnsafeMutableBytes(of: &storage) { raw in
      raw.copyMemory(
        from: UnsafeRawBufferPointer(start: info.ai_addr, count: Int(info.ai_addrlen)))
    }
  }

  struct PathLimit: Error {
    var bytes: Int
  }

  /// Error of a failed lookup, with the system's text.
  struct LookupFault: Error, Hashable, Sendable {
    var text: String
    /// True if the text is not a literal address; then a lookup may resolve it.
    var isName: Bool
  }

  enum Kind {
    /// `127.0.0.1` or `::1`, in brackets or not: needs no lookup and never blocks.
    case literal
    /// A name for the system's resolver: may block for many seconds.
    case name
  }

  /// Returns all addresses of a host, in the order in which they should be tried; never empty.
  static func lookUp(_ host: String, port: UInt16, as kind: Kind, toListen: Bool = false)
    throws(LookupFault) -> [SocketAddress]
  {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    hints.ai_flags = AI_NUMERICSERV | (toListen ? AI_PASSIVE : 0)
    if kind == .literal { hints.ai_flags |= AI_NUMERICHOST }
    var first: UnsafeMutablePointer<addrinfo>?
    let code = getaddrinfo(withoutBrackets(host), String(port), &hints, &first)
    guard code == 0 else {
      throw LookupFault(
        text: code == EAI_SYSTEM
          ? SystemFault.text(of: errno) : gai_strerror(code).map { String(cString: $0) } ?? "",
        isName: code == EAI_NONAME)
    }
    defer { freeaddrinfo(first) }
    var addresses: [SocketAddress] = []
    var next = first
    while let entry = next {
      addresses.append(SocketAddress(copying: entry.pointee))
      next = entry.pointee.ai_next
    }
    guard !addresses.isEmpty else { throw LookupFault(text: "no address", isName: false) }
    return addresses
  }

  /// Removes the brackets of a literal IPv6 address.
  static func withoutBrackets(_ host: String) -> String {
    guard host.hasPrefix("["), host.hasSuffix("]") else { return host }
    return String(host.dropFirst().dropLast())
  }

  func withPointer<Result, Fault: Error>(
    _ body: (UnsafePointer<sockaddr>, socklen_t) throws(Fault) -> Result
  ) throws(Fault) -> Result {
    var copy = storage
    return try withUnsafeMutablePointer(to: &copy) { (pointer) throws(Fault) in
      try body(UnsafeRawPointer(pointer).assumingMemoryBound(to: sockaddr.self), length)
    }
  }

  mutating func withMutablePointer<Result>(
    _ body: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Result
  ) -> Result {
    withUnsafeMutablePointer(to: &storage) { pointer in
      body(UnsafeMutableRawPointer(pointer).assumingMemoryBound(to: sockaddr.self), &length)
    }
  }

  var family: Int32 { Int32(storage.ss_family) }

  /// Address of the peer as reported to a node. An IPv4 address accepted by an IPv6 socket is
  /// written as IPv4, so that one peer has one address.
  var peer: PeerAddress {
    switch family {
    case AF_INET:
      withStorage(as: sockaddr_in.self) { address in
        .host(ip?.text ?? "", port: UInt16(bigEndian: address.sin_port))
      }
    case AF_INET6:
      withStorage(as: sockaddr_in6.self) { address in
        let mapped = ip.flatMap { $0.isIPv4 ? $0.text : nil }
        return .host(
          mapped ?? Self.text(AF_INET6, &address.sin6_addr),
          port: UInt16(bigEndian: address.sin6_port))
      }
    default:
      .local(path: "")
    }
  }

  /// The IP address; nil for a Unix socket. It is the one that `peer` names.
  var ip: IPAddress? {
    switch family {
    case AF_INET:
      withStorage(as: sockaddr_in.self) {
        IPAddress(ipv4: UInt32(bigEndian: $0.sin_addr.s_addr))
      }
    case AF_INET6:
      withStorage(as: sockaddr_in6.self) { address in
        withUnsafeBytes(of: &address.sin6_addr) {
          IPAddress(
            high: UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)),
            low: UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
        }
      }
    default: nil
    }
  }

  private func withStorage<Address, Result>(
    as type: Address.Type, _ body: (inout Address) -> Result
  )
    -> Result
  {
    withUnsafeBytes(of: storage) { raw in
      var address = raw.loadUnaligned(as: Address.self)
      return body(&address)
    }
  }

  private static func text(_ family: Int32, _ address: UnsafeRawPointer) -> String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { buffer in
      guard
        let text = inet_ntop(family, address, buffer.baseAddress, socklen_t(buffer.count))
      else { return "" }
      return String(cString: text)
    }
  }
}

/// Resolver of host names on a thread of its own: the system's resolver can block for many seconds.
/// The thread is started by the first request.
final class NameLookup: Sendable {
  typealias Answer = Result<[SocketAddress], SocketAddress.LookupFault>

  struct Request: Sendable {
    var host: String
    var port: UInt16
    /// Called on the lookup's thread.
    var answer: @Sendable (Answer) -> Void
  }

  private let requests: Mailbox<Request>
  private let isStarted = Locked(false)

  init() throws(SystemFault) { requests = try Mailbox(isBlocking: true) }

  deinit { requests.close() }

  func enqueue(_ request: Request) throws(SystemFault) {
    let mustStart = isStarted.withLock { isStarted in
      defer { isStarted = true }
      return !isStarted
    }
    if mustStart {
      let requests = requests
      // A lookup in progress cannot be cancelled, so the thread is never joined.
      try LoopThread("lookup") { Self.resolve(requests) }.detach()
    }
    requests.post(request)
  }

  /// Answers the requests. Waiting requests for the same host and port share one lookup.
  private static func resolve(_ requests: Mailbox<Request>) {
    var waiting: [Request] = []
    while requests.waitForMessages(into: &waiting) {
      while let first = waiting.first {
        let answer = Answer { () throws(SocketAddress.LookupFault) in
          try SocketAddress.lookUp(first.host, port: first.port, as: .name)
        }
        let split = waiting.partition { $0.host == first.host && $0.port == first.port }
        for request in waiting[split...] { request.answer(answer) }
        waiting.removeSubrange(split...)
      }
    }
  }
}
