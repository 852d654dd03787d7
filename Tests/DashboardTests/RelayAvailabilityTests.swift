import Testing

@testable import LockstepDashboard

/// Text about a relay that answers, stops answering, and answers again.
struct RelayAvailabilityTests {
  private func words(_ availability: RelayAvailability) -> String {
    availability.words { "\($0) o'clock" }.joined(separator: "; ")
  }

  @Test func aSilentOneIsToldSinceWhenAndOfWhenTheFiguresAre() {
    var relay = RelayAvailability()
    #expect(words(relay) == "Asking the relay …")
    relay.recordAnswer(at: 5)
    #expect(words(relay) == "Live 5 o'clock" && !relay.isSilent)
    for wall: Int64 in [6, 7, 8] {
      relay.recordFailure("refused \(wall)", at: wall)
      #expect(words(relay) == "No answer since 6 o'clock; figures are of 5 o'clock")
    }
    #expect(relay.isSilent && relay.reason == "refused 8")
    relay.recordAnswer(at: 9)
    #expect(words(relay) == "Live 9 o'clock" && relay.reason == nil)
    relay.recordFailure("refused", at: 11)
    #expect(words(relay) == "No answer since 11 o'clock; figures are of 9 o'clock")
  }

  @Test func oneThatNeverAnsweredHasNoFiguresToBeOfAnyTime() {
    var relay = RelayAvailability()
    relay.recordFailure("refused", at: 3)
    #expect(words(relay) == "No answer since 3 o'clock")
  }
}
