import LockstepModel
import Testing

@testable import LockstepWire

@Suite struct RelayEventTests {
  private func decoded(_ bytes: [UInt8]) throws -> (event: RelayEvent, id: String?, retry: Int64?) {
    var reader = EventStreamReader()
    reader.receive(bytes.span.bytes)
    let event = try #require(try reader.next())
    #expect(try reader.next() == nil)
    #expect(reader.bufferedBytes == 0)
    return (try RelayEvent.decode(event), event.lastID, reader.retryMilliseconds)
  }

  @Test func changesComeBackWithTheTokenAsTheirId() throws {
    var random = SeededRandom(seed: 71)
    for _ in 0..<300 {
      let page = random.page()
      let bytes = EncodedChanges(page.changes, lostTags: page.lostTags)
        .event(since: page.since, token: page.token, more: page.more)
      let (event, id, retry) = try decoded(bytes)
      #expect(event == .changes(page))
      #expect(id == page.token.text)
      #expect(retry == nil)
    }
  }

  @Test func aHintHasNoId() throws {
    let token = ChangeToken(generation: 7, sequence: 12)
    let (event, id, _) = try decoded(RelayEvent.encodedHint(token))
    #expect(event == .changed(token: token))
    #expect(id == nil)
  }

  @Test func anErrorIsAProblem() throws {
    let refusal = Refusal(.stopping, "Not now.\n\nevent: x", retryAfterMilliseconds: 2_000)
    let (event, id, retry) = try decoded(
      RelayEvent.encodedError(refusal, retryMilliseconds: 2_500))
    #expect(event == .error(refusal))
    #expect(id == nil)
    #expect(retry == 2_500)
  }

  @Test func whatIsUnknownIsPassedOver() throws {
    let event = ServerSentEvent(name: "news", data: Array("not even JSON".utf8))
    #expect(try RelayEvent.decode(event) == .unknown(name: "news"))
  }

  @Test func brokenEventsAreRefused() {
    for (name, data) in [
      ("changes", "{}"), ("changes", "[]"), ("changes", "{"), ("changed", "{}"),
      ("changed", #"{"token":"x"}"#), ("changed", #"{"token":"7.1"}x"#), ("error", "{}"),
      ("changes", #"{"since":null,"token":"7.1","more":false,"changes":[{}]}"#),
    ] {
      #expect(throws: Refusal.self, "\(name) \(data)") {
        _ = try RelayEvent.decode(ServerSentEvent(name: name, data: Array(data.utf8)))
      }
    }
  }
}
