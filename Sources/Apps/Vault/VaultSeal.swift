import LockstepCrypto
import LockstepJSON
import LockstepModel
import LockstepSealing

/// Encryption between a device's view of a vault and its records and chunks: names, manifests and
/// chunks. The same plaintext gives the same bytes on every device, so that chunks are stored once
/// and merge rules give the same result everywhere.
///
/// A vault has one of three forms of records.
///
/// *Plain*: a record's name is the file's, and it holds the manifest.
///
/// *Sealed with a key of the vault's own*: a record's name is the keyed hash of its file's name. It
/// holds
///
///     {"sealed": Base64 of the sealed JSON of the manifest, "key": key identifier,
///      "chunks": [the hash of each sealed chunk, in order]}
///
/// A manifest's seal is bound to the record's name and to those hashes: if the manifest is moved to
/// another record, or a hash is changed, it cannot be opened.
///
/// *In a sealed zone*, the records are sealed like all others of the account (`ZoneSeal`), and only
/// the chunks are sealed here: as the blocks of any file of such a zone, but cut as the content
/// suggests. A record's name is the file's, and it holds a `FileReference` with two more members
///
///     {"name": FILE, "bytes": SIZE, "chunks": […], "seal": {"zone", "key"},
///      "sha256": hash of the file, "parts": Base64 of the hashes of its chunks, in order}
///
/// Files of before the zone was sealed keep the form that they had until they change, and their
/// records keep their names.
package struct VaultSeal: Sendable {
  /// Seal without encryption.
  package static let plain = VaultSeal(.plain)

  private let writer: Writer

  private enum Writer {
    case plain
    case own(OwnKeys)
    /// Of a sealed zone, and the keys that the vault had before.
    case zone(ZoneSeal, former: [OwnKeys])
  }

  private init(_ writer: Writer) { self.writer = writer }

  package init(_ key: VaultKey) { self.init(.own(OwnKeys(key))) }

  /// - Parameters:
  ///   - keys: Keys of the vault's zone, whose records are sealed.
  ///   - former: Keys that the vault had before.
  package init(_ keys: ZoneKeys, former: [VaultKey]) {
    self.init(.zone(ZoneSeal(keys), former: former.map(OwnKeys.init)))
  }

  /// True if the zone's records are sealed: only devices with the account's keys write them.
  package var isOfZone: Bool { if case .zone = writer { true } else { false } }

  /// Seed for the cut points of files (`ContentChunker`). In a sealed vault it is secret, so that
  /// chunk sizes do not reveal a known file.
  package var chunkSeed: UInt64 {
    switch writer {
    case .plain: 0
    case .own(let keys): keys.chunkSeed
    case .zone(let seal, _): seal.chunkSeed
    }
  }

  /// Bytes by which a sealed chunk may be longer, outside of a sealed zone.
  package static let overhead = 64

  /// Maximum bytes of a chunk before it is sealed.
  package var chunkBytesMax: Int {
    isOfZone ? ZoneSeal.fileBlockBytes : Limits.chunkBytes - VaultSeal.overhead
  }

  // MARK: names

  /// Returns the name of a new file's record; nil if it has none. A plain file's record has the
  /// file's name, which must not be one of the vault's own.
  package func recordName(of file: String) -> Name? {
    switch writer {
    case .plain:
      let isOwn = file == VaultApp.keyRecord.text || file.hasPrefix(JoinCode.recordPrefix)
      return isOwn ? nil : Name(file)
    case .own(let keys): return keys.recordName(of: file)
    // No file's name has a slash.
    case .zone: return Name(file == VaultApp.keyRecord.text ? "file/" + file : file)
    }
  }

  /// Returns the names that the record of a file may have. If there are several, the first one of
  /// which there is a record is the file's.
  package func recordNames(of file: String) -> [Name] {
    let name = recordName(of: file).map { [$0] } ?? []
    guard case .zone(_, let former) = writer else { return name }
    return former.map { $0.recordName(of: file) } + name
  }

  // MARK: contents

  /// Contents of a record: the manifest, and the chunks' hashes at the relay.
  package struct Contents: Hashable, Sendable {
    package var manifest: VaultManifest
    /// Hashes in the order of `manifest.chunks`.
    package var chunks: [ChunkHash]
    fileprivate(set) var form: Form
  }

  enum Form: Hashable {
    case plain
    /// Sealed with a key of the vault's own, of this identifier.
    case own(String)
    /// Chunks are sealed with this generation of the zone's keys.
    case zone(String)
  }

  /// Form of what is written now.
  private var form: Form {
    switch writer {
    case .plain: .plain
    case .own(let keys): .own(keys.id)
    case .zone(let seal, _): .zone(seal.keyID)
    }
  }

  /// Returns the fields of a file that is written now. `chunks`: hashes of the manifest's chunks as
  /// the relay stores them, in the same order.
  package func fields(of manifest: VaultManifest, chunks: [ChunkHash]) -> JSONValue {
    switch writer {
    case .plain: manifest.fields
    case .own(let keys): keys.fields(of: manifest, chunks: chunks)
    case .zone(let seal, _): ZoneForm.fields(of: manifest, chunks: chunks, key: seal.keyID)
    }
  }

  /// Returns the record of a copy of a file, with the same chunks; nil if no record can have its
  /// name, or this seal does not have the key.
  package func copy(
    of contents: Contents, as file: String
  ) -> (name: Name, fields: JSONValue)? {
    var manifest = contents.manifest
    manifest.file = file
    switch contents.form {
    case .plain:
      guard let name = recordName(of: file) else { return nil }
      return (name, manifest.fields)
    case .own(let id):
      guard let keys = ownKeys(id) else { return nil }
      return (keys.recordName(of: file), keys.fields(of: manifest, chunks: contents.chunks))
    case .zone(let key):
      guard let name = recordName(of: file) else { return nil }
      return (name, ZoneForm.fields(of: manifest, chunks: contents.chunks, key: key))
    }
  }

  /// Returns nil if the fields are not those of a `VaultFile`, are sealed with another key, or are
  /// in a record whose name does not match the file.
  package func contents(of fields: JSONValue, record name: Name) -> Contents? {
    switch writer {
    case .plain: return VaultSeal.plainContents(of: fields, record: name)
    case .own(let keys): return keys.contents(of: fields, record: name)
    case .zone:
      if fields["sealed"] != nil {
        return fields["key"]?.string.flatMap { ownKeys($0) }?.contents(of: fields, record: name)
      }
      guard fields["seal"] != nil else {
        return VaultSeal.plainContents(of: fields, record: name)
      }
      guard let contents = ZoneForm.contents(of: fields),
        recordNames(of: contents.manifest.file).contains(name)
      else { return nil }
      return contents
    }
  }

  private static func plainContents(of fields: JSONValue, record name: Name) -> Contents? {
    guard let manifest = VaultManifest(fields: fields),
      manifest.file.utf8.elementsEqual(name.text.utf8)
    else { return nil }
    return Contents(manifest: manifest, chunks: manifest.chunks, form: .plain)
  }

  private func ownKeys(_ id: String) -> OwnKeys? {
    switch writer {
    case .plain: nil
    case .own(let keys): keys.id == id ? keys : nil
    case .zone(_, let former): former.first { $0.id == id }
    }
  }

  /// True if a version that is written now shares chunks with these contents.
  package func sharesChunks(with contents: Contents) -> Bool { contents.form == form }

  /// True if the relay can read the chunks, although the zone is sealed: the file was added before.
  package func isExposed(_ contents: Contents) -> Bool { isOfZone && contents.form == .plain }

  // MARK: chunks

  /// Returns a chunk as the relay stores it. `chunk`: at least one byte, at most `chunkBytesMax`.
  package func sealed(_ chunk: [UInt8]) -> [UInt8] {
    switch writer {
    case .plain: chunk
    case .own(let keys): keys.sealed(chunk)
    case .zone(let seal, _): seal.sealed(fileBlock: chunk)
    }
  }

  /// Returns a chunk of these contents; nil if the bytes were not made with the contents' key.
  package func opened(_ chunk: [UInt8], of contents: Contents) -> [UInt8]? {
    switch contents.form {
    case .plain: return chunk
    case .own(let id): return ownKeys(id)?.opened(chunk)
    case .zone(let key):
      guard case .zone(let seal, _) = writer else { return nil }
      do throws(SealFault) {
        return try seal.opened(fileBlock: chunk, sealedWith: key)
      } catch {
        return nil
      }
    }
  }

  // MARK: what is sealed

  /// True if fields of the vault's file are sealed, with any key, as `seal` can judge it. In a zone
  /// whose records are not sealed, anyone may write what looks like the contents of a sealed one.
  package static func isSealed(_ fields: JSONValue?, _ seal: VaultSeal?) -> Bool {
    fields?["sealed"] != nil || (fields?["seal"] != nil && seal?.isOfZone ?? false)
  }

  /// Returns the seal that reads these fields: `seal` if they may be sealed, else `.plain`.
  package static func reader(of fields: JSONValue?, _ seal: VaultSeal?) -> VaultSeal? {
    isSealed(fields, seal) || seal?.isOfZone ?? false ? seal : .plain
  }

  /// True if these fields are sealed with a key of the vault's own that this seal has.
  func hasOwnKey(of fields: JSONValue) -> Bool {
    fields["key"]?.string.flatMap { ownKeys($0) } != nil
  }
}

