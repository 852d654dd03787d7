import Glibc
import Lockstep
import LockstepApps
import LockstepClient
import LockstepCommandLine
import LockstepEventLoop
import LockstepJSON
import LockstepModel
import LockstepRelay
import LockstepStorage
import LockstepTerminal

/// `lockstep account`: administration of accounts by the relay's owner.
package enum AccountCommand {
  package static let command = Command(
    name: "account",
    summary: "Creates, lists, limits, exports and removes accounts, as the owner of a relay.",
    discussion: """
      Each command sends its request to the relay that runs on the store, through a socket that \
      only its owner can reach. If no relay runs, the command opens the store itself.

      An account is named by its id, or by its label if no other account has the same.
      """,
    subcommands: [
      AccountCreateCommand.command, AccountListCommand.command, AccountPlanCommand.command,
      AccountPairCommand.command, AccountExportCommand.command, AccountRemoveCommand.command,
    ])

  package static let json = CommandOption.flag("json", "Print one JSON object.")
  package static let account = Command.Operands(
    "ACCOUNT", "The account's id or label.")

  /// Options that name the store, and the bus of its relays.
  static let storeOptions = [
    RelayCommand.store.entry, RelayCommand.bus.entry, RelayCommand.busPasswordFile.entry,
  ]

  static func adminClient(
    _ arguments: Arguments, makesStore: Bool = false
  ) throws(CommandFailure) -> AdminClient {
    try AdminClient(
      arguments[RelayCommand.store], try BusSettings(arguments), makesStore: makesStore)
  }

  /// Returns the account's label and id for use in a sentence; the id alone if the label is empty.
  /// `detail` follows the id.
  package static func name(of account: AccountSummary, _ detail: String? = nil) -> String {
    let about = [account.id.text, detail].compactMap { $0 }.joined(separator: ", ")
    return account.label.isEmpty ? about : "\"\(Log.oneLine(account.label))\" (\(about))"
  }

  /// Returns the operand for a command line that a shell reads: in quotes if it has to be.
  package static func shellWord(_ text: String) -> String {
    let isPlain =
      !text.isEmpty && text.first != "-"
      && text.unicodeScalars.allSatisfy { character in
        character.properties.isAlphabetic || character.properties.numericType != nil
          || "._@-+".unicodeScalars.contains(character)
      }
    return isPlain ? text : "'" + text.replacing("'", with: "'\\''") + "'"
  }

  package static let validity = CommandOption.optional(
    "expires-in",
    ValueKind.duration(Limits.pairingSecondsMin * 1_000...Limits.invitationMilliseconds),
    "Time for which the code is valid, such as 3d for an invitation; at most 7d, 10m if not given.")

  /// Options of a command that prints a code.
  static let offerOptions = [
    RelayCommand.publicURL.entry, RelaySettings.option.entry, validity.entry,
    TerminalOutput.withoutQRCode.entry, json.entry,
  ]

  /// Returns the address for links, if it is not to be that of a running relay: the given one, or
  /// without a relay that of the file of settings. Call it before anything is created.
  static func linkAddress(
    _ client: AdminClient, _ arguments: Arguments
  ) throws(CommandFailure) -> RelayAddress? {
    if let given = arguments[RelayCommand.publicURL] { return given }
    guard !client.asksRelay else { return nil }
    return try RelaySettings.publicURL(of: client.store, named: arguments[RelaySettings.option])
  }

  /// Prints a new code. `aim`: the device and account that the code is for. `address`: that of
  /// `linkAddress`.
  static func show(
    _ offer: AccountOffer, aim: String, at address: RelayAddress?, from client: AdminClient,
    _ arguments: Arguments
  ) throws(CommandFailure) -> ExitCode {
    var offer = offer
    if let address { offer.pairing.relay = address.link }
    let link = offer.link
    if arguments[json] { return try TerminalOutput.printed(offer.json.text) }
    _ = try TerminalOutput.printed(text(of: offer, aim: aim, from: client))
    if let link, !arguments[TerminalOutput.withoutQRCode] {
      try TerminalOutput.standard.drawQRCode(of: link)
    }
    return .success
  }

  /// Units of an installation by hand and of the packages.
  private static let units = [
    "/etc/systemd/system/lockstep-relay.service", "/usr/lib/systemd/system/lockstep-relay.service",
  ]

  /// Returns the command that starts a relay on the store: that of the service, if it is the
  /// service's store.
  private static func startingCommand(_ store: StoreLocation) -> String {
    let isOfService =
      geteuid() == 0 && store.text == RelayCommand.usualStore
      && access("/run/systemd/system", F_OK) == 0
      && units.contains { access($0, F_OK) == 0 }
    return isOfService
      ? "systemctl start lockstep-relay" : "lockstep relay --store \(store.text)"
  }

  /// Returns a pairing code with instructions.
  private static func text(
    of offer: AccountOffer, aim: String, from client: AdminClient
  ) -> String {
    let begin =
      client.hasRelay
      ? ""
      : """


      No relay runs on \(client.store.text), so this was done in the store itself. Start the relay:
        \(startingCommand(client.store))
      """
    let remaining = offer.pairing.expiresAt - SystemClock.moment().wall
    let introduction = """
      \(offer.pairing.code)

      This code lets \(aim), once, within \(time(remaining)).\(begin)


      """
    guard let relay = offer.pairing.relay, let link = offer.link else {
      return introduction + """
        On that device:
          lockstep agent join --relay URL --code -
        and type the code there; URL is the address that the relay printed when it started.
        For a link to send, set public-url in the relay's settings, or give --public-url URL here.
        """
    }
    return introduction + """
      On a phone or in a browser, open this link\(localNote(relay)):
        \(link)
      In a terminal:
        lockstep agent join --relay \(relay) --code -
      and type the code there.
      """
  }

  private static func localNote(_ relay: String) -> String {
    guard let address = RelayAddress(url: relay), PlainAddress.isLoopback(address.host) else {
      return ""
    }
    return ", on this machine alone (set --public-url for others)"
  }

  /// Returns a time in the largest unit that says it well.
  private static func time(_ milliseconds: Int64) -> String {
    let minutes = max(0, (milliseconds + 30_000) / 60_000)
    if minutes < 120 { return minutes == 1 ? "1 minute" : "\(minutes) minutes" }
    let hours = (minutes + 30) / 60
    return hours < 48 ? "\(hours) hours" : "\((hours + 12) / 24) days"
  }
}

