/// Amount of data in a relay's store: rows by table, tombstones, and bytes of chunks.
package struct StoreTotals: Hashable, Sendable {
  private var rows = [Int64](repeating: 0, count: StoreTable.allCases.count)
  /// Tombstones among the records.
  package var tombstones: Int64 = 0
  /// Bytes of all chunks of files.
  package var chunkBytes: Int64 = 0

  package init() {}

  package subscript(table: StoreTable) -> Int64 {
    get { rows[StoreTotals.place(table)] }
    set { rows[StoreTotals.place(table)] = newValue }
  }

  package var isEmpty: Bool { rows.allSatisfy { $0 == 0 } }

  package mutating func add(_ more: StoreRows) {
    self[more.table] += Int64(more.count)
    switch more {
    case .records(let records): tombstones += Int64(records.count { $0.record.isDeleted })
    case .chunks(let chunks): chunkBytes += chunks.reduce(0) { $0 + Int64($1.stored.bytes) }
    case .accounts, .lineage, .gaps, .devices, .pairings, .subscriptions, .zones, .batches: break
    }
  }

  /// Returns a text for people on the first difference from `wanted`; nil if there is none.
  package func difference(from wanted: StoreTotals) -> String? {
    let parts =
      StoreTable.allCases.map { ($0.rawValue, self[$0], wanted[$0]) } + [
        ("tombstones", tombstones, wanted.tombstones),
        ("bytes of chunks", chunkBytes, wanted.chunkBytes),
      ]
    return parts.first { $0.1 != $0.2 }.map { "\($0.1) of \($0.2) \($0.0) are there" }
  }

  private static func place(_ table: StoreTable) -> Int {
    StoreTable.allCases.firstIndex(of: table) ?? 0
  }
}
