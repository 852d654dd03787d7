import LockstepModel
import LockstepStorage
import Testing

@testable import LockstepRelay

struct AccountListTests {
  private let summary = AccountSummary(
    id: AccountID(rawValue: 1), label: "mum \"x\"\n",
    plan: Plan(zones: [Name(trusted: "memos"), Name(trusted: "timer")]), madeAt: 5, devices: 2,
    newestTag: 77, chunkBytes: 1 << 40, lastSeen: 9)

  @Test func aListSaysAllOfEachAccount() throws {
    var other = summary
    other.plan = .everything
    other.lastSeen = nil
    let list = AccountList([summary, other], more: true)
    #expect(try AccountList.decoded(body: list.encodedBody()) == list)
    #expect(try AccountSummary.decoded(body: summary.json.serialized()) == summary)
  }

  @Test func whatIsNoListIsRefused() {
    let one = summary.json.text
    for text in [
      "", "{}", #"{"accounts":[]}"#, #"{"accounts":[{}],"more":false}"#,
      #"{"accounts":[\#(one)],"more":1}"#,
      #"{"accounts":[\#(one.replacing("77", with: "\"x\""))],"more":false}"#,
    ] {
      #expect(throws: Refusal.self, "\(text)") { try AccountList.decoded(body: Array(text.utf8)) }
    }
  }

  @Test func aPlanHasOneText() throws {
    for plan in [
      Plan.everything, Plan(zones: []), Plan(zones: [Name(trusted: "a"), Name(trusted: "b")]),
    ] {
      #expect(try Plan.decoded(body: plan.encodedBody()) == plan)
    }
    let body = Array(#"{"zones":["b","a","b"]}"#.utf8)
    #expect(try Plan.decoded(body: body).zones?.map(\.text) == ["a", "b"])
    #expect(Plan.everything.json.text == #"{"zones":null}"#)
  }
}
