import LockstepModel
import Testing

struct SuggestionTests {
  @Test func fewSlipsAreForgiven() {
    let candidates = ["relay", "resolve", "bench"]
    for (word, expected) in [
      ("relya", "relay"), ("rely", "relay"), ("relaay", "relay"), ("resolv", "resolve"),
      ("bnech", "bench"), ("relay", "relay"),
    ] {
      #expect(Suggestion.nearest(to: word, among: candidates) == expected, "\(word)")
    }
  }

  @Test func ofEqualSlipsTheWordsContinuationIsMeant() {
    let names = ["start", "stop", "status", "stats"]
    #expect(Suggestion.nearest(to: "stat", among: names) == "stats")
    #expect(Suggestion.nearest(to: "stat", among: names.reversed()) == "stats")
    #expect(Suggestion.nearest(to: "star", among: names) == "start")
  }

  /// Words come from anybody: the cost of a long one must not grow with its length.
  @Test func aLongWordIsNotCompared() {
    let word = String(repeating: "relay", count: 400_000)
    #expect(Suggestion.nearest(to: word, among: ["relay", "resolve"]) == nil)
    let longer = String(repeating: "x", count: 300)
    #expect(Suggestion.nearest(to: longer + "y", among: [longer]) == nil)
  }

  @Test func othersAreNotGuessed() {
    for word in ["", "x", "timer", "ralph"] {
      #expect(Suggestion.nearest(to: word, among: ["relay", "resolve", "bench"]) == nil, "\(word)")
    }
  }
}
