import LockstepModel
import LockstepRuntime
import LockstepWire

/// The client of a request, for limits and origins: the peer of its connection, or the client that
/// a trusted proxy names.
struct ClientAddress: Sendable {
  /// The client of a proxy.
  private struct Forwarded: Sendable {
    var network: PeerNetwork
    /// Scheme and host by which the client reached the proxy, if the proxy reports them.
    var scheme: String?
    var host: String?
    /// See `Forwarding.hosts`.
    var hosts: [String]
  }

  /// True if it has no limits by address.
  private(set) var isExempt: Bool
  /// True if the peer is a trusted proxy: each of its requests may be from another client.
  let isBehindProxy: Bool
  /// nil if the client is the peer itself, as far as it is known.
  private var forwarded: CopyOnWriteBox<Forwarded>?

  /// Creates the client before any request was read: the peer itself.
  init(_ opening: Opening, exempt: [IPNetwork], trustedProxies: [IPNetwork]) {
    isExempt = opening.address.map(exempt.contains) ?? false
    isBehindProxy = opening.address.map(trustedProxies.contains) ?? false
  }

  /// Creates the client of the request with these fields, as named by a peer that is a trusted
  /// proxy.
  init(_ opening: Opening, headers: HTTPHeaders, _ configuration: RelayConfiguration) {
    let (exempt, trusted) = (configuration.exempt, configuration.trustedProxies)
    self.init(opening, exempt: exempt, trustedProxies: trusted)
    guard isBehindProxy else { return }
    let forwarding = Forwarding(headers, trusted: trusted)
    var network = PeerNetwork(of: opening)
    switch forwarding.client {
    case .none: break
    case .address(let address):
      network = PeerNetwork(of: address)
      isExempt = exempt.contains(address: address)
    // Counted together with the proxy, but never exempt like this machine's own programs.
    case .malformed: isExempt = false
    }
    forwarded = CopyOnWriteBox(
      Forwarded(
        network: network, scheme: forwarding.scheme, host: forwarding.host,
        hosts: forwarding.hosts))
  }

  /// Returns the network that is counted as one client. `opening`: the connection's.
  func network(of opening: Opening) -> PeerNetwork {
    forwarded?.value.network ?? PeerNetwork(of: opening)
  }

  /// See `Forwarding.hosts`.
  var hosts: [String] { forwarded?.value.hosts ?? [] }

  /// True if an exempt peer reports that it forwards requests, but is not configured as a trusted
  /// proxy.
  func isUndeclared(_ headers: HTTPHeaders) -> Bool {
    !isBehindProxy && isExempt && Forwarding.isNamed(in: headers)
  }

  /// Returns the relay's origin as the client knows it, `https://relay.example`; nil if the request
  /// names no host. `named`: the host that the request names. `isSecure`: true if the connection
  /// uses TLS.
  func ownOrigin(host named: String?, isSecure: Bool) -> String? {
    guard let host = forwarded?.value.host ?? named else { return nil }
    let scheme = forwarded?.value.scheme ?? (isSecure ? "https" : "http")
    return AllowedOrigins.normalized("\(scheme)://\(host)")
  }
}
