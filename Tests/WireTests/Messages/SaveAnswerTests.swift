import LockstepModel
import Testing

@testable import LockstepWire

@Suite struct SaveAnswerTests {
  @Test func randomAnswerSurvivesTheRoundTrip() throws {
    var random = SeededRandom(seed: 41)
    for _ in 0..<1_000 {
      let answer = random.saveAnswer()
      #expect(try SaveAnswer.decoded(body: answer.encodedBody()) == answer)
    }
  }

  @Test(arguments: [
    #"{"name":"a"}"#, #"{"tag":1}"#, #"{"name":"a","tag":-1}"#,
    #"{"name":"a","tag":1,"error":{"code":"badName"}}"#, #"{"name":"a","conflict":{}}"#,
    #"{"name":"a","error":{}}"#, "7", #"{"name":"","tag":1}"#,
  ]) func resultThatSaysNothingIsRefused(_ result: String) {
    let body = #"{"since":"1.1","token":"1.1","results":[\#(result)]}"#
    let refusal = refusal { () throws(Refusal) in try SaveAnswer.decoded(body: bytes(body)) }
    #expect(refusal?.code == .badMessage || refusal?.code == .badName)
    #expect(refusal?.detail.contains("results[0]") == true)
  }

  @Test func timesAreMillisecondsWithDecimals() throws {
    let token = ChangeToken(generation: 1, sequence: 1)
    let answer = SaveAnswer(
      since: token, token: token, results: [],
      timing: SaveTiming(
        received: 1_700_000_000_123_000, durable: 1_700_000_000_124_007,
        pushed: 1_700_000_000_124_500))
    let start = #"{"since":"1.1","token":"1.1","results":[]"#
    #expect(
      text(answer.encodedBody()) == start
        + #","timing":{"received":1700000000123.000,"durable":1700000000124.007,"#
        + #""pushed":1700000000124.500}}"#)
    let other =
      start
      + #","timing":{"later":1,"pushed":1700000000124.5,"durable":1700000000124.0079,"#
      + #""received":1700000000123}}"#
    #expect(try SaveAnswer.decoded(body: bytes(other)) == answer)
    #expect(try SaveAnswer.decoded(body: bytes(start + "}")).timing == nil)
  }

  @Test(arguments: [
    "1", "{}", #"{"received":1,"durable":2}"#, #"{"received":1,"durable":2,"pushed":"3"}"#,
    #"{"received":-1,"durable":2,"pushed":3}"#, #"{"received":1e3,"durable":2,"pushed":3}"#,
    #"{"received":1,"durable":2,"pushed":99999999999999999}"#,
  ]) func timesThatAreNoneAreRefused(_ timing: String) {
    let body = #"{"since":"1.1","token":"1.1","results":[],"timing":\#(timing)}"#
    let refusal = refusal { () throws(Refusal) in try SaveAnswer.decoded(body: bytes(body)) }
    #expect(refusal?.code == .badMessage)
  }

  @Test func problemOfAnUnknownCodeIsReadByItsStatus() throws {
    let body =
      #"{"since":"1.1","token":"1.1","results":[{"name":"a","error":{"status":413,"#
      + #""code":"tooHeavy","detail":"Eat less."}}]}"#
    let answer = try SaveAnswer.decoded(body: bytes(body))
    #expect(
      answer.results == [.refused(name: Name(trusted: "a"), Refusal(.bodyTooLarge, "Eat less."))])
  }
}
