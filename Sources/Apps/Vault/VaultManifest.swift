import LockstepCrypto
import LockstepModel

/// Description of a file in plain text: name, size, hash and chunks. In an encrypted vault it is
/// the sealed part of the record.
package struct VaultManifest: Hashable, Sendable {
  /// File name without a folder.
  package var file: String
  /// Size in bytes.
  package var size: Int
  /// Hash of the whole file.
  package var sha256: ChunkHash
  /// Hashes of the chunks, in order; a repeated chunk is listed repeatedly.
  package var chunks: [ChunkHash]

  package init(file: String, size: Int, sha256: ChunkHash, chunks: [ChunkHash]) {
    self.file = file
    self.size = size
    self.sha256 = sha256
    self.chunks = chunks
  }

  /// `sha256` of an empty file.
  static let empty = ChunkHash(bytes: SHA256.hash([]))

  /// Returns nil if the fields are not those of a plain `VaultFile`.
  init?(fields: JSONValue) {
    guard let file = fields["file"]?.string, let size = fields["size"]?.int64, size >= 0,
      let sha256 = fields["sha256"]?.string.flatMap(ChunkHash.init(text:)),
      let chunks = VaultManifest.hashes(fields["chunks"]), VaultManifest.isName(file)
    else { return nil }
    self.init(file: file, size: Int(size), sha256: sha256, chunks: chunks)
  }

  /// Returns nil if the value is not a list of hashes, or is longer than a record may have.
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

  /// True if the text is a valid file name in a folder. Names from other devices become paths, so
  /// they must not lead out of the folder.
  package static func isName(_ text: String) -> Bool {
    Name(text) != nil && text != "." && text != ".." && !text.utf8.contains(UInt8(ascii: "/"))
  }
}
