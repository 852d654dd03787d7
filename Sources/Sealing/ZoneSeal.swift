import LockstepCrypto
import LockstepJSON
import LockstepLanguage
import LockstepModel

/// Encryption between a device's view of a zone and the records and chunks that the relay stores.
/// The same content under the same key gives the same bytes on every device.
///
/// At the relay a record's name is the HMAC-SHA-256 of its name, its type is `hiddenType`, and its
/// fields are
///
///     {"key": identifier of the generation, "sealed": the sealed content, Base64 for URLs}
///
/// The seal is bound to the zone, the name, the type and the chunks that the relay sees, and to the
/// time of the version and the device that saved it: whoever changes one of them makes it
/// unreadable. Its author is sealed in it.
package struct ZoneSeal: Sendable {
  /// Type of a sealed record at the relay.
  package static let hiddenType = Name(trusted: "Sealed")

  package let zone: Name
  private let nameKey: [UInt8]
  /// Oldest first; the last one seals.
  private let generations: [GenerationKeys]
  private let shownTypes: Set<Name>

  private struct GenerationKeys {
    let id: String
    let record: SIV
    let chunk: SIV
    let chunkSeed: UInt64

    init(_ generation: ZoneKeys.Generation) {
      id = generation.id
      record = SIV(key: derived(generation.key, Array("record".utf8), SIV.keyBytes))
      chunk = SIV(key: derived(generation.key, Array("chunk".utf8), SIV.keyBytes))
      chunkSeed = derived(generation.key, Array("chunk seed".utf8), 8)
        .reduce(0) { $0 << 8 | UInt64($1) }
    }
  }

  /// - Parameter shownTypes: Types that the relay sees, because a subscription filters by them.
  package init(_ keys: ZoneKeys, shownTypes: Set<Name> = []) {
    zone = keys.zone
    self.shownTypes = shownTypes
    nameKey = derived(keys.names, Array("name".utf8), 32)
    generations = keys.generations.map { GenerationKeys($0) }
  }

  private var newest: GenerationKeys { generations[generations.count - 1] }

  /// Identifier of the generation that seals.
  package var keyID: String { newest.id }

  /// Returns a record's name at the relay.
  package func relayName(of name: Name) -> Name {
    Name(trusted: HexText.text(of: HMACSHA256.code(of: Array(name.text.utf8), key: nameKey)))
  }

  /// Returns a record of this zone as the relay stores it. A deleted record becomes a live one
  /// whose content says that it is deleted.
  ///
  /// - Parameters:
  ///   - record: The version; its device is its author.
  ///   - saver: The device that saves it; nil: the author.
  ///   - relayName: The record's name at the relay, if it is known already.
  package func sealed(
    _ record: Record, version: RecordVersion, savedBy saver: DeviceID? = nil,
    as relayName: Name? = nil
  ) -> Record {
    var sealed = record
    sealed.device = saver ?? record.device
    sealed.name = relayName ?? self.relayName(of: record.name)
    sealed.type = shownTypes.contains(record.type) ? record.type : ZoneSeal.hiddenType
    sealed.includes = []
    let bytes = newest.record.sealed(
      SealedContent(record, version).padded, data: ZoneSeal.associatedData(of: sealed))
    sealed.fields = Array(
      "{\"key\":\"\(newest.id)\",\"sealed\":\"\(Base64.encodeURL(bytes))\"}".utf8)
    return sealed
  }

  /// Returns the number of bytes of the fields that the relay would store.
  ///
  /// - Parameter vectorEntries: The number of writers of the versions that it was made on.
  package func sealedFieldsCount(_ record: Record, vectorEntries: Int) -> Int {
    let count = SealedContent.count(record, vectorEntries: vectorEntries)
    let bytes = SIV.overhead + SealPadding.paddedCount(count)
    return #"{"key":"","sealed":""}"#.utf8.count + newest.id.utf8.count + (bytes * 8 + 5) / 6
  }

  /// Returns the record as devices know it, with what is sealed in it. The rest is the relay's
  /// (`tag`), or part of what the seal is bound to.
  package func opened(_ record: Record) throws(SealFault) -> OpenedRecord {
    guard let envelope = SealedEnvelope(record.fields) else { throw .notSealed }
    guard let keys = generations.last(where: { $0.id == envelope.key }) else {
      throw .unknownKey(envelope.key)
    }
    guard record.tag > 0, record.zone == zone, let sealed = Base64.decodeURL(envelope.sealed),
      let bytes = keys.record.opened(sealed, data: ZoneSeal.associatedData(of: record))
    else { throw .altered }
    guard let content = SealedContent(padded: bytes), relayName(of: content.name) == record.name,
      record.type == ZoneSeal.hiddenType || record.type == content.type
    else { throw .malformed }
    var opened = record
    opened.name = content.name
    opened.type = content.type
    opened.device = content.author
    opened.fields = content.fields
    opened.includes = []
    return OpenedRecord(record: opened, version: content.version)
  }

  /// Returns the identifier of the generation with which a record is sealed that the relay has; nil
  /// if it is a plain one. For a device without keys of the zone.
  package static func keyID(of record: Record) -> String? {
    guard record.type == hiddenType else { return nil }
    return SealedEnvelope(record.fields)?.key
  }

  /// Seed for the cut points of files. Secret, so that chunk sizes do not reveal a known file.
  package var chunkSeed: UInt64 { newest.chunkSeed }

  /// Returns a chunk as the relay stores it. `chunk`: at least one byte.
  package func sealed(chunk: [UInt8]) -> [UInt8] {
    newest.chunk.sealed(chunk, data: ZoneSeal.chunkAssociatedData)
  }

  /// Returns nil if these bytes were not made with a generation that this device has.
  package func opened(chunk: [UInt8]) -> [UInt8]? {
    for keys in generations.reversed() {
      if let bytes = keys.chunk.opened(chunk, data: ZoneSeal.chunkAssociatedData) { return bytes }
    }
    return nil
  }

  /// Number of a file's bytes in each of its chunks but the last. Files are cut at fixed places:
  /// with the padding, the sizes of chunks then reveal nothing of the content but its rough length.
  /// A full chunk has less than `Limits.chunkBytes` bytes.
  package static let fileBlockBytes = Limits.chunkBytes - (64 << 10) - 1

  /// Returns a block of a file as a chunk for the relay: padded, and sealed. `fileBlock`: from one
  /// to `fileBlockBytes` bytes.
  package func sealed(fileBlock: [UInt8]) -> [UInt8] {
    var padded = fileBlock
    SealPadding.pad(&padded)
    return sealed(chunk: padded)
  }

  /// Returns the block of a file in a chunk that was sealed with this generation.
  package func opened(
    fileBlock chunk: [UInt8], sealedWith key: String
  ) throws(SealFault) -> [UInt8] {
    guard let keys = generations.last(where: { $0.id == key }) else { throw .unknownKey(key) }
    guard let padded = keys.chunk.opened(chunk, data: ZoneSeal.chunkAssociatedData) else {
      throw .altered
    }
    guard let count = SealPadding.unpaddedCount(padded) else { throw .malformed }
    return Array(padded[..<count])
  }

  private static let chunkAssociatedData = Array("lockstep chunk 1".utf8)

  /// All that the relay sees of a record and must not change. Each text has its length before it,
  /// so that two records have the same bytes only if all parts are the same.
  static func associatedData(of record: Record) -> [UInt8] {
    var bytes = Array("lockstep record 1".utf8)
    for text in [record.zone.text, record.name.text, record.type.text, record.device.text] {
      let count = UInt16(truncatingIfNeeded: text.utf8.count)
      bytes += [UInt8(count >> 8), UInt8(count & 0xFF)]
      bytes += text.utf8
    }
    bytes.append(word: UInt64(bitPattern: record.modifiedAt))
    return bytes + SHA256.hash(record.chunks.flatMap(\.bytes))
  }
}

