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

/// The proxies' fields about a request that they forward: `X-Forwarded-For`, `-Proto` and `-Host`,
/// or `Forwarded` (RFC 7239).
///
/// Each proxy appends the address of its own client to the list, so the list is reliable from its
/// end as far as the proxies are trusted. The client is the last hop that is not a trusted proxy,
/// whatever it wrote before its own entry.
struct Forwarding: Hashable, Sendable {
  enum Client: Hashable, Sendable {
    /// No field names a client.
    case none
    case address(IPAddress)
    /// A field cannot be parsed, or the two fields differ.
    case malformed
  }

  var client = Client.none
  var scheme: String?
  var host: String?
  /// All hosts that the fields name, also those that a proxy may only have passed on. A field that
  /// cannot be parsed counts as one that is no host.
  var hosts: [String] = []

  static func isNamed(in headers: HTTPHeaders) -> Bool {
    headers.contains("X-Forwarded-For") || headers.contains("Forwarded")
  }

  init(_ headers: HTTPHeaders, trusted: [IPNetwork]) {
    let listed = Forwarding.client(
      headers.list("X-Forwarded-For").map(Forwarding.address), headers.contains("X-Forwarded-For"),
      trusted)
    let elements = Forwarding.elements(headers.values("Forwarded").joined(separator: ","))
    let named = Forwarding.client(
      elements?.map { $0["for"].flatMap(Forwarding.address) } ?? [nil],
      headers.contains("Forwarded"), trusted)
    // A proxy writes one of the two, and may forward the other as its client wrote it.
    client = listed == .none ? named : named == .none || named == listed ? listed : .malformed
    scheme = Forwarding.scheme(headers.list("X-Forwarded-Proto").last ?? elements?.last?["proto"])
    let names = headers.list("X-Forwarded-Host")
    let forwardedNames = elements.map { $0.compactMap { $0["host"] } } ?? [Forwarding.noHost]
    host = names.last ?? elements?.last?["host"]
    hosts = names + forwardedNames
  }

  /// Text that is no host.
  private static let noHost = " "

  private static func client(
    _ hops: [IPAddress?], _ isThere: Bool, _ trusted: [IPNetwork]
  ) -> Client {
    guard isThere else { return .none }
    var last = Client.malformed
    for hop in hops.reversed().prefix(Limits.forwardedHops) {
      guard let hop else { return .malformed }
      last = .address(hop)
      if !trusted.contains(address: hop) { break }
    }
    return last
  }

  private static func scheme(_ text: String?) -> String? {
    switch text?.lowercased() {
    case "http": "http"
    case "https": "https"
    default: nil
    }
  }

  /// `192.0.2.1`, `192.0.2.1:4711`, `2001:db8::1`, `[2001:db8::1]`, `[2001:db8::1]:4711`.
  private static func address(_ text: String) -> IPAddress? {
    if text.first == "[" {
      let parts = text.dropFirst().split(separator: "]", omittingEmptySubsequences: false)
      guard parts.count == 2, parts[1].isEmpty || parts[1].first == ":" else { return nil }
      return IPAddress(parts[0])
    }
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    return IPAddress(parts.count == 2 ? parts[0] : text[...])
  }

  /// Returns the elements of a `Forwarded` field, with parameter names in lower case; nil if it is
  /// invalid (RFC 7239 section 4).
  private static func elements(_ text: String) -> [[String: String]]? {
    var elements: [[String: String]] = [[:]]
    var (name, value, isValue, isQuoted, isEscaped) = ("", "", false, false, false)
    func finished() -> Bool { name.isEmpty == !isValue }
    for character in text {
      if isQuoted {
        if isEscaped || (character != "\\" && character != "\"") { value.append(character) }
        isQuoted = isEscaped || character != "\""
        isEscaped = !isEscaped && character == "\\"
        continue
      }
      switch character {
      case "\"" where isValue && value.isEmpty: isQuoted = true
      case "=" where !isValue && !name.isEmpty: isValue = true
      case ",", ";":
        guard finished() else { return nil }
        guard elements[elements.count - 1][name] == nil else { return nil }
        if isValue { elements[elements.count - 1][name] = value }
        (name, value, isValue) = ("", "", false)
        if character == "," { elements.append([:]) }
      case " ", "\t": continue
      default:
        if isValue { value.append(character) } else { name += character.lowercased() }
      }
    }
    guard !isQuoted, finished(), elements[elements.count - 1][name] == nil else { return nil }
    if isValue { elements[elements.count - 1][name] = value }
    return elements
  }
}
