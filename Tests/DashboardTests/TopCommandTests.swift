import LockstepClient
import LockstepCommandLine
import Testing

@testable import LockstepDashboard

struct TopCommandTests {
  @Test(arguments: [
    ("http://127.0.0.1:9625", "http://127.0.0.1:9625"), ("127.0.0.1:1", "http://127.0.0.1:1"),
    ("relay.example", "http://relay.example:9625"), ("[::1]:7", "http://[::1]:7"),
    ("https://relay.example", "https://relay.example:443"),
  ])
  func anAddressIsTakenAsAdminListenHasIt(_ text: String, _ url: String) throws {
    #expect(try ValueKind<RelayAddress>.admin.parse(text).url == url)
  }

  @Test(arguments: ["", "http://", "ftp://relay", "a b", "127.0.0.1:0", "relay/metrics"])
  func whatIsNoAddressIsRefused(_ text: String) {
    #expect(throws: ValueFault.self) { try ValueKind<RelayAddress>.admin.parse(text) }
  }

  @Test func onlyAGoodAnswerHasMetrics() {
    let body = Array("a 1".utf8)
    #expect(
      TopCommand.answer(from: .answered(status: 200, body: body, wall: 7))
        == .metrics(body, wall: 7))
    #expect(
      TopCommand.answer(from: .answered(status: 404, body: body, wall: 7))
        == .failed("the server at this address has no metrics (404)"))
    #expect(TopCommand.answer(from: .unanswered(reason: "late")) == .failed("late"))
  }

  @Test func whoFindsNothingIsToldHowToHaveIt() throws {
    let relay = try ValueKind<RelayAddress>.admin.parse("127.0.0.1:7777")
    var availability = RelayAvailability()
    availability.recordFailure("connection refused", at: 0)
    let words = try #require(TopCommand.failure(availability, relay).message)
    #expect(words.contains("connection refused"))
    #expect(words.contains("lockstep relay --admin-listen 127.0.0.1:7777"))
    #expect(words.contains("--admin"))
  }
}
