import LockstepModel

/// A record of the vault, and its contents if this device can read them.
package struct VaultRecord: Sendable {
  package let record: Record
  /// Decrypted contents; nil if this device cannot read the record.
  package let contents: VaultSeal.Contents?
  /// True if the record is not encrypted: anyone who can write to the account may have made it.
  package let isPlain: Bool

  /// `seal`: made from the vault's key; nil if this device does not have it.
  package init(_ record: Record, _ seal: VaultSeal?) {
    let isFile = record.type == VaultApp.fileType
    let fields = record.value
    self.record = record
    contents = fields.flatMap {
      isFile ? VaultSeal.reader(of: $0, seal)?.contents(of: $0, record: record.name) : nil
    }
    isPlain = !VaultSeal.isSealed(fields)
  }

  /// Reason why a record may not be used for a file on this device.
  package enum Unfit: Error, Hashable {
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
  package func version(of file: String, isPlain: Bool) throws(Unfit) -> VaultSeal.Contents {
    guard record.type == VaultApp.fileType else { throw .otherType }
    guard self.isPlain == isPlain else { throw isPlain ? .sealed : .notSealed }
    guard let contents, contents.manifest.file.utf8.elementsEqual(file.utf8) else {
      throw .unreadable
    }
    return contents
  }
}
