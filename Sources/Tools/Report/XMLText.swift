/// Common functions for SVG and HTML.
enum XMLText {
  /// Escapes a text for content or a quoted attribute. Characters that are invalid in XML, which
  /// foreign names may contain, become U+FFFD.
  static func escaped(_ text: String) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\"": escaped += "&quot;"
      case "'": escaped += "&#39;"
      case "\t", "\n": escaped.unicodeScalars.append(scalar)
      default:
        let isCharacter = scalar.value >= 0x20 && scalar.value & 0xFFFE != 0xFFFE
        escaped.unicodeScalars.append(isCharacter ? scalar : "\u{FFFD}")
      }
    }
    return escaped
  }

  /// Formats a coordinate with one decimal.
  static func number(_ value: Double) -> String {
    let tenths = Int((value * 10).rounded())
    let sign = tenths < 0 ? "-" : ""
    let (whole, rest) = tenths.magnitude.quotientAndRemainder(dividingBy: 10)
    return rest == 0 ? "\(sign)\(whole)" : "\(sign)\(whole).\(rest)"
  }
}
