import Lockstep
import LockstepCommandLine
import LockstepModel
import LockstepStorage
import LockstepStorageSQLite

/// The record of the bench, and the row of the bare table beside it.
struct BenchTodo: SyncedRecord {
  static let zone = "Bench"

  var id: String
  var title = ""
  var done = false
  var place = 0.0

  /// Returns the record at this index of a list: its name is like a random one, and its title is
  /// that of a usual to-do.
  static func numbered(_ index: Int) -> BenchTodo {
    let digits = String(index)
    let name = String(repeating: "0", count: max(0, 12 - digits.count)) + digits
    return BenchTodo(
      id: "8c9f5d1e-6a52-4d0b-9f3a-\(name)", title: "buy milk and bread, number \(index)",
      done: index % 3 == 0, place: Double(index))
  }
}

/// Homes and tables with many records, made without an account.
enum BenchHome {
  /// Records of one transaction.
  private static let portion = 1_000

  /// Makes a home that holds the first `count` records, as if they had come from a relay.
  static func fill(_ path: String, count: Int) throws(CommandFailure) {
    do {
      guard let zone = Name(BenchTodo.zone), let type = Name(BenchTodo.recordType),
        let lock = try HomeFolder(path: path).lock()
      else { throw CommandFailure("the temporary home \(path) is in use") }
      defer { withExtendedLifetime(lock) {} }
      let store = try SQLiteReplicaStore(home: path)
      for start in stride(from: 0, to: count, by: portion) {
        let changes = try (start..<min(count, start + portion)).map { index in
          let todo = BenchTodo.numbered(index)
          let record = Record(
            zone: zone, name: Name(trusted: todo.id), type: type,
            fields: try todo.fields(over: nil, by: "").serialized(),
            modifiedAt: 1_790_000_000_000 + Int64(index), device: DeviceID(rawValue: 1),
            tag: Int64(index) + 1)
          return ReplicaChange.putRecord(record, snapshot: nil, replacing: [])
        }
        try store.write(changes)
      }
      store.close()
    } catch let error as CommandFailure {
      throw error
    } catch {
      throw CommandFailure("\(error)")
    }
  }

  /// Makes a bare table with the same records.
  static func fillTable(_ path: String, count: Int) throws(CommandFailure) {
    let table = try BareTable(path: path)
    for start in stride(from: 0, to: count, by: portion) {
      let todos = (start..<min(count, start + portion)).map { BenchTodo.numbered($0) }
      try table.save(todos[...])
    }
    table.close()
  }
}
