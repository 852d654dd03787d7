/// Tokens of a Swift file, with comments set apart and the contents of strings kept out of the
/// code. It parses only what the rules of this folder need: the beginning and end of a comment, a
/// string and an interpolation. It does not parse regex literals; the package has none.
struct SwiftText {
  private(set) var tokens: [Token]
  private(set) var comments: [Comment]

  struct Token: Hashable {
    enum Kind: Hashable { case word, number, string, symbol }
    var kind: Kind
    /// Text of the token; of a string: its content between the quotes, without interpolations.
    var text: String
    var line: Int
    /// Position in the file, in bytes: two tokens touch if one's end is the other's start.
    var start: Int
    var end: Int
  }

  struct Comment: Hashable {
    var text: String
    var line: Int
  }

  init(_ source: String) {
    var scanner = SwiftScanner(source)
    scanner.scanCode(insideInterpolation: false)
    tokens = scanner.tokens
    comments = scanner.comments
  }

  /// True if the token at `index` is the word or symbol `text`, and not a string with this content.
  func has(_ text: String, at index: Int) -> Bool {
    tokens.indices.contains(index) && tokens[index].text == text && tokens[index].kind != .string
  }

  func touchesPrevious(_ index: Int) -> Bool {
    index > 0 && tokens[index - 1].end == tokens[index].start
  }

  /// Returns the index of the bracket that closes the one at `index`; the last token if none does.
  func closing(_ index: Int) -> Int {
    let open = tokens[index].text
    let close = ["(": ")", "[": "]", "{": "}"][open] ?? ""
    var depth = 0
    for next in index..<tokens.count where tokens[next].kind == .symbol {
      if tokens[next].text == open { depth += 1 }
      if tokens[next].text == close { depth -= 1 }
      if depth == 0 { return next }
    }
    return tokens.count - 1
  }
}

private struct SwiftScanner {
  let bytes: [UInt8]
  var position = 0
  var line = 1
  var tokens: [SwiftText.Token] = []
  var comments: [SwiftText.Comment] = []

  init(_ source: String) { bytes = Array(source.utf8) }

  func byte(_ ahead: Int = 0) -> UInt8? {
    position + ahead < bytes.count ? bytes[position + ahead] : nil
  }

  func isNext(_ text: StaticString) -> Bool {
    (0..<text.utf8CodeUnitCount).allSatisfy { byte($0) == text.utf8Start[$0] }
  }

  /// Scans to the end, or to the parenthesis that ends an interpolation.
  mutating func scanCode(insideInterpolation: Bool) {
    var depth = 0
    while let next = byte() {
      switch next {
      case UInt8(ascii: "\n"):
        line += 1
        position += 1
      case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"): position += 1
      case _ where isNext("//"): scanLineComment()
      case _ where isNext("/*"): scanBlockComment()
      case _ where stringStart() != nil: scanString()
      case _ where isWordByte(next): scanWord()
      case _ where isOperatorByte(next): scanOperator()
      case UInt8(ascii: ")") where insideInterpolation && depth == 0: return
      default:
        if next == UInt8(ascii: "(") { depth += 1 }
        if next == UInt8(ascii: ")") { depth -= 1 }
        append(.symbol, from: position, to: position + 1)
      }
    }
  }

  mutating func append(_ kind: SwiftText.Token.Kind, from start: Int, to end: Int) {
    let text = String(decoding: bytes[start..<end], as: UTF8.self)
    tokens.append(.init(kind: kind, text: text, line: line, start: start, end: end))
    position = end
  }

  mutating func scanLineComment() {
    let start = position
    while let next = byte(), next != UInt8(ascii: "\n") { position += 1 }
    comments.append(
      .init(text: String(decoding: bytes[start..<position], as: UTF8.self), line: line))
  }

  mutating func scanBlockComment() {
    let start = position
    let startLine = line
    var depth = 0
    while let next = byte() {
      if isNext("/*") {
        depth += 1
        position += 2
      } else if isNext("*/") {
        depth -= 1
        position += 2
        if depth == 0 { break }
      } else {
        if next == UInt8(ascii: "\n") { line += 1 }
        position += 1
      }
    }
    comments.append(
      .init(text: String(decoding: bytes[start..<position], as: UTF8.self), line: startLine))
  }

