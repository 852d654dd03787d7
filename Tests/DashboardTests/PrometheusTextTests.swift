import LockstepJSON
import LockstepModel
import Testing

@testable import LockstepDashboard

/// The text is untrusted: everything that the format allows is read, and nothing else.
struct PrometheusTextTests {
  private func samples(_ text: String) throws(MetricsFault) -> [MetricSample] {
    try PrometheusText.samples(Array(text.utf8))
  }

  @Test func allThatTheFormatAllowsIsRead() throws {
    let read = try samples(
      """
      a{l="x\\"\\\\\\n,}{",m="2"} 1
      b 1.5e-3 1395066363000
      c +Inf
      d NaN
      e{} 2

      # anything
      f{l="z",} -3\r
      g { l = "ü\\q" } 4
      with:colon 5
      """)
    #expect(read.map(\.name) == ["a", "b", "c", "d", "e", "f", "g", "with:colon"])
    #expect(read[0][label: "l"] == "x\"\\\n,}{" && read[0][label: "m"] == "2")
    #expect(read[0][label: "n"] == nil)
    #expect(read[1].value == 0.0015 && read[2].value == .infinity && read[3].value.isNaN)
    #expect(read[5][label: "l"] == "z" && read[5].value == -3)
    #expect(read[6][label: "l"] == "ü\\q")
  }

  @Test(arguments: [
    "a", "a b", "a{l=1} 1", "a{l=\"} 1", "1a 1", "a{l=\"x\" m=\"y\"} 1", "a 1 x", "a+1", "a 0x1p3",
    "a 1 2 3", "a{l=\"x\"", "a{l=\"x\\", "<!doctype html>", "{} 1", "a{:=\"x\"} 1", "ä 1",
    "a infinity",
  ])
  func aBrokenLineIsNamed(_ line: String) {
    #expect(throws: MetricsFault.badLine(2)) { try samples("good 1\n" + line) }
  }

  @Test func whatIsNoTextIsNoLabel() {
    let line = Array("a{l=\"".utf8) + [0xFF] + Array("\"} 1".utf8)
    #expect(throws: MetricsFault.badLine(1)) { try PrometheusText.samples(line) }
  }

  @Test func aTextWithoutEndIsNotReadToItsEnd() {
    let long = [UInt8](repeating: UInt8(ascii: "#"), count: PrometheusText.bytesMax + 1)
    #expect(throws: MetricsFault.tooLong) { try PrometheusText.samples(long) }
    let many = String(repeating: "a 1\n", count: PrometheusText.samplesMax + 1)
    #expect(throws: MetricsFault.tooLong) { try samples(many) }
    #expect(throws: Never.self) { try samples(String(many.dropFirst(4))) }
  }

  /// Metrics damaged in transit are either read or refused, and everything read can be shown.
  @Test func brokenMetricsNeverEndTheProgram() throws {
    var random = SeededRandom(seed: 9_625)
    var stage = TopStage()
    stage.lag = [5, 2, 1]
    let whole = stage.text
    var read = 0
    for _ in 0..<500 {
      var text = whole
      for _ in 0...Int.random(in: 0..<4, using: &random) where !text.isEmpty {
        let place = Int.random(in: 0..<text.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: text[place] = UInt8.random(in: 0...255, using: &random)
        case 1: text.remove(at: place)
        case 2: text.insert(contentsOf: "9e99{\"\\".utf8.prefix(place % 8), at: place)
        default: text = Array(text[..<max(1, place)])
        }
      }
      var board = TopStage.board([stage])
      board.recordAnswer(.metrics(text, wall: nil), at: TopStage.moment(1))
      if !board.availability.isSilent { read += 1 }
      for row in TopPage(board, columns: 80, clock: { "\($0)" }).rows(height: 30) {
        #expect(row.width <= 80)
      }
      let report = try #require(TopReport(board))
      #expect(throws: Never.self) { try JSONValue(parsing: report.json.serialized()) }
    }
    #expect(read > 0 && read < 500)
  }
}
