import LockstepStorage
import Testing

struct OpeningNumberTests {
  @Test func aNumberContainsItsTime() {
    for wall in [0, 1, 1_795_262_400_000, 1 << 42 - 1] as [Int64] {
      #expect(OpeningNumber.wall(of: OpeningNumber.make(wall: wall, random: .max)) == wall)
    }
  }

  @Test func laterNumbersAreGreaterAndTwoOfAnInstantDiffer() {
    let first = OpeningNumber.make(wall: 5, random: .max)
    #expect(first < OpeningNumber.make(wall: 6, random: 0))
    #expect(first != OpeningNumber.make(wall: 5, random: 7))
  }
}
