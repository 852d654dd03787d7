/// An IP address as a number, so that addresses are compared, counted and matched without their
/// text. An IPv4 address is the IPv6 address that it is mapped to (RFC 4291 section 2.5.5.2).
public struct IPAddress: Hashable, Sendable {
  public let high: UInt64
  public let low: UInt64

  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  public init(ipv4: UInt32) { self.init(high: 0, low: 0xFFFF << 32 | UInt64(ipv4)) }

  /// A literal address, without brackets. What an IPv6 address says of its interface (`%eth0`) is
  /// passed over. nil for any other text, also for a name.
  public init?(_ text: some StringProtocol) {
    let address = text.prefix { $0 != "%" }
    guard address.utf8.count <= 45 else { return nil }
    if address.utf8.contains(UInt8(ascii: ":")) {
      guard let groups = IPAddress.groups(of: Substring(address)) else { return nil }
      let words = groups.map { UInt64($0) }
      self.init(
        high: words[0] << 48 | words[1] << 32 | words[2] << 16 | words[3],
        low: words[4] << 48 | words[5] << 32 | words[6] << 16 | words[7])
    } else {
      guard address.utf8.count == text.utf8.count,
        let bytes = IPAddress.bytes(of: Substring(address))
      else { return nil }
      self.init(ipv4: bytes.reduce(0) { $0 << 8 | UInt32($1) })
    }
  }

  public var isIPv4: Bool { high == 0 && low >> 32 == 0xFFFF }

  /// Dotted for IPv4; for IPv6 its eight groups.
  public var text: String {
    if isIPv4 {
      return [24, 16, 8, 0].map { String(low >> $0 & 0xFF) }.joined(separator: ".")
    }
    return groups.map { String($0, radix: 16) }.joined(separator: ":")
  }

  /// The eight groups of 16 bits.
  var groups: [UInt64] {
    [high, low].flatMap { half in [48, 32, 16, 0].map { half >> $0 & 0xFFFF } }
  }

  /// Four numbers with dots between them, none with a zero before it: some read that as octal.
  private static func bytes(of text: Substring) -> [UInt8]? {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 4 else { return nil }
    var bytes: [UInt8] = []
    for part in parts {
      guard part.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
        part.utf8.count == 1 || part.utf8.first != UInt8(ascii: "0"), let byte = UInt8(part)
      else { return nil }
      bytes.append(byte)
    }
    return bytes
  }

  /// RFC 4291 section 2.2.
  private static func groups(of text: Substring) -> [UInt16]? {
    var sides: [[UInt16]] = [[]]
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    for (index, part) in parts.enumerated() {
      if part.isEmpty {
        // The first two of `::1`, and the last two of `1::`, are one gap.
        if index == 0, parts[1].isEmpty { continue }
        if index == parts.count - 1, parts[index - 1].isEmpty { continue }
        guard index > 0, index < parts.count - 1 else { return nil }
        sides.append([])
      } else if part.contains("."), index == parts.count - 1 {
        guard let bytes = bytes(of: part) else { return nil }
        sides[sides.count - 1] += [
          UInt16(bytes[0]) << 8 | UInt16(bytes[1]), UInt16(bytes[2]) << 8 | UInt16(bytes[3]),
        ]
      } else {
        guard part.utf8.count <= 4, part.allSatisfy(\.isHexDigit),
          let group = UInt16(part, radix: 16)
        else { return nil }
        sides[sides.count - 1].append(group)
      }
    }
    switch sides.count {
    case 1: return sides[0].count == 8 ? sides[0] : nil
    case 2:
      let missing = 8 - sides[0].count - sides[1].count
      guard missing >= 0 else { return nil }
      return sides[0] + Array(repeating: 0, count: missing) + sides[1]
    default: return nil
    }
  }
}

/// All addresses that begin alike: `10.0.0.0/8`, `2001:db8::/32`, or a single one.
public struct IPNetwork: Hashable, Sendable {
  private let start: IPAddress
  /// Of 128, also for IPv4.
  private let prefixBits: Int

  /// An address, or an address, a slash and how many of its first bits count. nil for any other
  /// text.
  public init?(_ text: some StringProtocol) {
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

  public func contains(_ address: IPAddress) -> Bool {
    IPNetwork.prefix(of: address, bits: prefixBits) == start
  }

  /// As one writes it.
  public var text: String {
    let bits = start.isIPv4 && prefixBits >= 96 ? prefixBits - 96 : prefixBits
    return prefixBits == 128 ? start.text : "\(start.text)/\(bits)"
  }

  /// The address with all bits but the first ones cleared.
  static func prefix(of address: IPAddress, bits: Int) -> IPAddress {
    IPAddress(
      high: address.high & mask(min(bits, 64)), low: address.low & mask(max(bits - 64, 0)))
  }

  private static func mask(_ bits: Int) -> UInt64 { bits == 0 ? 0 : ~0 << UInt64(64 - bits) }
}

extension [IPNetwork] {
  /// Whether one of them has the address.
  public func contains(address: IPAddress) -> Bool { contains { $0.contains(address) } }

  /// Whether one of them has the peer; a peer without an address, such as a program at a Unix
  /// socket, is in none.
  public func contains(peer: PeerAddress) -> Bool {
    guard let address = IPAddress(of: peer) else { return false }
    return contains(address: address)
  }
}

extension IPAddress {
  /// Of a peer that has one.
  public init?(of peer: PeerAddress) {
    guard case .host(let host, _) = peer else { return nil }
    self.init(host)
  }
}
