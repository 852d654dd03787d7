import LockstepModel
import Testing

@testable import LockstepWire

struct EventStreamWriterTests {
  private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

  @Test func anEventHasItsNameIdAndData() {
    let event = EventStreamWriter.event("changes", id: "7.3", json: Array("{}".utf8))
    #expect(text(event) == "id: 7.3\nevent: changes\ndata: {}\n\n")
    let hint = EventStreamWriter.event("changed", json: Array("[1]".utf8))
    #expect(text(hint) == "event: changed\ndata: [1]\n\n")
    let last = EventStreamWriter.event("error", retryMilliseconds: 1_500, json: Array("1".utf8))
    #expect(text(last) == "retry: 1500\nevent: error\ndata: 1\n\n")
  }

  @Test func nothingInTheDataBreaksOutOfItsLine() throws {
    let json = "{\r\n\"a\":\r[1,\n\n2]}\n\nevent: changed\ndata: x\r\rid: 9\n"
    var reader = EventStreamReader()
    let bytes = EventStreamWriter.event("changes", id: "1", json: Array(json.utf8))
    reader.receive(bytes.span.bytes)
    let event = try #require(try reader.next())
    #expect(event.name == "changes")
    #expect(event.lastID == "1")
    #expect(!event.data.contains(10) && !event.data.contains(13))
    #expect(event.data.count == json.utf8.count)
    #expect(try reader.next() == nil)
  }

  @Test func aHeartbeatIsNoEvent() throws {
    var reader = EventStreamReader()
    let heartbeat = EventStreamWriter.heartbeat
    reader.receive(heartbeat.span.bytes)
    #expect(try reader.next() == nil)
    #expect(reader.bufferedBytes == 0)
  }

  @Test func whatIsWrittenIsRead() throws {
    var random = SeededRandom(seed: 17)
    for _ in 0..<300 {
      let json = random.page().encodedBody()
      let id = Bool.random(using: &random) ? "\(random.next())" : nil
      let bytes = EventStreamWriter.event("changes", id: id, json: json)
      var reader = EventStreamReader()
      var events: [ServerSentEvent] = []
      for chunk in randomCut(of: bytes, using: &random) {
        reader.receive(chunk.span.bytes)
        while let event = try reader.next() { events.append(event) }
      }
      #expect(events == [ServerSentEvent(name: "changes", data: json, lastID: id)])
    }
  }
}
