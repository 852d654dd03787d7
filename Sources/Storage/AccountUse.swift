import LockstepModel

/// Space that an account's records take in the store, or that is left for them.
///
/// Stored in the account's row and updated in the transaction that changes the records, so that no
/// commit has to count rows. Every store counts by the same rule:
///
///     record, tombstone   rowBytes + zone + name + type + fields + 32 × chunks
///     remembered batch    rowBytes + words
package struct AccountUse: Hashable, Sendable {
  /// Bytes of records, tombstones and remembered batches.
  package var bytes: Int64
  /// Number of records, including tombstones.
  package var records: Int64
  /// Number of remembered batches.
  package var batches: Int64

  package init(bytes: Int64 = 0, records: Int64 = 0, batches: Int64 = 0) {
    self.bytes = bytes
    self.records = records
    self.batches = batches
  }

  /// Space of a caller without limits.
  package static let unlimited = AccountUse(bytes: 1 << 60, records: 1 << 60, batches: 1 << 60)

  /// For remaining space: true if no further batch can be remembered.
  package var isOverdrawn: Bool { bytes < 0 || batches < 0 }

  /// True if this growth fits into `room`. A change that adds nothing always fits; negative space
  /// has no capacity for growth.
  package func fits(into room: AccountUse) -> Bool {
    bytes <= max(0, room.bytes) && records <= max(0, room.records)
  }

  package static func += (left: inout AccountUse, right: AccountUse) {
    left.bytes &+= right.bytes
    left.records &+= right.records
    left.batches &+= right.batches
  }

  package static prefix func - (use: AccountUse) -> AccountUse {
    AccountUse(bytes: 0 &- use.bytes, records: 0 &- use.records, batches: 0 &- use.batches)
  }
}

/// Limits of an account's plan, which override the relay's own.
extension Plan {
  /// Returns the space left beside `use`. Negative if limits were lowered.
  package func room(beside use: AccountUse, _ rules: StoreRules) -> AccountUse {
    AccountUse(
      bytes: (bytes ?? rules.recordBytesPerAccount) &- use.bytes,
      records: (records ?? rules.recordsPerAccount) &- use.records,
      batches: rules.batchesPerAccount &- use.batches)
  }
}

extension Record {
  /// Bytes that the record counts for.
  package var storedBytes: Int64 {
    Record.storedBytes(
      zone: zone, name: name, type: type, fields: fields?.count ?? 0, chunks: chunks.count)
  }

  package static func storedBytes(
    zone: Name, name: Name, type: Name, fields: Int, chunks: Int
  ) -> Int64 {
    let names = zone.text.utf8.count + name.text.utf8.count + type.text.utf8.count
    return Limits.rowBytes + Int64(names + fields + 32 * chunks)
  }
}
