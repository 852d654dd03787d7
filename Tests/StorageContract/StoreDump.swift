import LockstepModel
import LockstepStorage
import Testing

/// All rows of a store, with checks of what its source promises.
package struct StoreDump: Equatable {
  package private(set) var accounts: [ExportedAccount] = []
  package private(set) var lineage: [EndedGeneration] = []
  package private(set) var gaps: [ExportedGap] = []
  package private(set) var devices: [ExportedDevice] = []
  package private(set) var pairings: [ExportedPairing] = []
  package private(set) var subscriptions: [ExportedSubscription] = []
  package private(set) var wakes: [ExportedWakes] = []
  package private(set) var wakeKeys: [WakeKey] = []
  package private(set) var zones: [LiveCount] = []
  package private(set) var records: [ExportedRecord] = []
  package private(set) var batches: [ExportedBatch] = []
  package private(set) var chunks: [ExportedChunk] = []
  package private(set) var departed: [ExportedDeparture] = []
  package private(set) var departedDevices: [DepartedDevice] = []
  package private(set) var departedPairings: [DepartedPairing] = []

  package init() {}

  /// Reads all rows of the source, and passes each portion to `target`, if there is one.
  package init(_ source: any StoreSource, to target: (any StoreTarget)? = nil) throws {
    var tables: [StoreTable] = []
    var totals = StoreTotals()
    while let rows = try source.next() {
      #expect(rows.count > 0 && rows.count < Limits.movedRows + Limits.movedRecords)
      if tables.last != rows.table { tables.append(rows.table) }
      add(rows)
      totals.add(rows)
      try target?.insert(rows)
    }
    #expect(tables == StoreTable.allCases.filter { totals[$0] > 0 }, "tables are in order, once")
    #expect(source.totals == totals)
  }

  private mutating func add(_ rows: StoreRows) {
    switch rows {
    case .accounts(let more): accounts += more
    case .lineage(let more): lineage += more
    case .gaps(let more): gaps += more
    case .devices(let more): devices += more
    case .pairings(let more): pairings += more
    case .subscriptions(let more): subscriptions += more
    case .wakes(let more): wakes += more
    case .wakeKeys(let more): wakeKeys += more
    case .zones(let more): zones += more
    case .records(let more): records += more
    case .batches(let more): batches += more
    case .chunks(let more): chunks += more
    case .departed(let more): departed += more
    case .departedDevices(let more): departedDevices += more
    case .departedPairings(let more): departedPairings += more
    }
  }

  /// Moves a store as the program does, without the chunks of files. Returns its content.
  @discardableResult package static func move(
    _ source: any StoreSource, to target: any StoreTarget
  ) throws -> StoreDump {
    let dump = try StoreDump(source, to: target)
    try source.confirm()
    try target.finish(source.totals, isOlderCopy: source.isOlderCopy)
    try source.retire()
    source.close()
    target.close()
    return dump
  }
}
