import LockstepCommandLine
import LockstepEventLoop
import LockstepHome
import LockstepJSON
import LockstepLanguage

/// `lockstep agent export`: writes all data of a home as JSON and text files.
enum AgentExportCommand {
  static let command = Command(
    name: "export",
    summary: "Writes all data of this home to a folder, as JSON and text files.",
    discussion: """
      DIR must not exist, or be empty. The export consists of home.json (the device's identity, \
      and as scope the part of the account that it may use, if not all of it), a JSON list of \
      each app's records in the app's own form (timer.json, clipboard.json, memo.json, \
      habits.json, vault.json), the memos as texts (memos/), open conflicts (conflicts.json), \
      and the vault's files, decrypted (vault/; in a home with the vault's key, unsealed files \
      of the account are in vault-unsealed/). Chunks of the vault's files that this home cannot \
      decrypt, or does not have completely, are exported as stored (chunks/). So are chunks of \
      other files, with the names by which records refer to them; those of sealed zones are \
      decrypted, or, if this home cannot decrypt them, as stored in chunks-sealed/. The token and \
      the keys are not exported. It works without a relay, and while the home is in use.

      Everything is written to DIR.partial first, which is renamed to DIR when it is complete.
      """,
    options: [AgentCommand.home.entry, AgentCommand.json.entry],
    operands: Command.Operands("DIR", "The folder to write to.", known: .folders)
  ) { arguments throws(CommandFailure) in
    let home = AgentCommand.folder(arguments)
    guard home.exists else { throw HomeSession.noHome(home) }
    // Before anything exists that an interruption would leave behind.
    let signals = try Interruption.signals()
    let folder = try ExportFolder(path: arguments.operands[0], folders: HomeExport.folders)
    do throws(CommandFailure) {
      let export = HomeExport(home: home, folder: folder) { () throws(CommandFailure) in
        return try CommandFailure.wrap { () throws(SystemFault) in
          try !signals.receive().isEmpty
        }
      }
      return try printed(try export.run(), arguments, folder.path)
    } catch {
      try folder.discard()
      throw error
    }
  }

  private static func printed(
    _ done: HomeExport.Outcome, _ arguments: Arguments, _ path: String
  ) throws(CommandFailure) -> ExitCode {
    if arguments[AgentCommand.json] {
      var json: JSONValue = [
        "path": .string(path), "records": JSONValue(integerLiteral: Int64(done.records)),
        "memos": JSONValue(integerLiteral: Int64(done.memos)),
        "conflicts": JSONValue(integerLiteral: Int64(done.conflicts)),
        "files": JSONValue(integerLiteral: Int64(done.files)),
        "chunks": JSONValue(integerLiteral: Int64(done.chunks)),
        "sealedChunks": JSONValue(integerLiteral: Int64(done.sealedChunks)),
      ]
      if done.scope != .everything { json = json.setting("scope", to: done.scope.json) }
      return try TerminalOutput.printed(json.text)
    }
    let values = ["contents": contents(done), "path": path, "scope": done.scope.summary]
    // A device that may read everything has everything.
    return try TerminalOutput.printed(
      done.scope.zones == nil
        ? localized("{contents} in {path}", values)
        : localized(
          "{contents} in {path}; this device was paired for a part of the account: {scope}", values)
    )
  }

  private static func contents(_ done: HomeExport.Outcome) -> String {
    var parts = [
      localized(count: done.records, one: "{count} record", many: "{count} records")
    ]
    if done.files > 0 {
      parts.append(localized(count: done.files, one: "{count} file", many: "{count} files"))
    }
    if done.chunks > 0 {
      parts.append(
        localized(
          count: done.chunks, one: "{count} chunks of files", many: "{count} chunks of files"))
    }
    if done.sealedChunks > 0 {
      parts.append(
        localized(
          count: done.sealedChunks, one: "{count} chunks that do not open",
          many: "{count} chunks that do not open"))
    }
    if done.conflicts > 0 {
      parts.append(
        localized(
          count: done.conflicts, one: "{count} waiting for you", many: "{count} waiting for you"))
    }
    return parts.joined(separator: localized(", "))
  }
}
