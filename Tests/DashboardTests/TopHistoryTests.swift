import LockstepModel
import Testing

@testable import LockstepDashboard

/// Rates and times of a relay that runs, does not answer for a while, and is restarted.
struct TopHistoryTests {
  private func history(_ values: [Double?], startedAt: [Double] = []) throws -> TopHistory {
    var history = TopHistory(everyMilliseconds: 1_000)
    for (second, value) in values.enumerated() {
      var stage = TopStage()
      stage.startedAt = second < startedAt.count ? startedAt[second] : 1
      stage.saves = value ?? 0
      history.add(value == nil ? nil : try stage.figures, at: TopStage.moment(second).instant)
    }
    return history
  }

  @Test func aRateIsWhatACounterGrewByInTheSecondsThatWereSeen() throws {
    let history = try history([100, 110, 120, 150])
    #expect(history.rate(.saves) == 50.0 / 3)
    #expect(history.span(of: 10_000) == 3_000)
    #expect(history.increase(1_000) { $0[.saves] } == 30)
  }

  @Test func oneLookTellsNoRate() throws {
    #expect(try history([100]).rate(.saves) == nil)
    #expect(try history([]).rate(.saves) == nil)
    #expect(try history([100, 110, nil]).rate(.saves) == nil)
    #expect(try history([100]).histogram(.lag) == nil)
  }

  @Test func aRelayThatWasStartedAgainCountsFromNothing() throws {
    #expect(try history([1_000, 1_010, 4, 6]).increase(10_000) { $0[.saves] } == 16)
    // A restart with a higher counter than before is detected by the start time.
    let busy = try history([10, 20, 50], startedAt: [1, 1, 2])
    #expect(busy.increase(10_000) { $0[.saves] } == 60)
  }

  @Test func nothingIsReckonedAcrossASilence() throws {
    #expect(try history([0, 10, nil, 500]).rate(.saves) == nil)
    #expect(try history([0, 10, nil, 500, 520]).rate(.saves) == 20)
  }

  @Test func whereNobodyAskedForLongNothingIsKnownInBetween() throws {
    var history = try history([0, 10])
    var stage = TopStage()
    stage.saves = 5_000
    history.add(try stage.figures, at: TopStage.moment(60).instant)
    #expect(history.rate(.saves) == nil)
    #expect(history.track { history.samples[$0].figures?[.saves] } == [0, 10, nil, 5_000])
  }

  @Test func aRelayThatIsAskedSeldomHasRatesToo() throws {
    var history = TopHistory(everyMilliseconds: 30_000)
    var stage = TopStage()
    for look in 0..<5 {
      stage.saves += 300
      history.add(try stage.figures, at: TopStage.moment(look * 30).instant)
    }
    #expect(history.rate(.saves) == 10)
    #expect(history.rateMilliseconds == 90_000 && history.timesMilliseconds == 90_000)
  }

  @Test func aFigureThatTheRelayDoesNotTellHasNoRate() throws {
    #expect(try history([1, 2]).rate(.hints) == nil)
  }

  @Test func oldSamplesGoAndTheWindowIsSaidToBeWhole() throws {
    let history = try history((0..<1_000).map { Double($0 * 2) })
    #expect(history.samples.count < 300 && history.added == 1_000)
    #expect(history.rate(.saves) == 2 && history.span(of: 10_000) == 10_000)
    let track = history.track { history.rate(.saves, upTo: $0) }
    #expect(track == [Double?](repeating: 2, count: TopHistory.shownMax))
  }

  @Test func timesAreThoseOfTheWindowAlsoOverARestart() throws {
    var history = TopHistory(everyMilliseconds: 1_000)
    var stage = TopStage()
    let states: [(lag: [Double], startedAt: Double)] = [
      ([5, 0, 4], 1), ([6, 0, 4], 1), ([0, 1, 1], 2),
    ]
    for (second, state) in states.enumerated() {
      (stage.lag, stage.startedAt) = state
      history.add(try stage.figures, at: TopStage.moment(second).instant)
    }
    #expect(history.histogram(.lag)?.cumulative == [1, 2, 3])
    #expect(history.histogram(.commit) == nil)
  }

  @Test func bucketsOfAnotherVersionAreLeftOut() throws {
    var history = TopHistory(everyMilliseconds: 1_000)
    let older = """
      lockstep_build_info{version="0"} 1
      process_start_time_seconds 1
      lockstep_notify_lag_seconds_bucket{le="+Inf"} 3
      """
    history.add(try RelayFigures(metrics: Array(older.utf8)), at: TopStage.moment(0).instant)
    var stage = TopStage()
    stage.startedAt = 2
    for (second, lag) in [[1.0, 0, 0], [1, 1, 0]].enumerated() {
      stage.lag = lag
      history.add(try stage.figures, at: TopStage.moment(second + 1).instant)
    }
    #expect(history.histogram(.lag)?.cumulative == [1, 2, 2])
  }
}
