import Testing

@testable import LockstepBench

struct RunCommandLineTests {
  private func text(_ options: (name: String, value: String?)...) -> String {
    RunCommandLine.text("lockstep bench latency", options: options)
  }

  @Test func itCanBeTypedAgain() {
    #expect(text() == "lockstep bench latency")
    #expect(
      text(("raw", nil), ("seconds", "2"), ("report", "out/a.html"))
        == "lockstep bench latency --raw --seconds 2 --report out/a.html")
  }

  @Test func wordsThatAShellWouldReadOtherwiseAreQuoted() {
    #expect(
      text(("report", "my run's $HOME.html"))
        == #"lockstep bench latency --report 'my run'\''s $HOME.html'"#)
    #expect(text(("ca", "")) == "lockstep bench latency --ca ''")
  }

  @Test func whoAskedWithWhatPasswordIsLeftOut() {
    #expect(
      text(("relay", "https://me:secret@relay.example/x"))
        == "lockstep bench latency --relay 'https://…@relay.example/x'")
    #expect(
      text(("relay", "https://me:p@ss@relay.example"))
        == "lockstep bench latency --relay 'https://…@relay.example'")
    #expect(
      text(("relay", "https://relay.example/@x"))
        == "lockstep bench latency --relay https://relay.example/@x")
  }
}
