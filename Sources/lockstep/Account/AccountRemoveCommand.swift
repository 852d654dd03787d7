import Glibc
import LockstepModel
import LockstepStorage

/// `lockstep account remove`: removes an account with all its data.
enum AccountRemoveCommand {
  static let yes = CommandOption.flag("yes", "Do not ask whether it is meant.")

  static let command = Command(
    name: "remove",
    summary: "Removes an account for good: its devices, records and files.",
    discussion: """
      Its devices are turned away at once. What they hold stays on them, and is theirs alone. \
      There is no way back; lockstep account export writes all of an account to a folder first.
      """,
    options: [RelayCommand.store.entry, yes.entry, AccountCommand.json.entry],
    operands: AccountCommand.account
  ) { arguments throws(CommandFailure) in
    let office = try AccountCommand.office(arguments)
    let account = try office.account(named: arguments.operands[0])
    if !arguments[yes] { try confirm(account) }
    try office.remove(account.id)
    if arguments[AccountCommand.json] {
      let told: JSONValue = ["accountID": .string(account.id.text)]
      return try TerminalOutput.printed(told.text)
    }
    return try TerminalOutput.printed("\(AccountCommand.name(of: account)) is removed")
  }

  private static func confirm(_ account: AccountSummary) throws(CommandFailure) {
    let name = AccountCommand.name(of: account)
    guard isatty(STDIN_FILENO) == 1 else {
      throw CommandFailure(
        "nobody is here to be asked; say --yes to remove \(name)", exitCode: .usage)
    }
    let devices = account.devices == 1 ? "1 device" : "\(account.devices) devices"
    TerminalOutput.writeToStandardError(
      """
      \(name) has \(devices), \(account.newestTag) changes \
      and \(ByteCount.text(account.chunkBytes)) of files. All of it goes, for good.
      Type yes to remove it:\u{20}
      """)
    guard readLine() == "yes" else { throw CommandFailure("nothing was removed") }
  }
}
