/// How a text stands out. Only what every terminal has, and of the sixteen colours those that read
/// on a light ground and on a dark one.
package enum TextStyle: Hashable, Sendable {
  case plain
  case strong
  case faint
  case red
  case green
  case magenta

  fileprivate var code: String {
    switch self {
    case .plain: ""
    case .strong: "1"
    case .faint: "2"
    case .red: "1;31"
    case .green: "1;32"
    case .magenta: "1;35"
    }
  }
}

/// A row of a screen: texts without control characters, each in its ink.
package struct ScreenRow: Hashable, Sendable {
  private struct Chunk: Hashable, Sendable {
    var text: String
    var ink: TextStyle
  }

  private var chunks: [Chunk] = []

  package init(_ text: String = "", _ ink: TextStyle = .plain) {
    if !text.isEmpty { chunks = [Chunk(text: text, ink: ink)] }
  }

  /// Columns that it takes.
  package var width: Int { chunks.reduce(0) { $0 + RowText.width(of: $1.text) } }

  package var plainText: String { chunks.map(\.text).joined() }

  package static func + (left: ScreenRow, right: ScreenRow) -> ScreenRow {
    var row = left
    row.chunks += right.chunks
    return row
  }

  package static func + (left: ScreenRow, right: String) -> ScreenRow { left + ScreenRow(right) }

  /// As much as has room in so many columns, with `…` where some is left out.
  package func cut(to columns: Int) -> ScreenRow {
    var row = ScreenRow()
    var room = columns
    for chunk in chunks {
      let text = RowText.cut(chunk.text, to: room)
      row = row + ScreenRow(text, chunk.ink)
      room -= RowText.width(of: text)
      // What had no room ended with a sign of it.
      if text != chunk.text { break }
    }
    return row
  }

  /// With spaces behind it, up to so many columns.
  package func padded(to columns: Int) -> ScreenRow {
    self + String(repeating: " ", count: max(0, columns - width))
  }

  /// With as many spaces before it as behind it.
  package func centred(in columns: Int) -> ScreenRow {
    ScreenRow(String(repeating: " ", count: max(0, (columns - width) / 2))) + self
  }

  /// For a terminal. Without colours no ink is used at all.
  package func text(takesColours: Bool) -> String {
    chunks.map { chunk in
      guard takesColours, chunk.ink != .plain else { return chunk.text }
      return "\u{1B}[\(chunk.ink.code)m\(chunk.text)\u{1B}[0m"
    }.joined()
  }
}
