public import Link

/// Whose guesses count together: an IPv4 address, the /64 network of an IPv6 address (one customer
/// has a whole /64), or all of this machine's own sockets.
public struct PeerNetwork: Hashable, Sendable {
  public let text: String

  public init(of peer: PeerAddress) {
    switch peer {
    case .local: text = "local"
    case .host(let host, _): text = PeerNetwork.network(of: host)
    }
  }

  private static func network(of host: String) -> String {
    let address = host.prefix { $0 != "%" }
    guard let groups = groups(of: address) else { return host }
    if groups[..<5].allSatisfy({ $0 == 0 }), groups[5] == 0xFFFF {
      // An IPv4 address as an IPv6 socket shows it (RFC 4291 section 2.5.5.2).
      let bytes = [groups[6] >> 8, groups[6] & 0xFF, groups[7] >> 8, groups[7] & 0xFF]
      return bytes.map { String($0) }.joined(separator: ".")
    }
    return groups[..<4].map { String($0, radix: 16) }.joined(separator: ":") + "::/64"
  }

  /// The eight groups of an IPv6 address (RFC 4291 section 2.2); nil for any other text.
  private static func groups(of text: Substring) -> [UInt16]? {
    guard text.utf8.contains(UInt8(ascii: ":")), text.utf8.count <= 45 else { return nil }
    var sides: [[UInt16]] = [[]]
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    for (index, part) in parts.enumerated() {
      if part.isEmpty {
        if index == 0 || index == parts.count - 1 { continue }
        sides.append([])
      } else if part.contains("."), index == parts.count - 1 {
        let bytes = part.split(separator: ".").compactMap { UInt16($0) }
        guard bytes.count == 4, bytes.allSatisfy({ $0 < 256 }) else { return nil }
        sides[sides.count - 1] += [bytes[0] << 8 | bytes[1], bytes[2] << 8 | bytes[3]]
      } else {
        guard let group = UInt16(part, radix: 16) else { return nil }
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
