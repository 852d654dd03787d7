import Changes
import Storage

/// The relay's store with an eye on it: every commit is written down in the ledger, and it fails
/// when the fault plan says so.
package final class WatchedZoneStore: ZoneStore {
  private var backing: MemoryZoneStore
  private let ledger: Ledger
  private let histories: (AccountID) -> Histories?
  private var failures = 0
  /// What a store that answers before its commit is durable would still hold after a crash.
  private var durable: MemoryZoneStore?
  private var commits = 0

  /// `isCareless`: a broken store, to prove that the checkers see it.
  package init(
    ledger: Ledger, rules: StoreRules, isCareless: Bool,
    histories: @escaping (AccountID) -> Histories?
  ) {
    backing = MemoryZoneStore(rules: rules)
    self.ledger = ledger
    self.histories = histories
    durable = isCareless ? backing.copy() : nil
  }

  /// What stood before the world began, by nobody's hand.
  package func prefill(_ save: SaveCommit, wall: Int64) throws(StorageError) {
    for case .saved(let outcome) in try backing.commit([.save(save)], wall: wall) {
      ledger.committed(save, outcome)
    }
    durable = durable.map { _ in backing.copy() }
  }

  /// Keeps a copy of what stands now.
  package func backUp() -> Backup { Backup(store: backing.copy(), page: ledger.page()) }

  package struct Backup {
    fileprivate let store: MemoryZoneStore
    fileprivate let page: Ledger.Page
  }

  /// Puts a copy back, as a relay finds it when it starts. `opening`: that start's random number.
  package func restore(_ backup: Backup, opening: UInt64) {
    backing = backup.store.copy()
    backing.restored(opening: opening)
    durable = durable.map { _ in backing.copy() }
    ledger.restore(backup.page)
  }

  /// The next `calls` commits fail.
  package func fail(calls: Int) { failures += calls }

  package func heal() { failures = 0 }

  /// The process died. A careful store loses nothing by it.
  package func crash() {
    if let durable { backing = durable.copy() }
  }

  package func commit(
    _ requests: [CommitRequest], wall: Int64
  ) throws(StorageError) -> [CommitResult] {
    if failures > 0 {
      failures -= 1
      throw .diskFull(path: "simulated")
    }
    let results = try backing.commit(requests, wall: wall)
    commits += 1
    if durable != nil, commits % 4 == 0 { durable = backing.copy() }
    for (request, result) in zip(requests, results) {
      guard case .save(let save) = request, case .saved(let outcome) = result else { continue }
      ledger.committed(save, outcome)
      for record in outcome.changed {
        let mutation = save.request.mutations.first { $0.name == record.name }
        histories(save.account)?.relaySaved(record, baseTag: mutation?.baseTag)
      }
    }
    return results
  }

  package func read(_ request: ReadRequest) throws(StorageError) -> ReadResult {
    try backing.read(request)
  }
}
