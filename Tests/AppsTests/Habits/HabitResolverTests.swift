import LockstepApps
import LockstepJSON
import LockstepModel
import Testing

struct HabitResolverTests {
  private let run: JSONValue = ["title": "Run", "kind": "checkbox", "target": 1]

  private func resolve(_ one: JSONValue?, _ other: JSONValue?) -> Resolution {
    RuleResolver(MergeRules(asks: true)).resolve(
      Conflict(base: nil, local: version(one, at: 1), server: version(other, at: 2)))
  }

  @Test func theSameOnBothSidesIsNoConflict() throws {
    #expect(resolve(run, run) == .merged(fields: run, copies: []))
    let respelt = try json(#"{"target": 1.0, "kind": "checkbox", "title": "Run"}"#)
    #expect(resolve(run, respelt) == .merged(fields: run, copies: []))
    #expect(resolve(nil, nil) == .merged(fields: nil, copies: []))
  }

  @Test func anythingElseIsForThePerson() {
    #expect(resolve(run, run.setting("target", to: 2)) == .ask)
    #expect(resolve(run, nil) == .ask)
    #expect(resolve(nil, run) == .ask)
  }
}
