import LockstepCrypto
import LockstepJSON
import LockstepModel

/// A record of the vault, and its contents if this device can read them.
package struct VaultRecord: Sendable {
  package let record: Record
  /// Decrypted contents; nil if this device cannot read the record.
  package let contents: VaultSeal.Contents?
  /// True if the record is not encrypted: anyone who can write to the account may have made it.
  /// False in a zone whose records are sealed.
  package let isPlain: Bool

  /// `seal`: made from the vault's key, or the zone's; nil if this device does not have it.
  package init(_ record: Record, _ seal: VaultSeal?) {
    let isFile = record.type == VaultApp.fileType
    let fields = record.value
    self.record = record
    contents = fields.flatMap {
      isFile ? VaultSeal.reader(of: $0, seal)?.contents(of: $0, record: record.name) : nil
    }
    isPlain = !VaultSeal.isSealed(fields, seal) && seal?.isOfZone != true
  }

  /// Reason why a record may not be used for a file on this device.
  package enum Mismatch: Error, Hashable {
    /// The record is not of the vault's type, so any writer may have made it.
    case otherType
    /// The file is sealed, and the record is not: it may come from a writer without the key.
    case notSealed
    /// The file is plain, and the record is sealed.
    case sealed
    /// The record cannot be decrypted, or names another file.
    case unreadable
  }

  /// Returns the account's version of the local file `file`, sealed unless `isPlain`. No other
  /// contents may be written to that file, compared with it or copied beside it.
  package func version(of file: String, isPlain: Bool) throws(Mismatch) -> VaultSeal.Contents {
    guard record.type == VaultApp.fileType else { throw .otherType }
    guard self.isPlain == isPlain else { throw isPlain ? .sealed : .notSealed }
    guard let contents, contents.manifest.file.utf8.elementsEqual(file.utf8) else {
      throw .unreadable
    }
    return contents
  }
}

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
