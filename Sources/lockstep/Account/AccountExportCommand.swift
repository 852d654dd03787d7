import LockstepEventLoop
import LockstepModel
import LockstepStorage

/// `lockstep account export`: writes all data of an account as JSON Lines and files.
enum AccountExportCommand {
  static let command = Command(
    name: "export",
    summary: "Writes all data of an account to a folder, as JSON Lines and files.",
    discussion: """
      DIR must not be there yet, or be empty. It gets account.json (which account, its plan, and \
      the change token that the records stand at), devices.jsonl, records.jsonl (one record a \
      line, as the relay tells it, without deleted ones) and chunks/ (the chunks of files, each \
      under its SHA-256). The relay may go on meanwhile; the records are all of one moment.

      Everything is written to DIR.partial first, which becomes DIR once it is whole.
      """,
    options: [RelayCommand.store.entry, AccountCommand.json.entry],
    operands: Command.Operands("ACCOUNT DIR", "Which account, and where to.", counts: 2...2)
  ) { arguments throws(CommandFailure) in
    // Before anything exists that an interruption would leave behind.
    let signals = try AgentCommand.signals()
    let folder = try ExportFolder(path: arguments.operands[1])
    do throws(CommandFailure) {
      let office = try AccountCommand.office(arguments)
      let account = try office.account(named: arguments.operands[0])
      let export = AccountExport(
        account: account, office: office, folder: folder, progress: Progress(),
        isInterrupted: { () throws(CommandFailure) in try isAsked(signals) })
      let done = try export.run()
      return try TerminalOutput.printed(
        arguments[AccountCommand.json]
          ? done.json.text
          : "\(AccountCommand.name(of: account)): \(done.text) in \(folder.path)")
    } catch {
      try folder.discard()
      throw error
    }
  }

  private static func isAsked(_ signals: Signals) throws(CommandFailure) -> Bool {
    do throws(SystemFault) {
      return try !signals.take().isEmpty
    } catch {
      throw CommandFailure("\(error)")
    }
  }
}
