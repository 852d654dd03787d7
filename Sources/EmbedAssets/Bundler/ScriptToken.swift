/// Token of a JavaScript module.
struct ScriptToken {
  enum Kind {
    /// Identifier, private name or reserved word.
    case word
    case number
    /// Literal in quotes, or a part of a template between its quotes and substitutions.
    case string
    case expression
    case sign
    /// Call that loads a module later; its text is the module's path.
    case later
  }

  var kind: Kind
  var text: String
  /// Line of its first byte, from 1.
  var line: Int
  /// White space and comments before it.
  var gap: Gap

  enum Gap { case none, space, newLine }

  func isSign(_ text: String) -> Bool { kind == .sign && self.text == text }

  /// True for a part of a template that ends with `${`.
  var opensSubstitution: Bool {
    kind == .string && text.hasSuffix("${") && (text.first == "`" || text.first == "}")
  }

  func isWord(_ text: String) -> Bool { kind == .word && self.text == text }

  // MARK: writing

  /// Signs after which no statement ends.
  private static let openSigns: Set<String> = [
    ";", "{", "(", "[", ",", "=", "=>", ":", "?", "&", "|", "<", ">", "===", "!==", "==", "!=",
  ]
  /// Signs with which no statement begins.
  private static let continuingSigns: Set<String> = [
    ")", "]", "}", ",", ";", ":", ".", "?.", "=", "&", "|", "?", "===", "!==", "==", "!=",
  ]

  /// Returns tokens as text, without the white space that means nothing.
  static func text(of tokens: [ScriptToken]) -> String {
    var text = ""
    for (index, token) in tokens.enumerated() {
      if index > 0 { text += token.space(after: tokens[index - 1]) }
      text += token.text
    }
    return text
  }

  private func space(after last: ScriptToken) -> String {
    switch gap {
    case .none: return ""
    case .newLine:
      let isNeedless =
        (last.kind == .sign && Self.openSigns.contains(last.text))
        || (kind == .sign && Self.continuingSigns.contains(text))
      return isNeedless ? "" : "\n"
    case .space:
      let isBetweenWords = last.isWordLike && isWordLike
      // `a + +b` is no `a ++b`, and a slash could begin a comment.
      let isBetweenSigns =
        last.kind == .sign && kind == .sign
        && ["+", "-", "/", "<", "!"].contains(last.text.suffix(1))
      let isSlash = last.text == "/" || text == "/" || kind == .expression
      return isBetweenWords || isBetweenSigns || isSlash ? " " : ""
    }
  }

  private var isWordLike: Bool { [.word, .number, .expression, .later].contains(kind) }
}
