/// IP address as a number, so that addresses are compared, counted and matched without their text.
/// An IPv4 address is stored as the IPv6 address that it is mapped to (RFC 4291 section 2.5.5.2).
@usableFromInline
package struct IPAddress: Hashable, Sendable {
  @usableFromInline package let high: UInt64
  @usableFromInline package let low: UInt64

  @usableFromInline
  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  @usableFromInline
  package init(ipv4: UInt32) { self.init(high: 0, low: 0xFFFF << 32 | UInt64(ipv4)) }

  /// Parses a literal address, without brackets. The zone of an IPv6 address (`%eth0`) is ignored.
  /// Returns nil for any other text, including a name.
  @usableFromInline
  package init?(_ text: some StringProtocol) {
    guard let address = String(text).withUTF8Bytes({ IPAddress(parsing: $0) }) else { return nil }
    self = address
  }

  private init?(parsing text: Span<UInt8>) {
    var end = 0
    var isIPv6 = false
    while end < text.count, text[end] != UInt8(ascii: "%") {
      if text[end] == UInt8(ascii: ":") { isIPv6 = true }
      end += 1
    }
    guard end <= 45 else { return nil }
    if isIPv6 {
      guard let bits = IPAddress.ipv6(text.extracting(0..<end)) else { return nil }
      self.init(
        high: UInt64(truncatingIfNeeded: bits >> 64), low: UInt64(truncatingIfNeeded: bits))
    } else {
      guard end == text.count, let bits = IPAddress.ipv4(text) else { return nil }
      self.init(ipv4: bits)
    }
  }

  @usableFromInline package var isIPv4: Bool { high == 0 && low >> 32 == 0xFFFF }

  /// Dotted decimal for IPv4; the eight groups for IPv6.
  @usableFromInline
  package var text: String {
    if isIPv4 { return ipv4Text }
    return groups.map { String($0, radix: 16) }.joined(separator: ":")
  }

  private var ipv4Text: String {
    String(unsafeUninitializedCapacity: 15) { text in
      var count = 0
      func append(_ character: UInt8) {
        text[count] = character
        count += 1
      }
      for shift in stride(from: 24, through: 0, by: -8) {
        let number = UInt8(truncatingIfNeeded: low >> UInt64(shift))
        if number >= 100 { append(UInt8(ascii: "0") + number / 100) }
        if number >= 10 { append(UInt8(ascii: "0") + number / 10 % 10) }
        append(UInt8(ascii: "0") + number % 10)
        if shift > 0 { append(UInt8(ascii: ".")) }
      }
      return count
    }
  }

  /// The eight groups of 16 bits.
  package var groups: [UInt64] {
    [high, low].flatMap { half in [48, 32, 16, 0].map { half >> $0 & 0xFFFF } }
  }

  /// Parses four numbers with dots between them, without leading zeros: some programs read those as
  /// octal.
  private static func ipv4(_ text: Span<UInt8>) -> UInt32? {
    var bits: UInt32 = 0
    var index = 0
    for part in 0..<4 {
      if part > 0 {
        guard index < text.count, text[index] == UInt8(ascii: ".") else { return nil }
        index += 1
      }
      let start = index
      var number: UInt32 = 0
      while index < text.count, index - start < 4, text[index] &- UInt8(ascii: "0") <= 9 {
        number = number * 10 + UInt32(text[index] &- UInt8(ascii: "0"))
        index += 1
      }
      let hasZeroBefore = index - start > 1 && text[start] == UInt8(ascii: "0")
      guard index > start, number <= 255, !hasZeroBefore else { return nil }
      bits = bits << 8 | number
    }
    return index == text.count ? bits : nil
  }

  /// Parses RFC 4291 section 2.2: groups with colons between them, the last two possibly as an IPv4
  /// address, and at most one `::` for the missing zero groups.
  private static func ipv6(_ text: Span<UInt8>) -> UInt128? {
    var bits: UInt128 = 0
    var groups = 0
    /// Number of groups before the gap.
    var gap: Int?
    var index = 0
    if text.count >= 2, text[0] == UInt8(ascii: ":"), text[1] == UInt8(ascii: ":") {
      gap = 0
      index = 2
    }
    while index < text.count {
      let start = index
      var group: UInt128 = 0
      while index < text.count, index - start < 5, let digit = HexText.digit(text[index]) {
        group = group << 4 | UInt128(digit)
        index += 1
      }
      if index < text.count, text[index] == UInt8(ascii: ".") {
        guard let ipv4 = ipv4(text.extracting(start..<text.count)) else { return nil }
        bits = bits << 32 | UInt128(ipv4)
        groups += 2
        break
      }
      guard index > start, index - start <= 4 else { return nil }
      bits = bits << 16 | group
      groups += 1
      if index == text.count { break }
      guard groups < 9, text[index] == UInt8(ascii: ":"), index + 1 < text.count else {
        return nil
      }
      index += 1
      if text[index] == UInt8(ascii: ":") {
        guard gap == nil else { return nil }
        gap = groups
        index += 1
      }
    }
    guard let gap else { return groups == 8 ? bits : nil }
    // The gap stands for one group at least (RFC 4291 section 2.2).
    guard groups < 8 else { return nil }
    let behind = 16 * (groups - gap)
    return (bits >> behind) << (128 - 16 * gap) | bits & ~(~0 << behind)
  }
}

/// Addresses with a common prefix: `10.0.0.0/8`, `2001:db8::/32`, or a single one.
@usableFromInline
package struct IPNetwork: Hashable, Sendable {
  private let start: IPAddress
  /// Out of 128, also for IPv4.
  private let prefixBits: Int

  /// Parses an address, or an address, a slash and the number of prefix bits. Returns nil for any
  /// other text.
  @usableFromInline
  package init?(_ text: some StringProtocol) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count <= 2, let address = IPAddress(parts[0]) else { return nil }
    var bits = 128
    if parts.count == 2 {
      guard (1...3).contains(parts[1].utf8.count),
        parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }),
        let given = Int(parts[1]), given <= (address.isIPv4 ? 32 : 128)
      else { return nil }
      bits = address.isIPv4 ? given + 96 : given
    }
    prefixBits = bits
    start = IPNetwork.prefix(of: address, bits: bits)
  }

  @usableFromInline
  package func contains(_ address: IPAddress) -> Bool {
    IPNetwork.prefix(of: address, bits: prefixBits) == start
  }

  /// The usual notation.
  @usableFromInline
  package var text: String {
    let bits = start.isIPv4 && prefixBits >= 96 ? prefixBits - 96 : prefixBits
    return prefixBits == 128 ? start.text : "\(start.text)/\(bits)"
  }

  /// Returns the address with all bits after the first `bits` cleared.
  package static func prefix(of address: IPAddress, bits: Int) -> IPAddress {
    IPAddress(
      high: address.high & mask(min(bits, 64)), low: address.low & mask(max(bits - 64, 0)))
  }

  private static func mask(_ bits: Int) -> UInt64 { bits == 0 ? 0 : ~0 << UInt64(64 - bits) }
}

extension [IPNetwork] {
  /// True if one of the networks contains the address.
  @usableFromInline
  package func contains(address: IPAddress) -> Bool { contains { $0.contains(address) } }
}
