import Testing

@testable import LockstepTerminal

struct BigDigitsTests {
  @Test func aTimeIsDrawnInBlocks() {
    #expect(
      BigDigits.rows("1:2", dot: 1, scale: 1) == [
        " █    ███", "██  █   █", " █    ███", " █  █ █  ", "███   ███",
      ])
  }

  @Test(arguments: [(1, 1), (2, 1), (4, 2)])
  func everyRowIsAsWideAsSaid(_ dot: Int, _ scale: Int) {
    let rows = BigDigits.rows("01:23:45", dot: dot, scale: scale)
    #expect(rows.count == BigDigits.height * scale)
    #expect(rows.allSatisfy { $0.count == BigDigits.width(of: "01:23:45", dot: dot) })
    let other = BigDigits.rows("67:89:00", dot: dot, scale: scale)
    #expect(Set(rows + other).count > BigDigits.height)
  }
}
