/// Text of a file of settings (`ConfigFile`), as a program changes it. Lines that it does not
/// change stay as they are, comments included.
package struct SettingsText: Hashable, Sendable {
  private var lines: [Substring]
  /// Byte order mark at the beginning, if there is one.
  private var mark = ""
  /// End of a new line before its line feed: a carriage return if the file has it.
  private let lineEnd: String

  package init(_ text: String = "") {
    var scalars = text.unicodeScalars[...]
    if scalars.first == ConfigFile.byteOrderMark {
      mark.unicodeScalars.append(scalars.removeFirst())
    }
    // As a character, a carriage return and a line feed are one, which is not a line feed.
    lines = scalars.split(separator: "\n", omittingEmptySubsequences: false)
      .map { Substring(String($0)) }
    if lines.last == "" { lines.removeLast() }
    lineEnd = lines.first?.last == "\r" ? "\r" : ""
  }

  package var text: String { mark + lines.map { $0 + "\n" }.joined() }

  /// Sets a key in its own line, in the first line that has it as a comment, or in a new one. nil:
  /// makes its line a comment.
  package mutating func set(_ key: String, to value: String?) {
    let end = lines.firstIndex { Self.trimmed($0).hasPrefix("[") } ?? lines.count
    let own = lines[..<end].firstIndex { Self.key(of: $0).map { $0 == key } ?? false }
    guard let value else {
      if let own { lines[own] = "#" + lines[own] }
      return
    }
    let line = Substring("\(key) = \(Self.written(value))\(lineEnd)")
    if let own {
      lines[own] = line
    } else if let comment = lines[..<end].firstIndex(where: {
      Self.key(ofComment: $0).map { $0 == key } ?? false
    }) {
      lines[comment] = line
    } else {
      lines.insert(line, at: end)
    }
  }

  /// Returns nil for a comment, and for a line without a value.
  private static func key(of line: Substring) -> Substring? {
    let row = trimmed(line)
    guard !row.hasPrefix("#"), let equals = row.firstIndex(of: "=") else { return nil }
    return trimmed(row[..<equals])
  }

  /// Returns the key of a setting that is a comment: `#key = value`, without a space after the `#`,
  /// so that a sentence is none.
  private static func key(ofComment line: Substring) -> Substring? {
    let row = trimmed(line)
    guard row.hasPrefix("#"), row.dropFirst().first?.isLetter ?? false else { return nil }
    return key(of: row.dropFirst())
  }

  private static func trimmed(_ text: Substring) -> Substring {
    let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" || $0 == "\r" }
    var rest = text.drop(while: isSpace)
    while let last = rest.last, isSpace(last) { rest = rest.dropLast() }
    return rest
  }

  /// Returns the value as the file has it: in quotes if it would be read otherwise without.
  private static func written(_ value: String) -> String {
    let isPlain =
      !value.isEmpty && !value.contains { "\"#\t ".contains($0) } && !value.contains("\\")
    if isPlain { return value }
    let escaped = value.map { "\"\\".contains($0) ? "\\\($0)" : String($0) }.joined()
    return "\"\(escaped)\""
  }
}
