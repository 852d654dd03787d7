/// Returns a text in the person's language that this program has made in English elsewhere: on
/// another thread, or in the process that holds a home. A text that the tables do not have stays as
/// it is, as one from a relay or another program.
///
/// A text with values is found by what stands around them. Of the values, only one named `reason`
/// is translated in turn: names and texts of people are not.
package func translated(_ text: String) -> String {
  TextTemplate.all(of: .current).isEmpty ? text : translated(text, depth: 0)
}

/// Levels of reasons in reasons.
private let depthMax = 4

private func translated(_ text: String, depth: Int) -> String {
  if let exact = Language.current.translation(of: text) { return exact }
  guard depth < depthMax else { return text }
  let bytes = Array(text.utf8)
  for template in TextTemplate.all(of: .current) {
    guard var values = template.values(in: bytes) else { continue }
    values["reason"] = values["reason"].map { translated($0, depth: depth + 1) }
    return filled(template.translation, values)
  }
  return text
}

/// English text of a table that has named values, as a form that texts have.
private struct TextTemplate {
  /// UTF-8 of what stands before, between and after the values: one more than names.
  private let literals: [[UInt8]]
  private let names: [String]
  let translation: String
  /// Bytes that are the same in each text of this form.
  private let fixedBytes: Int

  /// A form with less in common would be that of other texts, too.
  private static let fixedBytesMin = 12

  private static let chinese = all(in: Chinese.texts)
  private static let japanese = all(in: Japanese.texts)

  /// Forms of a language; those that say the most come first.
  static func all(of language: Language) -> [TextTemplate] {
    switch language {
    case .english: []
    case .chinese: chinese
    case .japanese: japanese
    }
  }

  private static func all(in texts: [String: String]) -> [TextTemplate] {
    texts.sorted { $0.key < $1.key }
      .compactMap { TextTemplate($0.key, translation: $0.value) }
      .sorted { $0.fixedBytes > $1.fixedBytes }
  }

  /// Returns nil for a text without values, and for one that other texts would be taken for.
  private init?(_ text: String, translation: String) {
    var literals: [[UInt8]] = []
    var names: [String] = []
    var rest = text[...]
    while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
      literals.append(Array(rest[..<open].utf8))
      names.append(String(rest[rest.index(after: open)..<close]))
      rest = rest[rest.index(after: close)...]
    }
    literals.append(Array(rest.utf8))
    fixedBytes = literals.reduce(0) { $0 + $1.count }
    // Two values with nothing between them cannot be told apart.
    guard !names.isEmpty, fixedBytes >= Self.fixedBytesMin,
      literals.dropFirst().dropLast().allSatisfy({ !$0.isEmpty })
    else { return nil }
    (self.literals, self.names, self.translation) = (literals, names, translation)
  }

  /// Returns the values of a text of this form; nil if it has another one.
  func values(in text: [UInt8]) -> [String: String]? {
    guard let first = literals.first, let last = literals.last, text.starts(with: first),
      text.count >= first.count + last.count, text.suffix(last.count).elementsEqual(last)
    else { return nil }
    var rest = text[first.count..<(text.count - last.count)]
    var values: [String: String] = [:]
    for (name, literal) in zip(names, literals.dropFirst().dropLast()) {
      let starts = rest.indices.dropLast(literal.count - 1)
      guard let next = starts.first(where: { rest[$0...].starts(with: literal) }) else {
        return nil
      }
      values[name] = String(decoding: rest[..<next], as: UTF8.self)
      rest = rest[(next + literal.count)...]
    }
    if let name = names.last { values[name] = String(decoding: rest, as: UTF8.self) }
    return values
  }
}
