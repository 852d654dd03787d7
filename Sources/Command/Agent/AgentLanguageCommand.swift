import Glibc
import LockstepCommandLine
import LockstepLanguage

/// `lockstep agent language`: shows or sets the language of the program's texts.
enum AgentLanguageCommand {
  private static let ofSystem = "system"

  static let command = Command(
    name: "language",
    summary: "Shows or sets the language of the program's texts for you on this machine.",
    discussion: """
      Without it, texts have the language of the system (LC_ALL, LC_MESSAGES, LANG), English if \
      there is no other. --lang and LOCKSTEP_LANG go before it. Help, JSON, logs and the relay's \
      commands are English.
      """,
    operands: Command.Operands(
      "LANGUAGE", "en, zh-Hans or ja; system: no longer set here.", counts: 0...1,
      known: .words(Language.allCases.map(\.rawValue) + [ofSystem]))
  ) { arguments throws(CommandFailure) in
    let setting = LanguageSetting { name in getenv(name).map { String(cString: $0) } }
    guard let word = arguments.operands.first else {
      let language = Language.current
      return try TerminalOutput.printed("\(language.rawValue) (\(language.ownName))")
    }
    if word == ofSystem {
      try setting.store(nil)
      return try TerminalOutput.printed(localized("The language is that of the system now."))
    }
    let language: Language
    do throws(ValueFault) {
      language = try LanguageSetting.kind.parse(word)
    } catch {
      throw CommandFailure(error.reason, exitCode: .usage)
    }
    try setting.store(language)
    return try language { () throws(CommandFailure) in
      try TerminalOutput.printed(
        localized("The language is {language} now.", ["language": language.ownName]))
    }
  }
}
