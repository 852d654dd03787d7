import LockstepApps
import LockstepJSON
import LockstepModel
import Testing

struct ClipboardItemResolverTests {
  private func outcome(_ one: Version, _ other: Version) -> JSONValue? {
    resolved(RuleResolver(MergeRules(delete: .newest)), base: nil, one, other)
  }

  @Test func theNewerWinsAlsoOverADelete() {
    let item: JSONValue = ["content": "a"]
    #expect(outcome(version(item, at: 2), version(["content": "b"], at: 1)) == item)
    #expect(outcome(version(item, at: 2), version(nil, at: 1)) == item)
    #expect(outcome(version(item, at: 1), version(nil, at: 2)) == nil)
  }

  @Test func atOneInstantADeleteWinsThenTheGreaterDevice() {
    #expect(outcome(version(["content": "a"], by: "z"), version(nil, by: "a")) == nil)
    let ours: JSONValue = ["content": "Mac"]
    let theirs: JSONValue = ["content": "电脑"]
    #expect(outcome(version(ours, by: "Mac"), version(theirs, by: "电脑")) == theirs)
  }
}
