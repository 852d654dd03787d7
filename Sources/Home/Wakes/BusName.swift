/// Rules of a well-known name on a message bus (D-Bus specification, "Bus names").
enum BusName {
  private static let bytesMax = 255

  /// Returns true for two or more elements of letters, digits, `_` and `-`, separated by full
  /// stops, none of which begins with a digit. libdbus ends the process at any other name.
  static func isValid(_ text: String) -> Bool {
    let elements = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    return text.utf8.count <= bytesMax && elements.count >= 2
      && elements.allSatisfy { element in
        guard let first = element.first, !isDigit(first) else { return false }
        return element.allSatisfy { isDigit($0) || isLetterOrSign($0) }
      }
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }

  private static func isLetterOrSign(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || byte == UInt8(ascii: "_")
      || byte == UInt8(ascii: "-")
  }
}
