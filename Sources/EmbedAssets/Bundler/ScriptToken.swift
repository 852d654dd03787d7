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
}
