import Changes

/// Words for rows of a screen.
package enum RowText {
  /// Scalars of a text that a row shows at the most; a terminal cuts it further.
  private static let most = 500

  /// A text of any form in one row: what would move the cursor is a space, and spaces in a row are
  /// one.
  package static func line(_ text: String) -> String {
    var result = String.UnicodeScalarView()
    var wasSpace = true
    for scalar in text.unicodeScalars.prefix(most) {
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

  /// Scalars that act on a terminal, or on the order of what is written.
  private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: true
    default: false
    }
  }

  /// How long ago, in a word of at most six characters: `now`, `59 s`, `59 min`, `23 h`, `365 d`.
  package static func age(of instant: Int64, at now: Int64) -> String {
    let seconds = max(0, now - instant) / 1_000
    return switch seconds {
    case ..<5: "now"
    case ..<60: "\(seconds) s"
    case ..<3_600: "\(seconds / 60) min"
    case ..<86_400: "\(seconds / 3_600) h"
    case ..<(1_000 * 86_400): "\(seconds / 86_400) d"
    default: "long"
    }
  }

  /// `text` with spaces before it, or behind it, up to so many scalars.
  package static func right(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.unicodeScalars.count)) + text
  }

  package static func left(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.unicodeScalars.count))
  }
}
