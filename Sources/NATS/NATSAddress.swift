import LockstepModel

/// Address of NATS servers, parsed from a URL. Pure: no name is resolved here.
///
///     nats://[user@]host[:port][,host[:port]…]       TLS if the server asks for it
///     tls://[user@]host[:port][,host[:port]…]        always TLS
///
/// The password, or the token of a client without a user, comes from a file: process lists would
/// show it.
package struct NATSAddress: Hashable, Sendable {
  package struct Server: Hashable, Sendable {
    package var host: String
    package var port: UInt16

    package init(host: String, port: UInt16 = NATSAddress.port) {
      self.host = host
      self.port = port
    }
  }

  /// Port of NATS, if the URL names none.
  package static let port: UInt16 = 4_222
  /// Largest number of servers.
  package static let serverCount = 32

  /// Servers of one cluster, in the order in which they are tried; never empty.
  package let servers: [Server]
  package let user: String?
  package let usesTLS: Bool
  /// Text for errors and logs.
  package let shown: String

  /// True if the text begins as such an address.
  package static func matches(_ text: String) -> Bool {
    text.hasPrefix("nats://") || text.hasPrefix("tls://")
  }

  /// Throws if the text is not a valid URL, with a message for its author that never repeats a
  /// password.
  package init(_ text: String) throws(NATSAddressFault) {
    guard NATSAddress.matches(text), let start = text.firstRange(of: "://")?.upperBound else {
      throw .scheme
    }
    usesTLS = text.hasPrefix("tls://")
    var hosts = text[start...]
    if hosts.last == "/" { hosts = hosts.dropLast() }
    guard !hosts.contains(where: { "/?#".contains($0) }) else { throw .rest }
    var user: String?
    if let sign = hosts.lastIndex(of: "@") {
      let name = hosts[..<sign]
      guard !name.contains(":"), !name.contains("@") else { throw .password }
      guard !name.isEmpty else { throw .user }
      user = String(name)
      hosts = hosts[hosts.index(after: sign)...]
    }
    self.user = user
    var servers: [Server] = []
    for host in hosts.split(separator: ",", omittingEmptySubsequences: false) {
      servers.append(try NATSAddress.server(host))
    }
    guard servers.count <= NATSAddress.serverCount else { throw .servers }
    self.servers = servers
    shown = text
  }

  /// Parses `name:port` or `[::1]:port`, each with an optional port.
  private static func server(_ text: Substring) throws(NATSAddressFault) -> Server {
    var name = text
    var port: Substring?
    if text.first == "[" {
      guard let end = text.firstIndex(of: "]") else { throw .host }
      name = text[...end]
      let rest = text[text.index(after: end)...]
      guard rest.isEmpty || rest.first == ":" else { throw .host }
      if !rest.isEmpty { port = rest.dropFirst() }
    } else if let colon = text.firstIndex(of: ":") {
      name = text[..<colon]
      port = text[text.index(after: colon)...]
    }
    guard !name.isEmpty, name != "[]", !name.contains(where: { $0.isWhitespace }) else {
      throw .host
    }
    guard let port else { return Server(host: String(name)) }
    guard let number = UInt16(port), number > 0 else { throw .port }
    return Server(host: String(name), port: number)
  }
}

/// Reason for which a text is not the address of NATS servers.
package enum NATSAddressFault: Error, Hashable, Sendable, CustomStringConvertible {
  case scheme
  case user
  case password
  case host
  case port
  case rest
  case servers

  package var description: String {
    switch self {
    case .scheme: "an address of NATS begins with nats:// or tls://"
    case .user: "the user before '@' is empty"
    case .password:
      "leave the password out, because process lists show it; name its file with "
        + "--bus-password-file"
    case .host: "a host is missing or malformed; write nats://HOST:PORT, and an IPv6 address in []"
    case .port: "a port is not a number from 1 to 65535"
    case .rest: "nothing may follow the hosts"
    case .servers: "there are more than \(NATSAddress.serverCount) servers"
    }
  }
}
