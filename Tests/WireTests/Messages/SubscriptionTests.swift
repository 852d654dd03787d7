import LockstepJSON
import LockstepModel
import Testing

@testable import LockstepWire

/// Subscriptions on the wire.
@Suite struct SubscriptionTests {
  private let id = Name(trusted: "mine")

  private func query(
    zone: String? = nil, _ conditions: [JSONMember] = [], _ events: ChangeEvents = .all
  ) -> Subscription {
    Subscription(
      id: id,
      kind: .query(
        Subscription.Query(
          recordType: Name(trusted: "Note"), zone: zone.map { Name(trusted: $0) },
          conditions: conditions, events: events)))
  }

  @Test func eachKindSurvivesTheRoundTrip() throws {
    let subscriptions = [
      Subscription(id: id, kind: .database),
      Subscription(id: id, kind: .zone(Name(trusted: "日記"))), query(),
      query(zone: "z", [JSONMember("", [1, ["a": "b"]]), JSONMember("done", false)], .delete),
      query([JSONMember("n", .null)], [.create, .update]),
    ]
    for subscription in subscriptions {
      let body = subscription.encodedBody()
      #expect(try Subscription.decoded(body: body, id: id) == subscription)
      for count in 0..<body.count {
        #expect(
          refusal { () throws(Refusal) in
            try Subscription.decoded(body: Array(body.prefix(count)), id: id)
          }?.code == .badJSON)
      }
    }
    #expect(
      text(subscriptions[3].encodedBody())
        == #"{"id":"mine","kind":"query","recordType":"Note","zone":"z","#
        + #""where":{"":[1,{"a":"b"}],"done":false},"events":["delete"]}"#)
    #expect(
      text(SubscriptionList([subscriptions[0]]).encodedBody())
        == #"{"subscriptions":[{"id":"mine","kind":"database"}]}"#)
    #expect(text(SubscriptionList([]).encodedBody()) == #"{"subscriptions":[]}"#)
  }

  @Test(
    arguments: [
      (#"{"kind":"query","recordType":"Note"}"#, ChangeEvents.all),
      (#"{"kind":"query","recordType":"Note","events":null,"zone":null,"where":null}"#, .all),
      (#"{"kind":"query","recordType":"Note","events":["update","update"],"where":{}}"#, .update),
      (
        #"{"events":["delete","create"],"recordType":"Note","kind":"query","id":5,"x":{}}"#,
        [.create, .delete]
      ),
    ] as [(String, ChangeEvents)])
  func whatIsLeftOutMeansAll(body: String, events: ChangeEvents) throws {
    #expect(try Subscription.decoded(body: bytes(body), id: id) == query([], events))
  }

  @Test func membersOfAnotherKindArePassedOver() throws {
    let body = #"{"events":[],"kind":"zone","zone":"z","recordType":5,"where":null}"#
    #expect(
      try Subscription.decoded(body: bytes(body), id: id).kind == .zone(Name(trusted: "z")))
    #expect(
      try Subscription.decoded(body: bytes(#"{"kind":"database","zone":"z"}"#), id: id).kind
        == .database)
  }

  @Test(
    arguments: [
      ("{}", .badRequest, "`kind` is missing."),
      (#"{"kind":"all"}"#, .badRequest, "`kind` must be \"database\", \"zone\" or \"query\"."),
      (#"{"kind":null}"#, .badRequest, "`kind` must be a string."),
      (#"{"kind":"zone"}"#, .badRequest, "`zone` is missing."),
      (#"{"kind":"zone","zone":null}"#, .badRequest, "`zone` must be a string."),
      (#"{"kind":"query"}"#, .badRequest, "`recordType` is missing."),
      (
        #"{"kind":"zone","zone":""}"#, .badName,
        "`zone` must be 1 to 255 bytes of UTF-8 without control characters."
      ),
      (
        #"{"kind":"query","recordType":5}"#, .badRequest, "`recordType` must be a string."
      ),
      (
        #"{"kind":"database","kind":"database"}"#, .badRequest,
        "`kind` occurs twice in one object; send it once."
      ),
      (
        #"{"kind":"query","recordType":"t","where":[]}"#, .badRequest,
        "`where` must be an object of at most 16 members."
      ),
      ("[]", .badRequest, "The message or body must be a JSON object."),
    ] as [(String, RefusalCode, String)])
  func whatIsNoSubscriptionIsRefused(_ body: String, _ code: RefusalCode, _ detail: String) {
    #expect(
      refusal { () throws(Refusal) in try Subscription.decoded(body: bytes(body), id: id) }
        == Refusal(code, detail))
  }

  @Test(arguments: ["[]", "\"create\"", "[\"made\"]", "[5]", "{}", "[\"create\",\"Delete\"]"])
  func eventsAreOneAtLeastAndKnown(events: String) {
    let body = #"{"kind":"query","recordType":"t","events":\#(events)}"#
    let expectation =
      "`events` must be an array of \"create\", \"update\" and \"delete\", at least one."
    #expect(
      refusal { () throws(Refusal) in try Subscription.decoded(body: bytes(body), id: id) }
        == Refusal(.badRequest, expectation))
  }

  @Test func conditionsAreBounded() throws {
    for (count, isTaken) in [
      (Limits.subscriptionConditions, true), (Limits.subscriptionConditions + 1, false),
    ] {
      let members = (0..<count).map { #""f\#($0)":\#($0)"# }.joined(separator: ",")
      let body = bytes(#"{"kind":"query","recordType":"t","where":{\#(members)}}"#)
      let refused = refusal { () throws(Refusal) in try Subscription.decoded(body: body, id: id) }
      #expect(refused?.code == (isTaken ? nil : .badRequest))
    }
    let twice = bytes(#"{"kind":"query","recordType":"t","where":{"a":1,"\u0061":1}}"#)
    #expect(
      refusal { () throws(Refusal) in try Subscription.decoded(body: twice, id: id) }?.code
        == .badJSON)
  }
}
