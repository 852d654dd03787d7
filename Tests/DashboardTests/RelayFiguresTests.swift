import Testing

@testable import LockstepDashboard

struct RelayFiguresTests {
  private func figures(_ text: String) throws(MetricsFault) -> RelayFigures {
    try RelayFigures(metrics: Array(text.utf8))
  }

  @Test func aRelaysMetricsBecomeFigures() throws {
    var stage = TopStage()
    (stage.saves, stage.rejected, stage.lag) = (63, 2, [4, 1, 0])
    let figures = try stage.figures
    #expect(figures.version == "1.2.3")
    #expect(figures.connections?.map(\.label) == ["websocket", "http"])
    #expect(figures.openConnections == 4)
    #expect(figures.rejected(for: "badToken") == 2)
    #expect(figures[.saves] == 63 && figures[.startedAt] == 1_000)
    #expect(figures[.lag]?.cumulative == [4, 5, 5])
  }

  @Test func whatAnOlderRelayDoesNotTellIsNotZero() throws {
    let figures = try figures(#"lockstep_build_info{version="0"} 1"#)
    #expect(figures.connections == nil && figures.rejected == nil)
    #expect(figures[.deliveries] == nil && figures[.openDescriptors] == nil)
    #expect(figures[.lag] == nil)
  }

  @Test func whatIsNoNumberIsNotKnown() throws {
    var stage = TopStage()
    stage.more = "lockstep_accounts NaN\nlockstep_uploads +Inf"
    #expect(try stage.figures[.accounts] == nil)
    #expect(try stage.figures[.uploads] == nil)
  }

  @Test func whatIsNoRelaysMetricsIsSaidToBeNone() {
    #expect(throws: MetricsFault.notRelay) { try figures("go_goroutines 7") }
    #expect(throws: MetricsFault.notRelay) { try figures("") }
    var stage = TopStage()
    stage.more = "lockstep_commit_duration_seconds_bucket{le=\"+Inf\"} 1\n"
    stage.more += "lockstep_commit_duration_seconds_bucket{le=\"0.1\"} 1"
    #expect(throws: MetricsFault.badBuckets("lockstep_commit_duration_seconds")) {
      try stage.figures
    }
  }

  @Test func namesCannotDriveATerminalOrStandTwice() throws {
    var stage = TopStage()
    stage.version = "1\u{1B}[31m"
    stage.more = "lockstep_connections{transport=\"http\"} 9\nlockstep_connections{l=\"x\"} 9"
    #expect(try stage.figures.version == "1 [31m")
    #expect(try stage.figures.openConnections == 4)
  }
}
