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

  @Test func othersAreNotGuessed() {
    for word in ["", "x", "timer", "ralph"] {
      #expect(Suggestion.nearest(to: word, among: ["relay", "resolve", "bench"]) == nil, "\(word)")
    }
  }
}
