import Glibc
import Lockstep
import LockstepApps
import LockstepClient
import LockstepCommandLine
import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepSealing
import LockstepStorage
import LockstepStorageSQLite
import LockstepTerminal

/// Writes all data of a home to a folder, as JSON and text files. Reads the store as of one moment,
/// while any process may hold the home, and sends nothing to a relay. Does not export the token.
package struct HomeExport {
  package let home: HomeFolder
  package let folder: ExportFolder
  /// Returns true if the export is to stop.
  package let isInterrupted: () throws(CommandFailure) -> Bool

  package init(
    home: HomeFolder, folder: ExportFolder,
    isInterrupted: @escaping () throws(CommandFailure) -> Bool
  ) {
    self.home = home
    self.folder = folder
    self.isInterrupted = isInterrupted
  }

  package struct Outcome: Hashable {
    package var records = 0
    package var memos = 0
    package var conflicts = 0
    /// Number of the vault's files.
    package var files = 0
    /// Number of chunks that belong to none of these files.
    package var chunks = 0
    /// Number of those that are sealed with a key that the home does not have, or do not open.
    package var sealedChunks = 0
    /// Part of the account that the home's device may use, and the export can contain.
    package var scope = DeviceScope.everything
  }

  /// Data read from the store, as of one moment.
  private struct Snapshot {
    var identity: HomeIdentity?
    var records: [Record]
    var outbox: [OutboxEntry]
    var chunks: [HeldChunk]
    var lastSync: Int64?
    /// Folder of the chunks' files, if it is not the account's.
    var chunkFolder: AccountID?
    /// Keys of the sealed zones; nil if none is sealed.
    var keys: SealingKeys?
  }

  package static let folders = ["memos", files, unsealedFiles, ExportFolder.chunks, sealedChunks]
  /// Folder of the chunks that do not open. They must not be mistaken for content.
  private static let sealedChunks = "chunks-sealed"

  package func run() throws(CommandFailure) -> Outcome {
    let snapshot = try readSnapshot()
    guard let identity = snapshot.identity else {
      throw CommandFailure(
        localized(
          "the home {home} has not joined an account; there is nothing to export",
          ["home": home.path]))
    }
    var outcome = Outcome(scope: identity.credentials.scope)
    let seal = VaultKeys.source(in: home)()
    let live = snapshot.records.filter { !$0.isDeleted }
    let waiting = Set(snapshot.outbox.map(\.key))
    for app in AppCatalog.all {
      try checkInterruption()
      let records = live.filter { $0.zone == app.zone }
      outcome.records += records.count
      try writeRecords(records, waiting, seal, to: app.name + ".json")
    }
    let zones = AppCatalog.all.map(\.zone)
    let others = live.filter { !zones.contains($0.zone) }
    outcome.records += others.count
    if !others.isEmpty { try writeRecords(others, waiting, seal, to: "other.json") }
    outcome.memos = try writeMemos(live)
    outcome.conflicts = try writeConflicts(snapshot)
    let account = snapshot.chunkFolder ?? identity.credentials.account
    let files = try writeFiles(live, seal, snapshot.chunks, of: account)
    outcome.files = files.count
    let chunks = snapshot.chunks.filter { !files.chunks.contains($0.hash) }
    try writeChunks(chunks, snapshot, of: account, &outcome)
    try write(summary(of: identity, snapshot, outcome).text + "\n", to: "home.json")
    try folder.finish()
    return outcome
  }

  private func readSnapshot() throws(CommandFailure) -> Snapshot {
    do throws(StorageError) {
      let store = try SQLiteReplicaStore(reading: home.path)
      defer { store.close() }
      return try store.onOneView { () throws(StorageError) in
        Snapshot(
          identity: try store.identity(), records: try store.allRecords(),
          outbox: try store.outbox(), chunks: try store.chunks(after: nil, limit: .max),
          lastSync: try store.value("sync.last").flatMap { Int64($0) },
          chunkFolder: try store.value(ChunkFolder.key).flatMap { AccountID(text: $0) },
          keys: try Replica.keys(in: store))
      }
    } catch {
      throw CommandFailure(translated("\(error)"))
    }
  }

  package func checkInterruption() throws(CommandFailure) {
    if try isInterrupted() {
      throw CommandFailure(localized("the export was interrupted; its files were removed"))
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
      guard record.type == VaultApp.fileType, VaultSeal.isSealed(record.value, seal),
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
  private func writeConflicts(_ snapshot: Snapshot) throws(CommandFailure) -> Int {
    let recordsByKey = Dictionary(snapshot.records.map { ($0.key, $0) }) { first, _ in first }
    var lines: [String] = []
    for entry in snapshot.outbox {
      let key: JSONValue = [
        "zone": .string(entry.key.zone.text), "name": .string(entry.key.name.text),
      ]
      let local = recordsByKey[entry.key].map { HomeExport.json(of: $0) }
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
      try checkInterruption()
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
  package static func fileName(_ title: String) -> String {
    let kept = RowText.line(title).unicodeScalars.map { scalar -> Character in
      "/\\:*?\"<>|".unicodeScalars.contains(scalar) ? "-" : Character(scalar)
    }
    var name = Substring(String(kept))
    while name.utf8.count > 80 { name = name.dropLast() }
    let trimmed = name.drop { $0 == "." || $0 == " " }
    return trimmed.isEmpty ? "untitled" : String(trimmed)
  }

  // MARK: chunks of files

  /// Writes chunks with the names by which records refer to them: those of a sealed zone's files as
  /// they are on the devices, others as the home stores them. Skips one that is removed meanwhile.
  private func writeChunks(
    _ chunks: [HeldChunk], _ snapshot: Snapshot, of account: AccountID, _ outcome: inout Outcome
  ) throws(CommandFailure) {
    let seals = HomeExport.seals(of: snapshot)
    for chunk in chunks {
      try checkInterruption()
      guard let bytes = try bytes(of: chunk, account) else { continue }
      guard let seal = seals[chunk.hash] else {
        try folder.add(chunk.hash, bytes)
        outcome.chunks += 1
        continue
      }
      if let block = HomeExport.opened(bytes, seal, snapshot.keys) {
        try folder.add(chunk.hash, block)
        outcome.chunks += 1
      } else {
        try folder.create(HomeExport.sealedChunks + "/" + chunk.hash.text).write(bytes)
        outcome.sealedChunks += 1
      }
    }
  }

  /// Returns the seals of the chunks that records name in references, also those that wait for the
  /// person.
  private static func seals(of snapshot: Snapshot) -> [ChunkHash: FileReference.Seal] {
    var records = snapshot.records
    for entry in snapshot.outbox {
      if case .asking(let cloud) = entry.state { records.append(cloud) }
    }
    var seals: [ChunkHash: FileReference.Seal] = [:]
    for record in records where !record.chunks.isEmpty {
      for reference in record.value.map({ FileReference.references(in: $0) }) ?? [] {
        guard let seal = reference.seal else { continue }
        for hash in reference.chunks { seals[hash] = seal }
      }
    }
    return seals
  }

  /// Returns nil if the chunk does not open with the keys.
  private static func opened(
    _ chunk: [UInt8], _ seal: FileReference.Seal, _ keys: SealingKeys?
  ) -> [UInt8]? {
    guard let zoneKeys = keys?.keys(of: seal.zone) else { return nil }
    do throws(SealFault) {
      return try ZoneSeal(zoneKeys).opened(fileBlock: chunk, sealedWith: seal.key)
    } catch {
      return nil
    }
  }

  private func summary(
    of identity: HomeIdentity, _ snapshot: Snapshot, _ outcome: Outcome
  ) -> JSONValue {
    let summary: JSONValue = [
      "account": .string(identity.credentials.account.text),
      "device": .string(identity.credentials.device.text),
      "deviceName": .string(identity.deviceName), "relay": .string(identity.relay),
      "lastSync": snapshot.lastSync.map { .number(JSONNumber($0)) } ?? .null,
      "records": JSONValue(integerLiteral: Int64(outcome.records)),
      "unsent": JSONValue(integerLiteral: Int64(snapshot.outbox.count)),
    ]
    if outcome.scope == .everything { return summary }
    return summary.setting("scope", to: outcome.scope.json)
  }
}

/// Export of the vault's files, with the content that they have on the devices.
extension HomeExport {
  /// Writes the files. Returns their number and the chunks that they consist of. Skips a file if
  /// this home lacks the key or a chunk of it; its chunks are exported with the others. If the home
  /// has a key, unsealed files go to a folder of their own: anyone who can write to the account may
  /// have made them, and they must not be mistaken for sealed ones.
  func writeFiles(
    _ records: [Record], _ seal: VaultSeal?, _ held: [HeldChunk], of account: AccountID
  ) throws(CommandFailure) -> (count: Int, chunks: Set<ChunkHash>) {
    var count = 0
    var used: Set<ChunkHash> = []
    for record in records where record.type == VaultApp.fileType {
      guard let (reader, contents) = HomeExport.contents(of: record, seal) else { continue }
      let chunks = contents.chunks.compactMap { HomeExport.chunk($0, among: held) }
      let isForeign = seal?.isOfZone == false && !VaultSeal.isSealed(record.value, seal)
      let folder = isForeign ? HomeExport.unsealedFiles : HomeExport.files
      guard chunks.count == contents.chunks.count,
        try writeFile(
          folder + "/" + contents.manifest.file, chunks, (reader, contents), of: account)
      else { continue }
      count += 1
      used.formUnion(contents.chunks)
    }
    return (count, used)
  }

  package static let files = "vault"
  static let unsealedFiles = "vault-unsealed"

  /// Returns a record's contents and the seal that opens its chunks, or nil if this home cannot
  /// read it.
  package static func contents(
    of record: Record, _ seal: VaultSeal?
  ) -> (VaultSeal, VaultSeal.Contents)? {
    guard let fields = record.value, let reader = VaultSeal.reader(of: fields, seal),
      let contents = reader.contents(of: fields, record: record.name)
    else { return nil }
    return (reader, contents)
  }

  private static func chunk(_ hash: ChunkHash, among held: [HeldChunk]) -> HeldChunk? {
    let place = held.lowerBound { $0.hash < hash }
    return place < held.count && held[place].hash == hash ? held[place] : nil
  }

  /// Returns false and removes the file if a chunk is gone meanwhile or cannot be opened.
  private func writeFile(
    _ name: String, _ chunks: [HeldChunk],
    _ sealed: (by: VaultSeal, contents: VaultSeal.Contents), of account: AccountID
  ) throws(CommandFailure) -> Bool {
    let file = try folder.create(name)
    for chunk in chunks {
      try checkInterruption()
      guard let bytes = try bytes(of: chunk, account),
        let opened = sealed.by.opened(bytes, of: sealed.contents)
      else {
        try folder.remove(name)
        return false
      }
      try file.write(opened)
    }
    return true
  }

  /// Returns nil if the chunk is gone meanwhile.
  package func bytes(of chunk: HeldChunk, _ account: AccountID) throws(CommandFailure) -> [UInt8]? {
    let path = "\(home.chunks)/\(account.text)/\(HexText.text(chunk.file))"
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    if descriptor < 0, errno == ENOENT { return nil }
    guard descriptor >= 0 else { throw PlainFile.failure(path, "be read", errno) }
    return try PlainFile(path: path, descriptor: descriptor)
      .contents(atMost: Limits.chunkBytes, localized("the chunk"))
  }
}
