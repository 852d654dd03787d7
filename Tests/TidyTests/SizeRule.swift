/// Requires functions that fit on a screen, so that each can be read at once. Files have no such
/// limit: a type whose state is private is in one file.
enum SizeRule {
  static let functionLines = 60
  static let columns = 100

  static func faults(in file: SourceFile) -> [Fault] {
    let lines = file.content.split(separator: "\n", omittingEmptySubsequences: false)
    var faults: [Fault] = []
    for (index, line) in lines.enumerated() where line.count > columns {
      // A string that fills its line cannot be broken without a change of its text.
      if line.drop(while: { $0 == " " }).first == "\"" { continue }
      faults.append(
        Fault(
          path: file.path, line: index + 1,
          reason: "\(line.count) columns; lines end at column \(columns)"))
    }
    for function in functions(in: file.text) where function.lines > functionLines {
      faults.append(
        Fault(
          path: file.path, line: function.line,
          reason: "`\(function.name)` has \(function.lines) lines; "
            + "a function fits on a screen of \(functionLines)"))
    }
    return faults
  }

  struct Function: Hashable {
    var name: String
    var line: Int
    var lines: Int
  }

  /// Returns functions, initializers, subscripts and computed variables that have a body.
  static func functions(in text: SwiftText) -> [Function] {
    text.tokens.indices.compactMap { index in
      let token = text.tokens[index]
      guard token.kind == .word, !text.has(".", at: index - 1) else { return nil }
      switch token.text {
      case "func", "init", "subscript", "deinit":
        guard let open = body(text, after: index) else { return nil }
        return function(text, from: index, open: open)
      case "var":
        guard let open = computedBody(text, after: index) else { return nil }
        return function(text, from: index, open: open)
      default: return nil
      }
    }
  }

  private static func function(_ text: SwiftText, from index: Int, open: Int) -> Function {
    let token = text.tokens[index]
    let name = ["init", "deinit", "subscript"].contains(token.text) ? index : index + 1
    let end = text.tokens[text.closing(open)].line
    return Function(name: text.tokens[name].text, line: token.line, lines: end - token.line + 1)
  }

  /// Returns the brace that opens the body; nil for a requirement of a protocol.
  private static func body(_ text: SwiftText, after index: Int) -> Int? {
    var next = index + 1
    if text.has("deinit", at: index) { return text.has("{", at: next) ? next : nil }
    // Skips the name, a `?` and generic arguments, up to the parameters.
    while next < text.tokens.count, !text.has("(", at: next) {
      if text.has("{", at: next) || text.has("}", at: next) { return nil }
      next += 1
    }
    guard next < text.tokens.count else { return nil }
    next = text.closing(next) + 1
    let declarations = [
      "func", "var", "let", "init", "case", "static", "mutating", "associatedtype", "public",
      "package", "private", "internal", "subscript", "struct", "extension", "enum", "class",
    ]
    while next < text.tokens.count {
      if text.has("{", at: next) { return next }
      if text.has("(", at: next) || text.has("[", at: next) {
        next = text.closing(next) + 1
        continue
      }
      if text.has("}", at: next) || text.has("@", at: next)
        || declarations.contains(text.tokens[next].text)
      {
        return nil
      }
      next += 1
    }
    return nil
  }

  /// Returns the brace of `var name: Type {` if it is on the same line and no value is given.
  private static func computedBody(_ text: SwiftText, after index: Int) -> Int? {
    var next = index + 1
    while next < text.tokens.count, text.tokens[next].line == text.tokens[index].line {
      if text.has("=", at: next) { return nil }
      if text.has("{", at: next) { return next }
      next += 1
    }
    return nil
  }
}