  mutating func scanWord() {
    let start = position
    let isNumber = byte().map { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") } ?? false
    while let next = byte() {
      let isFraction = isNumber && next == UInt8(ascii: ".") && byte(1).map(isDigit) == true
      guard isWordByte(next) || isFraction else { break }
      position += 1
    }
    append(isNumber ? .number : .word, from: start, to: position)
  }

  /// Scans a run of operator characters; dots form a run only with one another and before `<`.
  mutating func scanOperator() {
    let start = position
    let isDot = byte() == UInt8(ascii: ".")
    while let next = byte(), isOperatorByte(next), !isNext("//"), !isNext("/*") || position == start
    {
      if !isDot && next == UInt8(ascii: ".") { break }
      if isDot && next != UInt8(ascii: ".") && next != UInt8(ascii: "<") { break }
      position += 1
    }
    append(.symbol, from: start, to: max(position, start + 1))
  }

  func isDigit(_ byte: UInt8) -> Bool {
    byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
  }

  func isWordByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "$"),
      UInt8(ascii: "`"), 0x80...0xFF:
      true
    default: false
    }
  }

  func isOperatorByte(_ byte: UInt8) -> Bool { "/=-+!*%<>&|^~?.".utf8.contains(byte) }
}

extension SwiftScanner {
  /// Delimiters of a string that begins here.
  struct Fence {
    var hashes: Int
    var isMultiline: Bool
  }

  func stringStart() -> Fence? {
    var hashes = 0
    while byte(hashes) == UInt8(ascii: "#") { hashes += 1 }
    guard byte(hashes) == UInt8(ascii: "\"") else { return nil }
    guard byte(hashes + 1) == UInt8(ascii: "\""), byte(hashes + 2) == UInt8(ascii: "\"") else {
      return Fence(hashes: hashes, isMultiline: false)
    }
    // Three quotes open a multi-line string only at the end of a line; otherwise `#"""#` is a
    // string of one quote.
    var ahead = hashes + 3
    while byte(ahead) == UInt8(ascii: " ") { ahead += 1 }
    return Fence(hashes: hashes, isMultiline: byte(ahead) == UInt8(ascii: "\n"))
  }

  mutating func scanString() {
    guard let fence = stringStart() else { return }
    let start = position
    let index = tokens.count
    tokens.append(.init(kind: .string, text: "", line: line, start: start, end: start))
    position += fence.hashes + (fence.isMultiline ? 3 : 1)
    var content: [UInt8] = []
    while let next = byte() {
      if isFenceEnd(fence) {
        position += (fence.isMultiline ? 3 : 1) + fence.hashes
        break
      }
      if !fence.isMultiline && next == UInt8(ascii: "\n") { break }
      if isEscape(fence) {
        scanEscape(fence)
        continue
      }
      if next == UInt8(ascii: "\n") { line += 1 }
      content.append(next)
      position += 1
    }
    tokens[index].text = String(decoding: content, as: UTF8.self)
    tokens[index].end = position
  }

  func isFenceEnd(_ fence: Fence) -> Bool {
    let quotes = fence.isMultiline ? 3 : 1
    return (0..<quotes).allSatisfy { byte($0) == UInt8(ascii: "\"") }
      && (0..<fence.hashes).allSatisfy { byte(quotes + $0) == UInt8(ascii: "#") }
  }

  func isEscape(_ fence: Fence) -> Bool {
    byte() == UInt8(ascii: "\\")
      && (0..<fence.hashes).allSatisfy { byte(1 + $0) == UInt8(ascii: "#") }
  }

  mutating func scanEscape(_ fence: Fence) {
    position += 1 + fence.hashes
    guard byte() == UInt8(ascii: "(") else {
      if byte() == UInt8(ascii: "\n") { line += 1 }
      position += 1
      return
    }
    position += 1
    scanCode(insideInterpolation: true)
    position += 1
  }
}
