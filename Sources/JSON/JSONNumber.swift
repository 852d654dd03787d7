/// JSON number as it was written, of any size and precision.
///
/// Two numbers are equal if they have the same value: `1`, `1.0` and `10e-1` are equal, and so are
/// `0` and `-0`. No digit is ever rounded away.
@usableFromInline
package struct JSONNumber: Sendable {
  /// As in RFC 8259 section 6.
  @usableFromInline package let text: String

  @usableFromInline package init(_ value: Int64) { text = String(value) }

  /// Returns nil if `text` is not a JSON number or has anything beside it.
  @usableFromInline
  package init?(_ text: String) {
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
  @usableFromInline
  package var int64: Int64? {
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
  @usableFromInline
  package static func == (left: JSONNumber, right: JSONNumber) -> Bool {
    left.text == right.text || JSONDecimal(left) == JSONDecimal(right)
  }

  @usableFromInline
  package func hash(into hasher: inout Hasher) { hasher.combine(JSONDecimal(self)) }
}

/// Exact value of a JSON number: `digits` as a whole number, times ten to the `exponent`. Zeros at
/// both ends of the digits are removed, so that each value has one form.
///
/// Must not be used on the wire's hot path: it copies the digits.
struct JSONDecimal: Hashable, Sendable {
  var isNegative: Bool
  /// Digits as ASCII; empty for zero.
  var digits: [UInt8]
  var exponent: Exponent

  /// Exponent without a limit: a few bytes can name a number of any size.
  enum Exponent: Hashable, Sendable {
    /// Below 10¹⁸ in magnitude.
    case small(Int)
    /// All others: digits as ASCII, the first not zero.
    case large(isNegative: Bool, digits: [UInt8])
  }

  init(_ number: JSONNumber) {
    var text = number.text.utf8[...]
    isNegative = text.first == .minus
    if isNegative { text = text.dropFirst() }
    let mantissa = text.prefix { $0 | 0x20 != .letterE }
    let written = Exponent(text.dropFirst(mantissa.count + 1))
    let fraction = mantissa.drop { $0 != .dot }.dropFirst()
    let all = mantissa.filter { $0 != .dot }.drop { $0 == .zero }
    let zeros = all.reversed().prefix { $0 == .zero }.count
    digits = Array(all.dropLast(zeros))
    exponent = written.adding(zeros - fraction.count)
    if digits.isEmpty {
      isNegative = false
      exponent = .small(0)
    }
  }

  /// The number without an exponent. For small exponents only, because they become zeros.
  var plainText: String {
    guard !digits.isEmpty else { return "0" }
    guard case .small(let shift) = exponent else { return scientificText }
    let sign = isNegative ? "-" : ""
    let point = digits.count + shift
    if shift >= 0 { return sign + text(digits[...]) + String(repeating: "0", count: shift) }
    if point > 0 { return sign + text(digits[..<point]) + "." + text(digits[point...]) }
    return sign + "0." + String(repeating: "0", count: -point) + text(digits[...])
  }

  /// A plain number if that takes few zeros, otherwise with an exponent: `12`, `0.5`, `1e400`.
  var canonicalText: String {
    guard !digits.isEmpty else { return "0" }
    guard case .small(let shift) = exponent, shift <= 20, digits.count + shift > -6 else {
      return scientificText
    }
    return plainText
  }

  private var scientificText: String {
    let fraction = digits.count > 1 ? "." + text(digits[1...]) : ""
    return (isNegative ? "-" : "") + text(digits[..<1]) + fraction + "e"
      + exponent.adding(digits.count - 1).text
  }

  private func text(_ digits: ArraySlice<UInt8>) -> String {
    String(decoding: digits, as: UTF8.self)
  }
}

extension JSONDecimal.Exponent {
  static let smallDigits = 18

  /// Reads the text after the `e` of a number; no text is 0.
  init(_ text: some Collection<UInt8>) {
    let isNegative = text.first == .minus
    let digits = text.drop { $0 == .minus || $0 == .plus || $0 == .zero }
    self.init(isNegative: isNegative, digits: Array(digits))
  }

  private init(isNegative: Bool, digits: [UInt8]) {
    if digits.count <= Self.smallDigits {
      let magnitude = digits.reduce(0) { $0 * 10 + Int($1 - .zero) }
      self = .small(isNegative ? -magnitude : magnitude)
    } else {
      self = .large(isNegative: isNegative, digits: digits)
    }
  }

  /// Returns the exponent plus `change`, which is at most the number of a text's digits, far below
  /// 10¹⁸.
  func adding(_ change: Int) -> Self {
    switch self {
    case .small(let value):
      let sum = value + change
      return Self(isNegative: sum < 0, digits: Array(String(sum.magnitude).utf8))
    case .large(let isNegative, var digits):
      // The magnitude stays positive, so a carry (a borrow is a negative carry) is sufficient.
      var carry = isNegative ? -change : change
      for index in digits.indices.reversed() where carry != 0 {
        let sum = Int(digits[index] - .zero) + carry
        let digit = ((sum % 10) + 10) % 10
        digits[index] = .zero + UInt8(digit)
        carry = (sum - digit) / 10
      }
      let prefix = carry == 0 ? [] : Array(String(carry).utf8)
      return Self(isNegative: isNegative, digits: Array((prefix + digits).drop { $0 == .zero }))
    }
  }

  var text: String {
    switch self {
    case .small(let value): String(value)
    case .large(let isNegative, let digits):
      (isNegative ? "-" : "") + String(decoding: digits, as: UTF8.self)
    }
  }
}
