import Glibc
import LockstepApps
import LockstepModel
import LockstepStorage
import LockstepStorageSQLite

/// Writes all data of a home to a folder, as JSON and text files. Reads the store as of one moment,
/// while any process may hold the home, and sends nothing to a relay. Does not export the token.
struct HomeExport {
  let home: HomeFolder
  let folder: ExportFolder
  /// Returns true if the export is to stop.
  let isInterrupted: () throws(CommandFailure) -> Bool

  struct Outcome: Hashable {
    var records = 0
    var memos = 0
    var conflicts = 0
    /// Number of the vault's files.
    var files = 0
    /// Number of chunks that belong to none of these files.
    var chunks = 0
  }

  /// Data read from the store, as of one moment.
  private struct View {
    var identity: HomeIdentity?
    var records: [Record]
    var outbox: [OutboxEntry]
    var chunks: [HeldChunk]
    var lastSync: Int64?
  }

  static let folders = ["memos", files, unsealedFiles, "chunks"]

  func run() throws(CommandFailure) -> Outcome {
    let view = try look()
    guard let identity = view.identity else {
      throw CommandFailure("the home \(home.path) has not joined an account; there is nothing yet")
    }
    var outcome = Outcome()
    let seal = VaultKeys.source(in: home)().map(VaultSeal.init)
    let live = view.records.filter { !$0.isDeleted }
    let waiting = Set(view.outbox.map(\.key))
    for app in AppCatalog.all {
      try goOn()
      let records = live.filter { $0.zone == app.zone }
      outcome.records += records.count
      try writeRecords(records, waiting, seal, to: app.name + ".json")
    }
    let zones = AppCatalog.all.map(\.zone)
    let others = live.filter { !zones.contains($0.zone) }
    outcome.records += others.count
    if !others.isEmpty { try writeRecords(others, waiting, seal, to: "other.json") }
    outcome.memos = try writeMemos(live)
    outcome.conflicts = try writeConflicts(view)
    let account = identity.credentials.account
    let files = try writeFiles(live, seal, view.chunks, of: account)
    outcome.files = files.count
    outcome.chunks = try writeChunks(
      view.chunks.filter { !files.chunks.contains($0.hash) }, of: account)
    try write(summary(of: identity, view, outcome).text + "\n", to: "home.json")
    try folder.finish()
    return outcome
  }

  private func look() throws(CommandFailure) -> View {
    do throws(StorageError) {
      let store = try SQLiteReplicaStore(reading: home.path)
      defer { store.close() }
      return try store.onOneView { () throws(StorageError) in
        View(
          identity: try store.identity(), records: try store.allRecords(),
          outbox: try store.outbox(), chunks: try store.chunks(after: nil, limit: .max),
          lastSync: try store.value("sync.last").flatMap { Int64($0) })
      }
    } catch {
      throw CommandFailure("\(error)")
    }
  }

  func goOn() throws(CommandFailure) {
    if try isInterrupted() {
      throw CommandFailure("the export was interrupted; nothing is left of it")
    }
  }

  private func write(_ text: String, to name: String) throws(CommandFailure) {
    try folder.create(name).write(Array(text.utf8))
  }

  // MARK: records

  /// Writes a JSON list with one record per line.
  private func writeRecords(
    _ records: [Record], _ waiting: Set<RecordKey>, _ seal: VaultSeal?, to name: String
  ) throws(CommandFailure) {
    let lines = records.map { record in
      let json = HomeExport.json(of: record, isUnsent: waiting.contains(record.key))
      guard record.type == VaultApp.fileType, VaultSeal.isSealed(record.value),
        let (_, contents) = HomeExport.contents(of: record, seal)
      else { return json.text }
      return json.setting("file", to: .string(contents.manifest.file)).text
    }
    try write(HomeExport.list(lines), to: name)
  }

  private static func list(_ lines: [String]) -> String {
    lines.isEmpty ? "[]\n" : "[\n" + lines.joined(separator: ",\n") + "\n]\n"
  }

