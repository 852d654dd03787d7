import LockstepModel
import LockstepWire

/// The names by which clients may reach the relay.
///
/// A page of a foreign site can have its name lead to this relay (DNS rebinding). To a browser the
/// relay is then of that page's origin, and the page may ask for all that needs no token. The
/// browser still says the page's name in `Host`, so a name that is not the relay's is refused. A
/// literal address, and `localhost`, lead to no place of the page's choice.
public struct AllowedHosts: Sendable, Hashable {
  /// Any name is the relay's.
  public var isAny = false
  /// Each as `normalized` gives it. `*.example.org` stands for every name with one label more.
  public private(set) var names: Set<String>

  /// Texts that are no names are passed over.
  public init(_ listed: [String] = []) {
    names = Set(listed.compactMap(AllowedHosts.normalized))
  }

  public static let any: AllowedHosts = {
    var hosts = AllowedHosts()
    hosts.isAny = true
    return hosts
  }()

  public func adding(_ listed: [String]) -> AllowedHosts {
    var hosts = self
    hosts.names.formUnion(listed.compactMap(AllowedHosts.normalized))
    return hosts
  }

  /// A name in the one spelling that is compared: small letters, no dot at its end. Its first label
  /// may be `*`. nil for any other text, also for an address, and a name with a port.
  public static func normalized(_ text: String) -> String? {
    var name = text.lowercased()
    if name.hasSuffix(".") { name.removeLast() }
    let labels = name.split(separator: ".", omittingEmptySubsequences: false)
    let isWild = labels.count > 1 && labels[0] == "*"
    guard name.utf8.count <= Limits.nameBytes, IPAddress(name) == nil,
      labels.dropFirst(isWild ? 1 : 0).allSatisfy(isLabel)
    else { return nil }
    return name
  }

  private static func isLabel(_ label: Substring) -> Bool {
    !label.isEmpty
      && label.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
          UInt8(ascii: "-"), UInt8(ascii: "_"):
          true
        default: false
        }
      }
  }

  /// `host` is a `Host` field, or what stands in place of it.
  func allow(_ host: String) -> Bool {
    if isAny { return true }
    switch Authority(host)?.host {
    case nil: return false
    case .address, .futureAddress: return true
    case .name(let name): return allow(name: name)
    }
  }

  private func allow(name: String) -> Bool {
    // No browser leaves it empty.
    if name.isEmpty { return true }
    let name = name.hasSuffix(".") ? String(name.dropLast()) : name
    if name == "localhost" || names.contains(name) { return true }
    guard let dot = name.firstIndex(of: "."), dot != name.startIndex else { return false }
    return names.contains("*" + name[dot...])
  }

  static func refusal(_ host: String) -> Refusal {
    guard case .name(let name) = Authority(host)?.host else {
      return Refusal(.hostNotAllowed, "The name by which the request was passed on is no host.")
    }
    return Refusal(
      .hostNotAllowed,
      "\(name) is no name of this relay; if it is to be one, its owner starts it with "
        + "--host \(name).")
  }
}
