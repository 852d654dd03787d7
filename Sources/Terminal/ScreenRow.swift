import LockstepLanguage
import LockstepModel

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
  private struct Span: Hashable, Sendable {
    var text: String
    var style: TextStyle
  }

  private var spans: [Span] = []

  package init(_ text: String = "", _ style: TextStyle = .plain) {
    if !text.isEmpty { spans = [Span(text: text, style: style)] }
  }

  /// Width in columns.
  package var width: Int { spans.reduce(0) { $0 + RowText.width(of: $1.text) } }

  package var plainText: String { spans.map(\.text).joined() }

  package static func + (left: ScreenRow, right: ScreenRow) -> ScreenRow {
    var row = left
    row.spans += right.spans
    return row
  }

  package static func + (left: ScreenRow, right: String) -> ScreenRow { left + ScreenRow(right) }

  /// Cuts the row to a number of columns; `…` marks a cut.
  package func cut(to columns: Int) -> ScreenRow {
    var row = ScreenRow()
    var columnsLeft = columns
    for span in spans {
      let text = RowText.cut(span.text, to: columnsLeft)
      row = row + ScreenRow(text, span.style)
      columnsLeft -= RowText.width(of: text)
      // A text that was cut already ends with `…`.
      if text != span.text { break }
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
  package func text(supportsColours: Bool) -> String {
    spans.map { span in
      guard supportsColours, span.style != .plain else { return span.text }
      return "\u{1B}[\(span.style.code)m\(span.text)\u{1B}[0m"
    }.joined()
  }
}

/// Formatting of texts for the rows of a screen.
package enum RowText {
  /// Maximum number of scalars that a row shows of a text; a terminal cuts it further.
  private static let scalarsMax = 500

  /// Returns a text as one row. Control characters become spaces, and runs of spaces become one.
  package static func line(_ text: String) -> String {
    var result = String.UnicodeScalarView()
    var wasSpace = true
    for scalar in text.unicodeScalars.prefix(scalarsMax) {
      let isSpace = isControl(scalar) || scalar.properties.isWhitespace
      if !isSpace {
        result.append(scalar)
      } else if !wasSpace {
        result.append(" ")
      }
      wasSpace = isSpace
    }
    if result.last == " " { result.removeLast() }
    return String(result)
  }

  /// True for scalars that control a terminal or change the text direction.
  private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: true
    default: false
    }
  }

  private enum Age {
    case now
    case seconds(Int64)
    case minutes(Int64)
    case hours(Int64)
    case days(Int64)
    case long

    init(of instant: Int64, at now: Int64) {
      let seconds = max(0, now - instant) / 1_000
      self =
        switch seconds {
        case ..<5: .now
        case ..<60: .seconds(seconds)
        case ..<3_600: .minutes(seconds / 60)
        case ..<86_400: .hours(seconds / 3_600)
        case ..<(1_000 * 86_400): .days(seconds / 86_400)
        default: .long
        }
    }
  }

  /// Formats an age in at most six columns: `now`, `59 s`, `59 min`, `23 h`, `365 d`.
  package static func age(of instant: Int64, at now: Int64) -> String {
    let text =
      switch Age(of: instant, at: now) {
      case .now: localized("now")
      case .seconds(let count): localized("{count} s", ["count": String(count)])
      case .minutes(let count): localized("{count} min", ["count": String(count)])
      case .hours(let count): localized("{count} h", ["count": String(count)])
      case .days(let count): localized("{count} d", ["count": String(count)])
      case .long: localized("long")
      }
    // Chinese has a space between figures and words, for which a column has no room.
    return Language.current == .english ? text : text.filter { $0 != " " }
  }

  /// True if `age` is `now`.
  package static func isNow(_ instant: Int64, at now: Int64) -> Bool {
    if case .now = Age(of: instant, at: now) { true } else { false }
  }

  /// Formats an age as a part of a sentence: `just now`, `59 s ago`, `365 d ago`, `long ago`.
  package static func ago(_ instant: Int64, at now: Int64) -> String {
    switch Age(of: instant, at: now) {
    case .now: localized("just now")
    case .seconds(let count): localized("{count} s ago", ["count": String(count)])
    case .minutes(let count): localized("{count} min ago", ["count": String(count)])
    case .hours(let count): localized("{count} h ago", ["count": String(count)])
    case .days(let count): localized("{count} d ago", ["count": String(count)])
    case .long: localized("long ago")
    }
  }

  private static let units: [(name: String, bytes: Int64)] = [
    ("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10),
  ]

  /// Formats a size with its unit, `3.4 MiB`; less than 1 KiB in bytes.
  package static func bytes(_ count: Int64) -> String {
    guard let unit = units.first(where: { count >= $0.bytes }) else { return "\(count) B" }
    let tenth = count % unit.bytes * 10 / unit.bytes
    return "\(count / unit.bytes).\(tenth) \(unit.name)"
  }

  /// Pads `text` with spaces on the left (`right`) or on the right (`left`) to a number of columns.
  package static func right(_ text: String, _ columns: Int) -> String {
    String(repeating: " ", count: max(0, columns - width(of: text))) + text
  }

  package static func left(_ text: String, _ columns: Int) -> String {
    text + String(repeating: " ", count: max(0, columns - width(of: text)))
  }

  /// Cuts `text` to a number of columns; `…` marks a cut.
  package static func cut(_ text: String, to columns: Int) -> String {
    if width(of: text) <= columns { return text }
    var result = String.UnicodeScalarView()
    var columnsLeft = columns - 1
    for scalar in text.unicodeScalars {
      columnsLeft -= width(of: scalar)
      if columnsLeft < 0 { break }
      result.append(scalar)
    }
    return columns < 1 ? "" : String(result) + "…"
  }

  /// Returns the width of a text in terminal columns.
  package static func width(of text: String) -> Int {
    text.unicodeScalars.reduce(0) { $0 + width(of: $1) }
  }

  private static func width(of scalar: Unicode.Scalar) -> Int {
    if scalar.value < 0x300 { return 1 }
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format: return 0
    default: return wide.contains { $0.contains(scalar.value) } ? 2 : 1
    }
  }

  /// Characters that terminals draw two columns wide: East Asian letters, full-width forms, and
  /// pictographs (Unicode Standard Annex 11, in its large blocks).
  private static let wide: [ClosedRange<UInt32>] = [
    0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97C, 0xAC00...0xD7A3,
    0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F,
    0x1F680...0x1F6FF, 0x1F900...0x1F9FF, 0x20000...0x3FFFD,
  ]
}
