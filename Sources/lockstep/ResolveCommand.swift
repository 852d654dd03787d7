import Glibc
import LockstepModel

/// `lockstep resolve`: reads one conflict per line and prints one answer per line, in the same
/// order.
enum ResolveCommand {
  static let command = Command(
    name: "resolve",
    summary: "Shows how conflicts end: cases in, answers out.",
    discussion: """
      Reads one case a line from standard input and prints one answer a line: what the record \
      becomes when two devices changed it and neither had seen the other's change.

      A case is {"type", "base", "local", "server"}; each of the three is a version {"name", \
      "fields", "modifiedAt", "device", "deleted"}. A delete has null fields. "base", the version \
      that the local change was made on, may be null.

      An answer is {"outcome", "fields", "deleted", "copies"}. The outcome is "merged", or "ask" \
      where a person has to choose.

      A line that is no case gets an error with its number on standard error, and the exit code \
      is 1 at the end; the other lines are answered all the same. Empty lines are passed over.
      """,
    action: { _ throws(CommandFailure) in try run() })

  private static func run() throws(CommandFailure) -> ExitCode {
    if isatty(STDIN_FILENO) == 1 {
      TerminalOutput.writeToStandardError("lockstep resolve: one case a line, then Ctrl-D\n")
    }
    var session = ResolveSession()
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = try readInput(into: &buffer)
      if count == 0 { break }
      session.receive(buffer[..<count])
      try session.answerLines()
    }
    try session.answerRest()
    return session.sawBadLine ? .failure : .success
  }

  private static func readInput(into buffer: inout [UInt8]) throws(CommandFailure) -> Int {
    while true {
      let count = read(STDIN_FILENO, &buffer, buffer.count)
      if count >= 0 { return count }
      if errno == EAGAIN {
        var wanted = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        _ = poll(&wanted, 1, -1)
      } else if errno != EINTR {
        throw CommandFailure("cannot read the cases: \(String(cString: strerror(errno)))")
      }
    }
  }
}

/// One run: numbers the lines, and writes answers and errors in the order of the lines.
private struct ResolveSession {
  private var lines = LineReader(bytesMax: Limits.resolveLineBytes)
  private var number = 0
  private var answers: [UInt8] = []
  private(set) var sawBadLine = false

  mutating func receive(_ bytes: ArraySlice<UInt8>) { lines.receive(bytes) }

  /// Answers all complete lines and flushes the answers, so that none waits for further input.
  mutating func answerLines() throws(CommandFailure) {
    while let line = lines.next() { try answer(line) }
    try flush()
  }

  mutating func answerRest() throws(CommandFailure) {
    if let line = lines.rest() { try answer(line) }
    try flush()
  }

  private mutating func answer(_ line: LineReader.Line) throws(CommandFailure) {
    number += 1
    switch line {
    case .tooLong: try complain("longer than \(Limits.resolveLineBytes) bytes")
    case .text(let bytes):
      // A line of white space (RFC 8259 section 2) contains no case.
      if bytes.allSatisfy({ [0x20, 0x09, 0x0D].contains($0) }) { return }
      do throws(ResolveCase.Fault) {
        answers += try ResolveCase.answer(to: bytes)
        answers.append(UInt8(ascii: "\n"))
      } catch {
        try complain(error.reason)
      }
    }
  }

  private mutating func complain(_ reason: String) throws(CommandFailure) {
    // Earlier answers must precede the error if both go to the same file.
    try flush()
    sawBadLine = true
    TerminalOutput.writeToStandardError("lockstep resolve: line \(number): \(reason)\n")
  }

  private mutating func flush() throws(CommandFailure) {
    guard !answers.isEmpty else { return }
    try TerminalOutput.standard.write(answers)
    answers.removeAll(keepingCapacity: true)
  }
}
