import LockstepModel
import LockstepWebPush
import Testing

struct WakePayloadTests {
  @Test func aWakeHasVersionAndToken() throws {
    let token = ChangeToken(generation: 0xABC, sequence: 12, horizon: 20)
    let bytes = WakePayload(token: token).bytes
    #expect(String(decoding: bytes, as: UTF8.self) == #"{"v":1,"t":"abc.12.h20"}"#)
    #expect(WakePayload(bytes)?.token == token)
  }

  @Test func theLongestTokenFits() {
    let last = Limits.sequenceLimit - 1
    let token = ChangeToken(
      generation: .max, sequence: last, zoneDigest: .max, pinned: last, horizon: last)
    let bytes = WakePayload(token: token).bytes
    #expect(bytes.count <= PushMessage.contentBytes)
    #expect(WakePayload(bytes)?.token == token)
  }

  @Test func membersOfLaterVersionsAreIgnored() {
    let bytes = Array(#"{"t":"1.2","x":[{}],"v":1}"#.utf8)
    #expect(WakePayload(bytes)?.token == ChangeToken(generation: 1, sequence: 2))
  }

  @Test(arguments: [
    "", "{}", "[]", "null", #"{"v":1}"#, #"{"t":"1.2"}"#, #"{"v":2,"t":"1.2"}"#,
    #"{"v":"1","t":"1.2"}"#, #"{"v":1,"t":"x"}"#, #"{"v":1,"t":12}"#, #"{"v":1,"t":"1.2""#,
    #"{"v":1,"t":"1.2"}x"#, #"{"v":1,"v":1,"t":"1.2"}"#, #"{"v":1.5,"t":"1.2"}"#,
  ])
  func otherBytesAreNoWake(text: String) {
    #expect(WakePayload(Array(text.utf8)) == nil)
  }
}
