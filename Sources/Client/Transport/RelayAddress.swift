import LockstepRuntime
import LockstepWire

/// Address of a relay: the parts of an `http://` or `https://` URL that an agent needs.
package struct RelayAddress: Hashable, Sendable {
  package var host: String
  package var port: UInt16
  /// True if TLS is required: the relay must prove that it is `host`.
  package var isSecure: Bool

  /// Default port of the relay, and that of TLS.
  package static let usualPort: UInt16 = 5625
  package static let usualSecurePort: UInt16 = 443

  package init(host: String, port: UInt16, isSecure: Bool = false) {
    self.host = host
    self.port = port
    self.isSecure = isSecure
  }

  /// Parses `http://HOST[:PORT][/]` or `https://…`, with a literal IPv6 address in brackets;
  /// returns nil for anything else. `usualPort`: the port of `http://` if none is given.
  package init?(url: String, usualPort: UInt16 = RelayAddress.usualPort) {
    let isSecure = url.lowercased().hasPrefix("https://")
    let scheme = isSecure ? "https://" : "http://"
    guard url.lowercased().hasPrefix(scheme) else { return nil }
    var authority = url.dropFirst(scheme.count)
    if authority.hasSuffix("/") { authority = authority.dropLast() }
    guard !authority.isEmpty, !authority.contains(where: { "/?#@ ".contains($0) }) else {
      return nil
    }
    var host = authority
    var port = isSecure ? RelayAddress.usualSecurePort : usualPort
    if authority.first == "[" {
      guard let end = authority.firstIndex(of: "]") else { return nil }
      host = authority[authority.index(after: authority.startIndex)..<end]
      let rest = authority[authority.index(after: end)...]
      if !rest.isEmpty {
        guard rest.first == ":", let value = RelayAddress.port(rest.dropFirst()) else {
          return nil
        }
        port = value
      }
    } else if let colon = authority.firstIndex(of: ":") {
      host = authority[..<colon]
      guard let value = RelayAddress.port(authority[authority.index(after: colon)...]) else {
        return nil
      }
      port = value
    }
    guard !host.isEmpty, host.unicodeScalars.allSatisfy(RelayAddress.isOfHost) else { return nil }
    self.init(host: String(host), port: port, isSecure: isSecure)
  }

  /// Value of the `Host` field (RFC 9110 section 7.2).
  package var authority: String {
    let name = host.contains(":") ? "[\(host)]" : host
    return "\(name):\(port)"
  }

  /// The address as browsers write it: without the port that they use for `https://` by default.
  package var link: String {
    isSecure && port == RelayAddress.usualSecurePort ? String(url.dropLast(4)) : url
  }

  package var url: String { (isSecure ? "https://" : "http://") + authority }

  package var peer: PeerAddress {
    isSecure ? .secure(host, port: port) : .host(host, port: port)
  }

  /// False for characters that no host has, and that would act where the address is shown or
  /// stored: control characters, quotes, and those that change the order of letters.
  private static func isOfHost(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .spaceSeparator: false
    default: !"\"'\\<>^`{|}".unicodeScalars.contains(scalar)
    }
  }

  private static func port(_ text: Substring) -> UInt16? {
    guard let value = UInt16(text), value > 0, text.utf8.allSatisfy({ $0 >= 48 && $0 <= 57 })
    else { return nil }
    return value
  }
}
