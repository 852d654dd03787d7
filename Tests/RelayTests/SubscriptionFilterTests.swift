import LockstepModel
import Testing

@testable import LockstepRelay

struct SubscriptionFilterTests {
  @Test func everythingNeedsNoRule() {
    #expect(SubscriptionFilter([]) == nil)
    let zone = Subscription(id: Name(trusted: "a"), kind: .zone(Name(trusted: "z")))
    #expect(SubscriptionFilter([zone])?.kinds == [zone.kind])
    #expect(
      SubscriptionFilter([zone, Subscription(id: Name(trusted: "b"), kind: .database)]) == nil)
  }
}
