import LockstepClient
import LockstepJSON
import LockstepModel
import LockstepStorage
import LockstepStorageSQLite

#if os(Linux)
  import LockstepEventLoop
#endif

/// Edits for a home that another process may hold: made by the holder, or by this process if there
/// is none.
struct EditDelegation: Sendable {
  /// Attempts while other processes open and close the home.
  static let attemptsMax = 200
  static let pause = Duration.milliseconds(25)
  /// Maximum wait for the holder's answer, in milliseconds.
  private static let answerMilliseconds: Int32 = 10_000

  private let home: HomeFolder
  private let models: [any SyncedRecord.Type]

  init(_ home: HomeFolder, _ models: [any SyncedRecord.Type]) {
    self.home = home
    self.models = models
  }

  // MARK: by the holder

  /// Hands the edits to the holder. Returns false if there is none. Blocks.
  func handOver(_ body: (RecordEdits) throws -> Void) throws -> Bool {
    guard let connection = HomeConnection(socket: home.socket) else { return false }
    let edits = try edits(of: body)
    if edits.isEmpty { return true }
    guard edits.count <= Limits.batchRecords else {
      throw LockstepError.refused(
        reason: "a transaction of a reader has at most \(Limits.batchRecords) edits; make several")
    }
    let request: JSONValue = ["id": 1, "do": "transaction", "edits": .array(edits.map(\.json))]
    let bytes = request.serialized().count
    guard bytes < HomeNode.lineBytesMax else {
      throw LockstepError.recordTooLarge(bytes: bytes, limit: HomeNode.lineBytesMax)
    }
    guard connection.send(request) else { return false }
    switch connection.next(milliseconds: Self.answerMilliseconds) {
    case .line(let line):
      guard let error = line["error"] else { return true }
      // Nothing was made: the next attempt finds another holder, or none.
      if error["code"]?.string == "closing" { return false }
      if error["code"]?.string == "busy" { throw LockstepError.holderBusy(path: home.path) }
      throw Self.error(error, edits)
    // The edits may have been made: a repetition could count something twice.
    case .closed, .timeout, .other: throw LockstepError.holderGone(path: home.path)
    }
  }

  /// Returns the edits in the form that the holder takes.
  private func edits(of body: (RecordEdits) throws -> Void) throws -> [DelegatedEdit] {
    let records: StoredRecords
    do throws(StorageError) {
      records = try StoredRecords(home, models)
    } catch {
      throw LockstepError(error)
    }
    try body(RecordEdits(models, records))
    return records.edits
  }

  private static func error(_ answer: JSONValue, _ edits: [DelegatedEdit]) -> LockstepError {
    let reason = answer["message"]?.string ?? ""
    switch answer["code"]?.string {
    case "notFound":
      let index = answer["edit"]?.int64.map { Int(clamping: $0) } ?? 0
      guard edits.indices.contains(index) else { return .refused(reason: reason) }
      return .noSuchRecord(type: edits[index].type.text, id: edits[index].key.name.text)
    case "outboxFull": return .outboxFull
    case "storage": return .storage(reason: reason)
    default: return .refused(reason: reason)
    }
  }

  // MARK: by this process

  /// Holds the home, makes the edits, and releases it. Returns false if another process holds it.
  func holdAndMake(_ body: @escaping @Sendable (RecordEdits) throws -> Void) async throws -> Bool {
    let engine: DeviceEngine
    do {
      engine = try await Lockstep.onThread {
        var configuration = AgentConfiguration()
        // Other types of the app, whose rules this process may not know, are not merged here.
        configuration.connectsAtOnce = false
        return try DeviceEngine.open(
          home, relay: nil, apps: try RecordsApp.apps(models), configuration, trust: .system)
      }
    } catch LockstepError.homeInUse {
      return false
    }
    await engine.ready()
    do {
      try await engine.transact(models, body)
    } catch {
      await engine.close()
      throw error
    }
    await engine.close()
    return true
  }
}

