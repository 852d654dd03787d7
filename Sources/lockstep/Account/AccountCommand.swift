import LockstepEventLoop
import LockstepModel
import LockstepRelay
import LockstepStorage

/// `lockstep account`: administration of accounts by the relay's owner.
enum AccountCommand {
  static let command = Command(
    name: "account",
    summary: "Makes, shows, bounds, exports and removes accounts, as the owner of a relay.",
    discussion: """
      Each asks the relay that runs on the store, through a socket that only its owner can reach; \
      where none runs, the store itself is opened for as long as it takes.

      An account is named by its id, or by what it is called where no other is called so.
      """,
    subcommands: [
      AccountCreateCommand.command, AccountListCommand.command, AccountPlanCommand.command,
      AccountPairCommand.command, AccountExportCommand.command, AccountRemoveCommand.command,
    ])

  static let json = CommandOption.flag("json", "Print one JSON object.")
  static let account = Command.Operands("ACCOUNT", "The account's id, or what it is called.")

  static func office(
    _ arguments: Arguments, makesStore: Bool = false
  ) throws(CommandFailure) -> AdminClient {
    try AdminClient(arguments[RelayCommand.store], makesStore: makesStore)
  }

  /// Returns the account's label and id for use in a sentence; the id alone if the label is empty.
  static func name(of account: AccountSummary) -> String {
    account.label.isEmpty
      ? account.id.text : "\"\(Log.oneLine(account.label))\" (\(account.id.text))"
  }

  /// Returns a pairing code with instructions. `aim`: the device and account that the code is for.
  static func text(of offer: AccountOffer, aim: String, from office: AdminClient) -> String {
    let wall = SystemClock.moment().wall
    let minutes = max(0, (offer.pairing.expiresAt - wall + 30_000) / 60_000)
    let begin =
      office.hasRelay
      ? ""
      : """


      No relay runs on \(office.store.text), so this was done in the store itself. Start the relay:
        lockstep relay --store \(office.store.text)
      """
    return """
      \(offer.pairing.code)

      This code lets \(aim).\(begin)

      On that device, within \(minutes) minutes:
        lockstep agent join --relay URL --home DIR --code -
      and type the code there; URL is what the relay said it listens on.
      """
  }
}

/// `lockstep account create`: creates an account for a person, without a device yet.
enum AccountCreateCommand {
  static let command = Command(
    name: "create",
    summary: "Makes an account, and prints the pairing code for its first device.",
    discussion: """
      A code lets one device in, within ten minutes; the others are paired from there, or with \
      lockstep account pair.
      """,
    options: [
      RelayCommand.store.entry, AccountPlanCommand.zones.entry, AccountCommand.json.entry,
    ],
    operands: Command.Operands("NAME", "What the account is called in the relay's store.")
  ) { arguments throws(CommandFailure) in
    let name = arguments.operands[0]
    let office = try AccountCommand.office(arguments, makesStore: true)
    let offer = try office.make(label: name)
    if let zones = arguments[AccountPlanCommand.zones] {
      // Before the code is printed, so that no device can save before the plan applies.
      try office.setPlan(Plan(zones: zones), of: offer.account)
    }
    if arguments[AccountCommand.json] {
      return try TerminalOutput.printed(String(decoding: offer.encodedBody(), as: UTF8.self))
    }
    let aim = "the first device into the account \"\(Log.oneLine(name))\""
    return try TerminalOutput.printed(AccountCommand.text(of: offer, aim: aim, from: office))
  }
}

/// `lockstep account pair`: issues a code for a further device, or for the first if its code was
/// lost.
enum AccountPairCommand {
  static let command = Command(
    name: "pair",
    summary: "Prints a new pairing code, which lets one device into an account.",
    discussion: """
      For a person whose devices are all lost, or whose first code was not used in time. Any \
      device of the account can do the same: lockstep agent pair.
      """,
    options: [RelayCommand.store.entry, AccountCommand.json.entry],
    operands: AccountCommand.account
  ) { arguments throws(CommandFailure) in
    let office = try AccountCommand.office(arguments)
    let account = try office.account(named: arguments.operands[0])
    let offer = try office.pair(account.id)
    if arguments[AccountCommand.json] {
      return try TerminalOutput.printed(String(decoding: offer.encodedBody(), as: UTF8.self))
    }
    let aim = "one device into the account \(AccountCommand.name(of: account))"
    return try TerminalOutput.printed(AccountCommand.text(of: offer, aim: aim, from: office))
  }
}
