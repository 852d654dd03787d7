/// Forbids iteration over dictionaries and sets: their order differs between processes, so a seed
/// would not be repeatable. The rule sees what text shows: variables declared with such a type in
/// the same file, and the `.keys` and `.values` of anything.
enum OrderRule {
  /// Calls whose result does not depend on the order.
  static let orderless = [
    "count", "isEmpty", "contains", "allSatisfy", "max", "min", "sorted", "isSubset", "isSuperset",
    "isDisjoint", "index", "remove", "removeAll", "removeValue", "insert", "update", "subtract",
    "subtracting", "union", "formUnion", "intersection", "formIntersection", "keys", "values",
    "reserveCapacity", "capacity", "mapValues", "merge", "default", "filter", "popFirst",
  ]
  static let walking = ["map", "compactMap", "flatMap", "forEach", "reduce", "first", "enumerated"]

  /// Files in which the order does not matter, with the reason.
  static let exceptions: [String: String] = [:]

  static func faults(in file: SourceFile) -> [Fault] {
    if file.stands(in: WordRule.outer) || exceptions[file.path] != nil { return [] }
    return keysAndValues(in: file) + walks(in: file)
  }

  private static func keysAndValues(in file: SourceFile) -> [Fault] {
    let text = file.text
    return text.tokens.indices.compactMap { index in
      guard ["keys", "values"].contains(text.tokens[index].text),
        text.tokens[index].kind == .word, text.has(".", at: index - 1),
        !text.has("(", at: index + 1), !text.has("=", at: index + 1),
        // Access to one element, at an index that was found by its key.
        !text.has("[", at: index + 1)
      else { return nil }
      if text.has(".", at: index + 1), index + 2 < text.tokens.count,
        orderless.contains(text.tokens[index + 2].text)
      {
        return nil
      }
      if isSorted(text, around: index) { return nil }
      return Fault(
        path: file.path, line: text.tokens[index].line,
        reason: "`.\(text.tokens[index].text)` of a dictionary has no order; sort it first")
    }
  }

  private static func walks(in file: SourceFile) -> [Fault] {
    let text = file.text
    let names = unordered(in: text)
    return text.tokens.indices.compactMap { index in
      guard text.tokens[index].kind == .word, names.contains(text.tokens[index].text) else {
        return nil
      }
      let isLooped =
        text.has("in", at: index - 1)
        && (text.has("{", at: index + 1) || text.has("where", at: index + 1))
        && text.tokens[index - 1].line == text.tokens[index].line
      let isWalked =
        text.has(".", at: index + 1) && index + 2 < text.tokens.count
        && walking.contains(text.tokens[index + 2].text)
      guard isLooped || isWalked, !isSorted(text, around: index) else { return nil }
      return Fault(
        path: file.path, line: text.tokens[index].line,
        reason: "`\(text.tokens[index].text)` is a dictionary or set and has no order; "
          + "keep an array, or sort the keys")
    }
  }

  /// True if a sort follows within the next two lines.
  private static func isSorted(_ text: SwiftText, around index: Int) -> Bool {
    let line = text.tokens[index].line
    var next = index
    while next < text.tokens.count, text.tokens[next].line <= line + 2 {
      if text.has("sorted", at: next) || text.has("sort", at: next) { return true }
      next += 1
    }
    return false
  }

  /// Returns the names of variables whose declared type is `[K: V]`, `Set<…>` or `Dictionary<…>`.
  static func unordered(in text: SwiftText) -> Set<String> {
    var names: Set<String> = []
    for index in text.tokens.indices
    where text.has("var", at: index) || text.has("let", at: index) {
      guard index + 3 < text.tokens.count, text.tokens[index + 1].kind == .word else { continue }
      let name = text.tokens[index + 1].text
      guard text.has(":", at: index + 2) || text.has("=", at: index + 2) else { continue }
      let type = index + 3
      if text.has("Set", at: type) && text.has("<", at: type + 1) { names.insert(name) }
      if text.has("Dictionary", at: type) { names.insert(name) }
      if text.has("[", at: type), text.has(":", at: index + 2), isDictionary(text, open: type) {
        names.insert(name)
      }
    }
    return names
  }

  private static func isDictionary(_ text: SwiftText, open: Int) -> Bool {
    var depth = 0
    for index in open..<text.closing(open) {
      if ["[", "("].contains(where: { text.has($0, at: index) }) { depth += 1 }
      if ["]", ")"].contains(where: { text.has($0, at: index) }) { depth -= 1 }
      if depth == 1 && text.has(":", at: index) { return true }
    }
    return false
  }
}