/// `lockstep account create`: creates an account for a person, without a device yet.
enum AccountCreateCommand {
  static let command = Command(
    name: "create",
    summary: "Creates an account, and prints the pairing code for its first device.",
    discussion: """
      A name can be given once. A code is valid for one device and ten minutes, or as long as \
      --expires-in says; further devices are paired from that device, or with lockstep account \
      pair. If the relay has a --public-url, its link can be sent to the person, who opens it on a \
      phone.
      """,
    options: AccountCommand.storeOptions + [AccountPlanCommand.zones.entry]
      + AccountCommand.offerOptions,
    operands: Command.Operands("NAME", "The account's label in the relay's store.")
  ) { arguments throws(CommandFailure) in
    let name = arguments.operands[0]
    let client = try AccountCommand.adminClient(arguments, makesStore: true)
    let address = try AccountCommand.linkAddress(client, arguments)
    let offer = try client.createAccount(
      label: name, validFor: arguments[AccountCommand.validity])
    if let zones = arguments[AccountPlanCommand.zones] {
      // Before the code is printed, so that no device can save before the plan applies.
      try client.setPlan(Plan(zones: zones), of: offer.account)
    }
    let aim = "the first device into the account \"\(Log.oneLine(name))\""
    return try AccountCommand.show(offer, aim: aim, at: address, from: client, arguments)
  }
}

