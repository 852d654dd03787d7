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

  @Test func aWakeWithANoticeIsADeclarativePushMessage() throws {
    let token = ChangeToken(generation: 1, sequence: 2)
    let notice = WakeNotice(title: "Notes \"é\"", navigate: "https://notes.example/#all")
    let bytes = WakePayload(token: token, notice: notice).bytes
    #expect(
      String(decoding: bytes, as: UTF8.self)
        == #"{"web_push":8030,"mutable":true,"notification":{"title":"Notes \"é\"","#
        + #""navigate":"https://notes.example/#all","tag":"lockstep changes","#
        + #""data":{"v":1,"t":"1.2"}}}"#)
    #expect(WakePayload(bytes) == WakePayload(token: token))
  }

  @Test func theLongestNoticeFits() {
    let last = Limits.sequenceLimit - 1
    let token = ChangeToken(
      generation: .max, sequence: last, zoneDigest: .max, pinned: last, horizon: last)
    let notice = WakeNotice(
      title: String(repeating: "\"", count: Limits.wakeTitleBytes),
      navigate: "https://" + String(repeating: "x", count: Limits.wakeNavigateBytes - 8))
    #expect(WakePayload(token: token, notice: notice).bytes.count <= PushMessage.contentBytes)
  }

  @Test func membersOfLaterVersionsAreIgnored() {
    let bytes = Array(#"{"t":"1.2","x":[{}],"v":1}"#.utf8)
    #expect(WakePayload(bytes)?.token == ChangeToken(generation: 1, sequence: 2))
  }

  @Test(arguments: [
    "", "{}", "[]", "null", #"{"v":1}"#, #"{"t":"1.2"}"#, #"{"v":2,"t":"1.2"}"#,
    #"{"v":"1","t":"1.2"}"#, #"{"v":1,"t":"x"}"#, #"{"v":1,"t":12}"#, #"{"v":1,"t":"1.2""#,
    #"{"v":1,"t":"1.2"}x"#, #"{"v":1,"v":1,"t":"1.2"}"#, #"{"v":1.5,"t":"1.2"}"#,
    #"{"web_push":8030,"v":1,"t":"1.2"}"#, #"{"web_push":8030,"notification":{}}"#,
    #"{"web_push":8030,"notification":{"data":{"v":2,"t":"1.2"}}}"#,
    #"{"web_push":9001,"notification":{"data":{"v":1,"t":"1.2"}}}"#,
  ])
  func otherBytesAreNoWake(text: String) {
    #expect(WakePayload(Array(text.utf8)) == nil)
  }
}
