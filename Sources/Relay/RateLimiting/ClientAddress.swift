import LockstepModel
import LockstepWire

/// Who a request is from, as far as limits and origins are concerned: the peer of its connection,
/// or whoever a trusted proxy says that it passes on.
struct ClientAddress: Hashable, Sendable {
  /// Who counts together with it.
  var network: PeerNetwork
  /// It is not limited by its address.
  var isExempt: Bool
  /// The peer is a trusted proxy: each of its requests may be somebody else's.
  let isBehindProxy: Bool
  /// How the client reached the proxy, where that says so.
  private var scheme: String?
  private(set) var host: String?

  /// Before anything was read: the peer itself.
  init(_ opening: Opening, exempt: [IPNetwork], trustedProxies: [IPNetwork]) {
    network = PeerNetwork(of: opening)
    isExempt = opening.address.map(exempt.contains) ?? false
    isBehindProxy = opening.address.map(trustedProxies.contains) ?? false
  }

  /// Whose the request with these fields is, as the trusted proxy that is the peer says it.
  init(_ opening: Opening, headers: HTTPHeaders, _ configuration: RelayConfiguration) {
    let (exempt, trusted) = (configuration.exempt, configuration.trustedProxies)
    self.init(opening, exempt: exempt, trustedProxies: trusted)
    guard isBehindProxy else { return }
    let forwarding = Forwarding(headers, trusted: trusted)
    switch forwarding.client {
    case .none: break
    case .address(let address):
      network = PeerNetwork(of: address)
      isExempt = exempt.contains(address: address)
    // Counts with the proxy, but never as one of this machine's own programs.
    case .malformed: isExempt = false
    }
    scheme = forwarding.scheme
    host = forwarding.host
  }

  /// Whether the peer says that it passes on somebody else's request, and nobody told the relay to
  /// trust it.
  func isUndeclared(_ headers: HTTPHeaders) -> Bool {
    !isBehindProxy && isExempt && Forwarding.isNamed(in: headers)
  }

  /// The origin that the relay has for the client, `https://relay.example`; nil where the request
  /// names no host. `isSecure`: of the connection.
  func ownOrigin(_ headers: HTTPHeaders, isSecure: Bool) -> String? {
    guard let host = host ?? headers["Host"] else { return nil }
    return AllowedOrigins.normalized("\(scheme ?? (isSecure ? "https" : "http"))://\(host)")
  }
}

/// What proxies say of the request that they pass on: in `X-Forwarded-For`, `-Proto` and `-Host`,
/// or in `Forwarded` (RFC 7239).
///
/// Each proxy adds the address that it was called from behind those that stand there, so the list
/// is good from its end as far as the proxies are trusted: the client is the last hop that is no
/// trusted proxy, whatever it wrote before its own place.
struct Forwarding: Hashable, Sendable {
  enum Client: Hashable, Sendable {
    /// Nothing is said of it.
    case none
    case address(IPAddress)
    /// Something is said that cannot be understood, or two things that differ.
    case malformed
  }

  var client = Client.none
  var scheme: String?
  var host: String?

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
    // A proxy writes one of the two and may let the other pass as its client wrote it.
    client = listed == .none ? named : named == .none || named == listed ? listed : .malformed
    scheme = Forwarding.scheme(headers.list("X-Forwarded-Proto").last ?? elements?.last?["proto"])
    host = headers.list("X-Forwarded-Host").last ?? elements?.last?["host"]
  }

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

  /// The elements of a `Forwarded` field, their parameters by their names in small letters; nil
  /// where it is none (RFC 7239 section 4).
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
        if isValue { elements[elements.count - 1][name] = value }
        (name, value, isValue) = ("", "", false)
        if character == "," { elements.append([:]) }
      case " ", "\t": continue
      default:
        if isValue { value.append(character) } else { name += character.lowercased() }
      }
    }
    guard !isQuoted, finished() else { return nil }
    if isValue { elements[elements.count - 1][name] = value }
    return elements
  }
}