/// Keys that follow from a vault's own key.
private struct OwnKeys {
  let id: String
  let chunkSeed: UInt64
  private let chunk: SIV
  private let manifest: SIV
  private let name: [UInt8]

  init(_ key: VaultKey) {
    id = key.id
    chunk = SIV(key: key.derived("piece", SIV.keyBytes))
    manifest = SIV(key: key.derived("manifest", SIV.keyBytes))
    name = key.derived("name", 32)
    chunkSeed = key.derived("chunk", 8).reduce(0) { $0 << 8 | UInt64($1) }
  }

  func recordName(of file: String) -> Name {
    Name(trusted: HexText.text(of: HMACSHA256.code(of: Array(file.utf8), key: name)))
  }

  func fields(of manifest: VaultManifest, chunks: [ChunkHash]) -> JSONValue {
    let associatedData = OwnKeys.associatedData(recordName(of: manifest.file), chunks)
    let sealed = self.manifest.sealed(manifest.fields.serialized(), data: associatedData)
    return [
      "sealed": .string(Base64.encode(sealed)), "key": .string(id),
      "chunks": .array(chunks.map { .string($0.text) }),
    ]
  }

  func contents(of fields: JSONValue, record name: Name) -> VaultSeal.Contents? {
    guard fields["key"]?.string == id, let chunks = VaultManifest.hashes(fields["chunks"]),
      let sealed = fields["sealed"]?.string.flatMap({ Base64.decode($0) }),
      let bytes = manifest.opened(sealed, data: OwnKeys.associatedData(name, chunks)),
      let inside = JSONValue(ifJSON: bytes), let manifest = VaultManifest(fields: inside),
      manifest.chunks.count == chunks.count, recordName(of: manifest.file) == name
    else { return nil }
    return VaultSeal.Contents(manifest: manifest, chunks: chunks, form: .own(id))
  }

