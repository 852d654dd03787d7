import Changes
import Testing

@testable import Link

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

  @Test func problemOfAnUnknownCodeIsReadByItsStatus() throws {
    let body =
      #"{"since":"1.1","token":"1.1","results":[{"name":"a","error":{"status":413,"#
      + #""code":"tooHeavy","detail":"Eat less."}}]}"#
    let answer = try SaveAnswer.decoded(body: bytes(body))
    #expect(
      answer.results == [.refused(name: Name(trusted: "a"), Refusal(.bodyTooLarge, "Eat less."))])
  }
}
