import Testing

@testable import LockstepDashboard

struct TopChartTests {
  private func line(_ values: [Double?], added: Int? = nil, places: Int, most: Int) -> String {
    TopChart.line(values, added: added ?? values.count, places: places, valuesMax: most)
  }

  @Test func theNewestStandsAtTheRightAndWhatIsNotKnownIsAGap() {
    #expect(line([0, nil, 4, 8], places: 6, most: 6) == "  ▁ ▅█")
    #expect(line([], places: 3, most: 3) == "   ")
    #expect(line([1], places: 0, most: 3) == "")
    #expect(line([nil, nil], places: 2, most: 2) == "  ")
  }

  @Test func littleIsSeenAndNothingIsLow() {
    #expect(line([0, 0.001, 1_000], places: 3, most: 3) == "▁▂█")
    #expect(line([0, 0, 0], places: 3, most: 3) == "▁▁▁")
  }

  @Test func aPlaceHasTheMeanOfSomeAndTheLineMovesAsItIs() {
    // Values 0 to 5 in pairs, then 1 to 6 after one more: the pairs stay the same.
    #expect(line([0, 0, 4, 4, 8, 8], places: 3, most: 6) == "▁▅█")
    #expect(line([0, 4, 4, 8, 8, 4], added: 7, places: 4, most: 8) == "▁▅█▅")
    #expect(line([nil, 4, 8, nil], places: 2, most: 4) == "▅█")
  }

  @Test func barsStandOnTheirBoundsAndThatOfAnythingIsSeen() throws {
    let bounds = [0.0005, 0.001, 0.0025, 0.01, .infinity]
    let histogram = try #require(
      MetricHistogram(bounds: bounds, cumulative: [0, 1, 1_001, 1_501, 1_501]))
    #expect(
      TopChart.bars(histogram, columns: 20, height: 2)
        == ["        ███         ", "    ▁▁▁ ███ ███     ", "    1 ms   10 ms"])
    #expect(TopChart.bars(histogram, columns: 9, height: 1) == [" ▁█▄ ", ""])
    #expect(TopChart.bars(histogram, columns: 4, height: 2).isEmpty)
    #expect(TopChart.bars(histogram, columns: 20, height: 0).isEmpty)
  }
}