  private static func json(of record: Record, isUnsent: Bool = false) -> JSONValue {
    let json: JSONValue = [
      "name": .string(record.name.text), "type": .string(record.type.text),
      "modifiedAt": .number(JSONNumber(record.modifiedAt)),
      "device": .string(record.device.text), "fields": record.value ?? .null,
    ]
    return isUnsent ? json.setting("unsent", to: true) : json
  }

  /// Writes what waits for the person: both versions of a record, and refused changes with the
  /// reason.
  private func writeConflicts(_ view: View) throws(CommandFailure) -> Int {
    let held = Dictionary(view.records.map { ($0.key, $0) }) { first, _ in first }
    var lines: [String] = []
    for entry in view.outbox {
      let key: JSONValue = [
        "zone": .string(entry.key.zone.text), "name": .string(entry.key.name.text),
      ]
      let local = held[entry.key].map { HomeExport.json(of: $0) }
      switch entry.state {
      case .asking(let cloud):
        lines.append(
          key.setting("local", to: local ?? .null)
            .setting("cloud", to: HomeExport.json(of: cloud)).text)
      case .parked(let refusal):
        lines.append(
          key.setting("local", to: local ?? .null).setting("refused", to: .string(refusal.detail))
            .text)
      case .waiting, .sent: break
      }
    }
    try write(HomeExport.list(lines), to: "conflicts.json")
    return lines.count
  }

  // MARK: memos as texts

  private func writeMemos(_ records: [Record]) throws(CommandFailure) -> Int {
    let memos = MemoContents(records).memos
    var taken: Set<String> = []
    // Last number used for each name, because many memos may begin alike.
    var numbers: [String: Int] = [:]
    for memo in memos {
      try goOn()
      let mark = memo.origin == nil ? "" : " (other version)"
      let stem =
        UniversalTime(memo.date).date + " " + HomeExport.fileName(memo.title) + mark
      let folded = stem.lowercased()
      var number = numbers[folded] ?? 1
      var name = number == 1 ? stem : stem + " \(number)"
      while !taken.insert(name.lowercased()).inserted {
        number += 1
        name = stem + " \(number)"
      }
      numbers[folded] = number
      try write(memo.content, to: "memos/" + name + ".txt")
    }
    return memos.count
  }

  /// Returns the title as a file name that every file system accepts.
  static func fileName(_ title: String) -> String {
    let kept = RowText.line(title).unicodeScalars.map { scalar -> Character in
      "/\\:*?\"<>|".unicodeScalars.contains(scalar) ? "-" : Character(scalar)
    }
    var name = Substring(String(kept))
    while name.utf8.count > 80 { name = name.dropLast() }
    let trimmed = name.drop { $0 == "." || $0 == " " }
    return trimmed.isEmpty ? "untitled" : String(trimmed)
  }

  // MARK: chunks of files

  /// Writes chunks as the home stores them: sealed ones stay sealed. Skips one that is removed
  /// meanwhile.
  private func writeChunks(
    _ chunks: [HeldChunk], of account: AccountID
  ) throws(CommandFailure) -> Int {
    var count = 0
    for chunk in chunks {
      try goOn()
      guard let bytes = try bytes(of: chunk, account) else { continue }
      try folder.add(chunk.hash, bytes)
      count += 1
    }
    return count
  }

  private func summary(
    of identity: HomeIdentity, _ view: View, _ outcome: Outcome
  ) -> JSONValue {
    [
      "account": .string(identity.credentials.account.text),
      "device": .string(identity.credentials.device.text),
      "deviceName": .string(identity.deviceName), "relay": .string(identity.relay),
      "lastSync": view.lastSync.map { .number(JSONNumber($0)) } ?? .null,
      "records": JSONValue(integerLiteral: Int64(outcome.records)),
      "unsent": JSONValue(integerLiteral: Int64(view.outbox.count)),
    ]
  }
}
