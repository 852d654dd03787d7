import Testing

@testable import LockstepCommand

struct InterruptionTests {
  @Test func onceWantedItStaysWanted() throws {
    var answers = [false, true, false]
    let interruption = Interruption { answers.removeFirst() }
    #expect(interruption.goesOn())
    #expect(!interruption.goesOn())
    #expect(!interruption.goesOn())
    #expect(throws: Interruption.failure("the work")) { try interruption.check("the work") }
  }
}
