/// Returns a text in the person's language (`Language.current`), with the values in the place of
/// their names:
///
/// ```
/// localized("Removed {name}.", ["name": name])
/// ```
///
/// The English text stands in the code where it is shown, and is the key of the other languages'
/// tables. It is a literal, or literals joined with `+`: a test collects them from the code, and
/// compares them with the tables. A whole sentence is one text, since the order of words differs.
package func localized(_ text: String, _ values: [String: String] = [:]) -> String {
  filled(Language.current.translation(of: text) ?? text, values)
}

/// Returns the text for a number, which is the value `count`. The tables have the text for many:
/// Chinese and Japanese do not distinguish them.
package func localized(
  count: some BinaryInteger, one: String, many: String, _ values: [String: String] = [:]
) -> String {
  let language = Language.current
  let text =
    language == .english
    ? (count == 1 ? one : many)
    : language.translation(of: many) ?? (count == 1 ? one : many)
  return filled(text, values.merging(["count": String(count)]) { _, count in count })
}

/// Returns the text with the values in the place of their names. What is in a value stays as it is.
func filled(_ text: String, _ values: [String: String]) -> String {
  guard text.utf8.contains(UInt8(ascii: "{")) else { return text }
  var result = ""
  var rest = text[...]
  while let open = rest.firstIndex(of: "{") {
    result += rest[..<open]
    rest = rest[open...]
    guard let close = rest.firstIndex(of: "}"),
      let value = values[String(rest[rest.index(after: open)..<close])]
    else {
      result += "{"
      rest = rest.dropFirst()
      continue
    }
    result += value
    rest = rest[rest.index(after: close)...]
  }
  return result + rest
}

extension Language {
  /// Texts of the languages, by the English text.
  package var texts: [String: String] {
    switch self {
    case .english: [:]
    case .chinese: Chinese.texts
    case .japanese: Japanese.texts
    }
  }

  /// Parts of the languages' tables.
  package static var parts: [(language: Language, parts: [[String: String]])] {
    [(.chinese, Chinese.tables), (.japanese, Japanese.tables)]
  }

  /// Returns the text that a table has for an English one, also if that came from elsewhere, such
  /// as a reason from a relay; nil if it has none.
  package func translation(of text: String) -> String? {
    switch self {
    case .english: nil
    case .chinese: Chinese.texts[text]
    case .japanese: Japanese.texts[text]
    }
  }
}
