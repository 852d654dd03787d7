import Glibc
import LockstepCommandLine
import LockstepEventLoop
import LockstepJSON
import LockstepRelay
import LockstepStorageSQLite

/// `lockstep relay check`: checks a store or a backup for missing or damaged data.
enum RelayStoreCheckCommand {
  static let json = CommandOption.flag("json", "Print one JSON object.")

  static let command = Command(
    name: "check",
    summary:
      "Checks the store, or a backup, for damage: its database and all chunks of files.",
    discussion: """
      Without BACKUP it checks the store, also while a relay runs on it. It reads everything and \
      changes nothing: SQLite's own check, the tables, the contents of each account, and the hash \
      of each chunk. The exit code is 1 if there is a fault. The result stands in the folder of \
      --store, in last-check.json, from which the relay shows it in its metrics.

      To check the settings of a relay, use lockstep relay --check.
      """,
    options: [RelayCommand.store.entry, json.entry],
    operands: Command.Operands(
      "BACKUP", "A backup, or the folder of backups, of which the newest is used.", counts: 0...1,
      known: .folders)
  ) { arguments throws(CommandFailure) in
    let interruption = try Interruption()
    let folder: String
    var manifest: BackupManifest?
    if let name = arguments.operands.first {
      folder = try BackupFolder.backup(name)
      manifest = try BackupManifest.read(from: folder)
    } else {
      folder = try arguments[RelayCommand.store].folder(
        insteadOfDatabase: "check it with PostgreSQL's own tools, such as pg_amcheck")
    }
    if manifest == nil, !SQLiteZoneStore.exists(in: folder) {
      throw CommandFailure(
        "there is no store of a relay in \(folder); name the relay's folder with --store DIR")
    }
    let inspector = StoreInspector(
      folder: folder, manifest: manifest, progress: Progress(), interruption: interruption,
      work: "the check")
    let owner = try StoreOwner.become(ofFolder: folder)
    let found = try inspector.run()
    owner?.end()
    record(found, isBackup: manifest != nil, ofStore: arguments[RelayCommand.store])
    let report = arguments[json] ? found.json(of: folder).text : found.text(of: folder)
    _ = try TerminalOutput.printed(report)
    guard found.faults.isEmpty else {
      throw CommandFailure(
        manifest == nil
          ? "the store \(folder) is damaged; restore a backup (lockstep relay restore), or see "
            + "docs/relay/backup.md"
          : "the backup \(folder) is damaged; use another one, and make a new one")
    }
    return .success
  }

  /// Records the result for the relay, if this user may write into its store.
  private static func record(_ found: StoreInspection, isBackup: Bool, ofStore store: StoreLocation)
  {
    guard case .folder(let folder) = store, SQLiteZoneStore.exists(in: folder),
      access(folder, W_OK) == 0
    else { return }
    let result = CheckResult(
      at: SystemClock.moment().wall, findings: found.faults.count,
      target: isBackup ? .backup : .store)
    UpkeepFiles.attempt { () throws(CommandFailure) in
      try UpkeepFiles.record(result, ofStore: folder)
    }
  }
}

extension StoreInspection {
  package func text(of folder: String) -> String {
    var lines = ["\(folder): \(counts.text)"]
    lines += faults.map { "  \(Log.oneLine($0.text))" }
    if lostChunks > 0 {
      lines.append(
        "  chunks that an earlier restore lost: \(lostChunks); devices that hold them bring them back"
      )
    }
    if strayFiles > 0 {
      lines.append("  files of no chunk: \(strayFiles); a relay removes those left over")
    }
    if faults.isEmpty { lines.append("no faults") }
    return lines.joined(separator: "\n")
  }

  package func json(of folder: String) -> JSONValue {
    counts.json.setting("folder", to: .string(folder))
      .setting("isWhole", to: .bool(faults.isEmpty))
      .setting("lostPieces", to: JSONValue(integerLiteral: Int64(lostChunks)))
      .setting("strayFiles", to: JSONValue(integerLiteral: Int64(strayFiles)))
      .setting(
        "faults",
        to: .array(
          faults.map { fault in
            [
              "code": .string(fault.code),
              "account": fault.account.map { .string($0.text) } ?? .null,
              "detail": .string(fault.detail),
            ]
          }))
  }
}

extension StoreFault {
  package var text: String {
    "\(code): " + (account.map { "account \($0.text): " } ?? "") + detail
  }
}
