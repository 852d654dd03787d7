/// JSON number as it was written, of any size and precision.
///
/// Two numbers are equal if they have the same value: `1`, `1.0` and `10e-1` are equal, and so are
/// `0` and `-0`. No digit is ever rounded away.
public struct JSONNumber: Sendable {
  /// As in RFC 8259 section 6.
  public let text: String

  public init(_ value: Int64) { text = String(value) }

  /// Returns nil if `text` is not a JSON number or has anything beside it.
  public init?(_ text: String) {
    let bytes = Array(text.utf8)
    var scanner = JSONScanner(bytes.span.bytes)
    do {
      // The scanner would skip white space around the number, which is not part of it.
      guard let first = bytes.first, first == .minus || (.zero ... .nine).contains(first) else {
        return nil
      }
      let token = try scanner.scanNumber()
      guard token.range == 0..<bytes.count else { return nil }
    } catch { return nil }
    self.text = text
  }

  /// Makes a number from text that the scanner has checked.
  init(checked text: String) { self.text = text }

  /// The number if it is whole and fits; nil otherwise.
  public var int64: Int64? {
    if let value = Int64(text) { return value }
    let decimal = JSONDecimal(self)
    guard case .small(let exponent) = decimal.exponent, (0...18).contains(exponent),
      decimal.digits.count + exponent <= 19
    else { return nil }
    return Int64(decimal.plainText)
  }

  /// Makes a decimal with three places, such as milliseconds from microseconds.
  package init(thousandths: Int64) {
    let fraction = String(thousandths.magnitude % 1_000)
    let sign = thousandths < 0 ? "-" : ""
    let zeros = String(repeating: "0", count: 3 - fraction.count)
    text = "\(sign)\(thousandths.magnitude / 1_000).\(zeros)\(fraction)"
  }

  /// The number in thousandths, truncated; nil if it has an exponent or does not fit.
  package var thousandths: Int64? {
    guard !text.utf8.contains(where: { $0 | 0x20 == .letterE }) else { return nil }
    let parts = text.split(separator: ".")
    let fraction = parts.count > 1 ? parts[1].prefix(3) : ""
    return Int64(parts[0] + fraction + String(repeating: "0", count: 3 - fraction.count))
  }

  /// The only text for all equal numbers.
  package var canonicalText: String {
    // The usual case: a whole number without exponent is already canonical.
    if text.utf8.count <= 18, let value = Int64(text) { return String(value) }
    return JSONDecimal(self).canonicalText
  }
}

extension JSONNumber: Hashable {
  public static func == (left: JSONNumber, right: JSONNumber) -> Bool {
    left.text == right.text || JSONDecimal(left) == JSONDecimal(right)
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(JSONDecimal(self)) }
}
