import LockstepClient
import LockstepJSON
import LockstepModel
import Synchronization

/// The changes of one transaction. Valid until the closure that got it returns.
public final class Transaction {
  private var edits: RecordEdits?
  /// The first error of a call that does not throw.
  private var fault: (any Error)?

  private init(_ edits: RecordEdits) { self.edits = edits }

  /// Saves a record, new or changed. A record that cannot be saved fails the whole transaction.
  public func save<Record: SyncedRecord>(_ record: Record) {
    attempt { try $0.save(record) }
  }

  /// Changes a record as it stands in the transaction.
  ///
  /// - Throws: `LockstepError.noSuchRecord`, and what `change` throws.
  public func update<Record: SyncedRecord>(
    _ type: Record.Type, id: String, _ change: (inout Record) throws -> Void
  ) throws {
    guard let edits else { throw LockstepError.closed }
    try edits.update(type, id: id, change)
  }

  /// Deletes a record. Does nothing if there is none.
  public func delete<Record: SyncedRecord>(_ type: Record.Type, id: String) {
    attempt { try $0.delete(type, id: id) }
  }

  private func attempt(_ body: (RecordEdits) throws -> Void) {
    guard fault == nil else { return }
    do {
      guard let edits else { throw LockstepError.closed }
      try body(edits)
    } catch {
      fault = error
    }
  }

  /// Runs the body on edits, and throws its error, or the first of a call that does not throw.
  static func run(_ body: (Transaction) throws -> Void, on edits: RecordEdits) throws {
    let transaction = Transaction(edits)
    defer { transaction.end() }
    try body(transaction)
    try transaction.check()
  }

  /// Throws the first error.
  private func check() throws {
    if let fault { throw fault }
  }

  private func end() { edits = nil }
}

/// Records that a transaction reads and writes; each edit sees those before it.
protocol EditTarget {
  /// Returns the record as it is now.
  func state(of key: RecordKey) throws -> EditedRecord
  /// - Parameter fields: The record's new fields; nil deletes it.
  func write(_ key: RecordKey, type: Name, fields: JSONValue?) throws(EditFailure)
}

struct EditedRecord {
  /// Type of the live record; nil if there is none.
  var type: Name?
  /// nil if there is no live record, or its fields are not JSON.
  var fields: JSONValue?
  /// Id of the device that makes the edits.
  var device: String
}

extension EditSession: EditTarget {
  func state(of key: RecordKey) throws -> EditedRecord {
    let context = try context(for: key)
    return EditedRecord(
      type: context.current?.type, fields: context.current?.value, device: context.device.text)
  }
}

/// Typed edits in one transaction.
package struct RecordEdits {
  private let models: [any SyncedRecord.Type]
  private let records: any EditTarget

  init(_ models: [any SyncedRecord.Type], _ records: any EditTarget) {
    self.models = models
    self.records = records
  }

  /// Returns an order that makes the edits of `body`, all or none.
  ///
  /// - Parameter fault: Gets the error that `body` throws.
  package static func order(
    _ id: OrderID, _ models: [any SyncedRecord.Type], fault: ThrownError,
    _ body: @escaping @Sendable (RecordEdits) throws -> Void
  ) -> AgentOrder {
    .transact(id) { session throws(EditFailure) in
      do {
        try body(RecordEdits(models, session))
      } catch {
        // A failure of the store is reported as such.
        if !(error is EditFailure) { fault.set(error) }
        throw (error as? EditFailure) ?? .refused(EditRefusal("\(error)"))
      }
    }
  }

  package func save<Record: SyncedRecord>(_ record: Record) throws {
    let (key, type) = try target(Record.self, record.id)
    let current = try records.state(of: key)
    if let other = current.type, other != type {
      throw LockstepError.refused(
        reason: "the id \(record.id) belongs to a record of the type \(other); choose another id")
    }
    try write(key, type, try fields(of: record, over: current.fields, by: current.device))
  }

  package func update<Record: SyncedRecord>(
    _ type: Record.Type, id: String, _ change: (inout Record) throws -> Void
  ) throws {
    let (key, typeName) = try target(type, id)
    let state = try records.state(of: key)
    guard let current = state.fields, state.type == typeName else {
      throw LockstepError.noSuchRecord(type: type.recordType, id: id)
    }
    var record: Record
    do {
      record = try Record(fields: current, id: id)
    } catch {
      throw LockstepError.undecodable(
        type: type.recordType, id: id, reason: FieldsFault.reason(error))
    }
    try change(&record)
    record.id = id
    try write(key, typeName, try fields(of: record, over: current, by: state.device))
  }

  package func delete<Record: SyncedRecord>(_ type: Record.Type, id: String) throws {
    let (key, typeName) = try target(type, id)
    guard try records.state(of: key).type == typeName else { return }
    try write(key, typeName, nil)
  }

  private func target<Record: SyncedRecord>(_ type: Record.Type, _ id: String) throws
    -> (RecordKey, Name)
  {
    guard models.contains(where: { $0 == type }), let zone = Name(type.zone),
      let typeName = Name(type.recordType)
    else { throw LockstepError.unknownModel(type: "\(type)") }
    guard let name = Name(id) else { throw LockstepError.invalidID(id) }
    return (RecordKey(zone: zone, name: name), typeName)
  }

  private func fields(of record: some SyncedRecord, over current: JSONValue?, by device: String)
    throws -> JSONValue
  {
    do {
      return try record.fields(over: current, by: device)
    } catch let error as EncodingError {
      throw LockstepError.unencodable(
        type: "\(Swift.type(of: record))", reason: FieldsFault.reason(error))
    }
  }

  private func write(_ key: RecordKey, _ type: Name, _ fields: JSONValue?) throws {
    do throws(EditFailure) {
      try records.write(key, type: type, fields: fields)
    } catch {
      if case .storage = error { throw error }
      throw LockstepError(error)
    }
  }
}

extension DeviceEngine {
  /// Makes edits in one transaction, all or none. Throws what `body` throws, or why the edits were
  /// not made.
  func transact(
    _ models: [any SyncedRecord.Type], _ body: @escaping @Sendable (RecordEdits) throws -> Void
  ) async throws {
    let fault = ThrownError()
    let report = try await perform({ RecordEdits.order($0, models, fault: fault, body) })
    guard case .transacted(_, let result) = report else { throw LockstepError.closed }
    if case .failure(let failure) = result { throw fault.error ?? LockstepError(failure) }
  }
}

/// Error of a closure that ran on another thread.
package final class ThrownError: Sendable {
  private let thrown = Mutex<(any Error)?>(nil)

  package init() {}

  package var error: (any Error)? { thrown.withLock { $0 } }

  func set(_ error: any Error) { thrown.withLock { $0 = error } }
}
