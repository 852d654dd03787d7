import Glibc
import LockstepCommand
import LockstepCommandLine
import Testing

struct TerminalOutputTests {
  /// Returns both ends of a pipe.
  private func pipe() throws -> (read: Int32, write: Int32) {
    var ends: [Int32] = [0, 0]
    try #require(Glibc.pipe(&ends) == 0)
    return (ends[0], ends[1])
  }

  @Test func allIsWritten() throws {
    let ends = try pipe()
    defer {
      close(ends.read)
      close(ends.write)
    }
    let output = TerminalOutput(descriptor: ends.write)
    try output.write("电脑\n")
    try output.write("")
    var bytes = [UInt8](repeating: 0, count: 64)
    let count = read(ends.read, &bytes, bytes.count)
    #expect(String(decoding: bytes[..<max(0, count)], as: UTF8.self) == "电脑\n")
    #expect(!output.isTerminal && !output.supportsColours)
  }

  @Test func goneReaderEndsTheCommandWithoutAWord() throws {
    signal(SIGPIPE, SIG_IGN)
    let ends = try pipe()
    close(ends.read)
    defer { close(ends.write) }
    #expect(throws: CommandFailure.outputClosed) {
      try TerminalOutput(descriptor: ends.write).write("x")
    }
    #expect(CommandFailure.outputClosed.message == nil)
  }

  @Test func otherFaultsAreTold() {
    #expect(throws: CommandFailure("cannot write the output: Bad file descriptor")) {
      try TerminalOutput(descriptor: -1).write("x")
    }
  }
}
