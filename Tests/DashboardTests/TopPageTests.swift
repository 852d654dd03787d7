import LockstepApps
import LockstepModel
import LockstepTerminal
import Testing

@testable import LockstepDashboard

/// The page as the owner of a relay sees it, on terminals of all sizes.
struct TopPageTests {
  private func stages(_ count: Int) -> [TopStage?] {
    (0..<count).map { second in
      var stage = TopStage()
      stage.saves = Double(second * 10)
      stage.deliveries = Double(second * 20)
      stage.lag = [Double(second * 18), Double(second * 2), 0]
      stage.rejected = Double(second)
      return stage
    }
  }

  private func page(_ board: TopBoard, _ columns: Int) -> TopPage {
    TopPage(board, columns: columns) { "\($0 / 1_000) o'clock" }
  }

  private func texts(_ board: TopBoard, _ columns: Int, _ height: Int) -> [String] {
    page(board, columns).rows(height: height).map(\.plainText)
  }

  @Test func aUsualTerminalShowsAllOfIt() {
    let rows = texts(TopStage.board(stages(90)), 80, 24)
    #expect(rows.count == 24)
    let all = rows.joined(separator: "\n")
    for words in [
      "● Live 89 o'clock", "Lockstep relay, version 1.2.3 · up for 1 h 6 min", "Devices connected",
      "Saves a second           10", "Deliveries a second      20", "In the last minute",
      "From commit to socket   556 µs", "1,200", "WebSocket", "Requests that wait for the store",
      "Closed, as they took nothing for long", "last minute   in all", "bad token",
      "Database                   4 KiB", "Requests that the store failed", "Descriptors",
      "q quit", "Rates are those of the last 10 s", "█",
    ] { #expect(all.contains(words), "\(words) is missing in\n\(all)") }
    #expect(!all.contains("overloaded"), "what was never rejected has no row")
    #expect(!all.contains("…"), "all has room:\n\(all)")
  }

  @Test func onNoTerminalARowIsTooLongOrOneTooMany() {
    for board in [
      TopStage.board([]), TopStage.board(stages(1)), TopStage.board(stages(70)),
      TopStage.board(stages(5) + [nil]), TopStage.board([nil]),
    ] {
      for columns in [0, 1, 2, 23, 40, 56, 75, 76, 120, 300] {
        for height in [0, 1, 2, 4, 5, 12, 23, 24, 80] {
          let rows = page(board, columns).rows(height: height)
          #expect(rows.count <= height, "\(columns) × \(height)")
          #expect(rows.allSatisfy { $0.width <= columns }, "\(columns) × \(height)")
        }
      }
    }
  }

  @Test func aSilentRelaysFiguresAreToldToBeOldOnEveryTerminal() {
    let board = TopStage.board(stages(20) + [nil, nil])
    for (columns, height) in [(120, 40), (80, 24), (60, 10), (40, 12)] {
      let rows = page(board, columns).rows(height: height)
      let all = rows.map(\.plainText).joined(separator: "\n")
      #expect(all.contains("No answer since 20 o'clock"), "\(all)")
      #expect(all.contains("figures are of 19 o'clock"), "\(all)")
      #expect(all.contains("connection refused") && !all.contains("Live"), "\(all)")
      // The figures stay the same, in faint style.
      #expect(all.contains("Saves a second           10"), "\(all)")
      for row in rows where row.plainText.contains("Saves a second") {
        #expect(row == ScreenRow(row.plainText, .faint))
      }
    }
    // If almost nothing fits, the figures are omitted first.
    #expect(texts(board, 80, 1) == [" ○ No answer since 20 o'clock; figures are of 19 o'clock"])
    #expect(texts(board, 30, 1) == [" ○ No answer since 20 o'clock"])
  }

  @Test func beforeAnythingIsKnownNothingIsShownAsNone() {
    let asking = texts(TopStage.board([]), 80, 24)
    #expect(asking.count == 24)
    #expect(asking.joined() == " ● Asking the relay … q quit")
    let once = texts(TopStage.board(stages(1)), 80, 24).joined(separator: "\n")
    #expect(once.contains("Saves a second            –"), "\(once)")
    #expect(once.contains("From commit to socket        –       –       –       –"), "\(once)")
  }

  @Test func aQuietMinuteIsSaidToBeOne() {
    let quiet = texts(TopStage.board([TopStage(), TopStage(), TopStage()]), 80, 24)
      .joined(separator: "\n")
    #expect(quiet.contains("nothing was delivered"), "\(quiet)")
    #expect(quiet.contains("Nothing, since the relay began."), "\(quiet)")
  }

  @Test func manyReasonsHaveTheRoomThatThereIs() {
    var stage = TopStage()
    stage.more = (1...9).map { "lockstep_rejected_total{reason=\"r\($0)\"} \($0)" }
      .joined(separator: "\n")
    let board = TopStage.board([stage, stage])
    let low = texts(board, 80, 24).joined(separator: "\n")
    #expect(low.contains(" r9 ") && low.contains("… and 8 more"), "\(low)")
    let high = texts(board, 80, 50).joined(separator: "\n")
    #expect(high.contains(" r1 ") && !high.contains("more"), "\(high)")
  }

  @Test func plainTextHasAllOfItWithoutEndOfRoom() {
    let text = page(TopStage.board(stages(3)), 80).text
    #expect(!text.contains("\u{1B}") && !text.contains("q quit"))
    for words in ["Live 2 o'clock", "In the last 2 s", "Queues", "Descriptors", "of the last 2 s"] {
      #expect(text.contains(words), "\(words) is missing in\n\(text)")
    }
    #expect(text.split(separator: "\n").allSatisfy { !$0.hasSuffix(" ") && $0.count <= 80 })
  }
}
