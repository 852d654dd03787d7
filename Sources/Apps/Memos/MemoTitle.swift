import LockstepTerminal

/// Titles of memos as a person reads them in a list. The page does the same (`titleText`).
package enum MemoTitle {
  /// Returns the title on one row, without the signs of headings, lists, quotes and emphasis.
  package static func plainText(_ title: String) -> String {
    var rest = title[...].drop(while: isBlank)
    if let end = endOfSign(rest) {
      rest = rest[end...].drop(while: isBlank)
      if let end = endOfBox(rest) { rest = rest[end...] }
    }
    var text = String(rest)
    for mark in ["**", "~~", "`"] { text = removing(mark, from: text) }
    return RowText.line(text)
  }

  private static func isBlank(_ character: Character) -> Bool {
    character == " " || character == "\t"
  }

  /// Returns the end of a sign at the beginning of a line that a blank follows: `#` to `######`,
  /// `>`, `-`, `*`, `+`, or a number with a point or a bracket.
  private static func endOfSign(_ text: Substring) -> Substring.Index? {
    let hashes = text.prefix { $0 == "#" }
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    var end = text.startIndex
    if (1...6).contains(hashes.count) {
      end = hashes.endIndex
    } else if (1...9).contains(digits.count), let next = text[digits.endIndex...].first,
      next == "." || next == ")"
    {
      end = text.index(after: digits.endIndex)
    } else if let first = text.first, [">", "-", "*", "+"].contains(first) {
      end = text.index(after: end)
    }
    guard end > text.startIndex, let blank = text[end...].first, isBlank(blank) else { return nil }
    return end
  }

  /// Returns the end of the box of a task, `[ ]` or `[x]`, that a blank follows.
  private static func endOfBox(_ text: Substring) -> Substring.Index? {
    for box in ["[ ]", "[x]", "[X]"] where text.hasPrefix(box) {
      let end = text.index(text.startIndex, offsetBy: box.count)
      if let blank = text[end...].first, isBlank(blank) { return end }
    }
    return nil
  }

  /// Returns the text without the mark. Uses the core of the standard library alone, as the whole
  /// module does.
  private static func removing(_ mark: String, from text: String) -> String {
    var result = ""
    var rest = text[...]
    while let first = rest.first {
      if rest.hasPrefix(mark) {
        rest = rest.dropFirst(mark.count)
      } else {
        result.append(first)
        rest = rest.dropFirst()
      }
    }
    return result
  }
}
