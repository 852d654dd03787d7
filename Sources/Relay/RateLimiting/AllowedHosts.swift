import LockstepModel
import LockstepRuntime
import LockstepWire

/// The names by which clients may reach the relay.
///
/// A page of a foreign site can make its own name resolve to this relay (DNS rebinding). For a
/// browser the relay then has that page's origin, and the page may make all calls that need no
/// token. The browser still sends the page's name in `Host`, so a name that is not the relay's is
/// refused. A page cannot choose the target of a literal address or of `localhost`.
@usableFromInline
package struct AllowedHosts: Sendable, Hashable {
  /// True if any name is accepted.
  @usableFromInline package var isAny = false
  /// Each in the form that `normalized` returns. `*.example.org` matches names with one label more.
  @usableFromInline package private(set) var names: Set<String>

  /// Ignores texts that are not names.
  @usableFromInline
  package init(_ listed: [String] = []) {
    names = Set(listed.compactMap(AllowedHosts.normalized))
  }

  @usableFromInline
  package static let any: AllowedHosts = {
    var hosts = AllowedHosts()
    hosts.isAny = true
    return hosts
  }()

  @usableFromInline
  package func adding(_ listed: [String]) -> AllowedHosts {
    var hosts = self
    hosts.names.formUnion(listed.compactMap(AllowedHosts.normalized))
    return hosts
  }

  /// Returns the spelling of a name for comparisons: lower case, no final dot. Its first label may
  /// be `*`. Returns nil for any other text, including an address, and a name with a port.
  @usableFromInline
  package static func normalized(_ text: String) -> String? {
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

  /// True if the host is allowed. `host`: a `Host` field, or the field that replaces it.
  func allow(_ host: String) -> Bool {
    if isAny { return true }
    switch Authority(host)?.host {
    case nil: return false
    case .address, .futureAddress: return true
    case .name(let name): return allow(name: name)
    }
  }

  private func allow(name: String) -> Bool {
    // No browser sends an empty name.
    if name.isEmpty { return true }
    let name = name.hasSuffix(".") ? String(name.dropLast()) : name
    if name == "localhost" || names.contains(name) { return true }
    guard let dot = name.firstIndex(of: "."), dot != name.startIndex else { return false }
    return names.contains("*" + name[dot...])
  }

  static func refusal(_ host: String) -> Refusal {
    guard case .name(let name) = Authority(host)?.host else {
      return Refusal(.hostNotAllowed, "A forwarding field of the request has an invalid host.")
    }
    return Refusal(
      .hostNotAllowed,
      "\(name) is not a name of this relay; its owner can add it with --host \(name).")
  }
}
