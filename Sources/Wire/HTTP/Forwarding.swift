import LockstepModel

/// The proxies' fields about a request that they forward: `X-Forwarded-For`, `-Proto` and `-Host`,
/// or `Forwarded` (RFC 7239).
///
/// Each proxy appends the address of its own client to the list, so the list is reliable from its
/// end as far as the proxies are trusted. The client is the last hop that is not a trusted proxy,
/// whatever it wrote before its own entry.
package struct Forwarding: Hashable, Sendable {
  package enum Client: Hashable, Sendable {
    /// No field names a client.
    case none
    case address(IPAddress)
    /// A field cannot be parsed, or the two fields differ.
    case malformed
  }

  package var client = Client.none
  package var scheme: String?
  package var host: String?
  /// All hosts that the fields name, also those that a proxy may only have passed on. A field that
  /// cannot be parsed counts as one that is no host.
  package var hosts: [String] = []

  package static func isNamed(in headers: HTTPHeaders) -> Bool {
    headers.contains("X-Forwarded-For") || headers.contains("Forwarded")
  }

  package init(_ headers: HTTPHeaders, trusted: [IPNetwork]) {
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
