import Glibc
import LockstepClient
import LockstepCommandLine
import LockstepJSON
import LockstepModel
import LockstepRelay
import LockstepRelayService

/// `lockstep setup`: settings for a relay, its service, and the first accounts.
enum SetupCommand {
  static let certificate = CommandOption.optional(
    "tls", ValueKind<SetupPlan.Certificate>.choice,
    "Certificate for https://: acme (the relay gets it from Let's Encrypt), proxy (a proxy on this "
      + "machine has it), files (--tls-cert and --tls-key), none (for http://).")
  static let agrees = CommandOption.flag(
    "acme-agree", "With --tls acme: agree to the authority's terms of service.")
  static let email = CommandOption.optional(
    "acme-email", ValueKind.text("ADDRESS"),
    "With --tls acme: address at which the authority may reach you.")
  static let listen = CommandOption.optional(
    "listen", ValueKind.listener, "Address and port for devices, if not those that follow.")
  static let proxyNetwork = CommandOption.optional(
    "proxy-network", ValueKind<String>.networkList,
    "With --tls proxy: addresses and networks of the proxy, such as 172.16.0.0/12 for one in "
      + "another container; 127.0.0.0/8,::1 (this machine) if not given.")
  static let store = CommandOption.optional(
    "store", ValueKind.folder, "Folder of the relay's store, if not the usual one.")
  static let people = CommandOption.repeatable(
    "account", ValueKind.text("NAME"),
    "Name of a person who gets an account; may be given several times.")
  static let settings = RelaySettings.option
  static let takesDefaults = CommandOption.flag(
    "yes", "Ask nothing: take the default of everything that is not given.")
  static let isStopped = CommandOption.flag("no-start", "Only write the settings and accounts.")
  static let json = CommandOption.flag("json", "Print one JSON object; implies --yes.")

  static let command = Command(
    name: "setup",
    summary: "Sets up a relay: settings, certificate, service, first accounts.",
    discussion: """
      Asks for the address by which devices reach the relay, for its certificate, and for the \
      people who use it. What is given as an option is not asked for; without a terminal, add \
      --yes. The settings are written into the file of --settings, in which everything else stays \
      as it is; the command can be given again at any time.

      If this machine has the service lockstep-relay of systemd, setup starts it, and checks from \
      outside whether devices reach the relay (lockstep doctor). Each person gets a link for the \
      first device, also as a QR code; it works once, within a day.
      """,
    options: [
      RelayCommand.publicURL.entry, certificate.entry, RelayCommand.certificate.entry,
      RelayCommand.key.entry, agrees.entry, email.entry, proxyNetwork.entry, listen.entry,
      RelayCommand.isOpen.entry, people.entry, store.entry, settings.entry, isStopped.entry,
      takesDefaults.entry, json.entry,
      TerminalOutput.withoutQRCode.entry,
    ]
  ) { arguments throws(CommandFailure) in
    let path = if let given = arguments[settings] { given } else { try usualConfig() }
    let former = try SettingsOnDisk.read(path)
    let known = try knownSettings(former ?? "", path)
    let isAsked = !arguments[takesDefaults] && !arguments[json]
    guard !isAsked || isatty(STDIN_FILENO) == 1 else {
      throw CommandFailure(
        "there is no terminal to ask at; add --yes, and what is not to be as usual: --public-url, "
          + "--tls, --account",
        exitCode: .usage)
    }
    let dialog = SetupDialog(arguments, known, isAsked: isAsked)
    if isAsked { dialog.greet(path, isNew: former == nil) }
    let plan = try dialog.plan()
    let names = try dialog.people()
    try check(plan.settings)
    var text = SettingsText(former ?? Self.heading)
    for (key, value) in plan.settings where known[key] != value { text.set(key, to: value) }
    var setup = Setup(plan: plan, config: path, arguments: arguments)
    // Before anything is written or started.
    try check(text.text, path)
    try setup.prepare(store: known["store"])
    if text.text != former {
      try SettingsOnDisk.write(text.text, replacing: former, at: path)
    }
    if let warning = plan.warning {
      TerminalOutput.writeToStandardError(
        "lockstep setup: warning: \(TerminalOutput.escaped(warning))\n")
    }
    try setup.start()
    try setup.makeAccounts(names)
    try setup.report()
    return setup.hasProblem ? .failure : .success
  }

  private static let heading = """
    # Settings of lockstep relay. `lockstep relay --help` explains them all;
    # `lockstep relay --config FILE --check` shows those in force.

    """

