/// Table for a person: columns as wide as their widest cell, two spaces apart.
struct TextTable {
  enum Side {
    case left
    /// For numbers.
    case right
  }

  private let sides: [Side]
  private var rows: [[String]]

  init(_ columns: [(title: String, side: Side)]) {
    sides = columns.map(\.side)
    rows = [columns.map(\.title)]
  }

  /// Adds a row with one cell per column. A cell may contain text from others; it stays on its
  /// line.
  mutating func add(_ cells: String...) {
    precondition(cells.count == sides.count, "a cell a column")
    rows.append(cells.map(Log.oneLine))
  }

  var text: String {
    let widths = sides.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
      let cells = sides.indices.map { column in
        let pad = String(repeating: " ", count: widths[column] - row[column].count)
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
