import LockstepStorage

/// Address of a relay's database, parsed from a URL. The environment supplies what the URL omits
/// (`PGHOST`, `PGUSER`, `PGPASSFILE`, `PGSERVICE` …), as for every program on libpq.
///
///     postgres://[user@][host[:port][,host[:port]…]][/database][?keyword=value[&…]]
///
/// Pure: no name is resolved here. A password is rejected, because process lists would show it.
package struct PostgresAddress: Sendable, Hashable {
  package struct Parameter: Sendable, Hashable {
    package var keyword: String
    package var value: String
  }

  /// The connection parameters of libpq that the URL contains.
  package let parameters: [Parameter]
  /// Text for errors and logs: the URL without the part after the question mark.
  package let shown: String

  /// Keyword of this program, which libpq does not know: `on` if the pooler at this address knows
  /// prepared statements.
  private static let preparesKeyword = "prepared_statements"

  /// Keywords that may follow the question mark. Timeouts and keepalives are not among them:
  /// `Limits` has them.
  package static let keywords = [
    "application_name", "channel_binding", "dbname", "gssencmode", "host", "hostaddr",
    "krbsrvname", "options", "passfile", "port", preparesKeyword, "service",
    "ssl_max_protocol_version", "ssl_min_protocol_version", "sslcert", "sslcrl", "sslcrldir",
    "sslkey", "sslmode", "sslnegotiation", "sslrootcert", "sslsni", "target_session_attrs", "user",
  ]

  /// Throws if the text is not a valid URL, with a message for its author that never repeats a
  /// password.
  package init(_ text: String) throws(PostgresAddressFault) {
    guard
      let scheme = ["postgres://", "postgresql://"].first(where: { text.hasPrefix($0) })
    else { throw .scheme }
    let rest = text.dropFirst(scheme.count)
    let parts = rest.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let place = parts[0].split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    // A password may contain any of these characters unescaped, and its rest would become a host.
    guard rest.split(separator: "@", omittingEmptySubsequences: false).count <= 2 else {
      throw .password
    }
    var parameters = try PostgresAddress.authority(place[0])
    if place.count == 2, !place[1].isEmpty {
      parameters.append(Parameter(keyword: "dbname", value: try PostgresAddress.decoded(place[1])))
    }
    if parts.count == 2 {
      for pair in parts[1].split(separator: "&", omittingEmptySubsequences: true) {
        let parameter = try PostgresAddress.parameter(pair)
        guard !parameters.contains(where: { $0.keyword == parameter.keyword }) else {
          throw .twice(parameter.keyword)
        }
        parameters.append(parameter)
      }
    }
    self.parameters = parameters
    shown = scheme + parts[0]
  }

  /// The parameters that libpq knows.
  var libraryParameters: [Parameter] {
    parameters.filter { $0.keyword != PostgresAddress.preparesKeyword }
  }

  /// True if statements are prepared also behind a pooler.
  var preparesBehindPooler: Bool { self[PostgresAddress.preparesKeyword] == "on" }

  /// Returns nil if the URL does not contain the parameter.
  package subscript(keyword: String) -> String? {
    parameters.first { $0.keyword == keyword }?.value
  }

  private init(_ parameters: [Parameter], shown: String) {
    self.parameters = parameters
    self.shown = shown
  }

  /// Returns a copy with another value; an empty value removes the keyword.
  func setting(_ keyword: String, to value: String) -> PostgresAddress {
    var others = parameters.filter { $0.keyword != keyword }
    if !value.isEmpty { others.append(Parameter(keyword: keyword, value: value)) }
    return PostgresAddress(others, shown: shown)
  }

  /// Parses `user@host:port,host:port`.
  private static func authority(_ text: Substring) throws(PostgresAddressFault) -> [Parameter] {
    var parameters: [Parameter] = []
    var hosts = text
    if let sign = text.lastIndex(of: "@") {
      let user = text[..<sign]
      guard !user.contains(":") else { throw .password }
      guard !user.isEmpty else { throw .part("user") }
      parameters.append(Parameter(keyword: "user", value: try decoded(user)))
      hosts = text[text.index(after: sign)...]
    }
    if hosts.isEmpty { return parameters }
    var names: [String] = []
    var ports: [String] = []
    for host in hosts.split(separator: ",", omittingEmptySubsequences: false) {
      let (name, port) = try PostgresAddress.host(host)
      names.append(try decoded(name))
      ports.append(String(port))
    }
    parameters.append(Parameter(keyword: "host", value: names.joined(separator: ",")))
    if ports.contains(where: { !$0.isEmpty }) {
      parameters.append(Parameter(keyword: "port", value: ports.joined(separator: ",")))
    }
    return parameters
  }

  /// Parses `name:port` or `[::1]:port`, each with an optional port.
  private static func host(
    _ text: Substring
  ) throws(PostgresAddressFault) -> (name: Substring, port: Substring) {
    var name = text
    var port: Substring = ""
    if text.first == "[" {
      guard let end = text.firstIndex(of: "]") else { throw .part("host") }
      name = text[text.index(after: text.startIndex)..<end]
      let rest = text[text.index(after: end)...]
      guard rest.isEmpty || rest.first == ":" else { throw .part("host") }
      port = rest.dropFirst()
    } else if let colon = text.firstIndex(of: ":") {
      name = text[..<colon]
      port = text[text.index(after: colon)...]
      // "user:secret" without a following "@" looks like this.
      guard UInt16(port) != nil else { throw .part("port") }
    }
    guard port.isEmpty || UInt16(port) != nil else { throw .part("port") }
    return (name, port)
  }

  private static func parameter(_ pair: Substring) throws(PostgresAddressFault) -> Parameter {
    let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let keyword = try decoded(sides[0])
    guard !["password", "sslpassword"].contains(keyword) else { throw .password }
    guard keywords.contains(keyword) else { throw .keyword(keyword) }
    guard sides.count == 2, !sides[1].isEmpty else { throw .part(keyword) }
    guard keyword != preparesKeyword || ["on", "off"].contains(sides[1]) else {
      throw .part(keyword)
    }
    return Parameter(keyword: keyword, value: try decoded(sides[1]))
  }

  /// Decodes percent escapes, for example `%41` for `A`.
  private static func decoded(_ text: Substring) throws(PostgresAddressFault) -> String {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard rest.count >= 2, let escaped = HexPair.value(rest.prefix(2)), escaped != 0 else {
        throw .escape
      }
      bytes.append(escaped)
      rest = rest.dropFirst(2)
    }
    guard let text = String(validating: bytes, as: UTF8.self) else { throw .escape }
    return text
  }
}

