import Glibc
import LockstepLanguage

/// Language of the program's texts for a person of this machine: `--lang`, else `LOCKSTEP_LANG`,
/// else what the person has set, else the system's locale.
package struct LanguageSetting {
  private let environment: (String) -> String?

  /// `environment`: returns a variable's value.
  package init(environment: @escaping (String) -> String?) { self.environment = environment }

  /// Option of all commands that a person uses every day.
  package static let option = CommandOption.optional(
    "lang", kind, "Language of texts; not of help, JSON and logs. That of the system if not set.")

  package static let kind = ValueKind<Language>(
    Language.allCases.map(\.rawValue).joined(separator: "|"),
    known: .words(Language.allCases.map(\.rawValue))
  ) { text throws(ValueFault) in
    guard let language = Language(tag: text) else {
      let known = Language.allCases.map(\.rawValue).joined(separator: ", ")
      throw ValueFault(
        localized("\"{text}\" is none of {words}", ["text": text, "words": known]))
    }
    return language
  }

  /// Largest file that is read: a tag and a line end.
  private static let bytesMax = 64

  /// Path of the file with the language; nil if the person has no folder for settings.
  package var path: String? {
    PersonFolders.settings(environment).map { $0 + "/language" }
  }

  /// The language that the person has set; nil: none, or the file cannot be read.
  package var stored: Language? {
    guard let path else { return nil }
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    let file = PlainFile(path: path, descriptor: descriptor)
    do throws(CommandFailure) {
      let bytes = try file.read(LanguageSetting.bytesMax)
      let tag = String(decoding: bytes.prefix { $0 > UInt8(ascii: " ") }, as: UTF8.self)
      return Language(tag: tag)
    } catch {
      return nil
    }
  }

  /// Sets the language for the commands that follow; nil: that of the system.
  package func store(_ language: Language?) throws(CommandFailure) {
    guard let path else {
      throw CommandFailure(
        localized("HOME is not set, so there is no place for settings; set LOCKSTEP_LANG instead"))
    }
    guard let language else {
      guard unlink(path) == 0 || errno == ENOENT else {
        throw PlainFile.failure(path, "be removed", errno)
      }
      return
    }
    if let (folder, error) = PersonFolders.makeParents(of: path) {
      throw PlainFile.failure(folder, "be made", error)
    }
    let draft = path + ".draft"
    let descriptor = PlainFile.makeDraft(draft)
    guard descriptor >= 0 else { throw PlainFile.failure(draft, "be written", errno) }
    try PlainFile(path: draft, descriptor: descriptor).write(Array("\(language.rawValue)\n".utf8))
    guard rename(draft, path) == 0 else { throw PlainFile.failure(path, "be written", errno) }
  }

  /// Returns the language for a command line. `words`: the arguments after the program's name; a
  /// wrong language among them is told by the parser.
  package func language(for words: [String]) -> Language {
    var choice = environment("LOCKSTEP_LANG")
    var rest = words.prefix { $0 != "--" }
    while let word = rest.popFirst() {
      if word == "--lang" { choice = rest.first ?? choice }
      if word.hasPrefix("--lang=") { choice = String(word.dropFirst("--lang=".count)) }
    }
    return Language(
      choice: choice.flatMap { Language(tag: $0)?.rawValue } ?? stored?.rawValue,
      environment: environment)
  }
}
