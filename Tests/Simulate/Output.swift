import Glibc

/// Output of the program: results on standard output, everything else on standard error.
enum Output {
  static func writeResult(_ text: String) { write(text + "\n", to: STDOUT_FILENO) }

  static func writeDiagnostic(_ text: String) { write(text + "\n", to: STDERR_FILENO) }

  /// True if standard error is a terminal.
  static let hasWatcher = isatty(STDERR_FILENO) == 1

  /// Shows progress: one line that is overwritten on a terminal, and line by line elsewhere. Empty:
  /// clears the line, since no more progress follows.
  static func showProgress(_ line: String) {
    if hasWatcher {
      write("\r\u{1B}[K" + line, to: STDERR_FILENO)
    } else if !line.isEmpty {
      writeDiagnostic(line)
    }
  }

  static func grouped(_ number: Int) -> String {
    let digits = String(number)
    var text = ""
    for (place, digit) in digits.enumerated() {
      if place > 0, (digits.count - place) % 3 == 0 { text.append(",") }
      text.append(digit)
    }
    return text
  }

  /// Writes all of the text. Ends the program if that fails, since the reader has closed the pipe.
  private static func write(_ text: String, to descriptor: Int32) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { exit(Program.found) }
      bytes = bytes.dropFirst(count)
    }
  }
}

/// Measures elapsed time on the monotonic clock.
struct Stopwatch {
  private let start = Stopwatch.now

  var seconds: Double { Stopwatch.now - start }

  private static var now: Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
