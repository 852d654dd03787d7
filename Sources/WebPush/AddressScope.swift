import LockstepModel

/// Reach of an address, by IANA's registries of special-purpose addresses (RFC 6890). The relay
/// connects to global unicast addresses only: a client must not make it send requests into the
/// network of its owner.
package enum AddressScope: Hashable, Sendable {
  /// Unicast that is routed in the whole Internet.
  case global
  /// Unicast of one machine or network, by the name of its kind. Only for hosts that the owner has
  /// named.
  case local(String)
  /// Not for connections to one host, by the name of its kind.
  case unusable(String)

  /// Judges the address of a socket: 4 bytes for IPv4, 16 for IPv6, in network order. Other lengths
  /// are unusable.
  package init(_ bytes: [UInt8]) {
    let words = stride(from: 0, to: bytes.count, by: 4).map { start in
      bytes[start..<min(start + 4, bytes.count)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    }
    switch bytes.count {
    case 4: self = AddressScope.ofIPv4(IPAddress(ipv4: UInt32(words[0])))
    case 16:
      self = AddressScope.ofIPv6(
        IPAddress(high: words[0] << 32 | words[1], low: words[2] << 32 | words[3]))
    default: self = .unusable("not an address")
    }
  }

  /// Judges an address; one that is mapped to IPv6 counts as IPv4.
  package init(_ address: IPAddress) {
    self = address.isIPv4 ? AddressScope.ofIPv4(address) : AddressScope.ofIPv6(address)
  }

  /// Returns the reason for which no push goes to the address; nil if there is none. `allowsLocal`:
  /// the relay's owner has named the host.
  package func refusal(allowsLocal: Bool) -> String? {
    switch self {
    case .global: nil
    case .local(let kind): allowsLocal ? nil : kind
    case .unusable(let kind): kind
    }
  }

  private static func ofIPv4(_ address: IPAddress) -> AddressScope {
    ipv4.first { $0.network.contains(address) }?.scope ?? .global
  }

  private static func ofIPv6(_ address: IPAddress) -> AddressScope {
    if address.isIPv4 { return .unusable("IPv4-mapped") }
    if translated.contains(address) {
      // RFC 6052 section 3.1: the prefix is not for addresses that are not global.
      let embedded = IPAddress(ipv4: UInt32(truncatingIfNeeded: address.low))
      return ofIPv4(embedded) == .global ? .global : .unusable("NAT64 of a special address")
    }
    if let special = ipv6.first(where: { $0.network.contains(address) }) { return special.scope }
    return unicast.contains(address) ? .global : .unusable("not allocated")
  }

  private struct Special {
    let network: IPNetwork
    let scope: AddressScope

    init(_ text: String, _ scope: AddressScope) {
      network = AddressScope.network(text)
      self.scope = scope
    }
  }

  private static func network(_ text: String) -> IPNetwork {
    guard let network = IPNetwork(text) else { preconditionFailure("\(text) is not a network") }
    return network
  }

  /// IANA IPv4 Special-Purpose Address Registry, and multicast (RFC 5771).
  private static let ipv4: [Special] = [
    Special("0.0.0.0/8", .unusable("this network")),
    Special("10.0.0.0/8", .local("private")),
    Special("100.64.0.0/10", .local("shared address space")),
    Special("127.0.0.0/8", .local("loopback")),
    Special("169.254.0.0/16", .local("link-local")),
    Special("172.16.0.0/12", .local("private")),
    Special("192.0.0.0/24", .unusable("protocol assignments")),
    Special("192.0.2.0/24", .unusable("documentation")),
    Special("192.88.99.0/24", .unusable("6to4 relay")),
    Special("192.168.0.0/16", .local("private")),
    Special("198.18.0.0/15", .unusable("benchmarking")),
    Special("198.51.100.0/24", .unusable("documentation")),
    Special("203.0.113.0/24", .unusable("documentation")),
    Special("224.0.0.0/4", .unusable("multicast")),
    Special("255.255.255.255", .unusable("broadcast")),
    Special("240.0.0.0/4", .unusable("reserved")),
  ]

  /// IANA IPv6 Special-Purpose Address Registry, and multicast. The first match counts.
  private static let ipv6: [Special] = [
    Special("::", .unusable("unspecified")),
    Special("::1", .local("loopback")),
    Special("::/96", .unusable("IPv4-compatible")),
    Special("64:ff9b:1::/48", .unusable("NAT64 for local use")),
    Special("100::/64", .unusable("discard")),
    Special("100:0:0:1::/64", .unusable("dummy prefix")),
    Special("2001::/32", .unusable("Teredo")),
    Special("2001:2::/48", .unusable("benchmarking")),
    Special("2001:10::/28", .unusable("ORCHID")),
    Special("2001:20::/28", .unusable("ORCHID")),
    Special("2001::/23", .unusable("protocol assignments")),
    Special("2001:db8::/32", .unusable("documentation")),
    Special("2002::/16", .unusable("6to4")),
    Special("3fff::/20", .unusable("documentation")),
    Special("5f00::/16", .unusable("segment routing")),
    Special("fc00::/7", .local("unique local")),
    Special("fe80::/10", .local("link-local")),
    Special("fec0::/10", .unusable("site-local")),
    Special("ff00::/8", .unusable("multicast")),
  ]

  /// NAT64: an IPv4 address behind a well-known prefix (RFC 6052).
  private static let translated = network("64:ff9b::/96")
  /// The block of which IANA allocates unicast addresses.
  private static let unicast = network("2000::/3")
}
