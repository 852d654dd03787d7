import LockstepModel

/// Padding of a record, or of a block of a file, before it is sealed, so that its sealed length
/// reveals little about its content: one byte 0x80, then zeros (ISO/IEC 7816-4), to a length of few
/// possible values.
package enum SealPadding {
  private static let mark: UInt8 = 0x80
  /// Up to here, lengths are multiples of `step`.
  private static let smallBytes = 1_024
  private static let step = 32

  /// Returns the length of `count` bytes with their padding: a multiple of 32 up to 1,024 bytes,
  /// beyond that a length of Padmé (Nikitin and others, "Reducing Metadata Leakage from Encrypted
  /// Files and Communication with PURBs", 2019, section 4), at most 12 % more.
  package static func paddedCount(_ count: Int) -> Int {
    let least = count + 1
    if least <= smallBytes { return (least + step - 1) / step * step }
    let exponent = log2(least)
    let unit = 1 << (exponent - log2(exponent) - 1)
    return (least + unit - 1) / unit * unit
  }

  private static func log2(_ value: Int) -> Int { Int.bitWidth - 1 - value.leadingZeroBitCount }

  static func pad(_ bytes: inout [UInt8]) {
    let zeros = paddedCount(bytes.count) - bytes.count - 1
    bytes.append(mark)
    bytes.append(contentsOf: repeatElement(0, count: zeros))
  }

  /// Returns the number of bytes before the padding; nil if the padding is not exactly the
  /// prescribed one: a content has only one padded form.
  static func unpaddedCount(_ bytes: [UInt8]) -> Int? {
    guard let count = bytes.lastIndex(where: { $0 != 0 }), bytes[count] == mark,
      paddedCount(count) == bytes.count
    else { return nil }
    return count
  }
}
