import LockstepClient
import LockstepJSON
import LockstepModel
import LockstepStorage
import LockstepStorageSQLite

#if os(Linux)
  import LockstepEventLoop
#endif

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A home that another process holds, such as that of the app whose widget or extension this is:
/// reads its records, observes them, and hands edits to the holder. If there is no holder, an edit
/// holds the home for as long as it takes, without a network; the app sends it when it runs next.
///
/// ```swift
/// let reader = try await Lockstep.reader(at: folder, records: [Todo.self])
/// let todos = try await reader.records(Todo.self)
/// try await reader.update(Todo.self, id: id) { $0.done = true }
/// ```
public final class LockstepReader: Sendable {
  private let home: HomeFolder
  private let models: [any SyncedRecord.Type]
  private let observer: HomeObserver

  /// - Throws: `noHome`.
  fileprivate init(_ home: HomeFolder, _ models: [any SyncedRecord.Type]) throws(LockstepError) {
    guard home.exists else { throw .noHome(path: home.path) }
    _ = try RecordsApp.apps(models)
    self.home = home
    self.models = models
    observer = HomeObserver(home)
  }

  deinit { observer.stop() }

  /// Ends the sequences of this reader.
  public func close() { observer.stop() }

  // MARK: reading

  /// Returns all records of a type, by id. Records that do not decode are left out.
  public func records<Record: SyncedRecord>(_ type: Record.Type) async throws -> [Record] {
    let (zone, name) = try names(type)
    let home = home
    let records = try await Lockstep.onThread {
      try HomeReading.perform(home) { store throws(StorageError) in
        try store.records(zone: zone, type: name)
      }
    }
    return Record.decodable(records)
  }

  /// Returns a record; nil if there is none.
  ///
  /// - Throws: `LockstepError.undecodable`.
  public func record<Record: SyncedRecord>(_ type: Record.Type, id: String) async throws -> Record?
  {
    let (zone, name) = try names(type)
    guard let recordName = Name(id) else { return nil }
    let key = RecordKey(zone: zone, name: recordName)
    let home = home
    let record = try await Lockstep.onThread {
      try HomeReading.perform(home) { store throws(StorageError) in try store.record(key) }
    }
    return try record.flatMap { $0.type == name ? try Record.decoded($0) : nil }
  }

  /// Returns the records that `isIncluded` selects, in the order of `isBefore` and then of their
  /// ids, and again after every change.
  public func live<Record: SyncedRecord>(
    _ type: Record.Type, where isIncluded: @escaping @Sendable (Record) -> Bool = { _ in true },
    sortedBy isBefore: (@Sendable (Record, Record) -> Bool)? = nil
  ) -> LiveQuery<Record> {
    LiveQuery(
      LiveSource(
        observer, zone: type.zone, type: type.recordType, where: isIncluded, sortedBy: isBefore))
  }

  /// Returns the changes of the records of a type from now on, by any process or device.
  public func changes<Record: SyncedRecord>(_ type: Record.Type) -> RecordChanges<Record> {
    if let zone = Name(type.zone) { observer.add(zone) }
    return RecordChanges(ChangeSource(observer))
  }

  private func names(_ type: any SyncedRecord.Type) throws(LockstepError) -> (
    zone: Name, type: Name
  ) {
    guard let zone = Name(type.zone), let name = Name(type.recordType) else {
      throw .invalidModel(
        type: "\(type)", reason: "its zone and record type must have 1 to 255 bytes of UTF-8")
    }
    return (zone, name)
  }

  // MARK: edits

  /// Saves a record, new or changed. Durable when the call returns.
  public func save<Record: SyncedRecord>(_ record: Record) async throws {
    try await edit(with: Record.self) { edits in try edits.save(record) }
  }

  /// Changes a record. Of fields that the holder changes meanwhile, those that `change` has not
  /// changed stay as they are.
  ///
  /// - Parameters:
  ///   - type: Type of the record.
  ///   - id: Id of the record.
  ///   - change: May run twice, if the holder of the home begins or ends meanwhile.
  /// - Throws: `LockstepError.noSuchRecord`, and what `change` throws; then nothing is changed.
  public func update<Record: SyncedRecord>(
    _ type: Record.Type, id: String, _ change: @escaping @Sendable (inout Record) throws -> Void
  ) async throws {
    try await edit(with: type) { edits in try edits.update(type, id: id, change) }
  }

  /// Deletes a record. Does nothing if there is none.
  public func delete<Record: SyncedRecord>(_ type: Record.Type, id: String) async throws {
    try await edit(with: type) { edits in try edits.delete(type, id: id) }
  }

  /// Makes several changes, all or none; at most 400.
  ///
  /// - Parameter body: Edits of types that `Lockstep.reader` has got. May run twice, if the holder
  ///   of the home begins or ends meanwhile.
  /// - Throws: What `body` throws; then nothing is changed.
  public func transaction(_ body: @escaping @Sendable (Transaction) throws -> Void) async throws {
    try await edit(with: nil) { edits in
      try Transaction.run(body, on: edits)
    }
  }

  /// - Parameter type: The type that is edited, if it is only one.
  private func edit(
    with type: (any SyncedRecord.Type)?,
    _ body: @escaping @Sendable (RecordEdits) throws -> Void
  ) async throws {
    try Task.checkCancellation()
    let isKnown = type.map { type in models.contains { $0 == type } } ?? true
    let delegation = EditDelegation(home, models + (isKnown ? [] : [type].compactMap(\.self)))
    for _ in 0..<EditDelegation.attemptsMax {
      if try await Lockstep.onThread({ try delegation.handOver(body) }) { return }
      if try await delegation.holdAndMake(body) { return }
      try await Task.sleep(for: EditDelegation.pause)
    }
    throw LockstepError.homeInUse(path: home.path)
  }
}

extension Lockstep {
  /// Opens a home that another process holds.
  ///
  /// - Parameters:
  ///   - folder: The home, which `open` has made.
  ///   - records: The types that a transaction edits, and those whose rules the home needs if no
  ///     process holds it.
  /// - Throws: `noHome`.
  public static func reader(at folder: URL, records: [any SyncedRecord.Type] = []) async throws
    -> LockstepReader
  {
    try LockstepReader(HomeFolder(folder), records)
  }
}

/// Access to the store of a home that any process may hold.
enum HomeReading {
  static func perform<Value>(
    _ home: HomeFolder, _ body: (SQLiteReplicaStore) throws(StorageError) -> Value
  ) throws(LockstepError) -> Value {
    do throws(StorageError) {
      let store = try SQLiteReplicaStore(reading: home.path)
      defer { store.close() }
      return try store.onOneView { () throws(StorageError) in try body(store) }
    } catch {
      throw LockstepError(error)
    }
  }
}
