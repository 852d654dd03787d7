/// Modules of a QR code (ISO/IEC 18004): rows of dark (true) and light ones.
struct QRMatrix {
  private let size: Int
  /// nil: free for data.
  private var modules: [[Bool?]]

  /// Centres of the alignment patterns, by version (annex E).
  private static let alignments = [
    [], [6, 18], [6, 22], [6, 26], [6, 30], [6, 34], [6, 22, 38], [6, 24, 42], [6, 26, 46],
    [6, 28, 50],
  ]
  private static let masks = 0..<8

  /// True if the mask inverts the module (table 10).
  private static func isInverted(by mask: Int, _ row: Int, _ column: Int) -> Bool {
    switch mask {
    case 0: (row + column) % 2 == 0
    case 1: row % 2 == 0
    case 2: column % 3 == 0
    case 3: (row + column) % 3 == 0
    case 4: (row / 2 + column / 3) % 2 == 0
    case 5: row * column % 2 + row * column % 3 == 0
    case 6: (row * column % 2 + row * column % 3) % 2 == 0
    default: ((row + column) % 2 + row * column % 3) % 2 == 0
    }
  }

  /// Draws the codewords with the mask of the lowest penalty, the first if there are several.
  static func best(version: Int, _ codewords: [UInt8]) -> [[Bool]] {
    let drawn = masks.map { QRMatrix(version: version, codewords, mask: $0).rows }
    let rated = drawn.map { (rows: $0, penalty: QRPenalty.penalty(of: $0)) }
    return rated.min { $0.penalty < $1.penalty }?.rows ?? []
  }

  private init(version: Int, _ codewords: [UInt8], mask: Int) {
    size = 17 + 4 * version
    modules = Array(repeating: Array(repeating: nil, count: size), count: size)
    drawFinders()
    drawAlignments(QRMatrix.alignments[version - 1])
    drawTiming()
    drawFormat(mask)
    if version >= 7 { drawVersion(version) }
    drawData(codewords, mask)
  }

  private var rows: [[Bool]] { modules.map { $0.map { $0 ?? false } } }

  /// Draws the three large squares, each with its light frame.
  private mutating func drawFinders() {
    let last = size - 7
    for (top, left) in [(0, 0), (0, last), (last, 0)] {
      for row in -1...7 where modules.indices.contains(top + row) {
        for column in -1...7 where modules.indices.contains(left + column) {
          let ring = max(abs(row - 3), abs(column - 3))
          modules[top + row][left + column] = ring != 2 && ring != 4
        }
      }
    }
  }

  private mutating func drawAlignments(_ centres: [Int]) {
    guard let last = centres.last else { return }
    for top in centres {
      for left in centres {
        // There is a finder.
        if [(6, 6), (6, last), (last, 6)].contains(where: { $0 == (top, left) }) { continue }
        for row in -2...2 {
          for column in -2...2 {
            modules[top + row][left + column] = max(abs(row), abs(column)) != 1
          }
        }
      }
    }
  }

  private mutating func drawTiming() {
    for place in 8..<size - 8 {
      modules[6][place] = place % 2 == 0
      modules[place][6] = place % 2 == 0
    }
  }

  /// Returns `bits` followed by the remainder of their division by `divisor`, which has `count`
  /// bits after its first, for error correction.
  private static func withRest(_ bits: Int, _ divisor: Int, _ count: Int) -> Int {
    var rest = bits << count
    for place in (count..<18).reversed() where rest >> place & 1 == 1 {
      rest ^= divisor << (place - count)
    }
    return bits << count | rest
  }

  /// Draws level M and the mask, twice.
  private mutating func drawFormat(_ mask: Int) {
    let bits = QRMatrix.withRest(mask, 0x537, 10) ^ 0x5412
    for place in 0..<15 {
      let isDark = bits >> place & 1 == 1
      switch place {
      case ..<6: modules[place][8] = isDark
      case ..<8: modules[place + 1][8] = isDark
      case 8: modules[8][7] = isDark
      default: modules[8][14 - place] = isDark
      }
      if place < 8 {
        modules[8][size - 1 - place] = isDark
      } else {
        modules[size - 15 + place][8] = isDark
      }
    }
    modules[size - 8][8] = true
  }

  private mutating func drawVersion(_ version: Int) {
    let bits = QRMatrix.withRest(version, 0x1F25, 12)
    for place in 0..<18 {
      let isDark = bits >> place & 1 == 1
      let (along, across) = (place / 3, size - 11 + place % 3)
      modules[along][across] = isDark
      modules[across][along] = isDark
    }
  }

  /// Draws the data in columns of two from the right, alternating up and down; skips the timing
  /// column.
  private mutating func drawData(_ codewords: [UInt8], _ mask: Int) {
    var bit = 0
    var isUp = true
    let columns = Array(stride(from: size - 1, to: 6, by: -2)) + [5, 3, 1]
    for right in columns {
      for step in 0..<size {
        let row = isUp ? size - 1 - step : step
        for column in [right, right - 1] where modules[row][column] == nil {
          let word = bit / 8 < codewords.count ? codewords[bit / 8] : 0
          let isDark = word >> (7 - bit % 8) & 1 == 1
          modules[row][column] = isDark != QRMatrix.isInverted(by: mask, row, column)
          bit += 1
        }
      }
      isUp.toggle()
    }
  }
}

/// Penalties of a QR code (ISO/IEC 18004, 7.8.3): the mask with the lowest is drawn.
enum QRPenalty {
  /// Pattern that a camera may mistake for a finder if four light modules are next to it.
  private static let finderLike = [true, false, true, true, true, false, true]

  static func penalty(of rows: [[Bool]]) -> Int {
    let columns = rows.indices.map { place in rows.map { $0[place] } }
    let ofLines = (rows + columns).reduce(0) { $0 + ofRuns($1) + ofFinders($1) }
    return ofLines + ofBlocks(rows) + ofBalance(rows)
  }

  /// Five modules of one colour in a row cost 3, each further one costs 1.
  private static func ofRuns(_ line: [Bool]) -> Int {
    var sum = 0
    var start = 0
    for end in 1...line.count where end == line.count || line[end] != line[start] {
      if end - start >= 5 { sum += end - start - 2 }
      start = end
    }
    return sum
  }

  /// Modules beyond the edge count as light.
  private static func ofFinders(_ line: [Bool]) -> Int {
    func isLight(_ range: Range<Int>) -> Bool {
      !line[range.clamped(to: line.indices)].contains(true)
    }
    return (0...line.count - finderLike.count).reduce(0) { sum, start in
      let end = start + finderLike.count
      guard line[start..<end].elementsEqual(finderLike) else { return sum }
      return isLight(start - 4..<start) || isLight(end..<end + 4) ? sum + 40 : sum
    }
  }

  /// Each square of two by two modules of one colour costs 3.
  private static func ofBlocks(_ rows: [[Bool]]) -> Int {
    var sum = 0
    for row in 1..<rows.count {
      for column in 1..<rows.count {
        let corner = rows[row][column]
        let others = [rows[row - 1][column], rows[row][column - 1], rows[row - 1][column - 1]]
        if others.allSatisfy({ $0 == corner }) { sum += 3 }
      }
    }
    return sum
  }

  /// Each full 5 % by which the share of dark modules differs from a half costs 10.
  private static func ofBalance(_ rows: [[Bool]]) -> Int {
    let all = rows.count * rows.count
    let dark = rows.reduce(0) { $0 + $1.count { $0 } }
    return abs(100 * dark - 50 * all) / (5 * all) * 10
  }
}