/// `lockstep account pair`: issues a code for a further device, or for the first if its code was
/// lost.
enum AccountPairCommand {
  static let command = Command(
    name: "pair",
    summary: "Prints a new pairing code, with which one device can join an account.",
    discussion: """
      Use it if all devices of a person are lost, or if the first code has expired. Any device of \
      the account can do the same: lockstep agent pair.
      """,
    options: AccountCommand.storeOptions + AccountCommand.offerOptions,
    operands: AccountCommand.account
  ) { arguments throws(CommandFailure) in
    let client = try AccountCommand.adminClient(arguments)
    let account = try client.account(named: arguments.operands[0])
    let address = try AccountCommand.linkAddress(client, arguments)
    let offer = try client.issuePairing(
      for: account.id, validFor: arguments[AccountCommand.validity])
    let aim = "one device into the account \(AccountCommand.name(of: account))"
    return try AccountCommand.show(offer, aim: aim, at: address, from: client, arguments)
  }
}

/// `lockstep account list`: shows the relay's accounts and their usage.
enum AccountListCommand {
  static let json = CommandOption.flag("json", "Print one JSON object per line, for each account.")

  static let command = Command(
    name: "list",
    summary: "Shows all accounts.",
    discussion: """
      DEVICES is the number of signed-in devices, RECORDS the bytes of records, including \
      tombstones, and FILES the bytes of the chunks of files. An account that is arriving is being \
      moved here from another relay; one that has moved away is not listed.
      """,
    options: AccountCommand.storeOptions + [json.entry]
  ) { arguments throws(CommandFailure) in
    let client = try AccountCommand.adminClient(arguments)
    if arguments[json] {
      try client.eachAccount { account throws(CommandFailure) in
        try TerminalOutput.standard.write(account.json.text + "\n")
      }
      return .success
    }
    var table = TextTable([
      ("ACCOUNT", .left), ("NAME", .left), ("DEVICES", .right), ("PLAN", .left),
      ("RECORDS", .right), ("FILES", .right), ("MADE", .left),
    ])
    var count = 0
    try client.eachAccount { account in
      count += 1
      table.add(
        account.id.text, account.label + (account.isArriving ? " (arriving)" : ""),
        "\(account.devices)", account.plan.text,
        ByteCount.text(account.recordBytes), ByteCount.text(account.chunkBytes),
        CalendarTime.text(account.madeAt))
    }
    return try TerminalOutput.printed(
      count == 0
        ? "there is no account yet; create the first with lockstep account create NAME"
        : table.text)
  }
}

extension Plan {
  /// Short description of the plan.
  package var text: String {
    let zones =
      zones.map { names in
        names.isEmpty
          ? "no zone" : names.map { Log.oneLine($0.text) }.joined(separator: ", ")
      } ?? "all zones"
    let limits = [
      bytes.map { "\(ByteCount.text($0)) of records" },
      records.map { "\($0) records" },
    ].compactMap { $0 }
    return ([zones] + limits).joined(separator: "; ")
  }
}

/// `lockstep account plan`: shows or changes the plan of an account.
enum AccountPlanCommand {
  static let zones = CommandOption.optional(
    "zones", ValueKind.zones(atMost: Limits.planZones),
    "The zones into which its devices may save; an app's name means its zone.")
  static let all = CommandOption.flag("all", "All zones, including those of future apps.")
  static let free = CommandOption.flag(
    "free", "The zones of the free plan: those of all known apps except Habits.")
  static let none = CommandOption.flag(
    "none", "No zone: its devices are refused until the plan has one.")

  static let quota = CommandOption.optional(
    "quota", ValueKind.bytes(0...1 << 50),
    "Maximum bytes of the account's records, instead of the relay's --quota.")
  static let records = CommandOption.optional(
    "records", ValueKind.integer(0...1 << 40),
    "Maximum number of the account's records, including tombstones.")
  static let usual = CommandOption.flag(
    "usual-limits", "Use the relay's own limits again, instead of --quota and --records.")

