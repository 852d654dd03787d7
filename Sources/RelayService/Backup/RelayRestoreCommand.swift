import LockstepCommandLine
import LockstepEventLoop
import LockstepJSON
import LockstepStorageSQLite

/// `lockstep relay restore`: makes a backup the store.
enum RelayRestoreCommand {
  static let isForced = CommandOption.flag(
    "force", "If there is a store already, move it aside, into a folder within it.")
  static let json = CommandOption.flag("json", "Print one JSON object.")

  static let command = Command(
    name: "restore",
    summary: "Restores a backup, on this machine or another one.",
    discussion: """
      No relay may run on the store. The backup is checked first; a damaged one is refused, and \
      nothing is changed. Nothing is removed: with --force, the existing store is moved to a \
      folder replaced-TIME within the store's folder.

      Then start the relay. It detects that its store is an older copy, and the devices send the \
      changes made after the backup as soon as they connect; no user action is needed. A device \
      that was paired after the backup is no longer known and must be paired again.
      """,
    options: [RelayCommand.store.entry, isForced.entry, json.entry],
    operands: Command.Operands(
      "BACKUP", "A backup, or the folder of backups, of which the newest is used.",
      known: .folders)
  ) { arguments throws(CommandFailure) in
    let interruption = try Interruption()
    let backup = try BackupFolder.backup(arguments.operands[0])
    let restore = StoreRestore(
      backup: backup, manifest: try BackupManifest.read(from: backup),
      store: try arguments[RelayCommand.store].folder(
        insteadOfDatabase: "restore it with PostgreSQL's own tools; see docs/relay/postgresql.md"),
      isForced: arguments[isForced],
      wall: SystemClock.moment().wall, opening: RelayStore.openingNumber(), progress: Progress(),
      interruption: interruption)
    guard restore.existingParts.isEmpty || restore.isForced else { throw restore.refusal }
    let isJSON = arguments[json]
    let owner = try StoreOwner.become(ofFolder: restore.store)
    let outcome = try restore.run { () throws(CommandFailure) in
      if !isJSON { _ = try TerminalOutput.printed(restore.plan) }
    }
    owner?.end()
    return try TerminalOutput.printed(
      arguments[json] ? restore.json(of: outcome).text : restore.text(of: outcome))
  }
}

extension StoreRestore {
  /// Description of the restore, printed when it begins.
  package var plan: String {
    let lines = [
      "restores the backup \(backup) into \(store):",
      "  made at \(CalendarTime.text(manifest.madeAt)) by lockstep \(manifest.version)",
      "  \(manifest.counts.text)",
    ]
    return (lines + (existingParts.isEmpty ? [] : ["  the existing store is moved aside"]))
      .joined(separator: "\n")
  }

  package func text(of outcome: Outcome) -> String {
    var lines = ["done."]
    if let aside = outcome.aside {
      lines.append("The former store is in \(aside); remove it when you no longer need it.")
    }
    lines.append(
      "Start the relay on \(store); its devices send the changes made after the backup.")
    return lines.joined(separator: "\n")
  }

  package func json(of outcome: Outcome) -> JSONValue {
    manifest.json.setting("backup", to: .string(backup)).setting("store", to: .string(store))
      .setting("replaced", to: outcome.aside.map { .string($0) } ?? .null)
  }
}
