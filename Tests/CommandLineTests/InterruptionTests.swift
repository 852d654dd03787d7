import Testing

@testable import LockstepCommandLine

struct InterruptionTests {
  @Test func onceWantedItStaysWanted() throws {
    var answers = [false, true, false]
    let interruption = Interruption { answers.removeFirst() }
    #expect(interruption.canContinue())
    #expect(!interruption.canContinue())
    #expect(!interruption.canContinue())
    #expect(throws: Interruption.failure("the work")) { try interruption.check("the work") }
  }
}
