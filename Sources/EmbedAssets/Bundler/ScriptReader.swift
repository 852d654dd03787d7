/// Divides the text of a JavaScript module into tokens, and leaves out comments. Knows the lexical
/// grammar only (ECMA-262, section 12). Refuses what it cannot tell apart without a parser.
struct ScriptReader {
  private enum Bracket: Equatable {
    /// `isCondition`: it follows a word such as `if`, so what follows it is a statement.
    case round(isCondition: Bool)
    case square, curly, substitution
  }

  /// Words after which a slash begins a regular expression, because no value ends with them.
  private static let wordsBeforeValue: Set<String> = [
    "await", "case", "delete", "do", "else", "in", "instanceof", "new", "of", "return", "throw",
    "typeof", "void", "yield",
  ]
  static let wordsBeforeCondition: Set<String> = [
    "await", "catch", "for", "if", "switch", "while", "with",
  ]
  /// Signs of several bytes that must not be taken for several signs; longest first.
  private static let longSigns = [
    "===", "!==", "...", "=>", "==", "!=", "<=", ">=", "++", "--", "?.",
  ]

  private let path: String
  private let bytes: [UInt8]
  private var index = 0
  private var line = 1
  private var gap = ScriptToken.Gap.none
  private var tokens: [ScriptToken] = []
  private var brackets: [Bracket] = []
  /// True if the last token is the `)` of a condition.
  private var isAfterCondition = false

  private init(_ text: String, path: String) {
    bytes = Array(text.utf8)
    self.path = path
  }

  static func tokens(of text: String, path: String) throws(ModuleFault) -> [ScriptToken] {
    var reader = ScriptReader(text, path: path)
    while try reader.readNext() {}
    guard reader.brackets.isEmpty else { throw reader.fault("a bracket is not closed") }
    return reader.tokens
  }

  private func fault(_ reason: String) -> ModuleFault { ModuleFault(path, line: line, reason) }

  private func byte(_ offset: Int = 0) -> UInt8? {
    index + offset < bytes.count ? bytes[index + offset] : nil
  }

  private func has(_ text: String) -> Bool { bytes[index...].starts(with: text.utf8) }

  /// Reads the next token, or the space before it. Returns false at the end.
  private mutating func readNext() throws(ModuleFault) -> Bool {
    guard let first = byte() else { return false }
    switch first {
    case UInt8(ascii: "\n"):
      gap = .newLine
      line += 1
      index += 1
    case UInt8(ascii: " "), UInt8(ascii: "\t"):
      if gap == .none { gap = .space }
      index += 1
    case UInt8(ascii: "/") where has("//"): while let next = byte(), next != 0x0A { index += 1 }
    case UInt8(ascii: "/") where has("/*"): try skipComment()
    case UInt8(ascii: "\""), UInt8(ascii: "'"): try readString(first)
    case UInt8(ascii: "`"): try readTemplate()
    case UInt8(ascii: "/") where try beginsExpression(): try readExpression()
    case UInt8(ascii: "0")...UInt8(ascii: "9"):
      // An exponent's sign is a token of its own, which is written without a space again.
      append(.number, length(while: { Self.isOfWord($0) || $0 == UInt8(ascii: ".") }))
    case _ where Self.isOfWord(first): append(.word, length(while: Self.isOfWord))
    case UInt8(ascii: "#") where byte(1).map(Self.isOfWord) ?? false:
      append(.word, 1 + length(from: 1, while: Self.isOfWord))
    case UInt8(ascii: "#"): throw fault("a line for a shell; a module of a page has none")
    case 0x21...0x7E: try readSign(first)
    default: throw fault("a byte that is no ASCII, outside of texts and comments; write it as \\u")
    }
    return true
  }

