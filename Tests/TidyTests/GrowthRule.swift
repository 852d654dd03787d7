/// Forbids loops of quadratic cost. `setting(_:to:)` copies an object, and `records.first` walks
/// all records: in a loop over outside input, either takes time with the square of its size. Use
/// `setting(_:)` to set many members in one pass, and `recordsByKey` to find many records.
enum GrowthRule {
  /// Files in which the loop is short for any input, with the reason.
  static let exceptions: [String: String] = [
    "Sources/Apps/Timer/TimerApp.swift": "six settings at the most, each named once"
  ]

  static func faults(in file: SourceFile) -> [Fault] {
    if exceptions[file.path] != nil || !file.path.hasPrefix("Sources/") { return [] }
    let text = file.text
    let bodies = text.tokens.indices.compactMap { body(text, at: $0) }
    return text.tokens.indices.compactMap { index in
      guard let reason = reason(text, index) else { return nil }
      let around = bodies.filter { $0.range.contains(index) }
      guard around.contains(where: { !isFresh(text, index, in: $0) }) else { return nil }
      return Fault(path: file.path, line: text.tokens[index].line, reason: reason)
    }
  }

  private static func reason(_ text: SwiftText, _ index: Int) -> String? {
    if isSetting(text, index) {
      return "an object is copied for each turn of a loop; collect the members and set them with "
        + "`setting(_:)`"
    }
    guard text.has("records", at: index), text.has(".", at: index + 1),
      searches.contains(where: { text.has($0, at: index + 2) }),
      text.has("(", at: index + 3) || text.has("{", at: index + 3)
    else { return nil }
    return "all records are walked for each turn of a loop; make a table of them before it"
  }

  /// True if the object that is set is new in each iteration.
  private static func isFresh(_ text: SwiftText, _ index: Int, in body: Body) -> Bool {
    let name = text.tokens[max(0, index - 2)].text
    if name == "$0" { return !body.isReduce }
    return body.range.contains { text.has("var", at: $0) && text.has(name, at: $0 + 1) }
  }

  private struct Body {
    var range: Range<Int>
    var isReduce: Bool
  }

  private static let searches = ["first", "contains", "firstIndex"]
  private static let walks = ["reduce", "map", "flatMap", "compactMap", "filter", "forEach"]

  /// Returns the body of the loop, or of the walk of a list, that begins here; nil if there is
  /// none, or if it walks a literal list, whose length is fixed.
  private static func body(_ text: SwiftText, at index: Int) -> Body? {
    let isLoop = ["for", "while"].contains { text.has($0, at: index) }
    let isWalk = text.has(".", at: index - 1) && walks.contains { text.has($0, at: index) }
    guard isLoop || isWalk else { return nil }
    let start = isWalk && text.has("(", at: index + 1) ? text.closing(index + 1) : index
    if isWalk && !text.has("{", at: start + 1) { return nil }
    guard let open = (start..<text.tokens.count).first(where: { text.has("{", at: $0) }) else {
      return nil
    }
    let isListed = (index..<open).contains { text.has("in", at: $0) && text.has("[", at: $0 + 1) }
    let range = open..<text.closing(open)
    return isListed ? nil : Body(range: range, isReduce: text.has("reduce", at: index))
  }

  /// True if an object grows with each iteration: `a = a.setting(…, to: …)`, or `$0` of a `reduce`.
  private static func isSetting(_ text: SwiftText, _ index: Int) -> Bool {
    guard index > 1, text.has("setting", at: index), text.has(".", at: index - 1),
      text.has("(", at: index + 1)
    else { return false }
    let object = text.tokens[index - 2].text
    guard object == "$0" || (text.has("=", at: index - 3) && text.has(object, at: index - 4)) else {
      return false
    }
    return (index..<text.closing(index + 1)).contains {
      text.has("to", at: $0) && text.has(":", at: $0 + 1)
    }
  }
}
