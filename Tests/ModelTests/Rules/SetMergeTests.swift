import LockstepModel
import Testing

struct SetMergeTests {
  private func merge(_ base: String, newer: String, older: String) -> String {
    String(
      SetMerge.merge(base: Array(base), newer: Array(newer), older: Array(older), identity: { $0 }))
  }

  @Test func whatBothHaveStays() {
    #expect(merge("ab", newer: "ab", older: "ab") == "ab")
    #expect(merge("", newer: "a", older: "a") == "a")
  }

  @Test func whatOneSideAddedStays() {
    #expect(merge("a", newer: "ab", older: "ac") == "abc")
    #expect(merge("", newer: "b", older: "c") == "bc")
  }

  @Test func whatOneSideRemovedGoes() {
    #expect(merge("ab", newer: "a", older: "ab") == "a")
    #expect(merge("a", newer: "b", older: "a") == "b")
    #expect(merge("ab", newer: "a", older: "b") == "")
  }

  @Test func eachIdentityStandsOnce() {
    #expect(merge("", newer: "aab", older: "bb") == "ab")
    #expect(
      String(SetMerge.union(newer: Array("ba"), older: Array("ac"), identity: { $0 })) == "bac")
  }

  @Test func newersSpellingStays() {
    let kept = SetMerge.merge(
      base: [], newer: ["Tea"], older: ["tea", "milk"], identity: { $0.lowercased() })
    #expect(kept == ["Tea", "milk"])
  }
}
