/// Texts for people: each call of `localized` takes literals, so that the languages' tables can be
/// compared with the code.
struct LanguageRule {
  /// Texts of the code, as the tables have them.
  private(set) var texts: Set<String> = []
  private(set) var faults: [Fault] = []

  init(_ files: [SourceFile]) {
    for file in files {
      for index in file.text.tokens.indices
      where file.text.has("localized", at: index) && file.text.has("(", at: index + 1)
        && !file.text.has("func", at: index - 1)
      {
        read(file, callAt: index)
      }
    }
  }

  private mutating func read(_ file: SourceFile, callAt index: Int) {
    let end = file.text.closing(index + 1)
    let labels = file.text.has("count", at: index + 2) ? ["one", "many"] : [nil]
    for label in labels {
      guard let text = LanguageRule.literal(file, from: index + 2, to: end, label) else {
        faults.append(
          Fault(
            path: file.path, line: file.text.tokens[index].line,
            reason: "`localized` takes literals of one line, without interpolations"))
        continue
      }
      // Only English has a form for one.
      if label != "one" { texts.insert(text) }
    }
  }

  /// Returns the joined literals of the argument; nil if it is another expression.
  private static func literal(
    _ file: SourceFile, from first: Int, to end: Int, _ label: String?
  ) -> String? {
    let text = file.text
    var index = first
    if let label {
      let found = (first..<end).first { text.has(label, at: $0) && text.has(":", at: $0 + 1) }
      guard let found else { return nil }
      index = found + 2
    }
    var result = ""
    while index < end, text.tokens[index].kind == .string {
      let source = file.content.utf8.dropFirst(text.tokens[index].start)
        .prefix(text.tokens[index].end - text.tokens[index].start)
      guard let value = value(of: String(decoding: Array(source), as: UTF8.self)) else {
        return nil
      }
      result += value
      guard text.has("+", at: index + 1) else {
        return index + 1 == end || text.has(",", at: index + 1) ? result : nil
      }
      index += 2
    }
    return nil
  }

  /// Returns the value of a literal; nil if it has several lines or an interpolation.
  static func value(of source: String) -> String? {
    guard !source.hasPrefix("\"\"\""), source.hasPrefix("\""), source.hasSuffix("\"") else {
      return nil
    }
    var result = ""
    var rest = source.dropFirst().dropLast()
    while let next = rest.popFirst() {
      guard next == "\\" else {
        result.append(next)
        continue
      }
      switch rest.popFirst() {
      case "\"": result.append("\"")
      case "\\": result.append("\\")
      case "n": result.append("\n")
      case "u":
        let digits = rest.dropFirst().prefix { $0 != "}" }
        guard let scalar = UInt32(digits, radix: 16).flatMap(Unicode.Scalar.init) else {
          return nil
        }
        result.unicodeScalars.append(scalar)
        rest = rest.dropFirst(digits.count + 2)
      default: return nil
      }
    }
    return result
  }
}