  static let command = Command(
    name: "plan",
    summary: "Shows or changes an account's plan: its zones and its limits.",
    discussion: """
      A new plan applies at once. Existing records can always be read; with a plan without any \
      zone all devices of the account are refused. Unsent changes are not lost: devices send them \
      when the plan includes them again.
      """,
    options: AccountCommand.storeOptions + [
      zones.entry, all.entry, free.entry, none.entry, quota.entry,
      records.entry, usual.entry, AccountCommand.json.entry,
    ],
    operands: AccountCommand.account
  ) { arguments throws(CommandFailure) in
    let zones = try plan(arguments)
    let client = try AccountCommand.adminClient(arguments)
    var account = try client.account(named: arguments.operands[0])
    if let wanted = plan(account.plan, zones, arguments) {
      try client.setPlan(wanted, of: account.id)
      account.plan = wanted
    }
    if arguments[AccountCommand.json] {
      let id = JSONValue.string(account.id.text)
      return try TerminalOutput.printed(account.plan.json.setting("accountID", to: id).text)
    }
    return try TerminalOutput.printed(
      "\(AccountCommand.name(of: account)) may save into \(account.plan.text)")
  }

  /// Returns the changed plan; parts without an option stay as they are. Returns nil if the command
  /// only shows the plan.
  private static func plan(_ old: Plan, _ zones: Plan?, _ arguments: Arguments) -> Plan? {
    var plan = old
    if let zones { plan.zones = zones.zones }
    if arguments[usual] { (plan.bytes, plan.records) = (nil, nil) }
    if let bytes = arguments[quota] { plan.bytes = bytes }
    if let count = arguments[records] { plan.records = Int64(count) }
    let isNamed =
      zones != nil || arguments[usual] || arguments[quota] != nil || arguments[records] != nil
    return isNamed ? plan : nil
  }

  /// Returns the plan with the given zones, or nil if no zones are given.
  private static func plan(_ arguments: Arguments) throws(CommandFailure) -> Plan? {
    let plans = [
      arguments[zones].map { Plan(zones: $0) },
      arguments[all] ? .everything : nil,
      arguments[free] ? freePlan : nil,
      arguments[none] ? Plan(zones: []) : nil,
    ].compactMap { $0 }
    guard plans.count <= 1 else {
      throw CommandFailure(
        "--zones, --all, --free and --none exclude one another", exitCode: .usage)
    }
    return plans.first
  }

  static var freePlan: Plan {
    Plan(zones: AppCatalog.all.map(\.zone).filter { $0 != HabitsApp.zone }.sorted())
  }
}

extension ValueKind where Value == [Name] {
  /// Zone names, sorted, without duplicates. An app's name, or its zone's name in another case,
  /// means that zone. `limit`: greatest number of zones.
  package static func zones(atMost limit: Int) -> ValueKind {
    let zones = AppCatalog.all.map(\.zone.text).sorted()
    return ValueKind("ZONE,…", known: .list(zones)) { text throws(ValueFault) in
      var names: Set<Name> = []
      for part in text.split(separator: ",", omittingEmptySubsequences: false) {
        guard let name = Name(String(part)) else {
          throw ValueFault("\"\(text)\" is not a list of zones, such as Timer,Memos")
        }
        let app = AppCatalog.all.first { app in
          [app.name, app.zone.text.lowercased()].contains(part.lowercased())
        }
        names.insert(app?.zone ?? name)
      }
      guard names.count <= limit else {
        throw ValueFault("at most \(limit) zones can be named, not \(names.count)")
      }
      return names.sorted()
    }
  }
}

/// `lockstep account remove`: removes an account with all its data.
enum AccountRemoveCommand {
  static let yes = CommandOption.flag("yes", "Do not ask for confirmation.")

