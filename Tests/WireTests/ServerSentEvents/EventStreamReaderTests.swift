import LockstepModel
import Testing

@testable import LockstepWire

/// Checks the reader against the rules of the WHATWG, for any split of the bytes.
struct EventStreamReaderTests {
  private func events(_ chunks: [[UInt8]], limit: Int = 1_000) throws -> [ServerSentEvent] {
    var reader = EventStreamReader(limit: limit)
    var events: [ServerSentEvent] = []
    for chunk in chunks {
      reader.receive(chunk.span.bytes)
      while let event = try reader.next() { events.append(event) }
    }
    return events
  }

  private func expect(
    _ text: String, is expected: [(name: String, data: String, id: String?)],
    _ place: SourceLocation = #_sourceLocation
  ) throws {
    for chunks in cuts(of: Array(text.utf8)) {
      let found = try events(chunks)
      #expect(
        found
          == expected.map {
            ServerSentEvent(name: $0.name, data: Array($0.data.utf8), lastID: $0.id)
          }, sourceLocation: place)
    }
  }

  @Test func linesEndInThreeWays() throws {
    for end in ["\n", "\r", "\r\n"] {
      try expect(
        ["event: a", "data: 1", "", "data: 2", "data: 3", "", ""].joined(separator: end),
        is: [("a", "1", nil), ("message", "2\n3", nil)])
    }
    try expect(
      "data: 1\r\n\ndata: 2\r\rdata: 3\n\r\n",
      is: [
        ("message", "1", nil), ("message", "2", nil), ("message", "3", nil),
      ])
  }

  @Test func aByteOrderMarkIsPassedOverOnceAtTheStart() throws {
    try expect("\u{FEFF}data: 1\n\n", is: [("message", "1", nil)])
    try expect("data: 1\n\n\u{FEFF}data: 2\n\n", is: [("message", "1", nil)])
    try expect("\u{FEFF}\u{FEFF}data: 2\n\n", is: [])
    #expect(
      try events([[0xEF], [0xBB], Array("data: 1\n\ndata: 2\n\n".utf8)]).map(\.data) == [[50]])
  }

  @Test func commentsAndUnknownFieldsArePassedOver() throws {
    try expect(
      ": hello\n:\ndata: 1\nother: 2\nDATA: 3\n data: 4\n\n:\n\n", is: [("message", "1", nil)])
  }

  @Test func oneBlankBehindTheColonIsLeftOut() throws {
    try expect(
      "data:1\n\ndata:  2\n\ndata\n\ndata:\ndata\n\n",
      is: [
        ("message", "1", nil), ("message", " 2", nil), ("message", "", nil), ("message", "\n", nil),
      ])
    try expect("data: a:b: c\n\n", is: [("message", "a:b: c", nil)])
  }

  @Test func anEventWithoutDataIsNone() throws {
    try expect("event: a\n\ndata: 1\n\n", is: [("message", "1", nil)])
    try expect("event: a\nevent: b\ndata: 1\n\n", is: [("b", "1", nil)])
    try expect("event:\ndata: 1\n\n", is: [("message", "1", nil)])
  }

  @Test func anIdStaysUntilAnotherComes() throws {
    try expect(
      "data: 0\n\nid: 1\ndata: 1\n\ndata: 2\n\nid: 3\n\ndata: 3\n\nid\ndata: 4\n\n",
      is: [
        ("message", "0", nil), ("message", "1", "1"), ("message", "2", "1"), ("message", "3", "3"),
        ("message", "4", ""),
      ])
    try expect(
      "id: 1\ndata: 1\n\nid: 2\u{0}\ndata: 2\n\n",
      is: [("message", "1", "1"), ("message", "2", "1")])
  }

  @Test func anEventThatIsCutOffNeverComes() throws {
    try expect("id: 1\ndata: 1\n\nid: 2\ndata: 2\n", is: [("message", "1", "1")])
    var reader = EventStreamReader()
    let bytes = Array("id: 1\ndata: 1\n\nid: 2\ndata: 2\n".utf8)
    reader.receive(bytes.span.bytes)
    _ = try reader.next()
    #expect(try reader.next() == nil)
    #expect(reader.lastID == "1")
  }

  @Test func aRetryIsANumberOfDigits() throws {
    var reader = EventStreamReader()
    let text =
      "retry: 1500\n\nretry: -1\nretry: 2s\nretry:\nretry: +3\nretry: 99999999999999999999\n"
    let bytes = Array(text.utf8)
    reader.receive(bytes.span.bytes)
    #expect(try reader.next() == nil)
    #expect(reader.retryMilliseconds == 1_500)
  }

  @Test func bytesThatAreNoTextDoNoHarm() throws {
    let found = try events([
      Array("event: ".utf8) + [0xFF, 0xC3] + Array("\ndata: ".utf8) + [0x80, 10, 10]
    ])
    #expect(found.map(\.name) == ["\u{FFFD}\u{FFFD}"])
    #expect(found.map(\.data) == [[0x80]])
  }

  @Test func aLineIsAsLongAsItMayBe() throws {
    let fits = "data:" + String(repeating: "x", count: 15)
    #expect(try events(cuts(of: Array((fits + "\n\n").utf8))[1], limit: 20).count == 1)
    for chunks in cuts(of: Array((fits + "x").utf8)) {
      #expect(throws: Refusal.self) { _ = try events(chunks, limit: 20) }
    }
    #expect(throws: Refusal.self) {
      _ = try events([Array((":" + fits + "\n").utf8)], limit: 20)
    }
  }

  @Test func anEventIsAsLongAsItMayBe() throws {
    let line = "data:xxxx\n"
    #expect(
      try events([Array(String(repeating: line, count: 4).utf8), [10]], limit: 20).count == 1)
    #expect(throws: Refusal.self) {
      _ = try events([Array(String(repeating: line, count: 5).utf8)], limit: 20)
    }
  }

  @Test func damagedStreamsNeverHoldMoreThanTheyMay() throws {
    var random = SeededRandom(seed: 5)
    let stream = Array(
      "id: 1\nevent: a\ndata: {\"x\":1}\ndata: 2\n\n: c\n\nretry: 5\ndata\n\n".utf8)
    for _ in 0..<2_000 {
      var reader = EventStreamReader(limit: 100)
      do {
        for chunk in randomCut(of: damaged(stream + stream, using: &random), using: &random) {
          reader.receive(chunk.span.bytes)
          while let event = try reader.next() { #expect(event.data.count <= 100) }
          #expect(reader.bufferedBytes <= 200)
        }
      } catch { #expect(error.code == .internalError) }
    }
  }
}
