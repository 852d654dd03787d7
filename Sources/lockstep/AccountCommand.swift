import Changes
import Loop
import Relay

/// `lockstep account`: what a relay's owner does about accounts.
enum AccountCommand {
  static let command = Command(
    name: "account", summary: "Makes accounts, as the owner of a relay.",
    subcommands: [AccountCreateCommand.command])
}

/// `lockstep account create`: an account for a person, without a device yet.
enum AccountCreateCommand {
  static let json = CommandOption.flag("json", "Print one JSON object.")

  static let command = Command(
    name: "create",
    summary: "Makes an account, and prints the pairing code for its first device.",
    discussion: """
      Asks the relay that runs on the store, through a socket that only its owner can reach; where \
      none runs, the account is made in the store itself. A code lets one device in, within ten \
      minutes; the others are paired from there.
      """,
    options: [RelayCommand.store.entry, json.entry],
    operands: Command.Operands("NAME", "What the account is called in the relay's store.")
  ) { arguments throws(CommandFailure) in
    let store = arguments[RelayCommand.store]
    let name = arguments.operands[0]
    let made = try AccountMaker(store: store).make(name)
    if arguments[json] {
      return try TerminalOutput.printed(
        String(decoding: made.offer.encodedBody(), as: UTF8.self))
    }
    return try TerminalOutput.printed(text(of: made, name: name, store: store))
  }

  private static func text(of made: AccountMaker.Made, name: String, store: String) -> String {
    let wall = SystemClock.moment().wall
    let minutes = max(0, (made.offer.pairing.expiresAt - wall + 30_000) / 60_000)
    let begin =
      made.isByRelay
      ? ""
      : """


      No relay runs on \(store), so the account was made in the store itself. Start the relay:
        lockstep relay --store \(store)
      """
    return """
      \(made.offer.pairing.code)

      This code lets the first device into the account "\(Log.oneLine(name))".\(begin)

      On that device, within \(minutes) minutes:
        lockstep agent join --relay URL --home DIR --code -
      and type the code there; URL is what the relay said it listens on.
      """
  }
}
