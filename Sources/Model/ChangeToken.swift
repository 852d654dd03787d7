/// The version of one record: the account's sequence number at the record's last save.
/// Rises by one a saved record, is never reused, stays below 2⁵³. 0 stands for "does not exist".
public typealias ChangeTag = Int64

/// A place in an account's order of saves: "all up to here" (docs/protocol.md, "Terms").
///
/// Opaque to clients. Inside: the generation of the account's history, a sequence number, the
/// zone that a limited read was made for, and, in the middle of a read, where a snapshot ends and
/// how far the account has come.
///
///     <generation hex>.<sequence>[.z<zone digest hex>][.p<pinned sequence>][.h<horizon>]
public struct ChangeToken: Hashable, Sendable {
  /// Changes when a store was restored from a backup; random from account to account, so that a
  /// token of another account is recognised as foreign.
  public var generation: UInt32
  public var sequence: Int64
  /// A digest of the zone's name where the token belongs to a read limited to that zone.
  public var zoneDigest: UInt32?
  /// In the middle of a snapshot: the sequence that the snapshot is pinned to.
  public var pinned: Int64?
  /// Where the account had moved on beyond the token when it was made: how far. A record that was
  /// saved anew meanwhile lies between the two and was left out of what was read, so the token
  /// says nothing to a history that ends short of here.
  public var horizon: Int64?

  public init(
    generation: UInt32, sequence: Int64, zoneDigest: UInt32? = nil, pinned: Int64? = nil,
    horizon: Int64? = nil
  ) {
    self.generation = generation
    self.sequence = sequence
    self.zoneDigest = zoneDigest
    self.pinned = pinned
    self.horizon = horizon
  }

  /// How far its history must reach for the token to be true of it.
  public var reach: Int64 { max(sequence, pinned ?? 0, horizon ?? 0) }

  /// All tags that its history must have, in order. Who was given some beyond the place, by a relay
  /// whose store had gone back meanwhile, knows of two histories.
  package var tags: [ChangeTag] { [sequence, pinned, horizon].compactMap(\.self) }

  /// nil where `text` is not a token that this relay could have made.
  public init?(text: String) { self.init(bytes: text.utf8Span.span) }

  /// The same from the text's bytes.
  package init?(bytes: Span<UInt8>) {
    var index = 0
    guard bytes.count <= Limits.changeTokenBytes,
      let generation = ChangeToken.hexadecimal(bytes, &index),
      ChangeToken.take(UInt8(ascii: "."), bytes, &index),
      let sequence = ChangeToken.decimal(bytes, &index)
    else { return nil }
    self.init(generation: generation, sequence: sequence)
    while index < bytes.count {
      guard ChangeToken.take(UInt8(ascii: "."), bytes, &index), horizon == nil else { return nil }
      if zoneDigest == nil, pinned == nil, ChangeToken.take(UInt8(ascii: "z"), bytes, &index) {
        guard let digest = ChangeToken.hexadecimal(bytes, &index) else { return nil }
        zoneDigest = digest
      } else if pinned == nil, ChangeToken.take(UInt8(ascii: "p"), bytes, &index) {
        guard let value = ChangeToken.decimal(bytes, &index), value >= sequence else { return nil }
        pinned = value
      } else {
        guard ChangeToken.take(UInt8(ascii: "h"), bytes, &index),
          let value = ChangeToken.decimal(bytes, &index), value >= reach
        else { return nil }
        horizon = value
      }
    }
  }

  /// Whether all up to `other` is known at this token. Both are of the whole account.
  public func covers(_ other: ChangeToken) -> Bool {
    generation == other.generation && sequence >= other.sequence
  }

  /// Whether both name the same place. How far the account had come when each was made says nothing
  /// of where they stand.
  public func isSamePlace(as other: ChangeToken) -> Bool {
    generation == other.generation && sequence == other.sequence
      && zoneDigest == other.zoneDigest && pinned == other.pinned
  }

  /// This place, for who comes to it from `earlier` by a link that was made for all. What a record
  /// may have been saved over on the way there is still to be told to him, so how far the account
  /// had come by then stays with him.
  public func reached(from earlier: ChangeToken?) -> ChangeToken {
    guard pinned == nil, let earlier, earlier.pinned == nil, earlier.generation == generation,
      let horizon = earlier.horizon, horizon > reach
    else { return self }
    var reached = self
    reached.horizon = horizon
    return reached
  }

  /// This place, for who has been given tags up to `tag` besides: a history that lacks them is
  /// another one.
  package func knowing(_ tag: ChangeTag) -> ChangeToken {
    guard tag > reach else { return self }
    var knowing = self
    knowing.horizon = tag
    return knowing
  }

  public var text: String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(Limits.changeTokenBytes)
    append(to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Its text, without a string in between: every answer and every push names two tokens.
  package func append(to bytes: inout [UInt8]) {
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

  /// FNV-1a over the name's bytes: enough to notice a token used with another zone.
  public static func digest(of zone: Name) -> UInt32 {
    zone.text.utf8.reduce(0x811C_9DC5) { ($0 ^ UInt32($1)) &* 0x0100_0193 }
  }

  private static func append(_ letter: Unicode.Scalar, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "."))
    bytes.append(UInt8(ascii: letter))
  }

  // Numbers are taken only as this relay writes them, so that a token has one text.

  /// Those of `Limits.sequenceLimit`.
  private static let mostDigits = 16

  private static func decimal(_ bytes: Span<UInt8>, _ index: inout Int) -> Int64? {
    let start = index
    var value: Int64 = 0
    while index < bytes.count, bytes[index] &- UInt8(ascii: "0") <= 9 {
      // It may run over: what has more digits than the limit is refused.
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

  /// No empty number, and no zero in front of one.
  private static func isShortest(_ bytes: Span<UInt8>, _ digits: Range<Int>) -> Bool {
    digits.count == 1 || (digits.count > 1 && bytes[digits.lowerBound] != UInt8(ascii: "0"))
  }

  private static func take(_ byte: UInt8, _ bytes: Span<UInt8>, _ index: inout Int) -> Bool {
    guard index < bytes.count, bytes[index] == byte else { return false }
    index += 1
    return true
  }
}
