/// Text styles. Only styles that every terminal has, and those of the sixteen colours that are
/// legible on a light and on a dark background.
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

/// One row of a screen: texts without control characters, each with its style.
package struct ScreenRow: Hashable, Sendable {
  private struct Chunk: Hashable, Sendable {
    var text: String
    var ink: TextStyle
  }

  private var chunks: [Chunk] = []

  package init(_ text: String = "", _ ink: TextStyle = .plain) {
    if !text.isEmpty { chunks = [Chunk(text: text, ink: ink)] }
  }

  /// Width in columns.
  package var width: Int { chunks.reduce(0) { $0 + RowText.width(of: $1.text) } }

  package var plainText: String { chunks.map(\.text).joined() }

  package static func + (left: ScreenRow, right: ScreenRow) -> ScreenRow {
    var row = left
    row.chunks += right.chunks
    return row
  }

  package static func + (left: ScreenRow, right: String) -> ScreenRow { left + ScreenRow(right) }

  /// Cuts the row to a number of columns; `…` marks a cut.
  package func cut(to columns: Int) -> ScreenRow {
    var row = ScreenRow()
    var room = columns
    for chunk in chunks {
      let text = RowText.cut(chunk.text, to: room)
      row = row + ScreenRow(text, chunk.ink)
      room -= RowText.width(of: text)
      // A text that was cut already ends with `…`.
      if text != chunk.text { break }
    }
    return row
  }

  /// Pads the row with spaces on the right to a number of columns.
  package func padded(to columns: Int) -> ScreenRow {
    self + String(repeating: " ", count: max(0, columns - width))
  }

  /// Centres the row by adding spaces on the left.
  package func centred(in columns: Int) -> ScreenRow {
    ScreenRow(String(repeating: " ", count: max(0, (columns - width) / 2))) + self
  }

  /// Returns the text for a terminal. Without colours all styles are omitted.
  package func text(takesColours: Bool) -> String {
    chunks.map { chunk in
      guard takesColours, chunk.ink != .plain else { return chunk.text }
      return "\u{1B}[\(chunk.ink.code)m\(chunk.text)\u{1B}[0m"
    }.joined()
  }
}
