import Glibc
import Lockstep
import LockstepApps
import LockstepCommandLine
import LockstepHome
import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepSealing

/// `lockstep agent key`: the keys with which the account's records are sealed.
enum AgentKeyCommand {
  static let command = Command(
    name: "key",
    summary: "Shows, writes down and brings back the keys that seal the account's records.",
    discussion: """
      An account has keys that its devices share and the relay never learns, unless it was made \
      with --plain. Other devices get them with the code of lockstep agent pair.
      """,
    subcommands: [words, phrase, restore, rotate])

  // MARK: words

  static let words = Command(
    name: "words",
    summary: "Shows six words that are the same on all devices with the account's keys.",
    discussion: """
      If two devices show different words, they do not have the same keys, and cannot read each \
      other's records. The words are no secret: they do not open anything.
      """,
    options: [AgentCommand.home.entry, AgentCommand.json.entry]
  ) { arguments throws(CommandFailure) in
    let generation = try generation(in: existing(arguments))
    if arguments[AgentCommand.json] {
      let json: JSONValue = [
        "words": .string(generation.checkWords), "key": .string(generation.id),
      ]
      return try TerminalOutput.printed(json.text)
    }
    return try TerminalOutput.printed(generation.checkWords)
  }

  // MARK: phrase

  static let isShown = CommandOption.flag(
    "show", "Print it even if standard output is not a terminal.")

