/// Forbids dropped errors, and traps on input from outside.
enum DropRule {
  static func faults(in file: SourceFile) -> [Fault] {
    let text = file.text
    return text.tokens.indices.compactMap { index in
      guard let reason = reason(text, index) else { return nil }
      return Fault(path: file.path, line: text.tokens[index].line, reason: reason)
    }
  }

  private static func reason(_ text: SwiftText, _ index: Int) -> String? {
    let token = text.tokens[index]
    guard token.kind == .symbol, text.touchesPrevious(index) else { return nil }
    let previous = text.tokens[index - 1]
    let sign = token.text.first
    if previous.text == "try" && (sign == "!" || sign == "?") {
      return "`try\(token.text)` drops an error; catch it and say what becomes of it"
    }
    if previous.text == "as" && sign == "!" {
      return "`as!` ends the process on another type; use `as?` and handle nil"
    }
    guard token.text == "!" || token.text.hasPrefix("!.") else { return nil }
    let endsExpression =
      [.word, .number, .string].contains(previous.kind) || [")", "]", "}"].contains(previous.text)
    if endsExpression && previous.text != "init" {
      return "a force unwrap ends the process on nil; unwrap it, or make nil impossible"
    }
    return nil
  }
}