/// The records of a store that another process writes, with edits on top that are only collected.
private final class StoredRecords: EditTarget {
  private let store: SQLiteReplicaStore
  private let models: [any SyncedRecord.Type]
  private let device: String
  private let scope: DeviceScope
  /// Fields of the records as the edits have seen them: what the holder changes meanwhile is no
  /// difference that the edits make.
  private var seen: [RecordKey: EditedRecord] = [:]
  private(set) var edits: [DelegatedEdit] = []

  init(_ home: HomeFolder, _ models: [any SyncedRecord.Type]) throws(StorageError) {
    store = try SQLiteReplicaStore(reading: home.path)
    self.models = models
    let identity = try store.identity()
    device = (identity?.credentials.device ?? DeviceID(rawValue: 0)).text
    scope = identity?.credentials.scope ?? .everything
  }

  deinit { store.close() }

  func state(of key: RecordKey) throws -> EditedRecord { try record(key) }

  private func record(_ key: RecordKey) throws(StorageError) -> EditedRecord {
    if let record = seen[key] { return record }
    let held = try store.record(key).flatMap { $0.isDeleted ? nil : $0 }
    let record = EditedRecord(
      type: held?.type, fields: held?.value.map { Stamps.removed(from: $0) }, device: device)
    seen[key] = record
    return record
  }

  func write(_ key: RecordKey, type: Name, fields: JSONValue?) throws(EditFailure) {
    guard scope.includesWrites(to: key.zone) else { throw .outOfScope(key.zone, scope) }
    let before: EditedRecord
    do throws(StorageError) {
      before = try record(key)
    } catch {
      throw .storage(error)
    }
    if let bytes = fields?.serialized().count, bytes > Limits.recordBytes {
      throw .tooLarge(bytes: bytes)
    }
    let rules = models.first { $0.zone == key.zone.text && $0.recordType == type.text }?.rules
    let edit = DelegatedEdit(key, type, from: before.fields, to: fields, rules ?? MergeRules())
    seen[key] = EditedRecord(type: fields == nil ? nil : type, fields: fields, device: device)
    if let edit { edits.append(edit) }
  }
}

/// An edit in the form that the holder of a home takes (docs/sidecar.md). It names the fields that
/// have changed, so that the others stay as they are then.
struct DelegatedEdit {
  let key: RecordKey
  let type: Name
  let json: JSONValue

  /// - Returns: nil if nothing has changed.
  init?(
    _ key: RecordKey, _ type: Name, from before: JSONValue?, to after: JSONValue?,
    _ rules: MergeRules
  ) {
    self.key = key
    self.type = type
    var members = [
      JSONMember("zone", .string(key.zone.text)), JSONMember("name", .string(key.name.text)),
    ]
    guard let after else {
      json = .object([JSONMember("do", "delete")] + members)
      return
    }
    guard let before else {
      members += [JSONMember("type", .string(type.text)), JSONMember("fields", after)]
      json = .object([JSONMember("do", "save")] + members)
      return
    }
    // A missing field reads as the zero value of its type.
    let changed = (after.members ?? []).filter { member in
      guard let value = before[member.name] else { return !Self.isZero(member.value) }
      return value != member.value
    }
    let removed = (before.members ?? []).filter { after[$0.name] == nil }.map(\.name)
    let added = changed.filter { rules[$0.name] == .counter }.map { member in
      let counted = CounterField.counted(from: before[member.name], to: member.value)
      return JSONMember(member.name, .number(JSONNumber(counted)))
    }
    let set = changed.filter { rules[$0.name] != .counter }
    guard !(set.isEmpty && removed.isEmpty && added.isEmpty) else { return nil }
    if !set.isEmpty { members.append(JSONMember("fields", .object(set))) }
    if !removed.isEmpty {
      members.append(JSONMember("remove", .array(removed.map { .string($0) })))
    }
    if !added.isEmpty { members.append(JSONMember("add", .object(added))) }
    json = .object([JSONMember("do", "update")] + members)
  }

  private static func isZero(_ value: JSONValue) -> Bool {
    switch value {
    case .null, .bool(false): true
    case .bool(true): false
    case .number(let number): number == JSONNumber(Int64(0))
    case .string(let text): text.isEmpty
    case .array(let elements): elements.isEmpty
    case .object(let members): members.isEmpty
    }
  }
}
