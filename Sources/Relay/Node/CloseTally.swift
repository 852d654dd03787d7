/// Number of ended WebSockets per close code (RFC 6455 section 7.4). The codes are the relay's own,
/// so that clients cannot add rows.
public struct CloseTally: Sendable, Hashable {
  struct Row: Sendable, Hashable {
    var code: UInt16
    var count: Int
  }

  /// The device closed the socket, with any code.
  static let byTheDevice: UInt16 = 1000
  /// The connection ended without a close frame.
  static let brokenOff: UInt16 = 1006

  /// In ascending order of the codes.
  private(set) var rows: [Row] = []

  mutating func add(_ code: UInt16, _ count: Int = 1) {
    let index = rows.firstIndex { $0.code >= code } ?? rows.endIndex
    if index < rows.endIndex, rows[index].code == code {
      rows[index].count += count
    } else {
      rows.insert(Row(code: code, count: count), at: index)
    }
  }

  mutating func add(_ other: CloseTally) {
    for row in other.rows { add(row.code, row.count) }
  }
}
