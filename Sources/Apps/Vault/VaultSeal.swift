import LockstepCrypto
import LockstepModel

/// Between a vault as a device sees it and what the relay gets of it: names, manifests and chunks.
/// The same plaintext gives the same bytes on every device, so that chunks are stored once, and
/// rules come to the same result everywhere.
///
/// Sealed, a record is called by the keyed hash of its file's name, and holds
///
///     {"sealed": Base64 of the sealed JSON of the manifest, "key": which key,
///      "chunks": [the hash of each sealed chunk, in order]}
///
/// A manifest's seal is bound to the record's name and to those hashes: whoever moves either to
/// another record, or changes one, makes it unreadable.
package struct VaultSeal: Sendable {
  /// Nothing is encrypted.
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

  /// Where files are cut follows from this too (`ContentChunker`): sealed, the sizes of chunks do
  /// not tell those who know a file that it is this one.
  package var chunkSeed: UInt64 { keys?.chunkSeed ?? 0 }

  /// What the record of a file is called.
  package func recordName(of file: String) -> Name? {
    guard let keys else { return Name(file) }
    return keys.recordName(of: file)
  }

  /// `chunks`: the hashes of the manifest's chunks as the relay stores them, in the same order.
  package func fields(of manifest: VaultManifest, chunks: [ChunkHash]) -> JSONValue {
    guard let keys else { return manifest.fields }
    let bond = VaultSeal.bond(keys.recordName(of: manifest.file), chunks)
    let sealed = keys.manifest.sealed(manifest.fields.serialized(), data: bond)
    return [
      "sealed": .string(Base64.encode(sealed)), "key": .string(keys.id),
      "chunks": .array(chunks.map { .string($0.text) }),
    ]
  }

  /// nil where the fields are not those of a `VaultFile`, are sealed with another key, or stand in
  /// a record that is not called as the record of their file is.
  package func contents(of fields: JSONValue, record name: Name) -> Contents? {
    guard let keys else {
      guard let manifest = VaultManifest(fields: fields),
        manifest.file.utf8.elementsEqual(name.text.utf8)
      else { return nil }
      return Contents(manifest: manifest, chunks: manifest.chunks)
    }
    guard fields["key"]?.string == keys.id, let chunks = VaultManifest.hashes(fields["chunks"]),
      let sealed = fields["sealed"]?.string.flatMap({ Base64.decode($0) }),
      let bytes = keys.manifest.opened(sealed, data: VaultSeal.bond(name, chunks)),
      let inside = JSONValue(ifJSON: bytes), let manifest = VaultManifest(fields: inside),
      manifest.chunks.count == chunks.count, keys.recordName(of: manifest.file) == name
    else { return nil }
    return Contents(manifest: manifest, chunks: chunks)
  }

  /// A file, and what its chunks are called at the relay.
  package struct Contents: Hashable, Sendable {
    package var manifest: VaultManifest
    /// In the order of `manifest.chunks`.
    package var chunks: [ChunkHash]
  }

  /// A chunk as the relay stores it; at most `overhead` bytes longer. `chunk`: one byte at least.
  package func sealed(_ chunk: [UInt8]) -> [UInt8] {
    keys.map { $0.chunk.sealed(chunk, data: VaultSeal.chunkBond) } ?? chunk
  }

  /// nil where nobody who has the key made these bytes.
  package func opened(_ chunk: [UInt8]) -> [UInt8]? {
    guard let keys else { return chunk }
    return keys.chunk.opened(chunk, data: VaultSeal.chunkBond)
  }

  package static let overhead = 64

  /// Whether these fields are sealed, with whatever key.
  package static func isSealed(_ fields: JSONValue?) -> Bool { fields?["sealed"] != nil }

  /// What reads these fields: `.plain`, or `seal` where they are sealed.
  package static func reader(of fields: JSONValue?, _ seal: VaultSeal?) -> VaultSeal? {
    isSealed(fields) ? seal : .plain
  }

  private static let chunkBond = Array("piece".utf8)

  private static func bond(_ name: Name, _ chunks: [ChunkHash]) -> [UInt8] {
    Array("manifest \(name.text) ".utf8) + SHA256.hash(chunks.flatMap(\.bytes))
  }
}
