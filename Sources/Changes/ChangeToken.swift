/// The version of one record: the account's sequence number at the record's last save.
/// Rises by one a saved record, is never reused, stays below 2⁵³. 0 stands for "does not exist".
public typealias ChangeTag = Int64

/// A place in an account's order of saves: "all up to here" (docs/protocol.md, "Terms").
///
/// Opaque to clients. Inside: the generation of the account's history, a sequence number, the
/// zone that a limited read was made for, and, in the middle of a snapshot, where it ends.
///
///     <generation hex>.<sequence>[.z<zone digest hex>][.p<pinned sequence>]
public struct ChangeToken: Hashable, Sendable {
  /// Changes when a store was restored from a backup; random from account to account, so that a
  /// token of another account is recognised as foreign.
  public var generation: UInt32
  public var sequence: Int64
  /// A digest of the zone's name where the token belongs to a read limited to that zone.
  public var zoneDigest: UInt32?
  /// In the middle of a snapshot: the sequence that the snapshot is pinned to.
  public var pinned: Int64?

  public init(
    generation: UInt32, sequence: Int64, zoneDigest: UInt32? = nil, pinned: Int64? = nil
  ) {
    self.generation = generation
    self.sequence = sequence
    self.zoneDigest = zoneDigest
    self.pinned = pinned
  }

  /// nil where `text` is not a token that this relay could have made.
  public init?(text: String) {
    guard text.utf8.count <= Limits.changeTokenBytes else { return nil }
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count >= 2, parts.count <= 4,
      let generation = ChangeToken.hexadecimal(parts[0]),
      let sequence = ChangeToken.decimal(parts[1])
    else { return nil }
    self.init(generation: generation, sequence: sequence)
    for part in parts.dropFirst(2) {
      switch part.first {
      case "z" where zoneDigest == nil && pinned == nil:
        guard let digest = ChangeToken.hexadecimal(part.dropFirst()) else { return nil }
        zoneDigest = digest
      case "p" where pinned == nil:
        guard let value = ChangeToken.decimal(part.dropFirst()), value >= sequence else {
          return nil
        }
        pinned = value
      default: return nil
      }
    }
  }

  public var text: String {
    var text = String(generation, radix: 16) + "." + String(sequence)
    if let zoneDigest { text += ".z" + String(zoneDigest, radix: 16) }
    if let pinned { text += ".p" + String(pinned) }
    return text
  }

  /// FNV-1a over the name's bytes: enough to notice a token used with another zone.
  public static func digest(of zone: Name) -> UInt32 {
    zone.text.utf8.reduce(0x811C_9DC5) { ($0 ^ UInt32($1)) &* 0x0100_0193 }
  }

  private static func decimal(_ text: Substring) -> Int64? {
    guard let value = Int64(text), value >= 0, value < Limits.sequenceLimit,
      String(value) == text
    else { return nil }
    return value
  }

  private static func hexadecimal(_ text: Substring) -> UInt32? {
    guard let value = UInt32(text, radix: 16), String(value, radix: 16) == text else { return nil }
    return value
  }
}
