import Glibc
import Lockstep
import LockstepApps
import LockstepCommandLine
import LockstepHome
import LockstepJSON
import LockstepLanguage

/// `lockstep vault unlock`, `phrase`, `restore` and `new-key`: get, print, restore and
/// replace the vault's key.
enum AgentVaultKeyCommands {
  static let code = CommandOption.optional(
    "code", ValueKind.text("CODE"),
    "The code, or the link printed with it; standard input if not given or -.")

  static let unlock = Command(
    name: "unlock",
    summary: "Gets the vault's key from another device, by a code of its lockstep agent pair.",
    discussion: """
      For devices that joined the account before it had a vault, or with a code that did not open \
      it. In a sealed account, the account's keys open the vault. A code opens one device's vault, \
      within ten minutes. Other users of this machine can see a code on the command line while the \
      command runs.
      """,
    options: [code.entry] + AgentApp.options
  ) { arguments throws(CommandFailure) in
    let typed = try TypedCode.read(arguments[code])
    return try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      try session.requireScope(VaultApp.zone, forChanges: false)
      try VaultKeys.requireOwn(session.folder)
      let member = try HomeAccess(of: session)
      let key = try VaultKeys.unlock(typed.code, session.folder, VaultRecords(member))
      try resolveConflicts(session)
      let values = ["key": key.id]
      return try printKey(
        key, localized("this device opens the vault (key {key})", values), arguments)
    }
  }

  static let isShown = CommandOption.flag(
    "show", "Print it even if standard output is not a terminal.")

  static let phrase = Command(
    name: "phrase",
    summary: "Prints the vault's recovery phrase, to be written down.",
    discussion: """
      Anyone who has the phrase and the account's files can read the vault. If all devices and the \
      phrase are lost, no one can.
      """,
    options: [isShown.entry, AgentCommand.home.entry, AgentCommand.json.entry]
  ) { arguments throws(CommandFailure) in
    let folder = AgentCommand.folder(arguments)
    guard folder.exists else { throw HomeSession.noHome(folder) }
    try VaultKeys.requireOwn(folder)
    guard let key = try VaultKeyFile(folder).key() else {
      throw CommandFailure(
        localized(
          "this device does not have the vault's key, so it has no phrase; print it on a "
            + "device that has the key, or get the key with lockstep vault unlock --home {home}",
          ["home": folder.path]))
    }
    guard arguments[isShown] || TerminalOutput.standard.isTerminal else {
      throw CommandFailure(
        localized(
          "the phrase is a secret, and standard output is not a terminal; print it with --show"))
    }
    let phrase = VaultPhrase.text(of: key)
    if arguments[AgentCommand.json] {
      let json: JSONValue = ["phrase": .string(phrase), "key": .string(key.id)]
      return try TerminalOutput.printed(json.text)
    }
    let advice = localized(
      "Write these {count} words down and keep them away from your devices. They open the vault\n"
        + "when all devices are lost: lockstep vault restore, on a device of the account.",
      ["count": String(VaultPhrase.wordCount)])
    return try TerminalOutput.printed("\(phrase)\n\n\(advice)")
  }

  static let givenPhrase = CommandOption.optional(
    "phrase", ValueKind.text("-"), "Source of the phrase: -, which is standard input.")

  static let restore = Command(
    name: "restore",
    summary: "Brings the vault's key back from its recovery phrase.",
    discussion: """
      In a sealed account, this brings the key back that the vault had before, if there still \
      are files that are sealed with it. \
      The phrase is read from standard input, because others could see it on the command line. \
      Upper and lower case, and the separators of the words, make no difference.
      """,
    options: [givenPhrase.entry] + AgentApp.options
  ) { arguments throws(CommandFailure) in
    guard arguments[givenPhrase] == nil || arguments[givenPhrase] == "-" else {
      throw CommandFailure(
        localized("a phrase on the command line can be seen by others; give it on standard input"),
        exitCode: .usage)
    }
    let key = try readPhrase()
    return try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      try session.requireScope(VaultApp.zone, forChanges: false)
      let ids = try unopened(session).compactMap(\.key)
      if try VaultKeys.areOfAccount(session.folder), ids.contains(key.id) {
        try VaultKeys.restore(former: key, session.folder)
        _ = try session.send(.mirror(["do": "look"]))
      } else {
        try VaultKeys.requireOwn(session.folder)
        let member = try HomeAccess(of: session)
        try VaultKeys.restore(key, session.folder, VaultRecords(member))
      }
      try resolveConflicts(session)
      let values = ["key": key.id]
      return try printKey(
        key, localized("this device opens the vault again (key {key})", values), arguments)
    }
  }

  static let replaced = CommandOption.required(
    "instead-of", ValueKind.text("KEY"), "The id of the account's key to replace.")

  static let newKey = Command(
    name: "new-key",
    summary: "Replaces an account's key that none of its devices has by this device's key.",
    discussion: """
      For an account whose record of the vault's key was written by an intruder: a device that \
      was paired by mistake, or the relay. Files that are sealed with the other key stay, and \
      cannot be opened without it; devices that have it cannot open files that are sealed with \
      this one. If there are sealed files that this device cannot open, --force is required.
      """,
    options: [replaced.entry, isForced.entry] + AgentApp.options
  ) { arguments throws(CommandFailure) in
    try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      try session.requireScope(VaultApp.zone, forChanges: true)
      try VaultKeys.requireOwn(session.folder)
      _ = try session.send(.sync(milliseconds: HomeSession.patienceMilliseconds))
      let count = try unopened(session).count
      guard count == 0 || arguments[isForced] else {
        throw CommandFailure(
          localized(
            count: count,
            one: "{count} file is sealed with a key that this device does not have: bring that key "
              + "(lockstep vault unlock, or restore); --force gives up what is sealed with it",
            many: "{count} files are sealed with a key that this device does not have: bring that "
              + "key (lockstep vault unlock, or restore); --force gives up what is sealed with it"))
      }
      let member = try HomeAccess(of: session)
      let key = try VaultKeys.replace(
        arguments[replaced], session.folder, VaultRecords(member))
      try resolveConflicts(session)
      let values = ["key": key.id]
      return try printKey(
        key, localized("the account's vault has this device's key (key {key})", values), arguments)
    }
  }

  static let isForced = CommandOption.flag(
    "force", "Also if files are sealed with a key that this device does not have.")

  /// Returns the files that are sealed with a key that this device does not have; `key`: its id.
  private static func unopened(
    _ session: HomeSession
  ) throws(CommandFailure) -> [(name: String, key: String?)] {
    let view = HomeView(try session.send(.show(app: VaultApp().name, VaultQuestion.files.json)))
    let unopened: [VaultContents.VaultProblem] = [.noKey, .otherKey]
    return (view.json["others"]?.array ?? []).compactMap { file in
      guard let trouble = file["trouble"]?.string, let name = file["name"]?.string,
        unopened.map(\.rawValue).contains(trouble)
      else { return nil }
      return (name, file["key"]?.string)
    }
  }

  /// Resolves conflicts that arrived while the device had no key.
  private static func resolveConflicts(_ session: HomeSession) throws(CommandFailure) {
    _ = try session.send(.order(app: VaultApp().name, VaultAction.settle.json))
  }

  /// Reads the nine words of the phrase; each may be on its own line.
  private static func readPhrase() throws(CommandFailure) -> VaultKey {
    let isTerminal = isatty(STDIN_FILENO) == 1
    if isTerminal { TerminalOutput.writeToStandardError(localized("Phrase: ")) }
    let noun = localized("the phrase")
    let text =
      isTerminal
      ? readLine() ?? ""
      : try StandardInput.text(try StandardInput.read(atMost: 4 << 10, noun), noun)
    do throws(VaultPhrase.Fault) {
      return try VaultPhrase.key(from: text)
    } catch {
      throw CommandFailure(explanation(error))
    }
  }

  static func explanation(_ fault: VaultPhrase.Fault) -> String {
    switch fault {
    case .letters(let count):
      localized(
        "a recovery phrase has {words} words of five letters, {letters} letters in all, and this "
          + "has {count}; nothing was changed",
        [
          "words": String(VaultPhrase.wordCount), "letters": String(VaultPhrase.wordCount * 5),
          "count": String(count),
        ])
    case .word(let place):
      localized(
        "word {place} is misspelt: it cannot be in a recovery phrase; nothing was changed",
        ["place": String(place)])
    case .checksum:
      localized(
        "the checksum is wrong: a word is misspelt, or two are swapped; nothing was changed")
    }
  }

  private static func printKey(
    _ key: VaultKey, _ sentence: String, _ arguments: Arguments
  ) throws(CommandFailure) -> ExitCode {
    if arguments[AgentCommand.json] {
      return try TerminalOutput.printed(JSONValue.object([.init("key", .string(key.id))]).text)
    }
    return try TerminalOutput.printed(sentence)
  }
}
