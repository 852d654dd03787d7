/// Who counts together where numbers are limited by address: an IPv4 address, the /64 network of an
/// IPv6 address (one customer has a whole /64), or all of this machine's own sockets.
public struct PeerNetwork: Hashable, Sendable {
  private enum Kind: Hashable, Sendable {
    case local
    case network(IPAddress)
    /// A host that is no literal address; a system shows none.
    case named(String)
  }

  private let kind: Kind

  public init(of peer: PeerAddress) {
    switch peer {
    case .local: kind = .local
    case .host(let host, _), .secure(let host, _):
      kind = IPAddress(host).map(PeerNetwork.kind) ?? .named(host)
    }
  }

  public init(of address: IPAddress) { kind = PeerNetwork.kind(of: address) }

  private static func kind(of address: IPAddress) -> Kind {
    .network(address.isIPv4 ? address : IPNetwork.prefix(of: address, bits: 64))
  }

  public var text: String {
    switch kind {
    case .local: "local"
    case .named(let host): host
    case .network(let start) where start.isIPv4: start.text
    case .network(let start):
      start.groups[..<4].map { String($0, radix: 16) }.joined(separator: ":") + "::/64"
    }
  }
}
