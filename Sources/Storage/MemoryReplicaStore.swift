import Changes

/// The reference of a device's store, in memory: for simulated and benched devices, and for what
/// the others must do. Every write is atomic, so what a crash leaves behind is the state as it is;
/// `copy` keeps one aside.
package final class MemoryReplicaStore: ReplicaStore {
  private struct State {
    var identity: HomeIdentity?
    var records: [RecordKey: Record] = [:]
    /// The keys of `records`, sorted: a dictionary's own order differs from process to process.
    var order: [RecordKey] = []
    var cursor: ChangeToken?
    /// By number.
    var outbox: [OutboxEntry] = []
    var notes: [String: String] = [:]
  }

  private var state: State

  package convenience init() { self.init(State()) }

  private init(_ state: State) { self.state = state }

  /// A store of its own with the same content.
  package func copy() -> MemoryReplicaStore { MemoryReplicaStore(state) }

  package func identity() throws(StorageError) -> HomeIdentity? { state.identity }

  package func record(_ key: RecordKey) throws(StorageError) -> Record? { state.records[key] }

  package func records(zone: Name, type: Name) throws(StorageError) -> [Record] {
    state.order.compactMap { key in
      guard key.zone == zone, let record = state.records[key], record.type == type,
        !record.isDeleted
      else { return nil }
      return record
    }
  }

  package func allRecords() throws(StorageError) -> [Record] {
    state.order.compactMap { state.records[$0] }
  }

  package func cursor() throws(StorageError) -> ChangeToken? { state.cursor }

  package func outbox() throws(StorageError) -> [OutboxEntry] { state.outbox }

  package func value(_ key: String) throws(StorageError) -> String? { state.notes[key] }

  package func write(_ changes: [ReplicaChange]) throws(StorageError) {
    for change in changes {
      switch change {
      case .setIdentity(let identity): state.identity = identity
      case .putRecord(let record): put(record)
      case .removeRecord(let key): remove(key)
      case .setCursor(let cursor): state.cursor = cursor
      case .putEntry(let entry):
        let position = position(of: entry.number)
        if position < state.outbox.count, state.outbox[position].number == entry.number {
          state.outbox[position] = entry
        } else {
          state.outbox.insert(entry, at: position)
        }
      case .removeEntry(let number):
        let position = position(of: number)
        guard position < state.outbox.count, state.outbox[position].number == number else { break }
        state.outbox.remove(at: position)
      case .setValue(let key, let value): state.notes[key] = value
      }
    }
  }

  private func put(_ record: Record) {
    let key = record.key
    if state.records.updateValue(record, forKey: key) == nil {
      state.order.insert(key, at: position(of: key))
    }
  }

  private func remove(_ key: RecordKey) {
    guard state.records.removeValue(forKey: key) != nil else { return }
    state.order.remove(at: position(of: key))
  }

  /// Where the entry of this number is, or belongs.
  private func position(of number: Int64) -> Int {
    MemoryReplicaStore.lowerBound(state.outbox.count) { state.outbox[$0].number < number }
  }

  private func position(of key: RecordKey) -> Int {
    MemoryReplicaStore.lowerBound(state.order.count) { state.order[$0] < key }
  }

  /// The first of `count` places that does not come before what is looked for.
  private static func lowerBound(_ count: Int, _ isBefore: (Int) -> Bool) -> Int {
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if isBefore(middle) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
