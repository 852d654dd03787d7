import LockstepJSON
import Testing

@testable import Lockstep

struct HomeReplyTests {
  @Test(arguments: [
    HomeReply.success(.null), .success(["a": 1]), .failure("nothing runs"), .failure(""),
  ])
  func aReplySurvivesItsLine(_ reply: HomeReply) throws {
    #expect(HomeReply(try JSONValue(parsing: reply.line.serialized())) == reply)
  }

  @Test func whatIsNoReplyIsNil() {
    #expect(HomeReply(["screen": 1]) == nil)
    #expect(HomeReply(["error": 1]) == nil)
    #expect(HomeReply(.null) == nil)
  }
}
