import Glibc
import LockstepModel

/// Where the program writes for people and other programs: standard output and standard error.
/// Every call leaves at once; nothing is kept back.
package struct TerminalOutput: Sendable {
  package static let standard = TerminalOutput(descriptor: STDOUT_FILENO)
  package static let standardError = TerminalOutput(descriptor: STDERR_FILENO)

  private let descriptor: Int32

  package init(descriptor: Int32) { self.descriptor = descriptor }

  package func write(_ text: String) throws(CommandFailure) { try write(Array(text.utf8)) }

  /// Writes all of it, or throws: `nobodyReads` where the reader has gone.
  package func write(_ bytes: [UInt8]) throws(CommandFailure) {
    if let code = failure(writing: bytes) {
      if code == EPIPE { throw .nobodyReads }
      throw CommandFailure("cannot write the output: \(String(cString: strerror(code)))")
    }
  }

  /// How a command ends that has said what it has to say: with a line feed behind `text`, where
  /// none stands there yet. What others wrote may stand in it: on a terminal it is `shown`.
  static func printed(_ text: String) throws(CommandFailure) -> ExitCode {
    try standard.writeForPerson(text.hasSuffix("\n") ? text : text + "\n")
    return .success
  }

  /// A terminal gets the text as `shown`; a file or a pipe gets it byte for byte.
  func writeForPerson(_ text: String) throws(CommandFailure) {
    try write(isTerminal ? TerminalOutput.shown(text) : text)
  }

  /// The text with escapes in the place of whatever would move the cursor, set the terminal, or
  /// change the order of letters. They are escapes of JSON, so that JSON stays JSON.
  static func shown(_ text: String) -> String {
    func isShown(_ scalar: Unicode.Scalar) -> Bool {
      scalar == "\n" || scalar == "\t" || !Log.isControl(scalar)
    }
    if text.unicodeScalars.allSatisfy(isShown) { return text }
    return text.unicodeScalars.map { scalar in
      // All of them have four digits at most.
      isShown(scalar)
        ? String(scalar) : "\\u" + HexText.text(UInt64(scalar.value)).suffix(4)
    }.joined()
  }

  /// For what has no better place to go: where standard error fails too, nobody can be told.
  package static func writeToStandardError(_ text: String) {
    _ = standardError.failure(writing: Array(text.utf8))
  }

  /// Whether the other end of the pipe has gone, which one who only waits would never notice.
  package var hasNoReader: Bool {
    var wanted = pollfd(fd: descriptor, events: 0, revents: 0)
    return poll(&wanted, 1, 0) == 1 && wanted.revents & Int16(POLLERR) != 0
  }

  package var isTerminal: Bool { isatty(descriptor) == 1 }

  /// Whether standard error is the journal's own stream, as systemd says by the device and inode of
  /// it (systemd.exec(5), JOURNAL_STREAM): behind a pipe or in a file its marks would be noise.
  package static var isErrorJournal: Bool {
    guard let stream = getenv("JOURNAL_STREAM") else { return false }
    var status = stat()
    guard fstat(STDERR_FILENO, &status) == 0 else { return false }
    return String(cString: stream) == "\(status.st_dev):\(status.st_ino)"
  }

  /// How many letters a line has; 80 where nobody knows.
  package var columns: Int {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col)
  }

  /// How many lines stand on it; 24 where nobody knows.
  package var rows: Int {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0 else { return 24 }
    return Int(size.ws_row)
  }

  /// Whether a cursor can be moved on it.
  package var takesScreens: Bool {
    guard isTerminal, let terminal = getenv("TERM") else { return false }
    return terminal.pointee != 0 && String(cString: terminal) != "dumb"
  }

  /// Whether colours would reach a person who wants them (https://no-color.org).
  package var takesColours: Bool {
    takesScreens && (getenv("NO_COLOR").map { $0.pointee == 0 } ?? true)
  }

  /// The code of the system's error; nil when all is written.
  private func failure(writing bytes: [UInt8]) -> Int32? {
    var written = 0
    while written < bytes.count {
      let count = bytes[written...].withUnsafeBytes {
        Glibc.write(descriptor, $0.baseAddress, $0.count)
      }
      if count >= 0 {
        written += count
      } else if errno == EAGAIN {
        // A terminal or pipe that another process has set not to block.
        var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = poll(&wanted, 1, -1)
      } else if errno != EINTR {
        return errno
      }
    }
    return nil
  }
}
