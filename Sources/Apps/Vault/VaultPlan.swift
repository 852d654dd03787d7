import LockstepModel

/// What is to be done with a file: a pure function of what it was when device and account last
/// agreed, what it is on this disk, and what the account says. It knows neither files nor records.
///
///     agreed   file    record    →
///     any      a       a         settled: both are the same
///     a        a       b         pull           a        b      a       push
///     a        a       none      removeFile     a        none   a       deleteRecord
///     any      a       none      push           any      none   a       pull
///     any      none    none      settled
///     c        a       b         keepBoth: neither knew the other's content
///     a        a       empty     keepEmptied, and pull once a copy of a is in the account
package enum VaultPlan: Hashable, Sendable {
  /// File and account are the same, which may be nothing at all.
  case settled
  /// The file's content goes to the account.
  case push
  /// The account's content comes into the file.
  case pull
  /// It was deleted elsewhere, and not touched here.
  case removeFile
  /// It was deleted here, and not touched elsewhere.
  case deleteRecord
  /// Both stay: the newer one under the file's name, the other beside it.
  case keepBoth(Newer)
  /// The account's content is empty: the file's goes beside it first, so that nothing is emptied
  /// for good.
  case keepEmptied

  package enum Newer: Hashable, Sendable {
    case file
    case record
  }

  /// One of two versions, and when it was made, in relay time.
  package struct Version: Hashable, Sendable {
    package var content: ChunkHash
    package var modifiedAt: Int64

    package init(_ content: ChunkHash, at modifiedAt: Int64) {
      self.content = content
      self.modifiedAt = modifiedAt
    }
  }

  /// `agreed`: nil where they never did, or where they agreed that there is nothing. `file` and
  /// `record`: nil where there is none. `isCopied`: a conflict copy has the file's content.
  package init(
    agreed: ChunkHash?, file: Version?, record: Version?, isCopied: Bool = false
  ) {
    switch (file, record) {
    case (nil, nil): self = .settled
    case (let file?, nil):
      // A change outlives a delete, and what was never agreed on is new.
      self = file.content == agreed ? .removeFile : .push
    case (nil, let record?):
      self = record.content == agreed ? .deleteRecord : .pull
    case (let file?, let record?):
      if file.content == record.content {
        self = .settled
      } else if file.content == agreed {
        self = record.content == VaultManifest.empty && !isCopied ? .keepEmptied : .pull
      } else if record.content == agreed {
        self = .push
      } else {
        // At the same instant the account's stands: it may be on other disks already.
        self = .keepBoth(file.modifiedAt > record.modifiedAt ? .file : .record)
      }
    }
  }
}
