import LockstepModel

/// URL to which a push service takes pushes for one subscription. A client names it, and the relay
/// connects to it, so it is accepted in one spelling only: two programs never read two hosts in it.
package struct PushEndpoint: Hashable, Sendable {
  package enum Host: Hashable, Sendable {
    /// Name for DNS, in lower case; it may have a single label.
    case name(String)
    case address(IPAddress)
  }

  package let host: Host
  package let port: UInt16
  /// Path and query, as they were given.
  package let target: String

  package static let usualPort: UInt16 = 443

  package init(_ text: String) throws(PushEndpointFault) {
    let bytes = Array(text.utf8)
    guard bytes.count <= Limits.wakeEndpointBytes else { throw .tooLong }
    guard bytes.allSatisfy(PushEndpoint.isAllowed) else { throw .character }
    let scheme = Array("https://".utf8)
    guard bytes.count >= scheme.count,
      zip(bytes, scheme).allSatisfy({ PushEndpoint.lowercased($0) == $1 })
    else { throw .scheme }
    let rest = bytes[scheme.count...]
    let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }
    let authority = rest[..<(end ?? rest.endIndex)]
    let target = rest[(end ?? rest.endIndex)...]
    guard !authority.contains(UInt8(ascii: "@")) else { throw .userInformation }
    guard !rest.contains(UInt8(ascii: "#")) else { throw .fragment }
    guard !authority.contains(UInt8(ascii: "%")) else { throw .host }
    guard PushEndpoint.hasValidEscapes(target) else { throw .escape }
    let portStart = try PushEndpoint.endOfHost(authority)
    host = try PushEndpoint.host(authority[..<portStart])
    port = try PushEndpoint.port(authority[portStart...])
    let hasPath = target.first == UInt8(ascii: "/")
    self.target = (hasPath ? "" : "/") + String(decoding: target, as: UTF8.self)
    // The usual spelling may be longer than the one that was given.
    guard url.utf8.count <= Limits.wakeEndpointBytes else { throw .tooLong }
  }

  /// Scheme, host, and the port unless it is 443 (RFC 6454 section 6.2). An internationalized name
  /// stays in its ASCII form, as browsers serialize it; RFC 8292 asks for the Unicode form.
  package var origin: String { "https://" + authority }

  /// Host, and the port unless it is 443: the field `Host`.
  package var authority: String {
    hostText + (port == PushEndpoint.usualPort ? "" : ":\(port)")
  }

  package var url: String { origin + target }

  /// The host as in a URL: an IPv6 address has brackets.
  package var hostText: String {
    switch host {
    case .name(let name): name
    case .address(let address): address.isIPv4 ? address.text : "[\(address.shortText)]"
    }
  }

  /// The host as in a certificate: an IPv6 address has no brackets.
  package var hostWithoutBrackets: String {
    switch host {
    case .name(let name): name
    case .address(let address): address.isIPv4 ? address.text : address.shortText
    }
  }

  /// True for the characters of RFC 3986. Excluded are control characters, spaces, backslashes and
  /// all that is not ASCII.
  private static func isAllowed(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\\"),
      UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "|"),
      UInt8(ascii: "}"):
      false
    default: (0x21...0x7E).contains(byte)
    }
  }

  private static func lowercased(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
  }

  private static func hasValidEscapes(_ text: ArraySlice<UInt8>) -> Bool {
    text.indices.allSatisfy { index in
      text[index] != UInt8(ascii: "%")
        || (index + 2 < text.endIndex && HexText.digit(text[index + 1]) != nil
          && HexText.digit(text[index + 2]) != nil)
    }
  }

  private static func endOfHost(_ authority: ArraySlice<UInt8>) throws(PushEndpointFault) -> Int {
    guard authority.first == UInt8(ascii: "[") else {
      return authority.firstIndex(of: UInt8(ascii: ":")) ?? authority.endIndex
    }
    guard let end = authority.firstIndex(of: UInt8(ascii: "]")) else { throw .host }
    return end + 1
  }

  private static func port(_ text: ArraySlice<UInt8>) throws(PushEndpointFault) -> UInt16 {
    if text.isEmpty { return usualPort }
    let digits = text.dropFirst()
    // No leading zero, which also excludes port 0.
    guard text.first == UInt8(ascii: ":"), (1...5).contains(digits.count),
      digits.first != UInt8(ascii: "0"), digits.allSatisfy(isDigit),
      let port = UInt16(String(decoding: digits, as: UTF8.self))
    else { throw .port }
    return port
  }

  private static func host(_ text: ArraySlice<UInt8>) throws(PushEndpointFault) -> Host {
    if text.first == UInt8(ascii: "[") {
      // An IPv4 address has its own spelling, not one inside an IPv6 address.
      guard let address = IPAddress(String(decoding: text.dropFirst().dropLast(), as: UTF8.self)),
        text.contains(UInt8(ascii: ":")), !address.isIPv4
      else { throw .address }
      return .address(address)
    }
    let labels = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard text.count <= 253, labels.allSatisfy(isLabel), let last = labels.last else {
      throw .host
    }
    let name = String(decoding: text.map(lowercased), as: UTF8.self)
    guard isNumber(last) else { return .name(name) }
    // Browsers and system libraries read `127.1`, `0x7f.1` and `2130706433` as addresses.
    guard let address = IPAddress(name) else { throw .address }
    return .address(address)
  }

  /// True for a label of a host name (RFC 1123 section 2.1). `xn--…` is one.
  private static func isLabel(_ label: ArraySlice<UInt8>) -> Bool {
    (1...63).contains(label.count) && label.first != UInt8(ascii: "-")
      && label.last != UInt8(ascii: "-")
      && label.allSatisfy { byte in
        isDigit(byte) || byte == UInt8(ascii: "-")
          || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(lowercased(byte))
      }
  }

  /// True for the last label of an IPv4 address in any of its spellings (URL Standard, "ends in a
  /// number").
  private static func isNumber(_ label: ArraySlice<UInt8>) -> Bool {
    if label.allSatisfy(isDigit) { return true }
    let digits = label.dropFirst(2)
    return label.prefix(2).map(lowercased) == Array("0x".utf8)
      && digits.allSatisfy { HexText.digit($0) != nil }
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }
}