/// Error in a URL.
package enum PostgresAddressFault: Error, Hashable {
  case scheme
  case password
  case part(String)
  case keyword(String)
  case twice(String)
  case escape
}

extension PostgresAddressFault: CustomStringConvertible {
  package var description: String {
    switch self {
    case .scheme:
      "a database is named by a URL such as postgres://user@host:5432/database; "
        + "parts that it omits come from PGHOST, PGUSER, PGDATABASE and similar variables"
    case .password:
      "a password must not be in the database's URL, because process lists show it; put it into "
        + "~/.pgpass or the file that PGPASSFILE names, into PGPASSWORD, or into a service file"
    case .part(let part):
      "the \(part) in the database's URL is invalid; "
        + "the form is postgres://user@host:5432/database?keyword=value"
    case .keyword(let keyword):
      "the database's URL must not contain '\(keyword)'; allowed are "
        + PostgresAddress.keywords.joined(separator: ", ")
    case .twice(let keyword): "the database's URL contains '\(keyword)' twice; remove one"
    case .escape:
      "a percent sign in the database's URL must be followed by two hexadecimal digits, not 00, "
        + "and the result must be UTF-8"
    }
  }
}

private enum HexPair {
  static func value(_ digits: ArraySlice<UInt8>) -> UInt8? {
    UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
  }
}
