import LockstepApps
import LockstepJSON
import Testing

struct CheckInResolverTests {
  private func outcome(_ one: JSONValue?, _ other: JSONValue?) -> JSONValue? {
    resolved(CheckInResolver(), base: nil, version(one, at: 1), version(other, at: 2))
  }

  @Test func eachDeviceCountsForItself() {
    let one: JSONValue = ["done": true, "counts": ["mac": 3, "phone": 1]]
    let other: JSONValue = ["done": false, "counts": ["mac": 2, "watch": 4]]
    #expect(
      outcome(one, other) == ["done": false, "counts": ["mac": 3, "phone": 1, "watch": 4]])
  }

  @Test func whatWasTakenBackStaysTakenBack() {
    let one: JSONValue = ["done": true, "counts": ["mac": 3], "undone": ["mac": 1]]
    let other: JSONValue = ["done": true, "counts": ["mac": 3]]
    #expect(
      outcome(one, other) == ["done": true, "counts": ["mac": 3], "undone": ["mac": 1]])
    #expect(outcome(other, one) == outcome(one, other))
  }

  @Test func aDayOutlivesItsDelete() {
    let day: JSONValue = ["done": true]
    #expect(outcome(day, nil) == day)
    #expect(outcome(nil, nil) == nil)
  }

  /// The sums are the same for every order in which the devices' counts are merged.
  @Test func everyOrderOfArrivalGivesTheSameCounts() {
    let days: [JSONValue] = [
      ["counts": ["a": 1]], ["counts": ["a": 2], "undone": ["a": 1]], ["counts": ["b": 5]],
      ["counts": ["b": 4, "c": 1]],
    ]
    var outcomes: Set<JSONValue> = []
    for order in permutations(of: days) {
      var counts = order[0]
      for day in order.dropFirst() { counts = outcome(counts, day) ?? [:] }
      outcomes.insert(counts)
    }
    #expect(outcomes == [["counts": ["a": 2, "b": 5, "c": 1], "undone": ["a": 1]]])
  }
}