/// Reason for which a URL is not accepted as a push endpoint.
package enum PushEndpointFault: Error, Hashable, CaseIterable, CustomStringConvertible {
  case tooLong, character, scheme, userInformation, fragment, escape, host, address, port

  package var description: String {
    switch self {
    case .tooLong: "is longer than \(Limits.wakeEndpointBytes) bytes"
    case .character: "has a character that a URL must not have; percent-encode it"
    case .scheme: "does not begin with https://"
    case .userInformation: "has user information before its host; leave it out"
    case .fragment: "has a fragment; leave it out"
    case .escape: "has a percent sign without two hexadecimal digits"
    case .host: "has no valid host name"
    case .address: "has an address in an unusual form; write 192.0.2.1 or [2001:db8::1]"
    case .port: "has no valid port"
    }
  }
}

extension IPAddress {
  /// The shortest text of an IPv6 address (RFC 5952): the longest run of zero groups, of two or
  /// more, is left out.
  fileprivate var shortText: String {
    let groups = groups
    var longest = 0..<0
    var start = 0
    for (index, group) in groups.enumerated() {
      if group != 0 { start = index + 1 }
      if index + 1 - start > longest.count { longest = start..<index + 1 }
    }
    func text(_ groups: ArraySlice<UInt64>) -> String {
      groups.map { String($0, radix: 16) }.joined(separator: ":")
    }
    if longest.count < 2 { return text(groups[...]) }
    return text(groups[..<longest.lowerBound]) + "::" + text(groups[longest.upperBound...])
  }
}