  private static func usualConfig() throws(CommandFailure) -> String {
    guard let path = RelaySettings.usualPath else {
      throw CommandFailure(
        "HOME is not set, so the file of settings has no usual place; name it with --settings FILE",
        exitCode: .usage)
    }
    return path
  }

  /// Returns the settings of a file by their names.
  private static func knownSettings(
    _ text: String, _ path: String
  ) throws(CommandFailure) -> [String: String] {
    let file = ConfigFile(Array(text.utf8), options: RelayCommand.command.options)
    guard file.faults.isEmpty else { throw failure(file, path) }
    return file.entries.mapValues(\.text)
  }

  /// Throws if a value would end its line, and the next ones would be other settings.
  private static func check(_ settings: [(key: String, value: String?)]) throws(CommandFailure) {
    for (key, value) in settings {
      guard let value, value.unicodeScalars.contains(where: Log.isControl) else { continue }
      throw CommandFailure(
        "nothing was set up: a file of settings cannot have this value of \(key); give another one",
        exitCode: .usage)
    }
  }

  /// Throws unless a relay understands the settings, and they fit together.
  private static func check(_ text: String, _ path: String) throws(CommandFailure) {
    let file = ConfigFile(Array(text.utf8), options: RelayCommand.command.options)
    guard file.faults.isEmpty else { throw failure(file, path) }
    do throws(CommandFailure) {
      try RelayCommand.check(settings: text)
    } catch {
      throw CommandFailure(
        "nothing was set up, as no relay would start with these settings: "
          + (error.message ?? "they do not fit together"), exitCode: .usage)
    }
  }

  private static func failure(_ file: ConfigFile, _ path: String) -> CommandFailure {
    let faults = file.faults.prefix(5).map { "line \($0.line): \($0.reason)" }
    return CommandFailure(
      "\(path) cannot be used; mend it first: \(faults.joined(separator: "; "))")
  }
}

/// A relay that is being set up.
private struct Setup {
  let plan: SetupPlan
  let config: String
  let arguments: Arguments
  private var store: StoreLocation = .folder("")
  private var service: SetupService?
  private var isStarted = false
  private var isReached: Bool?
  private var accounts: [(name: String, offer: AccountOffer)] = []
  private var former: [String] = []

  init(plan: SetupPlan, config: String, arguments: Arguments) {
    self.plan = plan
    self.config = config
    self.arguments = arguments
  }

  var hasProblem: Bool { isReached == false }

  private var isJSON: Bool { arguments[SetupCommand.json] }

  private static let validity: Int64 = 86_400_000

  /// Finds the store and the service, and checks that the service can read the certificate's files.
  /// `store`: the store of the file of settings, nil for the usual one.
  mutating func prepare(store known: String?) throws(CommandFailure) {
    do throws(ValueFault) {
      store = try StoreLocation(arguments[SetupCommand.store] ?? known ?? RelayCommand.usualStore)
    } catch {
      throw CommandFailure("--store: \(error.reason)", exitCode: .usage)
    }
    service = SetupService()
    guard service != nil, let files = plan.files, let user = storeUser else { return }
    for path in [files.certificate, files.key] where !user.canRead(path) {
      throw CommandFailure(
        "nothing was set up: the relay runs as the user \(user.name), who cannot read \(path); "
          + "allow it, for example with: chgrp \(user.groupName) FILE && chmod 640 FILE; or copy "
          + "both files to a folder that this user may read")
    }
  }

  /// Starts the service, if there is one, and checks the relay from outside.
  mutating func start() throws(CommandFailure) {
    guard let service else { return }
    try service.allowPort(of: plan.listening)
    guard !arguments[SetupCommand.isStopped] else { return }
    if !isJSON { TerminalOutput.writeToStandardError("\nStarting \(SetupService.unit) …\n") }
    try service.start()
    isStarted = true
    if plan.certificate == .acme { awaitCertificate() }
    // The reason is in the output of the check.
    isReached = isReached(isSilent: isJSON)
  }

  private func isReached(isSilent: Bool) -> Bool {
    Program.run("/proc/self/exe", ["doctor", "--relay", plan.address.link], isSilent: isSilent) == 0
  }

  /// Waits until devices reach the relay, at most as long as an authority usually takes: without a
  /// certificate, no check succeeds.
  private func awaitCertificate() {
    if !isJSON {
      TerminalOutput.writeToStandardError("Waiting for the certificate, up to a minute …\n")
    }
    for _ in 0..<Self.certificateSeconds where !isReached(isSilent: true) { sleep(1) }
  }

