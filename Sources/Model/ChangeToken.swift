import LockstepJSON

/// Version of one record: the account's sequence number at the record's last save. Rises by one
/// with each saved record, is never reused, stays below 2⁵³. 0 means "does not exist".
@usableFromInline package typealias ChangeTag = Int64

/// Position in an account's order of saves: "all up to here" (docs/protocol.md, "Terms").
///
/// Opaque to clients. Contains the generation of the account's history, a sequence number, the zone
/// of a limited read, and, in the middle of a read, the sequence at which a snapshot ends and the
/// account's newest sequence.
///
///     <generation hex>.<sequence>[.z<zone digest hex>][.p<pinned sequence>][.h<horizon>]
@usableFromInline
package struct ChangeToken: Hashable, Sendable {
  @usableFromInline package var sequence: Int64
  // Every connection holds several tokens, so what is rarely present has no flag of its own: 40
  // bytes a token, with or without an optional around it, rather than 56.
  @usableFromInline var storedPinned = absent
  @usableFromInline var storedHorizon = absent
  /// Number of the account's history. Changes when a store is restored from a backup. Random for
  /// each account, so that a token of another account is recognised as foreign.
  @usableFromInline package var generation: UInt32
  @usableFromInline var storedDigest: UInt32 = 0
  @usableFromInline var isOfZone = false

  /// Stored in place of a sequence that is not present: no sequence is negative.
  @usableFromInline static var absent: Int64 { -1 }

  @usableFromInline
  package init(
    generation: UInt32, sequence: Int64, zoneDigest: UInt32? = nil, pinned: Int64? = nil,
    horizon: Int64? = nil
  ) {
    self.generation = generation
    self.sequence = sequence
    self.zoneDigest = zoneDigest
    self.pinned = pinned
    self.horizon = horizon
  }

  /// Digest of the zone's name, if the token belongs to a read limited to that zone.
  @inlinable package var zoneDigest: UInt32? {
    get { isOfZone ? storedDigest : nil }
    set {
      isOfZone = newValue != nil
      storedDigest = newValue ?? 0
    }
  }

  /// Sequence that a snapshot is pinned to, in the middle of the snapshot.
  @inlinable package var pinned: Int64? {
    get { storedPinned < 0 ? nil : storedPinned }
    set { storedPinned = newValue ?? Self.absent }
  }

  /// The account's newest sequence when the token was made, if it was beyond the token. A record
  /// that was saved again in the meantime has a tag between the two and was left out of the read,
  /// so the token is not valid for a history that ends before the horizon.
  @inlinable package var horizon: Int64? {
    get { storedHorizon < 0 ? nil : storedHorizon }
    set { storedHorizon = newValue ?? Self.absent }
  }

  /// Sequence that a history must reach for the token to be valid in it.
  @usableFromInline package var reach: Int64 { max(sequence, pinned ?? 0, horizon ?? 0) }

  /// Tags that the token's history must contain, in order. A client that was given tags beyond the
  /// position by a relay whose store has reverted since then holds tags of two histories.
  package var tags: [ChangeTag] { [sequence, pinned, horizon].compactMap(\.self) }

  /// Returns nil if `text` is not a token that this relay could have made.
  @usableFromInline
  package init?(text: String) {
    guard let token = text.withUTF8Bytes({ ChangeToken(bytes: $0) }) else { return nil }
    self = token
  }

  /// Same as `init(text:)`, from the text's bytes.
  package init?(bytes: Span<UInt8>) {
    var index = 0
    guard bytes.count <= Limits.changeTokenBytes,
      let generation = ChangeToken.hexadecimal(bytes, &index),
      ChangeToken.skip(UInt8(ascii: "."), bytes, &index),
      let sequence = ChangeToken.decimal(bytes, &index)
    else { return nil }
    self.init(generation: generation, sequence: sequence)
    while index < bytes.count {
      guard ChangeToken.skip(UInt8(ascii: "."), bytes, &index), horizon == nil else { return nil }
      if zoneDigest == nil, pinned == nil, ChangeToken.skip(UInt8(ascii: "z"), bytes, &index) {
        guard let digest = ChangeToken.hexadecimal(bytes, &index) else { return nil }
        zoneDigest = digest
      } else if pinned == nil, ChangeToken.skip(UInt8(ascii: "p"), bytes, &index) {
        guard let value = ChangeToken.decimal(bytes, &index), value >= sequence else { return nil }
        pinned = value
      } else {
        guard ChangeToken.skip(UInt8(ascii: "h"), bytes, &index),
          let value = ChangeToken.decimal(bytes, &index), value >= reach
        else { return nil }
        horizon = value
      }
    }
  }

  /// True if everything up to `other` is known at this token. Both tokens are for the whole
  /// account.
  @usableFromInline
  package func covers(_ other: ChangeToken) -> Bool {
    generation == other.generation && sequence >= other.sequence
  }

  /// True if both tokens name the same position. The horizon, the account's newest sequence when a
  /// token was made, is not compared.
  @usableFromInline
  package func isSamePosition(as other: ChangeToken) -> Bool {
    generation == other.generation && sequence == other.sequence
      && zoneDigest == other.zoneDigest && pinned == other.pinned
  }

  /// Returns this token for a client that came here from `earlier` by a page that was made for all
  /// clients. Records that were saved again on the way are still to be delivered to this client, so
  /// the horizon of `earlier` is kept.
  @usableFromInline
  package func keepingHorizon(of earlier: ChangeToken?) -> ChangeToken {
    guard pinned == nil, let earlier, earlier.pinned == nil, earlier.generation == generation,
      let horizon = earlier.horizon, horizon > reach
    else { return self }
    var reached = self
    reached.horizon = horizon
    return reached
  }

  /// Returns this token for a client that was also given tags up to `tag`: a history without these
  /// tags is another history.
  package func extendingHorizon(to tag: ChangeTag) -> ChangeToken {
    guard tag > reach else { return self }
    var extended = self
    extended.horizon = tag
    return extended
  }

  @usableFromInline
  package var text: String {
    var bytes = OutputBytes(capacity: Limits.changeTokenBytes)
    append(to: &bytes)
    return bytes.finishText()
  }

  /// Appends the token's text without making a string: every answer and every push names two
  /// tokens.
  package func append(to bytes: inout OutputBytes) {
    bytes.appendHexadecimal(generation)
    bytes.append(UInt8(ascii: "."))
    bytes.appendDecimal(sequence)
    if let zoneDigest {
      ChangeToken.append("z", to: &bytes)
      bytes.appendHexadecimal(zoneDigest)
    }
    if let pinned {
      ChangeToken.append("p", to: &bytes)
      bytes.appendDecimal(pinned)
    }
    if let horizon {
      ChangeToken.append("h", to: &bytes)
      bytes.appendDecimal(horizon)
    }
  }

  /// Returns the FNV-1a hash of the name's bytes: enough to detect a token that is used with
  /// another zone.
  @usableFromInline
  package static func digest(of zone: Name) -> UInt32 {
    zone.text.utf8.reduce(0x811C_9DC5) { ($0 ^ UInt32($1)) &* 0x0100_0193 }
  }

  private static func append(_ letter: Unicode.Scalar, to bytes: inout OutputBytes) {
    bytes.append(UInt8(ascii: "."))
    bytes.append(UInt8(ascii: letter))
  }

  // Numbers are accepted only in the form that this relay writes, so that a token has one text.

  /// Number of digits of `Limits.sequenceLimit`.
  private static let mostDigits = 16

  private static func decimal(_ bytes: Span<UInt8>, _ index: inout Int) -> Int64? {
    let start = index
    var value: Int64 = 0
    while index < bytes.count, bytes[index] &- UInt8(ascii: "0") <= 9 {
      // May overflow: a number with too many digits is refused below.
      value = value &* 10 &+ Int64(bytes[index] &- UInt8(ascii: "0"))
      index += 1
    }
    guard index - start <= ChangeToken.mostDigits, value < Limits.sequenceLimit else { return nil }
    return isShortest(bytes, start..<index) ? value : nil
  }

  private static func hexadecimal(_ bytes: Span<UInt8>, _ index: inout Int) -> UInt32? {
    let start = index
    var value: UInt32 = 0
    while index < bytes.count, let digit = HexText.digit(bytes[index]) {
      guard index - start < 8, bytes[index] >= UInt8(ascii: "a") || digit < 10 else { return nil }
      value = value << 4 | UInt32(digit)
      index += 1
    }
    return isShortest(bytes, start..<index) ? value : nil
  }

  /// True if the number has at least one digit and no leading zero.
  private static func isShortest(_ bytes: Span<UInt8>, _ digits: Range<Int>) -> Bool {
    digits.count == 1 || (digits.count > 1 && bytes[digits.lowerBound] != UInt8(ascii: "0"))
  }

  private static func skip(_ byte: UInt8, _ bytes: Span<UInt8>, _ index: inout Int) -> Bool {
    guard index < bytes.count, bytes[index] == byte else { return false }
    index += 1
    return true
  }
}

/// Tags that an account's history has skipped: those after `after`, up to `through`.
///
/// A *run* begins when a store is opened for writing, and has its own number, an `OpeningNumber`.
/// At an account's first save in a run, its tags continue from the time of that opening, above all
/// tags given before:
///
///     first run         second                third
///     1 2 3 … 100       20001 … 20007         30001 …
///                ‹ gap ›             ‹  gap  ›
///
/// If the whole store goes back to an earlier state, the tags that it gives then differ from those
/// that it gave before. A client with a lost tag is recognised: the tag is in a gap.
@usableFromInline
package struct TagGap: Hashable, Sendable {
  @usableFromInline package var after: ChangeTag
  @usableFromInline package var through: ChangeTag

  @usableFromInline
  package init(after: ChangeTag, through: ChangeTag) {
    self.after = after
    self.through = through
  }

  @usableFromInline
  package func contains(_ tag: ChangeTag) -> Bool { tag > after && tag <= through }
}
