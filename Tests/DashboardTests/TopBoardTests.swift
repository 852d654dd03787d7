import LockstepModel
import Testing

@testable import LockstepDashboard

/// A person watches a relay that runs, stops answering and comes back.
struct TopBoardTests {
  private func stage(_ saves: Double) -> TopStage {
    var stage = TopStage()
    stage.saves = saves
    return stage
  }

  @Test func whatIsShownIsOfTheLastAnswer() {
    var board = TopStage.board([stage(0), stage(10), nil, nil])
    #expect(board.availability.isSilent && board.availability.silentSince == 2_000)
    #expect(board.availability.reason == "connection refused")
    #expect(board.shown?.newest?[.saves] == 10 && board.shown?.rate(.saves) == 10)
    board.recordAnswer(.metrics(stage(500).text, wall: nil), at: TopStage.moment(4))
    #expect(!board.availability.isSilent && board.shown?.newest?[.saves] == 500)
    #expect(board.shown?.rate(.saves) == nil)
    let track = board.shown.map { history in history.track { history.rate(.saves, upTo: $0) } }
    #expect(track == [nil, 10, nil, nil, nil])
  }

  @Test func anAnswerThatIsNoRelaysIsAsGoodAsNone() {
    var board = TopStage.board([stage(1)])
    board.recordAnswer(.metrics(Array("<!doctype html>".utf8), wall: nil), at: TopStage.moment(1))
    #expect(board.availability.reason == "line 1 is no metric")
    #expect(board.availability.answeredAt == 0 && board.shown?.newest?[.saves] == 1)
  }

  @Test func uptimeIsByTheRelaysClock() {
    // It started at 1,000 s and reports the time 5,000 s; this machine has another time.
    var board = TopStage.board([TopStage()])
    #expect(board.uptimeSeconds == 4_000)
    board.recordAnswer(.metrics(TopStage().text, wall: nil), at: TopStage.moment(2_000))
    #expect(board.uptimeSeconds == 1_000)
    var odd = TopStage()
    odd.startedAt = 1e300
    board.recordAnswer(.metrics(odd.text, wall: 1), at: TopStage.moment(2_001))
    #expect(board.uptimeSeconds == nil)
  }
}
