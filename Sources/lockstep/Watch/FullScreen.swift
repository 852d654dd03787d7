import LockstepApps

/// The terminal's alternate screen, while a view uses it. Leaving it restores the former contents.
struct FullScreen {
  private let output: TerminalOutput
  private let takesColours: Bool
  /// Rows that were drawn last, and the size of the screen then.
  private var drawn: (rows: [ScreenRow], columns: Int, height: Int)?

  /// Sequence that switches to the alternate screen and hides the cursor.
  private static let entrance = "\u{1B}[?1049h\u{1B}[?25l"
  private static let exit = "\u{1B}[0m\u{1B}[?25h\u{1B}[?1049l"

  init(_ output: TerminalOutput) throws(CommandFailure) {
    self.output = output
    takesColours = output.takesColours
    try output.write(Self.entrance)
  }

  var columns: Int { output.columns }
  var height: Int { output.rows }

  /// Draws the rows that have changed; writes nothing if there are none.
  mutating func show(_ rows: [ScreenRow]) throws(CommandFailure) {
    let (columns, height) = (columns, height)
    let fitting = rows.prefix(height).map { $0.cut(to: columns) }
    let isSameSize = drawn.map { $0.columns == columns && $0.height == height } ?? false
    let before = isSameSize ? drawn?.rows ?? [] : []
    if isSameSize, before == fitting { return }
    try output.write(
      Self.frame(fitting, over: isSameSize ? before : nil, takesColours: takesColours))
    drawn = (fitting, columns, height)
  }

  /// Returns the sequence that draws rows over `before`, or over unknown contents if nil. Each row
  /// is erased before it is written: after a full row, erasing would remove its last letter.
  static func frame(_ rows: [ScreenRow], over before: [ScreenRow]?, takesColours: Bool) -> String {
    var text = before == nil ? "\u{1B}[H\u{1B}[2J" : ""
    for (index, row) in rows.enumerated() {
      if let before, index < before.count, before[index] == row { continue }
      text += "\u{1B}[\(index + 1);1H\u{1B}[K" + row.text(takesColours: takesColours)
    }
    if let before, before.count > rows.count { text += "\u{1B}[\(rows.count + 1);1H\u{1B}[J" }
    return text
  }

  /// Rings the terminal's bell.
  func ring() throws(CommandFailure) { try output.write("\u{07}") }

  /// Restores the terminal. Ignores errors, because a terminal that is gone needs no restoring.
  func leave() {
    do throws(CommandFailure) { try output.write(Self.exit) } catch { return }
  }
}
