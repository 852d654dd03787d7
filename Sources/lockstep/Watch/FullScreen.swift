import LockstepApps

/// The terminal's other screen, for as long as a view has it. When it is left, what stood there
/// before comes back.
struct FullScreen {
  private let output: TerminalOutput
  private let takesColours: Bool
  /// What was drawn last, and on how large a screen.
  private var drawn: (rows: [ScreenRow], columns: Int, height: Int)?

  /// The other screen, without a cursor.
  private static let entrance = "\u{1B}[?1049h\u{1B}[?25l"
  private static let exit = "\u{1B}[0m\u{1B}[?25h\u{1B}[?1049l"

  init(_ output: TerminalOutput) throws(CommandFailure) {
    self.output = output
    takesColours = output.takesColours
    try output.write(Self.entrance)
  }

  var columns: Int { output.columns }
  var height: Int { output.rows }

  /// Draws what differs from what is there already; nothing at all where nothing does.
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

  /// Rows over those that stand there; nil: over whatever stands there. Each row is wiped before it
  /// is written: behind a full one the wiping would take its last letter.
  static func frame(_ rows: [ScreenRow], over before: [ScreenRow]?, takesColours: Bool) -> String {
    var text = before == nil ? "\u{1B}[H\u{1B}[2J" : ""
    for (index, row) in rows.enumerated() {
      if let before, index < before.count, before[index] == row { continue }
      text += "\u{1B}[\(index + 1);1H\u{1B}[K" + row.text(takesColours: takesColours)
    }
    if let before, before.count > rows.count { text += "\u{1B}[\(rows.count + 1);1H\u{1B}[J" }
    return text
  }

  /// The terminal's own bell.
  func ring() throws(CommandFailure) { try output.write("\u{07}") }

  /// Gives the terminal back. One that is gone needs nothing any more.
  func leave() {
    do throws(CommandFailure) { try output.write(Self.exit) } catch { return }
  }
}
