import LockstepModel

/// A record of the vault, and what this device can read of it.
package struct VaultRecord: Sendable {
  package let record: Record
  /// nil where this device cannot read it.
  package let contents: VaultSeal.Contents?
  /// It is in the clear: anybody who can write into the account may have made it.
  package let isPlain: Bool

  /// `seal`: of the vault's key, where this device has it.
  package init(_ record: Record, _ seal: VaultSeal?) {
    let fields = record.value
    self.record = record
    contents = fields.flatMap {
      VaultSeal.reader(of: $0, seal)?.contents(of: $0, record: record.name)
    }
    isPlain = !VaultSeal.isSealed(fields)
  }

  /// Why a record does not stand for a file that a device keeps.
  package enum Unfit: Error, Hashable {
    /// The file is sealed, and the record is not: it may come from somebody without the key.
    case notSealed
    /// The file is in the clear, and the record is not.
    case sealed
    /// It does not open, or names another file.
    case unreadable
  }

  /// The account's version of a file that a device keeps as `file`, sealed unless `isPlain`. No
  /// other contents may become that file, be compared with it or be copied beside it.
  package func version(of file: String, isPlain: Bool) throws(Unfit) -> VaultSeal.Contents {
    guard self.isPlain == isPlain else { throw isPlain ? .sealed : .notSealed }
    guard let contents, contents.manifest.file.utf8.elementsEqual(file.utf8) else {
      throw .unreadable
    }
    return contents
  }
}