  static let command = Command(
    name: "remove",
    summary: "Removes an account permanently: its devices, records and files.",
    discussion: """
      Its devices are refused at once; their local data stays on them. The removal cannot be \
      undone; to keep a copy, use lockstep account export first.

      The id of an account that has moved to another relay removes the address that its devices \
      are told here: those that have not followed yet must be paired again.
      """,
    options: AccountCommand.storeOptions + [yes.entry, AccountCommand.json.entry],
    operands: AccountCommand.account
  ) { arguments throws(CommandFailure) in
    let client = try AccountCommand.adminClient(arguments)
    let name = arguments.operands[0]
    if let id = AccountID(text: name), let relay = try client.relay(ofDeparted: id) {
      return try removeDeparture(of: id, to: relay, client, arguments)
    }
    let account = try client.account(named: name)
    if !arguments[yes] { try confirm(account) }
    try client.removeAccount(account.id)
    if arguments[AccountCommand.json] {
      let told: JSONValue = ["accountID": .string(account.id.text)]
      return try TerminalOutput.printed(told.text)
    }
    return try TerminalOutput.printed("\(AccountCommand.name(of: account)) is removed")
  }

  private static func removeDeparture(
    of id: AccountID, to relay: String, _ client: AdminClient, _ arguments: Arguments
  ) throws(CommandFailure) -> ExitCode {
    if !arguments[yes] {
      try confirm(
        id.text,
        "\(id.text) has moved to \(relay). The address is removed: devices that have not followed "
          + "yet must be paired again.")
    }
    try client.removeAccount(id)
    return try TerminalOutput.printed(
      arguments[AccountCommand.json]
        ? JSONValue.object([JSONMember("accountID", .string(id.text))]).text
        : "the address of \(id.text) is removed; the account itself is at \(relay)")
  }

  private static func confirm(_ account: AccountSummary) throws(CommandFailure) {
    let name = AccountCommand.name(of: account)
    let devices = account.devices == 1 ? "1 device" : "\(account.devices) devices"
    try confirm(
      name,
      "\(name) has \(devices), \(ByteCount.text(account.recordBytes)) of records and "
        + "\(ByteCount.text(account.chunkBytes)) of files. All of it is removed permanently.")
  }

  /// `consequence`: a sentence for the person.
  private static func confirm(
    _ name: String, _ consequence: String
  ) throws(CommandFailure) {
    guard isatty(STDIN_FILENO) == 1 else {
      throw CommandFailure(
        "there is no terminal for the confirmation; add --yes to remove \(name)", exitCode: .usage)
    }
    TerminalOutput.writeToStandardError("\(consequence)\nType yes to remove it: ")
    guard readLine() == "yes" else { throw CommandFailure("nothing was removed") }
  }
}

/// `lockstep account export`: writes all data of an account as JSON Lines and files.
enum AccountExportCommand {
  static let command = Command(
    name: "export",
    summary: "Writes all data of an account to a folder, as JSON Lines and files.",
    discussion: """
      DIR must not exist yet, or be empty. It gets account.json (the account, its plan, and the \
      change token of the records), devices.jsonl, records.jsonl (one record per line, as the \
      relay returns it, without deleted ones) and chunks/ (the chunks of files, each named by its \
      SHA-256). The relay may run meanwhile; all records are as of one moment.

      Everything is written to DIR.partial first, which is renamed to DIR when it is complete.
      """,
    options: AccountCommand.storeOptions + [AccountCommand.json.entry],
    operands: Command.Operands(
      "ACCOUNT DIR", "The account, and the folder to write.", counts: 2...2,
      known: .none, .folders)
  ) { arguments throws(CommandFailure) in
    // Before anything exists that an interruption would leave behind.
    let signals = try Interruption.signals()
    let folder = try ExportFolder(path: arguments.operands[1])
    do throws(CommandFailure) {
      let client = try AccountCommand.adminClient(arguments)
      let account = try client.account(named: arguments.operands[0])
      let export = AccountExport(
        account: account, client: client, folder: folder, progress: Progress(),
        isInterrupted: { () throws(CommandFailure) in try isInterrupted(signals) })
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

  private static func isInterrupted(_ signals: Signals) throws(CommandFailure) -> Bool {
    return try CommandFailure.wrap { () throws(SystemFault) in
      try !signals.receive().isEmpty
    }
  }
}
