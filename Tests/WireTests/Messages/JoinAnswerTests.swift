import LockstepModel
import Testing

@testable import LockstepWire

@Suite struct JoinAnswerTests {
  private let credentials = Credentials(
    account: AccountID(rawValue: 1), device: DeviceID(rawValue: 2), token: "secret")

  @Test func aJoinAnswerSurvivesTheRoundTrip() throws {
    let answer = JoinAnswer(credentials)
    #expect(
      text(answer.encodedBody())
        == #"{"accountID":"0000000000000001","deviceID":"0000000000000002","token":"secret"}"#)
    #expect(try JoinAnswer.decoded(body: answer.encodedBody()) == answer)
    let broken = #"{"accountID":"1","deviceID":"2","token":"secret"}"#
    #expect(
      refusal { () throws(Refusal) in try JoinAnswer.decoded(body: bytes(broken)) }?.code
        == .badMessage)
  }

  @Test func wrappedKeysStandBesideTheCredentials() throws {
    let answer = JoinAnswer(credentials, wrapped: "_-A")
    #expect(
      text(answer.encodedBody())
        == #"{"accountID":"0000000000000001","deviceID":"0000000000000002","token":"secret","#
        + #""wrapped":"_-A"}"#)
    #expect(try JoinAnswer.decoded(body: answer.encodedBody()) == answer)
    var broken = answer
    broken.wrapped = "no Base64"
    #expect(
      refusal { () throws(Refusal) in try JoinAnswer.decoded(body: broken.encodedBody()) }?.code
        == .badMessage)
  }
}
