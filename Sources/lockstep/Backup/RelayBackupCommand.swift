import LockstepEventLoop
import LockstepModel
import LockstepStorageSQLite

/// `lockstep relay backup`: makes a complete copy of the store.
enum RelayBackupCommand {
  static let keep = CommandOption.optional(
    "keep", ValueKind<Int>.integer(1...10_000),
    "How many backups stay in DIR; older ones are removed once the new one is whole. All if not "
      + "given.")
  static let isQuick = CommandOption.flag(
    "quick",
    "Don't read all chunks of files once more to see that they are whole; relay check does that.")
  static let json = CommandOption.flag("json", "Print one JSON object.")

  static let command = Command(
    name: "backup",
    summary: "Makes a copy of the whole store in DIR, also while the relay runs.",
    discussion: """
      The backup is a folder in DIR that is named by the time (UTC), such as \
      2026-03-01T12-00-00Z, with the database as it was at one moment, all chunks of files that \
      it names, and backup.json, which tells what it is. On the same file system chunks are second \
      names of the store's own files and take no room; elsewhere only those are copied that the \
      backup before it lacks.

      It is looked through before it gets its name, so a folder of that name is whole and durable. \
      An interruption leaves nothing behind. The exit code is 1, too, where the backup was made \
      and the store itself is not whole.
      """,
    options: [RelayCommand.store.entry, keep.entry, isQuick.entry, json.entry],
    operands: Command.Operands("DIR", "The folder that backups are made in.")
  ) { arguments throws(CommandFailure) in
    // Before anything exists that an interruption would leave behind.
    let interruption = try Interruption()
    let store = try arguments[RelayCommand.store].folder(
      insteadOfDatabase: "back it up with pg_dump or by archiving its log; see docs/operations.md")
    guard SQLiteZoneStore.exists(in: store) else {
      throw CommandFailure(
        "there is no store of a relay in \(store); name the relay's folder with --store DIR")
    }
    let wall = SystemClock.moment().wall
    let shelf = try BackupFolder(arguments.operands[0], wall: wall)
    let outcome: StoreBackup.Outcome
    var gone: [String] = []
    do throws(CommandFailure) {
      outcome = try StoreBackup(
        store: store, shelf: shelf, isQuick: arguments[isQuick], madeAt: wall,
        opening: RelayStore.openingNumber(), progress: Progress(), interruption: interruption
      ).run()
    } catch {
      try shelf.discard()
      throw error
    }
    if let count = arguments[keep] { gone = try shelf.keep(count) }
    _ = try TerminalOutput.printed(
      arguments[json]
        ? outcome.json(in: shelf.place, removed: gone).text
        : outcome.text(in: shelf.place, removed: gone))
    guard outcome.faults.isEmpty else {
      throw CommandFailure(
        "the backup was made, but the store itself is not whole: \(outcome.faults[0].text)"
          + (outcome.faults.count > 1 ? ", and more" : "") + "; lockstep relay check tells all")
    }
    return .success
  }
}

extension StoreBackup.Outcome {
  func text(in place: String, removed: [String]) -> String {
    var lines = ["\(place): \(manifest.counts.text)"]
    if linked + copied > 0 { lines.append("  chunks: \(linked) linked, \(copied) copied") }
    if !removed.isEmpty { lines.append("  removed: \(removed.joined(separator: ", "))") }
    return lines.joined(separator: "\n")
  }

  func json(in place: String, removed: [String]) -> JSONValue {
    manifest.json.setting("backup", to: .string(place))
      .setting("linked", to: JSONValue(integerLiteral: Int64(linked)))
      .setting("copied", to: JSONValue(integerLiteral: Int64(copied)))
      .setting("removed", to: .array(removed.map { .string($0) }))
      .setting("storeFaults", to: .array(faults.map { .string($0.text) }))
  }
}
