import LockstepTerminal

/// Table for a person: columns as wide as their widest cell, two spaces apart.
package struct TextTable {
  package enum Side {
    case left
    /// For numbers.
    case right
  }

  private let sides: [Side]
  private var rows: [[String]]

  package init(_ columns: [(title: String, side: Side)]) {
    sides = columns.map(\.side)
    rows = [columns.map(\.title)]
  }

  /// Adds a row with one cell per column. A cell may contain text from others; it stays on its
  /// line.
  package mutating func add(_ cells: String...) {
    precondition(cells.count == sides.count, "a row needs one cell per column")
    rows.append(cells.map(Log.oneLine))
  }

  package var text: String {
    let widths = sides.indices.map { column in
      rows.map { RowText.width(of: $0[column]) }.max() ?? 0
    }
    return rows.map { row in
      let cells = sides.indices.map { column in
        let pad = String(
          repeating: " ", count: max(0, widths[column] - RowText.width(of: row[column])))
        return switch sides[column] {
        case .left: row[column] + pad
        case .right: pad + row[column]
        }
      }
      let line = cells.joined(separator: "  ")
      return String(line.reversed().drop { $0 == " " }.reversed())
    }.joined(separator: "\n")
  }
}

/// Numbers of bytes in the form that people use: `10G` is ten times 2³⁰.
package enum ByteCount {
  private static let units: [(letter: String, bytes: Int64)] = [
    ("T", 1 << 40), ("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10),
  ]

  /// Returns a text such as `3.4 MiB`; small numbers as they are.
  package static func text(_ bytes: Int64) -> String { RowText.bytes(bytes) }

  /// Returns nil if the text is no such number.
  package static func parse(_ text: String) -> Int64? {
    let unit = units.first { text.hasSuffix($0.letter) || text.hasSuffix($0.letter.lowercased()) }
    let digits = unit == nil ? text[...] : text.dropLast()
    guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      let count = Int64(digits)
    else { return nil }
    let (bytes, isTooLarge) = count.multipliedReportingOverflow(by: unit?.bytes ?? 1)
    return isTooLarge ? nil : bytes
  }
}
