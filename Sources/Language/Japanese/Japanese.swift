/// Texts in 日本語, by the English text. Those of a part of the program stand together, in the
/// order in which they stand in the code.
enum Japanese {
  static let texts: [String: String] = tables.reduce(into: [:]) { all, table in
    all.merge(table) { first, _ in first }
  }

  /// All parts. A text of several parts stands in the first of them.
  static let tables = [timer, habits, memos, clipboard, vault, devices, commandLine]
}
