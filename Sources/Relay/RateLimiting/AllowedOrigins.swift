import LockstepModel
import LockstepWire

/// The pages of which origins may use the relay from a browser. Programs that are no browser name
/// no origin, and are not concerned.
///
/// What protects an account is its token, which no page has that was not given it: no cookie is
/// ever sent along. What the rule adds is that a page from elsewhere can neither try tokens, nor
/// make accounts, from the browser of whoever looks at it. The relay's own origin is made of the
/// host that the request names, so it holds only together with `AllowedHosts`.
public enum AllowedOrigins: Sendable, Hashable {
  /// Pages that the relay's own address serves.
  case own
  /// Those, and pages of these origins, each as `normalized` gives it.
  case listed(Set<String>)
  /// Any page.
  case any

  /// `origin` is the field of a request. `own` is the relay's origin, as the client knows it.
  func allow(_ origin: String, own: String?) -> Bool {
    guard let origin = AllowedOrigins.normalized(origin) else { return self == .any }
    switch self {
    case .any: return true
    case .own: return origin == own
    case .listed(let origins): return origin == own || origins.contains(origin)
    }
  }

  /// An origin (RFC 6454 section 6.2) in the one spelling that is compared: small letters, and no
  /// port where it is the usual one. `null` stands for pages without an origin. nil for any other
  /// text, also for an address with a path.
  public static func normalized(_ text: String) -> String? {
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

/// What a request says of the page that it is from, and what the answer says to that (the WHATWG's
/// Fetch, section 3.3).
enum CrossOrigin: Hashable, Sendable {
  /// It names no origin: no browser, or one that asks where the page is from.
  case none
  /// A page that may read the answer.
  case allowed(String)
  case foreign

  /// `own` is asked for only where the request names an origin.
  init(_ headers: HTTPHeaders, _ allowed: AllowedOrigins, own: @autoclosure () -> String?) {
    guard let origin = headers["Origin"] else {
      self = .none
      return
    }
    let isOne = headers.count(of: "Origin") == 1
    self = isOne && allowed.allow(origin, own: own()) ? .allowed(origin) : .foreign
  }

  static let refusal = Refusal(
    .originNotAllowed,
    "Pages of this origin may not use the relay; its owner may allow them with --origin.")

  /// Adds what browsers read. `exposes`: which fields a page may see.
  func addFields(to headers: inout HTTPHeaders, _ allowed: AllowedOrigins, exposes: String) {
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
