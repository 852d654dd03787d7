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
    let request: JSONValue = ["id": 1, "do": "transaction", "edits": .array(edits.map(\.json))]
    guard connection.send(request) else { return false }
    switch connection.next(milliseconds: Self.answerMilliseconds) {
    case .line(let line):
      guard let error = line["error"] else { return true }
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
    case "closing": return .closed
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
    let fault = ThrownError()
    let report: AgentReport
    do {
      report = try await engine.perform({ RecordEdits.order($0, self.models, fault: fault, body) })
    } catch {
      await engine.close()
      throw error
    }
    await engine.close()
    guard case .transacted(_, let result) = report else { throw LockstepError.closed }
    if case .failure(let failure) = result { throw fault.error ?? LockstepError(failure) }
    return true
  }
}

/// The records of a store that another process writes, with edits on top that are only collected.
private final class StoredRecords: EditTarget {
  private let store: SQLiteReplicaStore
  private let models: [any SyncedRecord.Type]
  private let device: String
  private var written: [RecordKey: JSONValue?] = [:]
  private(set) var edits: [DelegatedEdit] = []

  init(_ home: HomeFolder, _ models: [any SyncedRecord.Type]) throws(StorageError) {
    store = try SQLiteReplicaStore(reading: home.path)
    self.models = models
    let identity = try store.identity()
    device = (identity?.credentials.device ?? DeviceID(rawValue: 0)).text
  }

  deinit { store.close() }

  func state(of key: RecordKey) throws -> EditedRecord {
    let fields = try fields(of: key)
    return EditedRecord(exists: fields != nil, fields: fields, device: device)
  }

  private func fields(of key: RecordKey) throws(StorageError) -> JSONValue? {
    if let fields = written[key] { return fields }
    return try store.record(key)?.value.map { Stamps.removed(from: $0) }
  }

  func write(_ key: RecordKey, type: Name, fields: JSONValue?) throws(EditFailure) {
    let before: JSONValue?
    do throws(StorageError) {
      before = try self.fields(of: key)
    } catch {
      throw .storage(error)
    }
    let rules = models.first { $0.zone == key.zone.text && $0.recordType == type.text }?.rules
    let edit = DelegatedEdit(key, type, from: before, to: fields, rules ?? MergeRules())
    written[key] = .some(fields)
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
    let changed = (after.members ?? []).filter { before[$0.name] != $0.value }
    let removed = (before.members ?? []).filter { after[$0.name] == nil }.map(\.name)
    let added = changed.filter { rules[$0.name] == .counter }.map { member in
      let counted = CounterField.value(of: member.value).subtractingReportingOverflow(
        CounterField.value(of: before[member.name]))
      return JSONMember(
        member.name, .number(JSONNumber(counted.overflow ? 0 : counted.partialValue)))
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
}
