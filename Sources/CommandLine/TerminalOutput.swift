import Glibc
import LockstepLanguage
import LockstepModel

/// Standard output and standard error of the program. Every call writes at once; nothing is
/// buffered.
package struct TerminalOutput: Sendable {
  package static let standard = TerminalOutput(descriptor: STDOUT_FILENO)
  package static let standardError = TerminalOutput(descriptor: STDERR_FILENO)

  private let descriptor: Int32

  package init(descriptor: Int32) { self.descriptor = descriptor }

  package func write(_ text: String) throws(CommandFailure) { try write(Array(text.utf8)) }

  /// Writes all bytes, or throws: `outputClosed` if the reader has closed its end.
  package func write(_ bytes: [UInt8]) throws(CommandFailure) {
    if let code = failure(writing: bytes) {
      if code == EPIPE { throw .outputClosed }
      throw CommandFailure(
        localized(
          "cannot write the output: {reason}",
          ["reason": systemReason(String(cString: strerror(code)))]))
    }
  }

  /// Prints the final text of a command, with a line feed if it does not end in one. It may contain
  /// text from others, so a terminal gets it `escaped`.
  package static func printed(_ text: String) throws(CommandFailure) -> ExitCode {
    try standard.writeForPerson(text.hasSuffix("\n") ? text : text + "\n")
    return .success
  }

  /// Writes the text: `escaped` to a terminal, byte for byte to a file or a pipe.
  package func writeForPerson(_ text: String) throws(CommandFailure) {
    try write(isTerminal ? TerminalOutput.escaped(text) : text)
  }

  /// Returns the text with escapes for all characters that would move the cursor, control the
  /// terminal, or change the order of letters. They are escapes of JSON, so that JSON stays JSON.
  package static func escaped(_ text: String) -> String {
    func isPlain(_ scalar: Unicode.Scalar) -> Bool {
      scalar == "\n" || scalar == "\t" || !Log.isControl(scalar)
    }
    if text.unicodeScalars.allSatisfy(isPlain) { return text }
    return text.unicodeScalars.map { scalar in
      // All of these scalars have four digits at most.
      isPlain(scalar)
        ? String(scalar) : "\\u" + HexText.text(UInt64(scalar.value)).suffix(4)
    }.joined()
  }

  /// Writes to standard error. Ignores a failure, because there is no other place to report it.
  package static func writeToStandardError(_ text: String) {
    _ = standardError.failure(writing: Array(text.utf8))
  }

  /// True if the reader has closed its end of the pipe. A process that only waits does not notice
  /// that.
  package var hasNoReader: Bool {
    var wanted = pollfd(fd: descriptor, events: 0, revents: 0)
    return poll(&wanted, 1, 0) == 1 && wanted.revents & Int16(POLLERR) != 0
  }

  package var isTerminal: Bool { isatty(descriptor) == 1 }

  /// True if standard error is the journal's own stream, by its device and inode (systemd.exec(5),
  /// JOURNAL_STREAM). In a pipe or a file, priority marks would be noise.
  package static var isErrorJournal: Bool {
    guard let stream = getenv("JOURNAL_STREAM") else { return false }
    var status = stat()
    guard fstat(STDERR_FILENO, &status) == 0 else { return false }
    return String(cString: stream) == "\(status.st_dev):\(status.st_ino)"
  }

  /// Number of columns; 80 if unknown.
  package var columns: Int {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col)
  }

  /// Number of lines; 24 if unknown.
  package var rows: Int {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0 else { return 24 }
    return Int(size.ws_row)
  }

  /// True if the terminal can move its cursor.
  package var supportsFullScreen: Bool {
    guard isTerminal, let terminal = getenv("TERM") else { return false }
    return terminal.pointee != 0 && String(cString: terminal) != "dumb"
  }

  /// True if the terminal shows colours and the person wants them (https://no-color.org).
  package var supportsColours: Bool {
    supportsFullScreen && (getenv("NO_COLOR").map { $0.pointee == 0 } ?? true)
  }

  /// Writes the bytes. Returns the code of the system's error, or nil if all were written.
  private func failure(writing bytes: [UInt8]) -> Int32? {
    var written = 0
    while written < bytes.count {
      let count = bytes[written...].withUnsafeBytes {
        Glibc.write(descriptor, $0.baseAddress, $0.count)
      }
      if count >= 0 {
        written += count
      } else if errno == EAGAIN {
        // A terminal or pipe that another process has set to non-blocking.
        var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = poll(&wanted, 1, -1)
      } else if errno != EINTR {
        return errno
      }
    }
    return nil
  }
}

/// Progress of long work: one line on standard error that is overwritten each time. Prints nothing
/// if standard error is not a terminal.
package struct Progress: Sendable {
  private let isShown: Bool
  private let write: @Sendable (String) -> Void

  package init() {
    self.init(
      isShown: TerminalOutput.standardError.isTerminal,
      write: TerminalOutput.writeToStandardError)
  }

  package init(isShown: Bool, write: @escaping @Sendable (String) -> Void) {
    self.isShown = isShown
    self.write = write
  }

  package func show(_ line: String) {
    if isShown { write("\r\u{1B}[K\(line)") }
  }

  package func clear() {
    if isShown { write("\r\u{1B}[K") }
  }
}
