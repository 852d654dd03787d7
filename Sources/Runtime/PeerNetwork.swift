import LockstepModel

extension IPAddress {
  /// Returns the address of a peer; nil for a program at a Unix socket, which has none.
  @usableFromInline
  package init?(of peer: PeerAddress) {
    switch peer {
    case .host(let host, _), .secure(let host, _), .http2(let host, _),
      .screened(let host, _, _):
      self.init(host)
    case .local: return nil
    }
  }
}

/// Unit of limits by address: an IPv4 address, the /64 network of an IPv6 address (one customer has
/// a whole /64), or all of this machine's own sockets.
@usableFromInline
package struct PeerNetwork: Hashable, Sendable {
  private enum Kind: Hashable, Sendable {
    case local
    case network(IPAddress)
    /// A host that is not a literal address; systems report none.
    case named(String)
  }

  private let kind: Kind

  @usableFromInline
  package init(of peer: PeerAddress) { self.init(of: Opening(listenerKind: .public, peer: peer)) }

  /// Returns the network of the connection's peer.
  @usableFromInline
  package init(of opening: Opening) {
    kind =
      switch (opening.address, opening.peer) {
      case (let address?, _): PeerNetwork.kind(of: address)
      case (nil, .local): .local
      case (nil, .host(let host, _)), (nil, .secure(let host, _)), (nil, .http2(let host, _)),
        (nil, .screened(let host, _, _)):
        .named(host)
      }
  }

  @usableFromInline package init(of address: IPAddress) { kind = PeerNetwork.kind(of: address) }

  private static func kind(of address: IPAddress) -> Kind {
    .network(address.isIPv4 ? address : IPNetwork.prefix(of: address, bits: 64))
  }

  @usableFromInline
  package var text: String {
    switch kind {
    case .local: "local"
    case .named(let host): host
    case .network(let start) where start.isIPv4: start.text
    case .network(let start):
      start.groups[..<4].map { String($0, radix: 16) }.joined(separator: ":") + "::/64"
    }
  }
}
