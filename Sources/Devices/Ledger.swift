import Changes
import Storage

/// A device's records and outbox, as they stand with the changes of the transaction being made.
/// Knows how to write, not what.
struct Ledger {
  let store: any ReplicaStore
  private(set) var outbox = Outbox()
  private var changes: [ReplicaChange] = []
  /// What the transaction has written, and what stood there before.
  private var written: [RecordKey: Written] = [:]
  private var order: [RecordKey] = []

  private struct Written {
    var before: Record?
    var now: Record?
  }

  var hasChanges: Bool { !changes.isEmpty }

  init(store: any ReplicaStore) { self.store = store }

  /// Throws away what the transaction has gathered, and reads the outbox from the store.
  mutating func reload() throws(StorageError) {
    forget()
    outbox = Outbox(try store.outbox())
  }

  func record(_ key: RecordKey) throws(StorageError) -> Record? {
    if let written = written[key] { return written.now }
    return try store.record(key)
  }

  mutating func put(_ record: Record) throws(StorageError) {
    try note(record.key, record)
    changes.append(.putRecord(record))
  }

  mutating func removeRecord(_ key: RecordKey) throws(StorageError) {
    try note(key, nil)
    changes.append(.removeRecord(key))
  }

  mutating func takeNumber() -> Int64 { outbox.takeNumber() }

  mutating func put(_ entry: OutboxEntry) {
    outbox.put(entry)
    changes.append(.putEntry(entry))
  }

  mutating func remove(_ entry: OutboxEntry) {
    outbox.remove(entry.number)
    changes.append(.removeEntry(number: entry.number))
  }

  mutating func setCursor(_ cursor: ChangeToken?) { changes.append(.setCursor(cursor)) }

  mutating func setValue(_ key: String, _ value: Int64) {
    changes.append(.setValue(key: key, String(value)))
  }

  /// Makes the transaction durable. What comes back is each record that is another one now than it
  /// was before, in the order of their first writing; nil: gone.
  mutating func commit() throws(StorageError) -> [(key: RecordKey, before: Record?, now: Record?)] {
    if !changes.isEmpty { try store.write(changes) }
    let result = order.compactMap {
      key -> (key: RecordKey, before: Record?, now: Record?)? in
      guard let written = written[key] else { return nil }
      return (key, written.before, written.now)
    }
    forget()
    return result
  }

  private mutating func note(_ key: RecordKey, _ record: Record?) throws(StorageError) {
    if written[key] == nil {
      written[key] = Written(before: try store.record(key), now: record)
      order.append(key)
    } else {
      written[key]?.now = record
    }
  }

  private mutating func forget() {
    changes.removeAll()
    written.removeAll()
    order.removeAll()
  }
}
