/// Roles of the words of a module: variable, key, keyword. Found with the brackets alone, without
/// a parser; refuses what they do not show.
struct ScriptRoles {
  enum Role {
    /// Name of a property, a member or a label; also every token that is no word.
    case fixed
    case keyword
    /// Name of a variable, a function, a class or a parameter, or of a global one.
    case variable
    /// The same as the key and the value of an object, or of its pattern: `{ name }`.
    case shorthand
    /// Private member: `#name`.
    case privateName
  }

  private struct Context {
    enum Kind { case block, object, members, other }
    /// Part of a class's member: its name is next, has been read, or is followed by its value.
    enum Member { case next, named, value }

    var kind: Kind
    var start: Int
    /// In an object: a key is next.
    var expectsKey = false
    var member = Member.next
    /// In a block: a `case` has been read, without its colon.
    var isInCase = false
    /// In a block: the last colon of a `case`.
    var caseColon: Int?
  }

  static let keywords: Set<String> = [
    "arguments", "as", "async", "await", "break", "case", "catch", "class", "const", "continue",
    "debugger", "default", "delete", "do", "else", "enum", "eval", "export", "extends", "false",
    "finally", "for", "from", "function", "get", "if", "implements", "import", "in", "instanceof",
    "interface", "let", "new", "null", "of", "package", "private", "protected", "public", "return",
    "set", "static", "super", "switch", "this", "throw", "true", "try", "typeof", "undefined",
    "var", "void", "while", "with", "yield",
  ]
  private static let wordsBeforeBlock: Set<String> = [
    "catch", "do", "else", "finally", "static", "try",
  ]
  private static let wordsBeforeObject: Set<String> = [
    "await", "case", "const", "in", "let", "of", "return", "throw", "typeof", "var", "yield",
  ]

  private let path: String
  let tokens: [ScriptToken]
  private(set) var roles: [Role]
  /// For each opening bracket, the index of the closing one.
  private(set) var ends: [Int]
  /// For each token, the opening bracket around it; nil at the top level.
  private(set) var brackets: [Int?]
  private var contexts: [Context] = []

  init(_ tokens: [ScriptToken], path: String) throws(ModuleFault) {
    self.tokens = tokens
    self.path = path
    roles = Array(repeating: .fixed, count: tokens.count)
    ends = Array(repeating: tokens.count, count: tokens.count)
    brackets = Array(repeating: nil, count: tokens.count)
    for index in tokens.indices {
      switch tokens[index].kind {
      case .string: readText(index)
      case .sign: try readSign(index)
      case .word: roles[index] = try role(index)
      case .number, .expression, .later: endKey()
      }
      if brackets[index] == nil { brackets[index] = contexts.last?.start }
    }
  }

  private func fault(_ index: Int, _ reason: String) -> ModuleFault {
    ModuleFault(path, line: tokens[index].line, reason)
  }

  private func isSign(_ index: Int, _ text: String) -> Bool {
    tokens.indices.contains(index) && tokens[index].isSign(text)
  }

  private mutating func change(_ edit: (inout Context) -> Void) {
    if !contexts.isEmpty { edit(&contexts[contexts.count - 1]) }
  }

  /// Notes a token that begins no key and no further member.
  private mutating func endKey() {
    change {
      $0.expectsKey = false
      if $0.member == .next { $0.member = .named }
    }
  }

  private mutating func open(_ index: Int, _ kind: Context.Kind) {
    brackets[index] = contexts.last?.start
    contexts.append(Context(kind: kind, start: index, expectsKey: kind == .object))
  }

  private mutating func close(_ index: Int) {
    guard let context = contexts.popLast() else { return }
    ends[context.start] = index
  }

  private mutating func readText(_ index: Int) {
    if tokens[index].text.first == "}" { close(index) }
    endKey()
    if tokens[index].opensSubstitution { open(index, .other) }
  }