  func sealed(_ chunk: [UInt8]) -> [UInt8] {
    self.chunk.sealed(chunk, data: OwnKeys.chunkAssociatedData)
  }

  func opened(_ chunk: [UInt8]) -> [UInt8]? {
    self.chunk.opened(chunk, data: OwnKeys.chunkAssociatedData)
  }

  private static let chunkAssociatedData = Array("piece".utf8)

  private static func associatedData(_ name: Name, _ chunks: [ChunkHash]) -> [UInt8] {
    Array("manifest \(name.text) ".utf8) + SHA256.hash(chunks.flatMap(\.bytes))
  }
}

/// Fields of a file in a sealed zone.
private enum ZoneForm {
  private static let hashBytes = 32

  static func fields(of manifest: VaultManifest, chunks: [ChunkHash], key: String) -> JSONValue {
    [
      "name": .string(manifest.file), "bytes": .number(JSONNumber(Int64(manifest.size))),
      "chunks": .array(chunks.map { .string($0.text) }),
      "seal": ["zone": .string(VaultApp.zone.text), "key": .string(key)],
      "sha256": .string(manifest.sha256.text),
      "parts": .string(Base64.encodeURL(manifest.chunks.flatMap(\.bytes))),
    ]
  }

  static func contents(of fields: JSONValue) -> VaultSeal.Contents? {
    guard let reference = FileReference.references(in: fields).first,
      reference.name == fields["name"]?.string, let seal = reference.seal,
      seal.zone == VaultApp.zone, VaultManifest.isName(reference.name),
      let sha256 = fields["sha256"]?.string.flatMap(ChunkHash.init(text:)),
      let parts = fields["parts"]?.string.flatMap({ Base64.decodeURL($0) }),
      parts.count == reference.chunks.count * hashBytes
    else { return nil }
    let hashes = stride(from: 0, to: parts.count, by: hashBytes).compactMap { start in
      ChunkHash(bytes: Array(parts[start..<start + hashBytes]))
    }
    return VaultSeal.Contents(
      manifest: VaultManifest(
        file: reference.name, size: reference.bytes, sha256: sha256, chunks: hashes),
      chunks: reference.chunks, form: .zone(seal.key))
  }
}
