import Glibc
import LockstepLanguage
import LockstepTerminal

/// The terminal's alternate screen, while a view uses it. `restore` shows the earlier contents.
package struct FullScreen {
  private let output: TerminalOutput
  private let supportsColours: Bool
  /// Rows that were drawn last, and the size of the screen then.
  private var drawn: (rows: [ScreenRow], columns: Int, height: Int)?

  /// Sequence that switches to the alternate screen and hides the cursor.
  private static let enterSequence = "\u{1B}[?1049h\u{1B}[?25l"
  private static let leaveSequence = "\u{1B}[0m\u{1B}[?25h\u{1B}[?1049l"

  package init(_ output: TerminalOutput) throws(CommandFailure) {
    self.output = output
    supportsColours = output.supportsColours
    try output.write(Self.enterSequence)
  }

  package var columns: Int { output.columns }
  package var height: Int { output.rows }

  /// Draws the rows that have changed; writes nothing if there are none.
  package mutating func draw(_ rows: [ScreenRow]) throws(CommandFailure) {
    let (columns, height) = (columns, height)
    let fitting = rows.prefix(height).map { $0.cut(to: columns) }
    let isSameSize = drawn.map { $0.columns == columns && $0.height == height } ?? false
    let before = isSameSize ? drawn?.rows ?? [] : []
    if isSameSize, before == fitting { return }
    try output.write(
      Self.frame(fitting, over: isSameSize ? before : nil, supportsColours: supportsColours))
    drawn = (fitting, columns, height)
  }

  /// Returns the sequence that draws rows over `before`, or over unknown contents if nil. Each row
  /// is erased before it is written: after a full row, erasing would remove its last letter.
  package static func frame(_ rows: [ScreenRow], over before: [ScreenRow]?, supportsColours: Bool)
    -> String
  {
    var text = before == nil ? "\u{1B}[H\u{1B}[2J" : ""
    for (index, row) in rows.enumerated() {
      if let before, index < before.count, before[index] == row { continue }
      text += "\u{1B}[\(index + 1);1H\u{1B}[K" + row.text(supportsColours: supportsColours)
    }
    if let before, before.count > rows.count { text += "\u{1B}[\(rows.count + 1);1H\u{1B}[J" }
    return text
  }

  /// Rings the terminal's bell.
  package func ringBell() throws(CommandFailure) { try output.write("\u{07}") }

  /// Restores the terminal. Ignores errors, because a terminal that is gone needs no restoring.
  package func restore() {
    do throws(CommandFailure) { try output.write(Self.leaveSequence) } catch { return }
  }
}

/// Single keys as they are pressed, without waiting for a whole line.
package struct RawKeys {
  private var before = termios()

  /// q, Ctrl-C and Ctrl-D.
  package static let quits: [UInt8] = [UInt8(ascii: "q"), 3, 4]

  package init() throws(CommandFailure) {
    guard tcgetattr(STDIN_FILENO, &before) == 0 else {
      throw CommandFailure(localized("the terminal cannot be used; try --json"))
    }
    var raw = before
    // Ctrl-C is read as a key too, so that the terminal is always restored.
    raw.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG)
    _ = tcsetattr(STDIN_FILENO, TCSANOW, &raw)
  }

  package func restore() {
    var before = before
    _ = tcsetattr(STDIN_FILENO, TCSANOW, &before)
  }

  /// Returns nil at the end of the input.
  package func read() -> UInt8? {
    var byte: UInt8 = 0
    return Glibc.read(STDIN_FILENO, &byte, 1) == 1 ? byte : nil
  }
}
