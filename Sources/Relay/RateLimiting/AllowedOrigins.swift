import LockstepModel
import LockstepWire

/// The origins whose pages may use the relay from a browser. Programs that are not browsers send no
/// origin, and are not affected.
///
/// An account is protected by its token, which a page has only if it was given to it: no cookie is
/// ever sent. This rule also prevents a foreign page from trying tokens, or creating accounts, from
/// the browser of a visitor. The relay's own origin is built from the host in the request, so the
/// rule holds only together with `AllowedHosts`.
@usableFromInline
package enum AllowedOrigins: Sendable, Hashable {
  /// Pages served by the relay's own address.
  case own
  /// Those, and pages of these origins, each in the form that `normalized` returns.
  case listed(Set<String>)
  /// Any page.
  case any

  /// True if the origin's pages are allowed. `own`: the relay's origin, as the client knows it.
  func allow(_ origin: String, own: String?) -> Bool {
    guard let origin = AllowedOrigins.normalized(origin) else { return self == .any }
    switch self {
    case .any: return true
    case .own: return origin == own
    case .listed(let origins): return origin == own || origins.contains(origin)
    }
  }

  /// Returns an origin (RFC 6454 section 6.2) in its only spelling for comparisons: lower case,
  /// without a default port. `null` is the origin of pages without one. Returns nil for any other
  /// text, including an address with a path.
  @usableFromInline
  package static func normalized(_ text: String) -> String? {
    if text == "null" { return text }
    guard let colon = text.firstIndex(of: ":") else { return nil }
    let scheme = text[..<colon].lowercased()
    let rest = text[colon...]
    guard !scheme.isEmpty, rest.hasPrefix("://"),
      scheme.allSatisfy({ isPlain($0) || "+-.".contains($0) })
    else { return nil }
    let authority = rest.dropFirst(3).lowercased()
    let (host, port) = split(authority)
    guard !host.isEmpty, host.allSatisfy({ isPlain($0) || "-._~%:[]".contains($0) }),
      port.map({ UInt16($0) != nil }) ?? true
    else { return nil }
    let usual = ["http": "80", "https": "443"][scheme]
    return scheme + "://" + host + (port == nil || port == usual ? "" : ":\(port ?? "")")
  }

  private static func isPlain(_ character: Character) -> Bool {
    character.isASCII && (character.isLetter || character.isNumber)
  }

  private static func split(_ authority: String) -> (host: String, port: String?) {
    let end = authority.lastIndex(of: "]") ?? authority.startIndex
    guard let colon = authority[end...].firstIndex(of: ":") else { return (authority, nil) }
    return (String(authority[..<colon]), String(authority[authority.index(after: colon)...]))
  }
}

/// The origin of a request's page, and the answer's header fields for it (WHATWG Fetch, section
/// 3.3).
enum CrossOrigin: Hashable, Sendable {
  /// No origin: the client is not a browser, or asks the server from which the page came.
  case none
  /// A page that may read the answer.
  case allowed(String)
  case foreign
  /// For a call that only the owner's page may make, and for a file that only the relay's pages
  /// load: no page of another origin may read the answer, whatever origins are allowed.
  case ownPagesOnly
  /// A page that is not the owner's, for such a call.
  case foreignToOwner

  /// `own` is evaluated only if the request has an origin.
  init(_ headers: HTTPHeaders, _ allowed: AllowedOrigins, own: @autoclosure () -> String?) {
    guard let origin = headers["Origin"] else {
      self = .none
      return
    }
    let isOne = headers.count(of: "Origin") == 1
    self = isOne && allowed.allow(origin, own: own()) ? .allowed(origin) : .foreign
  }

  /// A request to the owner's page or of it. `own`: the origins of that page.
  init(ofOwner headers: HTTPHeaders, own: @autoclosure () -> [String?]) {
    guard let origin = headers["Origin"] else {
      self = headers.count(of: "Origin") > 0 ? .foreignToOwner : .ownPagesOnly
      return
    }
    let isOwn =
      headers.count(of: "Origin") == 1
      && AllowedOrigins.normalized(origin).map(own().compactMap(\.self).contains) == true
    self = isOwn ? .ownPagesOnly : .foreignToOwner
  }

  /// True if the answer to a preflight allows nothing. A page needs none for its own origin.
  var allowsNoPreflight: Bool {
    switch self {
    case .none, .allowed: false
    case .foreign, .ownPagesOnly, .foreignToOwner: true
    }
  }

  static let ownerRefusal = Refusal(
    .originNotAllowed, "Only the owner's page of this relay may do this, not other pages.")

  static let refusal = Refusal(
    .originNotAllowed,
    "Pages of this origin may not use the relay; its owner may allow them with --origin.")

  /// Adds the header fields for browsers. `exposes`: header fields that a page may read.
  func addFields(to headers: inout HTTPHeaders, _ allowed: AllowedOrigins, exposes: String) {
    if self == .ownPagesOnly || self == .foreignToOwner { return }
    if allowed == .any {
      headers.append("Access-Control-Allow-Origin", "*")
    } else {
      headers.append("Vary", "Origin")
      if case .allowed(let origin) = self {
        headers.append("Access-Control-Allow-Origin", origin)
      }
    }
    if self != .foreign { headers.append("Access-Control-Expose-Headers", exposes) }
  }
}
