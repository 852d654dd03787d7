import Simulator
import Testing

struct OccurrencesTests {
  @Test(arguments: ProfileOccurrences.all)
  func aProfileCausesWhatItIsNamedFor(occurrences: ProfileOccurrences) throws {
    #expect(try occurrences.play() == [])
  }
}
