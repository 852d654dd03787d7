import LockstepClient
import LockstepModel
import LockstepRuntime
import LockstepWire

/// Warnings about plain HTTP on untrusted networks: others there can read tokens and all data that
/// is not sealed, and can impersonate the device.
package enum PlainAddress {
  /// Loopback, link-local and private networks, and those that carriers and overlay networks use
  /// internally (RFC 1122, 1918, 3927, 4193, 4291, 6598).
  private static let privateNetworks = [
    "127.0.0.0/8", "::1", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16",
    "100.64.0.0/10", "fe80::/10", "fc00::/7",
  ].compactMap { IPNetwork($0) }
  private static let loopback = ["127.0.0.0/8", "::1"].compactMap { IPNetwork($0) }
  /// Suffixes of names in local networks (RFC 6761, 6762, 8375), and those that routers use.
  private static let localSuffixes = ["localhost", "local", "lan", "home", "internal", "home.arpa"]

  /// True if the host is on this machine or in its own network, as far as its address or name
  /// shows. A name without a dot is known in the local network only.
  static func isLocal(_ host: String) -> Bool {
    if let address = IPAddress(host) { return privateNetworks.contains(address: address) }
    let name = host.lowercased()
    return !name.contains(".") || localSuffixes.contains { name.hasSuffix("." + $0) }
  }

  /// True for the addresses by which a machine reaches itself alone.
  package static func isLoopback(_ host: String) -> Bool {
    host == "localhost" || IPAddress(host).map { loopback.contains(address: $0) } ?? false
  }

  /// Returns a warning for a device, or nil if there is nothing to warn of.
  package static func warning(ofRelay relay: RelayAddress) -> String? {
    guard !relay.isSecure, !isLocal(relay.host) else { return nil }
    return "\(relay.url) is plain HTTP beyond this network: others on the path can read this "
      + "device's token and all data but the vault; use the relay's https:// address"
  }

  /// Returns a warning for a relay that listens without TLS, or nil if there is none.
  package static func warning(ofListening address: PeerAddress) -> String? {
    guard case .host(let host, _) = address, isPublic(host) else { return nil }
    return "devices use plain HTTP on \(address.text), which is reachable from other networks, and "
      + "others on the path can read tokens and all data but the vault; give --tls-cert and "
      + "--tls-key, or allow access only from a proxy that uses TLS"
  }

  package static func warning(ofAdmin address: PeerAddress) -> String? {
    guard case .host(let host, _) = address, host != "localhost",
      IPAddress(host).map({ !loopback.contains(address: $0) }) ?? true
    else { return nil }
    return "metrics and status are served on \(address.text) without a password, and the owner's "
      + "page without TLS; restrict access to it, or listen on 127.0.0.1"
  }

  private static func isPublic(_ host: String) -> Bool {
    guard let address = IPAddress(host) else { return !isLocal(host) }
    let isWildcard = address == IPAddress("0.0.0.0") || address == IPAddress("::")
    return isWildcard || !privateNetworks.contains(address: address)
  }
}

extension PeerAddress {
  package var text: String {
    switch self {
    case .host(let host, let port), .secure(let host, let port), .http2(let host, let port),
      .screened(let host, let port, _):
      host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    case .local(let path): path
    }
  }
}