  private static let certificateSeconds = 60

  /// The user of a store that does not belong to root.
  private var storeUser: SystemUser? {
    guard case .folder(let folder) = store, geteuid() == 0 else { return nil }
    return SystemUser(ofFolder: folder)
  }

  mutating func makeAccounts(_ names: [String]) throws(CommandFailure) {
    guard !names.isEmpty else { return }
    let client = try AdminClient(store, makesStore: true)
    for name in names {
      guard try client.accounts(labelled: name).isEmpty else {
        former.append(name)
        continue
      }
      var offer = try client.createAccount(label: name, validFor: Self.validity)
      offer.pairing.relay = plan.address.link
      accounts.append((name, offer))
    }
  }

  func report() throws(CommandFailure) {
    if isJSON {
      _ = try TerminalOutput.printed(json.text)
      return
    }
    _ = try TerminalOutput.printed(settingsText + stateText)
    for (name, offer) in accounts {
      guard let link = offer.link else { continue }
      _ = try TerminalOutput.printed(
        "\n\(Log.oneLine(name)): open this link \(firstDevice), within a day:\n  \(link)")
      if !arguments[TerminalOutput.withoutQRCode] {
        try TerminalOutput.standard.drawQRCode(of: link)
      }
    }
    for name in former {
      _ = try TerminalOutput.printed(
        "\n\(Log.oneLine(name)) has an account already; for one more device: "
          + "lockstep account pair \(AccountCommand.shellWord(Log.oneLine(name)))\(storeOption)")
    }
    if accounts.isEmpty, former.isEmpty, !plan.isOpen {
      _ = try TerminalOutput.printed(
        "\nFor each person, make an account: lockstep account create NAME\(storeOption)")
    }
    if plan.adminListen != nil, case .folder = store {
      // A person who is root needs none.
      let sudo = geteuid() == 0 && getenv("SUDO_USER") != nil ? "sudo " : ""
      _ = try TerminalOutput.printed(
        "\nTo manage the relay in a browser:\n  \(sudo)lockstep relay admin\(storeOption)")
    }
  }

  private var settingsText: String {
    let lines = plan.settings.compactMap { key, value in value.map { "  \(key) = \($0)" } }
    let isBelowOthers = isStarted || !(arguments[SetupCommand.takesDefaults] || isJSON)
    let space = isBelowOthers ? "\n" : ""
    return "\(space)The settings are in \(config):\n\(lines.joined(separator: "\n"))\n"
  }

  private var stateText: String {
    if let isReached {
      return isReached
        ? "\nThe relay runs, and starts with this machine (\(SetupService.unit)).\n"
        : "\nThe relay runs, but devices do not reach it at \(plan.address.link): see above. When "
          + "that is\nmended, check again: lockstep doctor --relay \(plan.address.link)\n"
    }
    return """

      Start the relay, again if it runs:
        \(startingCommand)
      Then check\(isOnThisMachine ? "" : ", from another machine if you can"):
        lockstep doctor --relay \(plan.address.link)

      """
  }

  /// Places where the links work.
  private var firstDevice: String {
    isOnThisMachine ? "in a browser of this machine" : "on the first phone or computer"
  }

  /// True if no other machine reaches the address.
  private var isOnThisMachine: Bool { PlainAddress.isLoopback(plan.address.host) }

  private var startingCommand: String {
    if service != nil {
      return "systemctl enable \(SetupService.unit) && systemctl restart \(SetupService.unit)"
    }
    let command = "lockstep relay --config \(config)"
    guard let user = storeUser else { return command }
    // What root makes in the store could not be read by the service later. The store is named,
    // because the usual one of other users is in their home.
    return "setpriv --reuid \(user.name) --regid \(user.groupName) --init-groups \\\n"
      + "    \(command) --store \(store.text)"
  }

  private var storeOption: String {
    store.text == RelayCommand.usualStore ? "" : " --store \(store.text)"
  }

  private var json: JSONValue {
    [
      "config": .string(config), "publicURL": .string(plan.address.link),
      "isRunning": .bool(isStarted), "isReached": isReached.map { .bool($0) } ?? .null,
      "accounts": .array(
        accounts.map { name, offer in
          offer.json.setting("name", to: .string(name))
        }),
      "formerAccounts": .array(former.map { .string($0) }),
    ]
  }
}