  private mutating func readSign(_ index: Int) throws(ModuleFault) {
    switch tokens[index].text {
    case "{": open(index, try kindOfBrace(index))
    case "(", "[":
      endKey()
      open(index, .other)
    case ")", "]": close(index)
    case "}":
      close(index)
      // The end of a method; the value of a field goes on to its semicolon.
      change { if $0.kind == .members, $0.member != .value { $0.member = .next } }
    case ",": change { $0.expectsKey = $0.kind == .object }
    case ";": change { $0.member = .next }
    case "=": change { $0.member = .value }
    case ":":
      change {
        if $0.isInCase { $0.caseColon = index }
        $0.isInCase = false
      }
    case "*": break
    default: change { $0.expectsKey = false }
    }
  }

  private func kindOfBrace(_ index: Int) throws(ModuleFault) -> Context.Kind {
    guard index > 0 else { return .block }
    let before = tokens[index - 1]
    if before.kind == .word {
      if beginsClass(index) { return .members }
      if roles[index - 1] == .keyword {
        if Self.wordsBeforeBlock.contains(before.text) { return .block }
        if Self.wordsBeforeObject.contains(before.text) { return .object }
      }
      throw fault(index, "a brace after \(before.text), which a bundle does not understand")
    }
    guard before.kind == .sign else {
      throw fault(index, "a brace after a text, which a bundle does not understand")
    }
    switch before.text {
    case ")": return beginsClass(index) ? .members : .block
    case ";", "=>", "}", "{": return .block
    case ":":
      let isCase = contexts.last?.kind == .block && contexts.last?.caseColon == index - 1
      return isCase ? .block : .object
    default: return .object
    }
  }

  /// True if the brace follows `class` and what a class extends.
  private func beginsClass(_ index: Int) -> Bool {
    for index in stride(from: index - 1, through: 0, by: -1) {
      if tokens[index].isWord("class"), roles[index] == .keyword { return true }
      if tokens[index].kind == .sign, ["{", "}", ";", "=>", "="].contains(tokens[index].text) {
        return false
      }
    }
    return false
  }

  private mutating func role(_ index: Int) throws(ModuleFault) -> Role {
    try checkFieldEnds(before: index)
    let word = tokens[index].text
    if word.first == "#" {
      endKey()
      return .privateName
    }
    if isSign(index - 1, ".") || isSign(index - 1, "?.") { return .fixed }
    let isModifier = ["get", "set", "async", "static"].contains(word) && !endsName(index + 1)
    if let context = contexts.last, context.kind == .object, context.expectsKey {
      if isModifier { return .keyword }
      endKey()
      if isSign(index + 1, ":") || isSign(index + 1, "(") { return .fixed }
      if endsName(index + 1) { return .shorthand }
      throw fault(index, "\(word) as a key, which a bundle does not understand")
    }
    if let context = contexts.last, context.kind == .members, context.member == .next {
      if isModifier { return .keyword }
      endKey()
      return .fixed
    }
    guard Self.keywords.contains(word) else { return .variable }
    if word == "case" || word == "default" { change { $0.isInCase = $0.kind == .block } }
    return .keyword
  }

  /// True if a name in an object or a class ends before this token.
  private func endsName(_ index: Int) -> Bool {
    ["(", "=", ";", ",", "}", ":"].contains { isSign(index, $0) }
  }

  /// Checks that a field of a class ends with a semicolon: otherwise nothing shows that the word is
  /// the name of the next one.
  private func checkFieldEnds(before index: Int) throws(ModuleFault) {
    guard let context = contexts.last, context.kind == .members, context.member != .next,
      tokens[index].gap == .newLine, index > 0
    else { return }
    let before = tokens[index - 1]
    let endsValue =
      before.kind == .sign
      ? [")", "]", "}"].contains(before.text) : roles[index - 1] != .keyword
    let goesOn = ["in", "instanceof"].contains(tokens[index].text)
    if endsValue, !goesOn { throw fault(index, "a field of a class needs a semicolon at its end") }
  }
}
