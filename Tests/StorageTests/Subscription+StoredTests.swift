import LockstepJSON
import LockstepModel
import LockstepStorage
import Testing

struct SubscriptionStoredTests {
  private let id = Name(trusted: "s")

  private func query(_ conditions: [JSONMember], zone: String?) -> Subscription.Kind {
    .query(
      Subscription.Query(
        recordType: Name(trusted: "T"), zone: zone.map(Name.init(trusted:)),
        conditions: conditions, events: [.create, .delete]))
  }

  @Test func everyKindComesBackAsItWas() {
    let kinds: [(Subscription.Kind, String)] = [
      (.database, #"{"kind":"database"}"#),
      (.zone(Name(trusted: "Z")), #"{"kind":"zone","zone":"Z"}"#),
      (query([], zone: nil), #"{"events":5,"kind":"query","type":"T","where":[]}"#),
      (
        query([JSONMember("b", true), JSONMember("a", [1, .null])], zone: "Z"),
        #"{"events":5,"kind":"query","type":"T","where":["b",true,"a",[1,null]],"zone":"Z"}"#
      ),
    ]
    for (kind, text) in kinds {
      let subscription = Subscription(id: id, kind: kind)
      #expect(subscription.storedText == text)
      #expect(Subscription(id: id, storedText: text) == subscription)
    }
  }

  /// A value in `where` as deep as a request body allows: it is restored without loss.
  @Test func theDeepestConditionComesBack() {
    var value: JSONValue = 1
    for _ in 0..<(Limits.jsonDepth - 2) { value = [value] }
    let subscription = Subscription(id: id, kind: query([JSONMember("a", value)], zone: nil))
    #expect(Subscription(id: id, storedText: subscription.storedText) == subscription)
  }

  @Test(arguments: [
    "", "[]", "{}", #"{"kind":"other"}"#, #"{"kind":"zone"}"#, #"{"kind":"zone","zone":""}"#,
    #"{"events":5,"kind":"query","type":"T"}"#,
    #"{"events":5,"kind":"query","type":"","where":[]}"#,
    #"{"events":5,"kind":"query","type":"T","where":["a"]}"#,
    #"{"events":5,"kind":"query","type":"T","where":[1,1]}"#,
    #"{"events":256,"kind":"query","type":"T","where":[]}"#,
    #"{"events":5,"kind":"query","type":"T","where":[],"zone":7}"#,
  ])
  func whatIsNoSubscriptionIsToldFromOne(_ text: String) {
    #expect(Subscription(id: id, storedText: text) == nil)
  }
}
