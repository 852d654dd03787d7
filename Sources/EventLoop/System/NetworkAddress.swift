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
}
