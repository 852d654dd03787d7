import LockstepEventLoop
import LockstepModel
import LockstepStorageSQLite

/// `lockstep relay restore`: makes a backup the store.
enum RelayRestoreCommand {
  static let isForced = CommandOption.flag(
    "force", "Where there is a store already, move it aside, into a folder within it.")
  static let json = CommandOption.flag("json", "Print one JSON object.")

  static let command = Command(
    name: "restore",
    summary: "Makes a backup the store, on this machine or another one.",
    discussion: """
      No relay may run on the store. The backup is looked through first; one that is damaged is \
      refused, and nothing was changed then. Nothing is ever removed: with --force, what is there \
      is moved to a folder replaced-TIME within the store.

      Then start the relay. It sees that its store is an older copy, and the devices bring back \
      what came after the backup as soon as they connect; nobody has to do anything. A device that \
      was paired after the backup is not known any more and is paired anew.
      """,
    options: [RelayCommand.store.entry, isForced.entry, json.entry],
    operands: Command.Operands(
      "BACKUP", "A backup, or the folder of backups, of which the newest is taken.")
  ) { arguments throws(CommandFailure) in
    let interruption = try Interruption()
    let backup = try BackupFolder.backup(arguments.operands[0])
    let restore = StoreRestore(
      backup: backup, manifest: try BackupManifest.read(from: backup),
      store: try arguments[RelayCommand.store].folder(
        insteadOfDatabase: "restore it with PostgreSQL's own tools; see docs/operations.md"),
      isForced: arguments[isForced],
      wall: SystemClock.moment().wall, opening: RelayStore.openingNumber(), progress: Progress(),
      interruption: interruption)
    guard restore.standing.isEmpty || restore.isForced else { throw restore.refusal }
    if !arguments[json] { _ = try TerminalOutput.printed(restore.plan) }
    let owner = try StoreOwner.become(ofFolder: restore.store)
    let outcome = try restore.run()
    owner?.end()
    return try TerminalOutput.printed(
      arguments[json] ? restore.json(of: outcome).text : restore.text(of: outcome))
  }
}

extension StoreRestore {
  /// Description of the restore, printed before it begins.
  var plan: String {
    let lines = [
      "puts the backup \(backup) into \(store):",
      "  made at \(CalendarTime.text(manifest.madeAt)) by lockstep \(manifest.version)",
      "  \(manifest.counts.text)",
    ]
    return (lines + (standing.isEmpty ? [] : ["  what is there is moved aside"]))
      .joined(separator: "\n")
  }

  func text(of outcome: Outcome) -> String {
    var lines = ["done."]
    if let aside = outcome.aside {
      lines.append("What was there is in \(aside); remove it when you don't need it any more.")
    }
    lines.append(
      "Start the relay on \(store); its devices bring back what came after the backup.")
    return lines.joined(separator: "\n")
  }

  func json(of outcome: Outcome) -> JSONValue {
    manifest.json.setting("backup", to: .string(backup)).setting("store", to: .string(store))
      .setting("replaced", to: outcome.aside.map { .string($0) } ?? .null)
  }
}
