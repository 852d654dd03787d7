import LockstepCrypto
import LockstepModel

/// Between a vault as a device sees it and what the relay gets of it: names, manifests and pieces.
/// The same plaintext gives the same bytes on every device, so that pieces are stored once, and
/// rules come to the same result everywhere.
///
/// Sealed, a record is called by the keyed hash of its file's name, and holds
///
///     {"sealed": Base64 of the sealed JSON of the manifest, "key": which key,
///      "chunks": [the hash of each sealed piece, in order]}
///
/// A manifest's seal is bound to the record's name and to those hashes: whoever moves either to
/// another record, or changes one, makes it unreadable.
package struct VaultSeal: Sendable {
  /// Nothing is encrypted.
  package static let plain = VaultSeal(keys: nil)

  private let keys: Keys?

  private struct Keys {
    let id: String
    let piece: SIV
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
      id: key.id, piece: SIV(key: key.derived("piece", SIV.keyBytes)),
      manifest: SIV(key: key.derived("manifest", SIV.keyBytes)),
      name: key.derived("name", 32),
      chunkSeed: key.derived("chunk", 8).reduce(0) { $0 << 8 | UInt64($1) })
  }

  /// Where files are cut follows from this too (`ContentChunker`): sealed, the sizes of pieces do
  /// not tell those who know a file that it is this one.
  package var chunkSeed: UInt64 { keys?.chunkSeed ?? 0 }

  /// What the record of a file is called.
  package func recordName(of file: String) -> Name? {
    guard let keys else { return Name(file) }
    return keys.recordName(of: file)
  }

  /// `pieces`: the hashes of the manifest's pieces as the relay stores them, in the same order.
  package func fields(of manifest: VaultManifest, pieces: [ChunkHash]) -> JSONValue {
    guard let keys else { return manifest.fields }
    let bond = VaultSeal.bond(keys.recordName(of: manifest.file), pieces)
    let sealed = keys.manifest.sealed(manifest.fields.serialized(), data: bond)
    return [
      "sealed": .string(Base64.encode(sealed)), "key": .string(keys.id),
      "chunks": .array(pieces.map { .string($0.text) }),
    ]
  }

  /// nil where the fields are not those of a `VaultFile`, are sealed with another key, or stand in
  /// a record that is not called as the record of their file is.
  package func contents(of fields: JSONValue, record name: Name) -> Contents? {
    guard let keys else {
      guard let manifest = VaultManifest(fields: fields),
        manifest.file.utf8.elementsEqual(name.text.utf8)
      else { return nil }
      return Contents(manifest: manifest, pieces: manifest.pieces)
    }
    guard fields["key"]?.string == keys.id, let pieces = VaultManifest.hashes(fields["chunks"]),
      let sealed = fields["sealed"]?.string.flatMap({ Base64.decode($0) }),
      let bytes = keys.manifest.opened(sealed, data: VaultSeal.bond(name, pieces)),
      let inside = JSONValue(ifJSON: bytes), let manifest = VaultManifest(fields: inside),
      manifest.pieces.count == pieces.count, keys.recordName(of: manifest.file) == name
    else { return nil }
    return Contents(manifest: manifest, pieces: pieces)
  }

  /// A file, and what its pieces are called at the relay.
  package struct Contents: Hashable, Sendable {
    package var manifest: VaultManifest
    /// In the order of `manifest.pieces`.
    package var pieces: [ChunkHash]
  }

  /// A piece as the relay stores it; at most `overhead` bytes longer. `piece`: one byte at least.
  package func sealed(_ piece: [UInt8]) -> [UInt8] {
    keys.map { $0.piece.sealed(piece, data: VaultSeal.pieceBond) } ?? piece
  }

  /// nil where nobody who has the key made these bytes.
  package func opened(_ piece: [UInt8]) -> [UInt8]? {
    guard let keys else { return piece }
    return keys.piece.opened(piece, data: VaultSeal.pieceBond)
  }

  package static let overhead = 64

  /// Whether these fields are sealed, with whatever key.
  package static func isSealed(_ fields: JSONValue?) -> Bool { fields?["sealed"] != nil }

  /// What reads these fields: `.plain`, or `seal` where they are sealed.
  package static func reader(of fields: JSONValue?, _ seal: VaultSeal?) -> VaultSeal? {
    isSealed(fields) ? seal : .plain
  }

  private static let pieceBond = Array("piece".utf8)

  private static func bond(_ name: Name, _ pieces: [ChunkHash]) -> [UInt8] {
    Array("manifest \(name.text) ".utf8) + SHA256.hash(pieces.flatMap(\.bytes))
  }
}
