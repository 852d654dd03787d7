import LockstepCommandLine
import LockstepEventLoop
import LockstepJSON
import LockstepStorageSQLite

/// `lockstep relay backup`: makes a complete copy of the store.
enum RelayBackupCommand {
  static let keep = CommandOption.optional(
    "keep", ValueKind<Int>.integer(1...10_000),
    "Number of backups to keep in DIR; older ones are removed when the new one is complete. All "
      + "if not given.")
  static let isQuick = CommandOption.flag(
    "quick",
    "Do not read all chunks of files again to check their hashes; relay check does that.")
  static let json = CommandOption.flag("json", "Print one JSON object.")

  static let command = Command(
    name: "backup",
    summary: "Makes a copy of the whole store in DIR, also while the relay runs.",
    discussion: """
      The backup is a folder in DIR that is named by the time (UTC), such as \
      2026-03-01T12-00-00Z, with the database as it was at one moment, all chunks of files that \
      it names, and backup.json, which describes it. On the same file system chunks are hard links \
      to the store's own files and use no space; on another one, only chunks that the previous \
      backup lacks are copied.

      The backup is checked before it gets its final name, so a folder of that name is complete \
      and durable. An interruption leaves nothing behind. The exit code is also 1 if the backup \
      was made but the store itself is damaged. The result stands in the store's folder, in \
      last-backup.json, from which the relay shows it in its metrics.
      """,
    options: [RelayCommand.store.entry, keep.entry, isQuick.entry, json.entry],
    operands: Command.Operands("DIR", "Folder for backups.", known: .folders)
  ) { arguments throws(CommandFailure) in
    // Before anything exists that an interruption would leave behind.
    let interruption = try Interruption()
    let store = try arguments[RelayCommand.store].folder(
      insteadOfDatabase:
        "back it up with pg_dump or by archiving its log; see docs/relay/postgresql.md")
    guard SQLiteZoneStore.exists(in: store) else {
      throw CommandFailure(
        "there is no store of a relay in \(store); name the relay's folder with --store DIR")
    }
    let wall = SystemClock.moment().wall
    let (folder, outcome) = try recording(at: wall, ofStore: store) {
      () throws(CommandFailure) in
      let folder = try BackupFolder(arguments.operands[0], wall: wall)
      do throws(CommandFailure) {
        let outcome = try StoreBackup(
          store: store, folder: folder, isQuick: arguments[isQuick], madeAt: wall,
          opening: RelayStore.openingNumber(), progress: Progress(), interruption: interruption
        ).run()
        return (folder, outcome)
      } catch {
        try folder.discard()
        throw error
      }
    }
    var gone: [String] = []
    if let count = arguments[keep] { gone = try folder.removeOldest(keeping: count) }
    _ = try TerminalOutput.printed(
      arguments[json]
        ? outcome.json(in: folder.finalPath, removed: gone).text
        : outcome.text(in: folder.finalPath, removed: gone))
    guard outcome.faults.isEmpty else {
      throw CommandFailure(
        "the backup was made, but the store itself is damaged: \(outcome.faults[0].text)"
          + (outcome.faults.count > 1 ? ", and more" : "") + "; lockstep relay check lists all")
    }
    return .success
  }

  /// Makes a backup, and records its result for the relay.
  private static func recording(
    at wall: Int64, ofStore store: String,
    _ make: () throws(CommandFailure) -> (BackupFolder, StoreBackup.Outcome)
  ) throws(CommandFailure) -> (BackupFolder, StoreBackup.Outcome) {
    let made: (folder: BackupFolder, outcome: StoreBackup.Outcome)
    do throws(CommandFailure) {
      made = try make()
    } catch {
      UpkeepFiles.attempt { () throws(CommandFailure) in
        try UpkeepFiles.record(failure: error, at: wall, ofStore: store)
      }
      throw error
    }
    UpkeepFiles.attempt { () throws(CommandFailure) in
      try UpkeepFiles.record(made.outcome, at: made.folder.finalPath, ofStore: store)
    }
    return made
  }
}

extension StoreBackup.Outcome {
  package func text(in place: String, removed: [String]) -> String {
    var lines = ["\(place): \(manifest.counts.text)"]
    if linked + copied > 0 { lines.append("  chunks: \(linked) linked, \(copied) copied") }
    if !removed.isEmpty { lines.append("  removed: \(removed.joined(separator: ", "))") }
    return lines.joined(separator: "\n")
  }

  package func json(in place: String, removed: [String]) -> JSONValue {
    manifest.json.setting("backup", to: .string(place))
      .setting("linked", to: JSONValue(integerLiteral: Int64(linked)))
      .setting("copied", to: JSONValue(integerLiteral: Int64(copied)))
      .setting("removed", to: .array(removed.map { .string($0) }))
      .setting("storeFaults", to: .array(faults.map { .string($0.text) }))
  }
}
