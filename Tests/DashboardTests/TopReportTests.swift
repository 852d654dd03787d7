import LockstepModel
import Testing

@testable import LockstepDashboard

/// The same figures, for programs.
struct TopReportTests {
  @Test func whatWasSeenIsToldWithTheTimeThatItTook() throws {
    var (before, after) = (TopStage(), TopStage())
    (before.saves, before.lag) = (10, [5, 0, 0])
    (after.saves, after.lag, after.rejected) = (30, [7, 1, 1], 2)
    let json = try #require(TopReport(TopStage.board([before, after]))).json
    #expect(json["version"]?.string == "1.2.3" && json["at"]?.int64 == 1_000)
    #expect(json["uptimeSeconds"]?.int64 == 4_000)
    #expect(json["connections"]?.text == #"{"http":1,"websocket":3}"#)
    #expect(json["perSecond"]?["saves"]?.int64 == 20)
    #expect(json["perSecond"]?["seconds"]?.int64 == 1)
    #expect(json["total"]?["saves"]?.int64 == 30)
    #expect(
      json["commitToSocket"]?["buckets"]?.text
        == #"[{"count":2,"upToSeconds":0.001},{"count":1,"upToSeconds":0.01},"#
        + #"{"count":1,"upToSeconds":null}]"#)
    #expect(json["commitToSocket"]?["count"]?.int64 == 4)
    #expect(json["commitToSocket"]?["p50Seconds"]?.text == "0.001")
    #expect(json["rejected"]?.text == #"{"badToken":2}"#)
    #expect(json["store"]?["bytes"]?.int64 == 4_096)
  }

  @Test func whatIsNotKnownIsNullAndNotZero() throws {
    let json = try #require(TopReport(TopStage.board([TopStage()]))).json
    #expect(json["perSecond"]?["saves"]?.isNull == true)
    #expect(json["commitToSocket"]?.isNull == true && json["syncs"]?.isNull == true)
    #expect(json["total"]?["hints"]?.isNull == true && json["accounts"]?.isNull == true)
    #expect(TopReport(TopStage.board([nil])) == nil)
  }
}
