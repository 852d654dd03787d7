import LockstepCrypto
import LockstepJSON
import LockstepModel

/// Encryption between a device's view of a vault and the data stored by the relay: names, manifests
/// and chunks. The same plaintext gives the same bytes on every device, so that chunks are stored
/// once and merge rules give the same result everywhere.
///
/// If the vault is sealed, a record's name is the keyed hash of its file's name, and it holds
///
///     {"sealed": Base64 of the sealed JSON of the manifest, "key": key identifier,
///      "chunks": [the hash of each sealed chunk, in order]}
///
/// A manifest's seal is bound to the record's name and to those hashes: if the manifest is moved to
/// another record, or a hash is changed, it cannot be opened.
package struct VaultSeal: Sendable {
  /// Seal without encryption.
  package static let plain = VaultSeal(keys: nil)

  private let keys: Keys?

  private struct Keys {
    let id: String
    let chunk: SIV
    let manifest: SIV
    let name: [UInt8]
    let chunkSeed: UInt64

    func recordName(of file: String) -> Name {
      Name(trusted: HexText.text(of: HMACSHA256.code(of: Array(file.utf8), key: name)))
    }
  }

  private init(keys: Keys?) { self.keys = keys }

  package init(_ key: VaultKey) {
    keys = Keys(
      id: key.id, chunk: SIV(key: key.derived("piece", SIV.keyBytes)),
      manifest: SIV(key: key.derived("manifest", SIV.keyBytes)),
      name: key.derived("name", 32),
      chunkSeed: key.derived("chunk", 8).reduce(0) { $0 << 8 | UInt64($1) })
  }

  /// Seed for the cut points of files (`ContentChunker`). In a sealed vault it is secret, so that
  /// chunk sizes do not reveal a known file.
  package var chunkSeed: UInt64 { keys?.chunkSeed ?? 0 }

  /// Returns the name of a file's record; nil if it has none. A plain file's record has the file's
  /// name, which must not be one of the vault's own.
  package func recordName(of file: String) -> Name? {
    guard let keys else {
      let isOwn = file == VaultApp.keyRecord.text || file.hasPrefix(VaultCode.recordPrefix)
      return isOwn ? nil : Name(file)
    }
    return keys.recordName(of: file)
  }

  /// `chunks`: hashes of the manifest's chunks as the relay stores them, in the same order.
  package func fields(of manifest: VaultManifest, chunks: [ChunkHash]) -> JSONValue {
    guard let keys else { return manifest.fields }
    let associatedData = VaultSeal.associatedData(keys.recordName(of: manifest.file), chunks)
    let sealed = keys.manifest.sealed(manifest.fields.serialized(), data: associatedData)
    return [
      "sealed": .string(Base64.encode(sealed)), "key": .string(keys.id),
      "chunks": .array(chunks.map { .string($0.text) }),
    ]
  }

  /// Returns nil if the fields are not those of a `VaultFile`, are sealed with another key, or are
  /// in a record whose name does not match the file.
  package func contents(of fields: JSONValue, record name: Name) -> Contents? {
    guard let keys else {
      guard let manifest = VaultManifest(fields: fields),
        manifest.file.utf8.elementsEqual(name.text.utf8)
      else { return nil }
      return Contents(manifest: manifest, chunks: manifest.chunks)
    }
    guard fields["key"]?.string == keys.id, let chunks = VaultManifest.hashes(fields["chunks"]),
      let sealed = fields["sealed"]?.string.flatMap({ Base64.decode($0) }),
      let bytes = keys.manifest.opened(sealed, data: VaultSeal.associatedData(name, chunks)),
      let inside = JSONValue(ifJSON: bytes), let manifest = VaultManifest(fields: inside),
      manifest.chunks.count == chunks.count, keys.recordName(of: manifest.file) == name
    else { return nil }
    return Contents(manifest: manifest, chunks: chunks)
  }

  /// Contents of a record: the manifest, and the chunks' hashes at the relay.
  package struct Contents: Hashable, Sendable {
    package var manifest: VaultManifest
    /// Hashes in the order of `manifest.chunks`.
    package var chunks: [ChunkHash]
  }

  /// Returns a chunk as the relay stores it; at most `overhead` bytes longer. `chunk`: at least one
  /// byte.
  package func sealed(_ chunk: [UInt8]) -> [UInt8] {
    keys.map { $0.chunk.sealed(chunk, data: VaultSeal.chunkAssociatedData) } ?? chunk
  }

  /// Returns nil if these bytes were not made with the key.
  package func opened(_ chunk: [UInt8]) -> [UInt8]? {
    guard let keys else { return chunk }
    return keys.chunk.opened(chunk, data: VaultSeal.chunkAssociatedData)
  }

  package static let overhead = 64

  /// True if these fields are sealed, with any key.
  package static func isSealed(_ fields: JSONValue?) -> Bool { fields?["sealed"] != nil }

  /// Returns the seal that reads these fields: `seal` if they are sealed, else `.plain`.
  package static func reader(of fields: JSONValue?, _ seal: VaultSeal?) -> VaultSeal? {
    isSealed(fields) ? seal : .plain
  }

  private static let chunkAssociatedData = Array("piece".utf8)

  private static func associatedData(_ name: Name, _ chunks: [ChunkHash]) -> [UInt8] {
    Array("manifest \(name.text) ".utf8) + SHA256.hash(chunks.flatMap(\.bytes))
  }
}
