import LockstepApps
import LockstepJSON
import LockstepModel
import Testing

struct MemoResolverTests {
  private func memo(_ content: String, _ date: Int64) -> JSONValue {
    [
      "title": .string(MemoResolver.title(of: content)), "content": .string(content),
      "date": .number(JSONNumber(date)),
    ]
  }

  private func resolve(_ base: JSONValue?, _ one: Version, _ other: Version) -> Resolution {
    let base = base.map { version($0) }
    let there = MemoResolver().resolve(Conflict(base: base, local: one, server: other))
    let back = MemoResolver().resolve(Conflict(base: base, local: other, server: one))
    #expect(there == back)
    guard case .merged(let fields, let copies) = there else { return there }
    return .merged(fields: fields.map { Stamps.removed(from: $0) }, copies: copies)
  }

  @Test func anotherTextOnEachSideIsKeptAsACopy() {
    let outcome = resolve(
      memo("milk", 1), version(memo("milk\neggs", 9), at: 5, by: "phone"),
      version(memo("bread", 8), at: 6, by: "mac"))
    #expect(
      outcome
        == .merged(
          fields: memo("bread", 9),
          copies: [.init(name: "current~phone-5", fields: memo("milk\neggs", 9))]))
  }

  @Test func aTextThatOneSideLeftAloneIsTheOthers() {
    let untouched = memo("milk", 1).setting("colour", to: "red")
    let outcome = resolve(
      memo("milk", 1), version(untouched, at: 9), version(memo("eggs", 2), at: 5))
    #expect(
      outcome == .merged(fields: memo("eggs", 2).setting("colour", to: "red"), copies: []))
  }

  @Test func theSameTextOnBothSidesLeavesNoCopy() {
    let outcome = resolve(
      memo("milk", 1), version(memo("eggs", 3), at: 9), version(memo("eggs", 2), at: 5))
    #expect(outcome == .merged(fields: memo("eggs", 3), copies: []))
  }

  @Test func aChangeOutlivesADelete() {
    let changed = memo("eggs", 3)
    #expect(
      resolve(memo("milk", 1), version(changed, at: 1), version(nil, at: 9))
        == .merged(fields: changed, copies: []))
  }

  @Test func theTitleIsTheBeginningOfTheFirstLine() {
    #expect(MemoResolver.title(of: "") == "")
    #expect(MemoResolver.title(of: "\nbody") == "")
    #expect(MemoResolver.title(of: "Plan\n- one") == "Plan")
    // A carriage return is an ordinary character, although Swift treats "\r\n" as one character.
    #expect(MemoResolver.title(of: "Plan\r\n- one") == "Plan\r")
    let long = String(repeating: "e\u{301}", count: 80)
    #expect(MemoResolver.title(of: long).unicodeScalars.count == 100)
  }
}
