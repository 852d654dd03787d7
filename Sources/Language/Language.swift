/// Language of the texts that a person reads in a terminal. The raw value is its tag by BCP 47, as
/// in the `lang` attribute of a page.
package enum Language: String, CaseIterable, Sendable {
  case english = "en"
  case chinese = "zh-Hans"
  case japanese = "ja"

  /// Its own name, for a person who chooses one.
  package var ownName: String {
    switch self {
    case .english: "English"
    case .chinese: "简体中文"
    case .japanese: "日本語"
    }
  }

  /// Returns the language of a tag such as `ja-JP`, or of a locale's name such as `zh_CN.UTF-8`;
  /// nil if this program does not have it. Chinese in traditional characters is another language.
  /// Source: BCP 47, and the names of locales in POSIX (XBD 8.2).
  package init?(tag: String) {
    let name = tag.prefix { $0 != "." && $0 != "@" }.lowercased()
    let parts = name.split { $0 == "-" || $0 == "_" }
    let traditional: Set<Substring> = ["hant", "tw", "hk", "mo"]
    switch parts.first {
    case "en", "c", "posix": self = .english
    case "ja": self = .japanese
    case "zh":
      guard parts.contains("hans") || traditional.isDisjoint(with: parts) else { return nil }
      self = .chinese
    default: return nil
    }
  }

  /// Returns the language of a process: `choice`, else that of the locale, else English. A language
  /// that this program does not have counts as English.
  /// - Parameters:
  ///   - choice: what the person chose for this program; nil or an unknown tag: nothing
  ///   - environment: returns a variable's value
  package init(choice: String?, environment: (String) -> String?) {
    // The first variable that is set decides, also if it names a language that is not here.
    let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap(environment)
      .first { !$0.isEmpty }
    self = choice.flatMap(Language.init(tag:)) ?? locale.flatMap(Language.init(tag:)) ?? .english
  }

  /// Language in which `localized` returns a text. A new thread has English, until it is given
  /// another one.
  @TaskLocal package static var current = Language.english

  /// Runs `body` with its texts in this language.
  package func callAsFunction<Value, Failure>(
    _ body: () throws(Failure) -> Value
  ) throws(Failure) -> Value {
    let result: Result<Value, Failure> = Language.$current.withValue(self) {
      do throws(Failure) {
        return .success(try body())
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }
}
