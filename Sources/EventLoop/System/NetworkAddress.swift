import CLinux
import Glibc
import LockstepModel

/// This machine's own address in its networks.
package enum NetworkAddress {
  private static let others = ["127.0.0.0/8", "169.254.0.0/16"].compactMap { IPNetwork($0) }

  /// Returns the first IPv4 address by which other machines of the network can reach this one, as
  /// text; nil if it has none, or the system does not say.
  package static func ofThisMachine() -> String? {
    let found: [SocketAddress]
    do throws(SystemFault) {
      found = try Syscall.interfaceAddresses()
    } catch {
      return nil
    }
    for address in found {
      guard let ip = address.ip, ip.isIPv4, !others.contains(address: ip),
        case .host(let host, _) = address.peer
      else { continue }
      return host
    }
    return nil
  }

  /// True if a listener on the wildcard address of IPv6, which accepts IPv4 too, can be opened.
  package static var hasIPv6: Bool {
    let descriptor = socket(AF_INET6, Int32(SOCK_STREAM.rawValue), 0)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    var address = sockaddr_in6()
    address.sin6_family = sa_family_t(AF_INET6)
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in6>.size)) == 0
      }
    }
  }
}
