/// How much there is in a relay's store: rows by table, and of what is in them.
package struct StoreTotals: Hashable, Sendable {
  private var rows = [Int64](repeating: 0, count: StoreTable.allCases.count)
  /// Of the records.
  package var tombstones: Int64 = 0
  /// Of the chunks of files.
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

  /// What this lacks, or has too much, of `wanted`, in words for people; nil where they are alike.
  package func difference(from wanted: StoreTotals) -> String? {
    let parts =
      StoreTable.allCases.map { ($0.rawValue, self[$0], wanted[$0]) } + [
        ("tombstones", tombstones, wanted.tombstones),
        ("bytes of pieces", chunkBytes, wanted.chunkBytes),
      ]
    return parts.first { $0.1 != $0.2 }.map { "\($0.1) of \($0.2) \($0.0) are there" }
  }

  private static func place(_ table: StoreTable) -> Int {
    StoreTable.allCases.firstIndex(of: table) ?? 0
  }
}