  private static func isOfWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "$"):
      true
    default: false
    }
  }

  private func length(from start: Int = 0, while isPart: (UInt8) -> Bool) -> Int {
    var length = start
    while let next = byte(length), isPart(next) { length += 1 }
    return length - start
  }

  private mutating func append(_ kind: ScriptToken.Kind, _ length: Int) {
    let text = String(decoding: bytes[index..<index + length], as: UTF8.self)
    tokens.append(ScriptToken(kind: kind, text: text, line: line, gap: gap))
    line += bytes[index..<index + length].count { $0 == 0x0A }
    index += length
    gap = .none
    isAfterCondition = false
  }

  /// A comment with a line break counts as one (ECMA-262, section 12.4).
  private mutating func skipComment() throws(ModuleFault) {
    if gap == .none { gap = .space }
    index += 2
    while !has("*/") {
      guard let next = byte() else { throw fault("a comment is not closed") }
      if next == 0x0A {
        gap = .newLine
        line += 1
      }
      index += 1
    }
    index += 2
  }

  private mutating func readString(_ quote: UInt8) throws(ModuleFault) {
    var length = 1
    while byte(length) != quote {
      guard let next = byte(length), next != 0x0A else { throw fault("a text is not closed") }
      length += next == UInt8(ascii: "\\") ? 2 : 1
    }
    append(.string, length + 1)
  }

  /// Reads a part of a template: from its first quote, or the end of a substitution, to its last
  /// quote, or the begin of a substitution.
  private mutating func readTemplate() throws(ModuleFault) {
    var length = 1
    while let next = byte(length), next != UInt8(ascii: "`") {
      if next == UInt8(ascii: "$"), byte(length + 1) == UInt8(ascii: "{") {
        append(.string, length + 2)
        brackets.append(.substitution)
        return
      }
      length += next == UInt8(ascii: "\\") ? 2 : 1
    }
    guard byte(length) != nil else { throw fault("a template is not closed") }
    append(.string, length + 1)
  }

  /// True if the slash begins a regular expression, and is no division.
  private func beginsExpression() throws(ModuleFault) -> Bool {
    guard let last = tokens.last else { return true }
    switch last.kind {
    case .number, .expression, .later: return false
    // After `${` a value begins.
    case .string: return last.opensSubstitution
    case .word:
      let isMember = tokens.dropLast().last.map { $0.isSign(".") || $0.isSign("?.") } ?? false
      return !isMember && Self.wordsBeforeValue.contains(last.text)
    case .sign:
      if last.text == "}" { throw fault("a slash after a brace; put the braces in brackets") }
      if last.text == ")" { return isAfterCondition }
      return !["]", "++", "--"].contains(last.text)
    }
  }

  private mutating func readExpression() throws(ModuleFault) {
    var length = 1
    var isInClass = false
    while byte(length) != UInt8(ascii: "/") || isInClass {
      guard let next = byte(length), next != 0x0A else {
        throw fault("a regular expression is not closed")
      }
      if next == UInt8(ascii: "[") { isInClass = true }
      if next == UInt8(ascii: "]") { isInClass = false }
      length += next == UInt8(ascii: "\\") ? 2 : 1
    }
    length += 1
    append(.expression, length + self.length(from: length, while: Self.isOfWord))
  }

  private mutating func readSign(_ first: UInt8) throws(ModuleFault) {
    if first == UInt8(ascii: "}"), brackets.last == .substitution {
      brackets.removeLast()
      try readTemplate()
      return
    }
    let long = Self.longSigns.first { has($0) }
    let opened = opening(first)
    let closed = isClosing(first) ? brackets.popLast() : nil
    if isClosing(first), !matches(closed, first) { throw fault("a bracket closes another one") }
    if first == UInt8(ascii: "\\") { throw fault("a backslash outside of texts; write the letter") }
    append(.sign, long?.utf8.count ?? 1)
    if let opened { brackets.append(opened) }
    isAfterCondition = closed == .round(isCondition: true)
  }

  private func opening(_ byte: UInt8) -> Bracket? {
    switch byte {
    case UInt8(ascii: "("):
      let word = tokens.last.map { $0.kind == .word ? $0.text : "" } ?? ""
      let isMember = tokens.dropLast().last.map { $0.isSign(".") || $0.isSign("?.") } ?? false
      return .round(isCondition: !isMember && Self.wordsBeforeCondition.contains(word))
    case UInt8(ascii: "["): return .square
    case UInt8(ascii: "{"): return .curly
    default: return nil
    }
  }

  private func isClosing(_ byte: UInt8) -> Bool {
    [UInt8(ascii: ")"), UInt8(ascii: "]"), UInt8(ascii: "}")].contains(byte)
  }

  private func matches(_ bracket: Bracket?, _ byte: UInt8) -> Bool {
    switch bracket {
    case .round: byte == UInt8(ascii: ")")
    case .square: byte == UInt8(ascii: "]")
    case .curly: byte == UInt8(ascii: "}")
    case .substitution, nil: false
    }
  }
}
