import Glibc

/// What is said: results on standard output, all else on standard error.
enum Output {
  static func say(_ text: String) { write(text + "\n", to: STDOUT_FILENO) }

  static func tell(_ text: String) { write(text + "\n", to: STDERR_FILENO) }

  /// Whether a person looks on, rather than into a file later.
  static let hasWatcher = isatty(STDERR_FILENO) == 1

  /// One line that is written over and over where a person looks on, and line by line elsewhere.
  /// Empty: no more of it comes.
  static func showProgress(_ line: String) {
    if hasWatcher {
      write("\r\u{1B}[K" + line, to: STDERR_FILENO)
    } else if !line.isEmpty {
      tell(line)
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

  /// All of it, or whoever reads has gone: then there is nobody to work for.
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

/// How long something has taken.
struct Stopwatch {
  private let start = Stopwatch.now

  var seconds: Double { Stopwatch.now - start }

  private static var now: Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
