extension JSONScanner {
  /// Reads the next number, with its text as written.
  package mutating func number() throws(JSONFault) -> JSONNumber {
    let token = try numberToken()
    return JSONNumber(checked: text(of: token))
  }

  /// Reads the next number. Returns its value if it is whole and fits, in any spelling (`1e3` is
  /// 1000); nil for another number.
  package mutating func int64() throws(JSONFault) -> Int64? {
    let token = try numberToken()
    // Eighteen digits and a sign always fit.
    guard token.isPlain, token.range.count <= 18 else {
      return JSONNumber(checked: text(of: token)).int64
    }
    let isNegative = byte(token.range.lowerBound) == .minus
    var value: Int64 = 0
    for offset in token.range.lowerBound + (isNegative ? 1 : 0)..<token.range.upperBound {
      value = value &* 10 &+ Int64(byte(offset) &- .zero)
    }
    return isNegative ? 0 - value : value
  }

  private func text(of token: NumberToken) -> String {
    bytes.extracting(token.range).withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }

  /// Position of a number; `isPlain` is true if it is written without fraction and exponent.
  struct NumberToken {
    var range: Range<Int>
    var isPlain: Bool
  }

  private mutating func numberToken() throws(JSONFault) -> NumberToken {
    switch try peek() {
    case .minus, .zero ... .nine: break
    default: throw fault(.expected(.number))
    }
    let token = try scanNumber()
    valueEnded()
    return token
  }

  /// Skips a number that begins at the position (RFC 8259 section 6).
  mutating func scanNumber() throws(JSONFault) -> NumberToken {
    let start = position
    if byte(position) == .minus { position += 1 }
    if position < count, byte(position) == .zero {
      position += 1
      // Without this check, a digit after a leading zero would be reported as a missing byte.
      if position < count, isDigit(byte(position)) { throw JSONFault(.badNumber, at: start) }
    } else {
      try scanDigits(of: start)
    }
    var isPlain = true
    if position < count, byte(position) == .dot {
      isPlain = false
      position += 1
      try scanDigits(of: start)
    }
    if position < count, byte(position) | 0x20 == .letterE {
      isPlain = false
      position += 1
      if position < count, byte(position) == .plus || byte(position) == .minus { position += 1 }
      try scanDigits(of: start)
    }
    return NumberToken(range: start..<position, isPlain: isPlain)
  }

  private mutating func scanDigits(of start: Int) throws(JSONFault) {
    let first = position
    while position < count, isDigit(byte(position)) { position += 1 }
    if position == first {
      throw position == count
        ? JSONFault(.unexpectedEnd, at: count) : JSONFault(.badNumber, at: start)
    }
  }

  @inline(__always)
  private func isDigit(_ byte: UInt8) -> Bool { byte &- .zero <= 9 }
}
