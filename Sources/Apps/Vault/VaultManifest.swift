import LockstepCrypto
import LockstepModel

/// What a file is made of, in the clear: as a device sees it, and what stands inside where the
/// vault is encrypted.
package struct VaultManifest: Hashable, Sendable {
  /// Its name, without a folder.
  package var file: String
  /// Bytes in all.
  package var size: Int
  /// Of the whole file.
  package var sha256: ChunkHash
  /// Of its chunks, in order; one that stands twice is named twice.
  package var chunks: [ChunkHash]

  package init(file: String, size: Int, sha256: ChunkHash, chunks: [ChunkHash]) {
    self.file = file
    self.size = size
    self.sha256 = sha256
    self.chunks = chunks
  }

  /// What an empty file has as its `sha256`.
  static let empty = ChunkHash(bytes: SHA256.hash([]))

  /// nil where the fields are not those of a `VaultFile` in the clear.
  init?(fields: JSONValue) {
    guard let file = fields["file"]?.string, let size = fields["size"]?.int64, size >= 0,
      let sha256 = fields["sha256"]?.string.flatMap(ChunkHash.init(text:)),
      let chunks = VaultManifest.hashes(fields["chunks"]), VaultManifest.isName(file)
    else { return nil }
    self.init(file: file, size: Int(size), sha256: sha256, chunks: chunks)
  }

  /// nil where it is no list of hashes, or one that no record may have.
  static func hashes(_ value: JSONValue?) -> [ChunkHash]? {
    guard let texts = value?.array, texts.count <= Limits.chunksPerRecord else { return nil }
    let hashes = texts.compactMap { $0.string.flatMap(ChunkHash.init(text:)) }
    return hashes.count == texts.count ? hashes : nil
  }

  var fields: JSONValue {
    [
      "file": .string(file), "size": .number(JSONNumber(Int64(size))),
      "sha256": .string(sha256.text), "chunks": .array(chunks.map { .string($0.text) }),
    ]
  }

  /// Whether a file in a folder can be called so. What other devices tell becomes a path, so it
  /// must not lead anywhere else.
  package static func isName(_ text: String) -> Bool {
    Name(text) != nil && text != "." && text != ".." && !text.utf8.contains(UInt8(ascii: "/"))
  }
}
