import Changes

/// Between a vault as a device sees it and what the relay gets of it: names, manifests and pieces.
/// The same plaintext gives the same bytes on every device, so that pieces are stored once, and
/// rules come to the same result everywhere.
package struct VaultSeal: Sendable {
  /// Nothing is encrypted.
  package static let plain = VaultSeal()

  private init() {}

  /// Where files are cut follows from this too (`ContentChunker`).
  package var chunkSeed: UInt64 { 0 }

  /// What the record of a file is called.
  package func recordName(of file: String) -> Name? { Name(file) }

  /// `pieces`: the hashes of the manifest's pieces as the relay stores them, in the same order.
  package func fields(of manifest: VaultManifest, pieces: [ChunkHash]) -> JSONValue {
    manifest.fields
  }

  /// nil where the fields are not those of a `VaultFile`, or sealed with another key.
  package func contents(of fields: JSONValue, record name: Name) -> Contents? {
    VaultManifest(fields: fields).map { Contents(manifest: $0, pieces: $0.pieces) }
  }

  /// A file, and what its pieces are called at the relay.
  package struct Contents: Hashable, Sendable {
    package var manifest: VaultManifest
    /// In the order of `manifest.pieces`.
    package var pieces: [ChunkHash]
  }

  /// A piece as the relay stores it; at most `overhead` bytes longer.
  package func sealed(_ piece: [UInt8]) -> [UInt8] { piece }

  /// nil where nobody who has the key made these bytes.
  package func opened(_ piece: [UInt8]) -> [UInt8]? { piece }

  package static let overhead = 64
}