  static let phrase = Command(
    name: "phrase",
    summary: "Prints the account's recovery phrase, to be written down.",
    discussion: """
      Anyone who has the phrase and the relay's store can read the account's records. If all \
      devices and the phrase are lost, no one can. The relay keeps a sealed record, without which \
      the phrase opens nothing; the command saves it first.
      """,
    options: [isShown.entry] + AgentApp.options
  ) { arguments throws(CommandFailure) in
    guard arguments[isShown] || TerminalOutput.standard.isTerminal else {
      throw CommandFailure(
        localized(
          "the phrase is a secret, and standard output is not a terminal; print "
            + "it with --show"))
    }
    let folder = try existing(arguments)
    let generation = try generation(in: folder)
    guard let keys = try HomeKeys.keys(in: folder) else { throw noKeys(folder) }
    _ = try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      try HomeKeys.storeRing(keys, HomeAccess(of: session))
    }
    let phrase = KeyPhrase.text(of: generation)
    if arguments[AgentCommand.json] {
      let json: JSONValue = ["phrase": .string(phrase), "key": .string(generation.id)]
      return try TerminalOutput.printed(json.text)
    }
    return try TerminalOutput.printed(
      lines(of: phrase) + "\n\n"
        + localized(
          "Write these {count} words down and keep them away from your devices. If all devices are\n"
            + "lost, they bring the account's records back: lockstep agent key restore, on a new\n"
            + "device of the account.", ["count": "\(KeyPhrase.wordCount)"]))
  }

  /// Returns the words six to a line.
  private static func lines(of phrase: String) -> String {
    let words = phrase.split(separator: " ")
    return stride(from: 0, to: words.count, by: 6).map { start in
      words[start..<min(start + 6, words.count)].joined(separator: " ")
    }.joined(separator: "\n")
  }

  // MARK: restore

  static let givenPhrase = CommandOption.optional(
    "phrase", ValueKind.text("-"), "Source of the phrase: -, which is standard input.")

  static let restore = Command(
    name: "restore",
    summary: "Brings the account's keys back from the recovery phrase.",
    discussion: """
      For a device that joined with a code that carries no keys, such as one of the relay's owner \
      (lockstep account pair). The phrase is read from standard input, because others could see it \
      on the command line. Upper and lower case, and the separators of the words, make no \
      difference.
      """,
    options: [givenPhrase.entry] + AgentApp.options
  ) { arguments throws(CommandFailure) in
    guard arguments[givenPhrase] == nil || arguments[givenPhrase] == "-" else {
      throw CommandFailure(
        localized(
          "a phrase on the command line can be seen by others; give it on "
            + "standard input"),
        exitCode: .usage)
    }
    let generation = try readPhrase()
    return try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      guard try session.scope().zones == nil else {
        throw CommandFailure(
          localized(
            "this device was paired for some zones, and the phrase opens all: "
              + "restore it on a device with the whole account"))
      }
      let record = try HomeAccess(of: session).keyRing
      let keys = try CommandFailure.wrap { () throws(LockstepError) in
        try record.keys(openedBy: generation)
      }
      _ = try session.send(HomeKeys.request(keys))
      _ = try session.send(.sync(milliseconds: HomeSession.patienceMilliseconds))
      if arguments[AgentCommand.json] {
        let json: JSONValue = [
          "words": .string(generation.checkWords), "key": .string(generation.id),
        ]
        return try TerminalOutput.printed(json.text)
      }
      return try TerminalOutput.printed(
        localized("this device has the account's keys ({words})", ["words": generation.checkWords]))
    }
  }

  private static func readPhrase() throws(CommandFailure) -> KeyGeneration {
    let isTerminal = isatty(STDIN_FILENO) == 1
    let name = localized("the phrase")
    if isTerminal { TerminalOutput.writeToStandardError(localized("Phrase: ")) }
    let text =
      isTerminal
      ? readTypedPhrase()
      : try StandardInput.text(try StandardInput.read(atMost: 4 << 10, name), name)
    do throws(KeyPhrase.Fault) {
      return try KeyPhrase.generation(from: text)
    } catch {
      throw CommandFailure(explanation(error))
    }
  }

  /// Reads lines until they have as many words as a phrase: it is printed on several lines, and may
  /// be pasted so. An empty line ends it.
  private static func readTypedPhrase() -> String {
    var text = ""
    while let line = readLine(), !line.allSatisfy(\.isWhitespace) {
      text += line + " "
      if text.count(where: \.isLetter) >= 5 * KeyPhrase.wordCount { break }
    }
    return text
  }

  static func explanation(_ fault: KeyPhrase.Fault) -> String {
    switch fault {
    case .letters(5 * VaultPhrase.wordCount):
      localized(
        "that is a phrase of a vault; lockstep vault restore takes it; nothing "
          + "was changed")
    case .letters, .word, .checksum: KeyPhrase.explanation(fault)
    }
  }

  // MARK: rotate

  static let rotate = Command(
    name: "rotate",
    summary: "Makes new keys, for everything that is written from now on.",
    discussion: """
      lockstep agent revoke does it, too: the device that is removed does not get the new keys. \
      The other devices get them with their next sync; what was written before stays readable \
      with the former keys, which they keep. Devices that were paired for some zones do not get \
      new keys: pair them again.
      """,
    options: AgentApp.options
  ) { arguments throws(CommandFailure) in
    try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      let made = try NewKeys.make(session)
      if arguments[AgentCommand.json] { return try TerminalOutput.printed(made.json.text) }
      return try TerminalOutput.printed(made.text)
    }
  }

  // MARK: the home

  private static func existing(_ arguments: Arguments) throws(CommandFailure) -> HomeFolder {
    let folder = AgentCommand.folder(arguments)
    guard folder.exists else { throw HomeSession.noHome(folder) }
    return folder
  }

  /// Returns the generation that seals.
  private static func generation(in folder: HomeFolder) throws(CommandFailure) -> KeyGeneration {
    guard let keys = try HomeKeys.keys(in: folder) else { throw noKeys(folder) }
    guard let generation = keys.current else {
      throw CommandFailure(
        localized(
          "this device was paired for some zones, and has the keys of these "
            + "alone; ask a device with the whole account"))
    }
    return generation
  }

  private static func noKeys(_ folder: HomeFolder) -> CommandFailure {
    CommandFailure(
      localized(
        "the home {home} has no keys: its account's records are not sealed, or "
          + "it joined with a code that carries none; if they are sealed, lockstep "
          + "agent key restore brings the keys back", ["home": folder.path]))
  }
}
