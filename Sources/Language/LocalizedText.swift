/// A text for people in each language: made once, where it is not known who reads it.
///
/// ```
/// LocalizedText(localized("{path} cannot be read", ["path": path]))
/// ```
package struct LocalizedText: Hashable, Sendable {
  /// In the order of `Language.allCases`.
  private let texts: [String]

  /// `text`: evaluated once for each language, which is `Language.current` then. What it reads must
  /// be the same each time; `errno`, for one, may not be.
  package init(_ text: @autoclosure () -> String) {
    texts = Language.allCases.map { language in language { text() } }
  }

  /// The text in a language of another process; `translations`: by the tag of the language.
  package init(english: String, translations: (String) -> String?) {
    texts = Language.allCases.map { translations($0.rawValue) ?? english }
  }

  /// The text in English, for programs, logs and what is stored.
  package var english: String { text(in: .english) }

  /// The text in the language of the person who reads it.
  package var current: String { text(in: .current) }

  /// Texts that differ from the English one, by the tag of the language.
  package var translations: [(tag: String, text: String)] {
    let english = english
    return zip(Language.allCases, texts).filter { $0.1 != english }.map { ($0.0.rawValue, $0.1) }
  }

  private func text(in language: Language) -> String {
    zip(Language.allCases, texts).first { $0.0 == language }?.1 ?? ""
  }
}

extension LocalizedText: CustomStringConvertible, CustomDebugStringConvertible {
  /// Logs are English.
  package var description: String { english }

  package var debugDescription: String { english.debugDescription }
}
