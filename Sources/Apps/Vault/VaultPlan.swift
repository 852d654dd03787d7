import LockstepModel

/// Action for one file. A pure function of three versions: the one on which device and account last
/// agreed, the one on this disk, and the one in the account. It accesses neither files nor records.
///
///     agreed   file    record    →
///     any      a       a         inSync: both are the same
///     a        a       b         pull           a        b      a       push
///     a        a       none      removeFile     a        none   a       deleteRecord
///     any      a       none      push           any      none   a       pull
///     any      none    none      inSync
///     c        a       b         keepBoth: both sides changed the content
///     a        a       empty     keepEmptied; pull once the account has a copy of a
package enum VaultPlan: Hashable, Sendable {
  /// File and account are the same, or both have nothing.
  case inSync
  /// Copy the file's content to the account.
  case push
  /// Copy the account's content into the file.
  case pull
  /// The record was deleted on another device, and the file is unchanged.
  case removeFile
  /// The file was deleted here, and the record is unchanged.
  case deleteRecord
  /// Keep both: the newer one under the file's name, the other as a copy.
  case keepBoth(Newer)
  /// The account's content is empty. Copy the file's content to a conflict copy first, so that no
  /// content is lost.
  case keepEmptied

  package enum Newer: Hashable, Sendable {
    case file
    case record
  }

  /// Content of one of two versions, and its relay time.
  package struct Version: Hashable, Sendable {
    package var content: ChunkHash
    package var modifiedAt: Int64

    package init(_ content: ChunkHash, at modifiedAt: Int64) {
      self.content = content
      self.modifiedAt = modifiedAt
    }
  }

  /// `agreed`: nil if they never agreed, or agreed on no file. `file` and `record`: nil if there is
  /// none. `isCopied`: a conflict copy has the file's content.
  package init(
    agreed: ChunkHash?, file: Version?, record: Version?, isCopied: Bool = false
  ) {
    switch (file, record) {
    case (nil, nil): self = .inSync
    case (let file?, nil):
      // A change outlives a delete, and a file never agreed on is new.
      self = file.content == agreed ? .removeFile : .push
    case (nil, let record?):
      self = record.content == agreed ? .deleteRecord : .pull
    case (let file?, let record?):
      if file.content == record.content {
        self = .inSync
      } else if file.content == agreed {
        self = record.content == VaultManifest.empty && !isCopied ? .keepEmptied : .pull
      } else if record.content == agreed {
        self = .push
      } else {
        // At equal times the account's version wins: other disks may have it already.
        self = .keepBoth(file.modifiedAt > record.modifiedAt ? .file : .record)
      }
    }
  }
}
