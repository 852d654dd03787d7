import LockstepCommand
import LockstepCommandLine
import Synchronization
import Testing

struct LogTests {
  private func said(level: Log.Level, colours: Bool = false, _ use: (Log) -> Void) -> [String] {
    let sink = Sink()
    use(
      Log(
        "lockstep relay", level: level,
        sink: Log.Sink(supportsColours: colours, write: sink.write)))
    return sink.lines
  }

  private final class Sink: Sendable {
    private let kept = Mutex<[String]>([])
    var lines: [String] { kept.withLock { $0 } }
    var write: @Sendable (String) -> Void { { line in self.kept.withLock { $0.append(line) } } }
  }

  private func all(_ log: Log) {
    log.error("e")
    log.warning("w")
    log.info("i")
    log.debug("d")
    log.trace("t")
  }

  @Test func levelSaysHowMuchIsTold() {
    let lines = [
      "lockstep relay: error: e\n", "lockstep relay: warning: w\n", "lockstep relay: i\n",
      "lockstep relay: debug: d\n", "lockstep relay: trace: t\n",
    ]
    for (count, level) in Log.Level.allCases.enumerated() {
      #expect(said(level: level, all) == Array(lines.prefix(count + 1)))
    }
  }

  @Test func quietMessagesAreNotEvenMade() {
    var made = 0
    func message() -> String {
      made += 1
      return "x"
    }
    _ = said(level: .warning) { $0.info(message()) }
    #expect(made == 0)
  }

  @Test func messageIsOneLineWhateverIsInIt() {
    #expect(
      said(level: .info) { $0.info("name \"a\nb\u{1B}[2J\u{2028}电脑\"") }
        == ["lockstep relay: name \"a\\nb\\u{1B}[2J\\u{2028}电脑\"\n"])
  }

  @Test func coloursAreForTerminals() {
    #expect(
      said(level: .info, colours: true) { $0.error("e") }
        == ["lockstep relay: \u{1B}[31merror:\u{1B}[0m e\n"])
  }

  @Test func theJournalIsToldHowMuchALineMatters() {
    let sink = Sink()
    all(
      Log(
        "lockstep relay", level: .trace,
        sink: Log.Sink(supportsPriorities: true, write: sink.write)))
    #expect(sink.lines.map { $0.prefix(3) } == ["<3>", "<4>", "<6>", "<7>", "<7>"])
  }

  @Test func whatIsToldDoesNotDependOnTheLevel() {
    let sink = Sink()
    let plain = Log("lockstep relay", level: .error, sink: Log.Sink(write: sink.write))
    plain.announce("state", [LogLine.Field("loops", 2)], block: "two\nlines")
    plain.announce("state", [LogLine.Field("loops", 2)])
    Log(
      "lockstep relay", level: .error, format: .logfmt, sink: Log.Sink(write: sink.write),
      wall: { 0 }
    ).announce("state", [LogLine.Field("loops", 2)], block: "two\nlines")
    #expect(
      sink.lines == [
        "two\nlines\n", "lockstep relay: state (loops 2)\n",
        "time=1970-01-01T00:00:00.000Z level=info source=\"lockstep relay\" msg=state loops=2\n",
      ])
  }
}
