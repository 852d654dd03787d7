import LockstepWire
import Simulator
import Testing

struct RequestBudgetTests {
  @Test func whoAsksAgainAndAgainLeavesTheBudget() {
    let quietHour = RequestBudget(milliseconds: 3_600_000, saves: 0, strikes: 0)
    // A request every 30 s, as a poll makes, is within the budget; one every 10 s is not.
    #expect(quietHour.most >= 120)
    #expect(quietHour.most < 360)
    #expect(RequestBudget.mostInRest(milliseconds: 600_000, polls: false) < 20)
    #expect(RequestBudget.mostInRest(milliseconds: 600_000, polls: true) >= 20)
  }

  @Test func savesAndFaultsMayCostSomething() {
    let quiet = RequestBudget(milliseconds: 60_000, saves: 0, strikes: 0)
    let busy = RequestBudget(milliseconds: 60_000, saves: 10, strikes: 2)
    #expect(
      busy.most - quiet.most == 10 * RequestBudget.perSave + 2 * RequestBudget.perStrike)
  }

  @Test func requestsAndMessagesAreCountedAndPingsAreNot() {
    let request = Array("POST /v1/zones/Notes/records HTTP/1.1\r\n\r\n".utf8)
    #expect(RequestBudget.requests(in: request) == 1)
    #expect(RequestBudget.requests(in: Array("{}".utf8)) == 0)
    #expect(RequestBudget.requests(in: []) == 0)
    let long = Array(repeating: UInt8(ascii: "a"), count: 300)
    let frames =
      WebSocketFrame.text(long, mask: 7) + WebSocketFrame.ping([], mask: 7)
      + WebSocketFrame.text(Array("b".utf8), mask: 7)
    #expect(RequestBudget.requests(in: frames) == 2)
  }
}
