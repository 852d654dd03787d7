/// Error correction of QR codes: arithmetic in the field of 256 elements modulo x⁸ + x⁴ + x³ + x² +
/// 1.
struct ReedSolomon {
  private static let tables = makeTables()

  /// Coefficients of the polynomial with the roots 2⁰ … 2ⁿ⁻¹, without its leading 1.
  private let generator: [UInt8]

  /// - Parameter count: Number of error correction codewords of a block.
  init(_ count: Int) {
    var factors: [UInt8] = [1]
    for root in 0..<count {
      var next = factors + [0]
      for (place, factor) in factors.enumerated() {
        next[place + 1] ^= ReedSolomon.product(factor, ReedSolomon.tables.powers[root])
      }
      factors = next
    }
    generator = Array(factors.dropFirst())
  }

  /// Returns the error correction codewords of a block: the remainder of its division by the
  /// generator.
  func correction(of data: [UInt8]) -> [UInt8] {
    var rest = [UInt8](repeating: 0, count: generator.count)
    for byte in data {
      let lead = byte ^ rest.removeFirst()
      rest.append(0)
      for (place, factor) in generator.enumerated() {
        rest[place] ^= ReedSolomon.product(factor, lead)
      }
    }
    return rest
  }

  private static func product(_ left: UInt8, _ right: UInt8) -> UInt8 {
    guard left != 0, right != 0 else { return 0 }
    let sum = tables.logarithms[Int(left)] + tables.logarithms[Int(right)]
    return tables.powers[sum % 255]
  }

  /// Powers of 2, and of each power its exponent.
  private static func makeTables() -> (powers: [UInt8], logarithms: [Int]) {
    var powers: [UInt8] = []
    var logarithms = [Int](repeating: 0, count: 256)
    var value: UInt8 = 1
    for power in 0..<255 {
      powers.append(value)
      logarithms[Int(value)] = power
      value = value < 128 ? value << 1 : value << 1 ^ 0x1D
    }
    return (powers, logarithms)
  }
}