/// A record of a sealed zone, as devices know it.
package struct OpenedRecord: Hashable, Sendable {
  /// Its device is the author, whichever device has saved it.
  package let record: Record
  package let version: RecordVersion

  package init(record: Record, version: RecordVersion) {
    self.record = record
    self.version = version
  }
}

/// Reason why a record of a sealed zone cannot be read. None of them is a reason to overwrite it.
package enum SealFault: Error, Hashable, Sendable {
  /// It is not sealed: whoever wrote it may not have a key.
  case notSealed
  /// Sealed with a generation that this device does not have.
  case unknownKey(String)
  /// Changed since it was sealed, or sealed as another record, author or time.
  case altered
  /// Sealed with the key, by a program that does not keep to the format.
  case malformed
}

/// The form in which a home keeps a fault.
extension SealFault {
  package var kind: String {
    switch self {
    case .notSealed: "notSealed"
    case .unknownKey: "unknownKey"
    case .altered: "altered"
    case .malformed: "malformed"
    }
  }

  /// Returns a phrase for a person, for the kind of a fault.
  package static func text(ofKind kind: String?) -> String {
    switch kind {
    case "notSealed": localized("not sealed, although its zone is")
    case "unknownKey": localized("sealed with a key that this device does not have")
    case "altered": localized("changed since it was sealed")
    case "malformed": localized("sealed by a program that does not keep to the format")
    default: localized("not readable, for a reason that this version of the program does not know")
    }
  }

  /// Identifier of the generation that is missing; nil for another fault.
  package var keyID: String? {
    if case .unknownKey(let id) = self { id } else { nil }
  }

  /// Returns nil if there is no such fault.
  package init?(kind: String?, keyID: String?) {
    switch kind {
    case "notSealed": self = .notSealed
    case "unknownKey":
      guard let keyID else { return nil }
      self = .unknownKey(keyID)
    case "altered": self = .altered
    case "malformed": self = .malformed
    default: return nil
    }
  }
}

/// Fields of a sealed record.
private struct SealedEnvelope {
  let key: String
  let sealed: String

  /// Returns nil if the fields are not an object of exactly these two strings.
  init?(_ fields: [UInt8]?) {
    guard case .object(let members)? = fields.flatMap({ JSONValue(ifJSON: $0) }),
      members.count == 2
    else { return nil }
    var key: String?
    var sealed: String?
    for member in members {
      switch member.name {
      case "key": key = member.value.string
      case "sealed": sealed = member.value.string
      default: return nil
      }
    }
    guard let key, let sealed, key.utf8.count == 16, key.utf8.allSatisfy(isLowercaseHexadecimal)
    else { return nil }
    self.key = key
    self.sealed = sealed
  }
}

private func isLowercaseHexadecimal(_ digit: UInt8) -> Bool {
  switch digit {
  case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): true
  default: false
  }
}
