/// QR code of a text (ISO/IEC 18004): byte mode, level M, which tolerates 15 % of damage, versions
/// 1 to 10. The page draws the same codes (`qrCode.js`).
package struct QRCode: Hashable, Sendable {
  /// Greatest number of bytes of a text.
  package static let bytesMost = room(ofVersion: versions.count)

  /// Rows of modules; true is dark.
  package let rows: [[Bool]]

  /// Light modules around the code, without which a camera does not find it.
  private static let margin = 4

  /// By version, from 1: number of error correction codewords of a block, and data codewords of
  /// each block (table 9).
  private static let versions: [(correcting: Int, blocks: [Int])] = [
    (10, [16]), (16, [28]), (26, [44]), (18, [32, 32]), (24, [43, 43]), (16, [27, 27, 27, 27]),
    (18, [31, 31, 31, 31]), (22, [38, 38, 39, 39]), (22, [36, 36, 36, 37, 37]),
    (26, [43, 43, 43, 43, 44]),
  ]

  /// Returns nil if the text has more than `bytesMost` bytes of UTF-8.
  package init?(_ text: String) {
    let bytes = Array(text.utf8)
    guard
      let version = (1...QRCode.versions.count).first(where: {
        bytes.count <= QRCode.room(ofVersion: $0)
      })
    else { return nil }
    rows = QRMatrix.best(version: version, QRCode.codewords(of: bytes, version: version))
  }

  // MARK: codewords

  private static func dataCount(ofVersion version: Int) -> Int {
    versions[version - 1].blocks.reduce(0, +)
  }

  /// Bits of the number of bytes.
  private static func lengthBits(ofVersion version: Int) -> Int { version < 10 ? 8 : 16 }

  private static func room(ofVersion version: Int) -> Int {
    dataCount(ofVersion: version) - (4 + lengthBits(ofVersion: version) + 7) / 8
  }

  /// Returns all codewords in the order in which they are drawn: those of the blocks in turns, data
  /// first.
  private static func codewords(of bytes: [UInt8], version: Int) -> [UInt8] {
    let (correcting, sizes) = versions[version - 1]
    var data = dataCodewords(of: bytes, version: version)[...]
    let blocks = sizes.map { size in
      defer { data = data.dropFirst(size) }
      return Array(data.prefix(size))
    }
    let code = ReedSolomon(correcting)
    return inTurns(blocks) + inTurns(blocks.map { code.correction(of: $0) })
  }

  /// Returns mode, length, bytes, terminator and padding.
  private static func dataCodewords(of bytes: [UInt8], version: Int) -> [UInt8] {
    var bits: [Bool] = []
    func put(_ value: Int, _ count: Int) {
      for place in (0..<count).reversed() { bits.append(value >> place & 1 == 1) }
    }
    put(0b0100, 4)
    put(bytes.count, lengthBits(ofVersion: version))
    for byte in bytes { put(Int(byte), 8) }
    put(0, 4)
    while !bits.count.isMultiple(of: 8) { bits.append(false) }
    let count = dataCount(ofVersion: version)
    var data = stride(from: 0, to: bits.count, by: 8).prefix(count).map { start in
      bits[start..<start + 8].reduce(UInt8(0)) { $0 << 1 | ($1 ? 1 : 0) }
    }
    var filler: UInt8 = 0xEC
    while data.count < count {
      data.append(filler)
      filler ^= 0xEC ^ 0x11
    }
    return data
  }

  private static func inTurns(_ blocks: [[UInt8]]) -> [UInt8] {
    let longest = blocks.map(\.count).max() ?? 0
    return (0..<longest).flatMap { place in
      blocks.compactMap { place < $0.count ? $0[place] : nil }
    }
  }

  // MARK: a terminal

  /// Number of columns of `lines`.
  package var columns: Int { rows.count + 2 * QRCode.margin }

  /// Lines for a terminal, with the margin: two modules in each character, black on white whatever
  /// the terminal's colours are.
  package var lines: [String] {
    let margin = QRCode.margin
    func isDark(_ row: Int, _ column: Int) -> Bool {
      rows.indices.contains(row) && rows.indices.contains(column) && rows[row][column]
    }
    return stride(from: -margin, to: rows.count + margin, by: 2).map { row in
      let line = (-margin..<rows.count + margin).map { column in
        switch (isDark(row, column), isDark(row + 1, column)) {
        case (true, true): "█"
        case (true, false): "▀"
        case (false, true): "▄"
        case (false, false): " "
        }
      }
      return "\u{1B}[38;5;16;48;5;231m" + line.joined() + "\u{1B}[0m"
    }
  }
}
