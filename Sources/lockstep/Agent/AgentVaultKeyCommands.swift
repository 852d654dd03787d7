import Glibc
import LockstepApps
import LockstepModel

/// `lockstep agent vault unlock`, `phrase`, `restore` and `new-key`: get, print, restore and
/// replace the vault's key.
enum AgentVaultKeyCommands {
  static let code = CommandOption.optional(
    "code", ValueKind.text("CODE"),
    "The code, or the link that stands beside it; standard input, if not given or -.")

  static let unlock = Command(
    name: "unlock",
    summary: "Gets the vault's key from another device, by a code of its lockstep agent pair.",
    discussion: """
      For devices that joined the account before it had a vault, or with a code that did not open \
      it. A code opens one device's vault, within ten minutes. On the command line it could be \
      seen by others on this machine while the command runs.
      """,
    options: [code.entry] + AgentApp.options
  ) { arguments throws(CommandFailure) in
    let typed = try TypedCode.read(arguments[code])
    return try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      let member = try HomeMember(of: session)
      let key = try VaultKeys.unlock(typed.code, session.folder, VaultRecords(member))
      try settle(session)
      return try told(key, "this device opens the vault", arguments)
    }
  }

  static let isShown = CommandOption.flag(
    "show", "Print it though standard output is no terminal.")

  static let phrase = Command(
    name: "phrase",
    summary: "Prints the vault's recovery phrase, to be written down and kept safe.",
    discussion: """
      Whoever has the phrase, and the account's files, can read the vault. Without any device and \
      without the phrase nobody can, you included.
      """,
    options: [isShown.entry, AgentCommand.home.entry, AgentCommand.json.entry]
  ) { arguments throws(CommandFailure) in
    let folder = AgentCommand.folder(arguments)
    guard folder.exists else { throw HomeSession.noHome(folder) }
    guard let key = try VaultKeyFile(folder).key() else {
      throw CommandFailure(
        "this device does not have the vault's key, so it has no phrase; look for it on a device "
          + "that has, or get the key with lockstep agent vault unlock --home \(folder.path)")
    }
    guard arguments[isShown] || TerminalOutput.standard.isTerminal else {
      throw CommandFailure(
        "the phrase is a secret, and this is no terminal; say --show to print it")
    }
    let phrase = VaultPhrase.text(of: key)
    if arguments[AgentCommand.json] {
      let json: JSONValue = ["phrase": .string(phrase), "key": .string(key.id)]
      return try TerminalOutput.printed(json.text)
    }
    return try TerminalOutput.printed(
      """
      \(phrase)

      Write these \(VaultPhrase.wordCount) words down and keep them away from your devices. They \
      open the vault
      when all devices are lost: lockstep agent vault restore, on a device of the account.
      """)
  }

  static let givenPhrase = CommandOption.optional(
    "phrase", ValueKind.text("-"), "Where the phrase comes from: -, which is standard input.")

  static let restore = Command(
    name: "restore",
    summary: "Brings the vault's key back from its recovery phrase.",
    discussion: """
      The phrase comes on standard input: on the command line others could see it. Whether letters \
      are large, and what stands between the words, plays no part.
      """,
    options: [givenPhrase.entry] + AgentApp.options
  ) { arguments throws(CommandFailure) in
    guard arguments[givenPhrase] == nil || arguments[givenPhrase] == "-" else {
      throw CommandFailure(
        "a phrase on the command line can be seen by others; give it on standard input",
        exitCode: .usage)
    }
    let key = try readPhrase()
    return try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      let member = try HomeMember(of: session)
      try VaultKeys.restore(key, session.folder, VaultRecords(member))
      try settle(session)
      return try told(key, "this device opens the vault again", arguments)
    }
  }

  static let replaced = CommandOption.required(
    "instead-of", ValueKind.text("KEY"), "The id of the account's key that is to go.")

  static let newKey = Command(
    name: "new-key",
    summary: "Makes this device's key the account's, instead of one that none of its devices has.",
    discussion: """
      For an account of which somebody has said that its vault has a key, without making one: a \
      device that was let in by mistake, or the relay. Files that are sealed with the other key \
      stay, and nobody opens them without it; devices that have it open nothing that is sealed \
      with this one. Where files are sealed already that this device cannot open, --force is \
      needed besides.
      """,
    options: [replaced.entry, isForced.entry] + AgentApp.options
  ) { arguments throws(CommandFailure) in
    try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      _ = try session.ask(.sync(milliseconds: AgentCommand.patienceMilliseconds))
      let count = try unreadable(session)
      guard count == 0 || arguments[isForced] else {
        throw CommandFailure(
          "\(count == 1 ? "1 file is" : "\(count) files are") sealed with a key that this device "
            + "does not have: bring that key (lockstep agent vault unlock, or restore); --force "
            + "gives up what is sealed with it")
      }
      let member = try HomeMember(of: session)
      let key = try VaultKeys.replace(
        arguments[replaced], session.folder, VaultRecords(member))
      try settle(session)
      return try told(key, "the account's vault has this device's key", arguments)
    }
  }

  static let isForced = CommandOption.flag(
    "force", "Also where files are sealed with another key than this device's.")

  /// Returns the number of files that are sealed with a key that this device does not have.
  private static func unreadable(_ session: HomeSession) throws(CommandFailure) -> Int {
    let view = HomeView(try session.ask(.show(app: VaultApp().name, ["show": "files"])))
    let troubles = (view.json["others"]?.array ?? []).compactMap { $0["trouble"]?.string }
    let unopened: [VaultContents.VaultProblem] = [.noKey, .otherKey]
    return troubles.count { unopened.map(\.rawValue).contains($0) }
  }

  /// Resolves conflicts that arrived while the device had no key.
  private static func settle(_ session: HomeSession) throws(CommandFailure) {
    _ = try session.ask(.order(app: VaultApp().name, ["do": "settle"]))
  }

  /// Reads the nine words of the phrase; each may be on its own line.
  private static func readPhrase() throws(CommandFailure) -> VaultKey {
    let isAsked = isatty(STDIN_FILENO) == 1
    if isAsked { TerminalOutput.writeToStandardError("Phrase: ") }
    let text =
      isAsked
      ? readLine() ?? ""
      : try StandardInput.text(try StandardInput.read(atMost: 4 << 10, "the phrase"), "the phrase")
    do throws(VaultPhrase.Fault) {
      return try VaultPhrase.key(from: text)
    } catch {
      throw CommandFailure(sentence(error))
    }
  }

  static func sentence(_ fault: VaultPhrase.Fault) -> String {
    switch fault {
    case .letters(let count):
      "a recovery phrase has \(VaultPhrase.wordCount) words of five letters, 45 letters in all, "
        + "and this has \(count); nothing was changed"
    case .word(let place):
      "word \(place) cannot be in a recovery phrase, so it is misspelt; nothing was changed"
    case .checksum:
      "these words do not belong together: one is misspelt, or two have changed places; nothing "
        + "was changed"
    }
  }

  private static func told(
    _ key: VaultKey, _ sentence: String, _ arguments: Arguments
  ) throws(CommandFailure) -> ExitCode {
    if arguments[AgentCommand.json] {
      return try TerminalOutput.printed(JSONValue.object([.init("key", .string(key.id))]).text)
    }
    return try TerminalOutput.printed("\(sentence) (key \(key.id))")
  }
}
