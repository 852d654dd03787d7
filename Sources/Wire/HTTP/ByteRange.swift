/// Range of bytes that a request asks for with `Range` (RFC 9110 section 14). One range is served;
/// fields that cannot be parsed, and several ranges at once, are ignored, as the RFC allows.
package enum ByteRange: Hashable, Sendable {
  /// No range: all bytes.
  case whole
  /// These bytes, at least one.
  case part(Range<Int>)
  /// There are no such bytes: 416.
  case unsatisfiable

  /// `field`: the value of `Range`; nil if there is none or more than one. `size`: the number of
  /// bytes that exist.
  package init(_ field: String?, of size: Int) {
    self = field.flatMap { ByteRange.parse($0.utf8, size) } ?? .whole
  }

  /// Parses `bytes=first-last`, `bytes=first-` or `bytes=-count`; nil for anything else.
  private static func parse(_ text: String.UTF8View, _ size: Int) -> ByteRange? {
    let unit: StaticString = "bytes="
    let start = text.prefix(unit.utf8CodeUnitCount)
    guard text.count > start.count, equalIgnoringCase(Substring(start).utf8Span.span, unit)
    else { return nil }
    let ends = text.dropFirst(start.count).split(
      separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    guard ends.count == 2 else { return nil }
    if ends[0].isEmpty {
      guard let count = number(ends[1]) else { return nil }
      if count == 0 { return .unsatisfiable }
      return size == 0 ? .whole : .part(max(0, size - count)..<size)
    }
    guard let first = number(ends[0]) else { return nil }
    var last = Int.max
    if !ends[1].isEmpty {
      guard let named = number(ends[1]), named >= first else { return nil }
      last = named
    }
    return first < size ? .part(first..<min(last, size - 1) + 1) : .unsatisfiable
  }

  /// Parses digits only. A number that is too large becomes `Int.max`.
  private static func number(_ text: Substring.UTF8View) -> Int? {
    guard !text.isEmpty else { return nil }
    var number = 0
    for byte in text {
      guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
      let (tenfold, overflow) = number.multipliedReportingOverflow(by: 10)
      let (sum, carry) = tenfold.addingReportingOverflow(Int(byte - UInt8(ascii: "0")))
      number = overflow || carry ? Int.max : sum
    }
    return number
  }
}
