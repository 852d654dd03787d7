/// Progress of long work: one line on standard error that is overwritten each time. Prints nothing
/// if standard error is not a terminal.
struct Progress: Sendable {
  private let isShown: Bool
  private let write: @Sendable (String) -> Void

  init() {
    self.init(
      isShown: TerminalOutput.standardError.isTerminal,
      write: TerminalOutput.writeToStandardError)
  }

  init(isShown: Bool, write: @escaping @Sendable (String) -> Void) {
    self.isShown = isShown
    self.write = write
  }

  func show(_ line: String) {
    if isShown { write("\r\u{1B}[K\(line)") }
  }

  func clear() {
    if isShown { write("\r\u{1B}[K") }
  }
}
