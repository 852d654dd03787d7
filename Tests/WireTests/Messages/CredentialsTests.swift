import LockstepModel
import Testing

@testable import LockstepWire

@Suite struct CredentialsTests {
  @Test func credentialsSurviveTheRoundTrip() throws {
    let credentials = Credentials(
      account: AccountID(rawValue: 1), device: DeviceID(rawValue: 2), token: "secret")
    #expect(
      text(credentials.encodedBody())
        == #"{"accountID":"0000000000000001","deviceID":"0000000000000002","token":"secret"}"#)
    #expect(try Credentials.decoded(body: credentials.encodedBody()) == credentials)
    let broken = #"{"accountID":"1","deviceID":"2","token":"secret"}"#
    #expect(
      refusal { () throws(Refusal) in try Credentials.decoded(body: bytes(broken)) }?.code
        == .badMessage)
  }
}
