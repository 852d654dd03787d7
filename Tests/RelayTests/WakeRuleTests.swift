import LockstepModel
import Testing

@testable import LockstepRelay

struct WakeRuleTests {
  @Test func everythingNeedsNoRule() {
    #expect(WakeRule([]) == nil)
    let zone = Subscription(id: Name(trusted: "a"), kind: .zone(Name(trusted: "z")))
    #expect(WakeRule([zone])?.kinds == [zone.kind])
    #expect(WakeRule([zone, Subscription(id: Name(trusted: "b"), kind: .database)]) == nil)
  }
}
