/// What long work tells a person meanwhile: one line on standard error that is written over and
/// over, and nothing at all where no person looks.
struct Progress: Sendable {
  private let isShown = TerminalOutput.standardError.isTerminal

  func show(_ line: String) {
    if isShown { TerminalOutput.writeToStandardError("\r\u{1B}[K\(line)") }
  }

  func clear() {
    if isShown { TerminalOutput.writeToStandardError("\r\u{1B}[K") }
  }
}
