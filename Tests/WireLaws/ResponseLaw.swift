import LockstepModel
import LockstepWire

extension WireLaw {
  /// Maximum bytes of a line or event in this law.
  private static let eventBytes = 1 << 12

  /// Answers, read as a client does, and streams of events in their bodies. Lowest bit of the first
  /// byte: the first answer is one to HEAD. Next bit: the bytes are a stream without a head.
  package static func responses(_ bytes: [UInt8]) throws(BrokenLaw) {
    guard let first = bytes.first else { return }
    let stream = Array(bytes.dropFirst())
    if first & 2 != 0 { return try events(stream) }
    let reading = try agreed(stream) { (chunks) throws(BrokenLaw) in
      try ResponseReading(chunks, answersHead: first & 1 != 0)
    }
    for case .body(let body) in reading.events { try events(body) }
  }

  private static func events(_ bytes: [UInt8]) throws(BrokenLaw) {
    let reading = try agreed(bytes) { (chunks) throws(BrokenLaw) in try EventReading(chunks) }
    for event in reading.events {
      // A line end in the data becomes two data lines on the wire, and the writer accepts only
      // JSON.
      guard !event.data.contains(UInt8(ascii: "\n")) else { continue }
      guard event.lastID?.utf8.contains(0) != true, !event.name.utf8.contains(0) else { continue }
      let written = EventStreamWriter.event(event.name, id: event.lastID, json: event.data)
      guard written.count < eventBytes else { continue }
      let again = try EventReading([written]).events
      try expect(again == [event], "\(event) reads \(again) once it is written")
    }
  }

  /// Result of parsing, with adjacent chunks of a body joined.
  private struct ResponseReading: Equatable {
    var events: [HTTPResponseEvent] = []
    var refusal: RefusalCode?

    init(_ chunks: [[UInt8]], answersHead: Bool) throws(BrokenLaw) {
      var parser = HTTPResponseParser()
      parser.expectAnswer(to: answersHead ? "HEAD" : "GET")
      parser.expectAnswer(to: "GET")
      for chunk in chunks {
        parser.receive(chunk.span.bytes)
        take(&parser)
        let bound = Limits.requestLineBytes + 2 * Limits.headerBytes + bytesBehind(chunks)
        try expect(
          parser.bufferedBytes <= (refusal == nil ? bound : 0),
          "\(parser.bufferedBytes) bytes are held")
      }
      do throws(Refusal) { try parser.endOfStream() } catch { refusal = error.code }
      take(&parser)
    }

    /// Returns the bytes that may wait for the other protocol after a 101.
    private func bytesBehind(_ chunks: [[UInt8]]) -> Int {
      let isUpgraded = events.contains {
        if case .head(let head) = $0 { head.status == 101 } else { false }
      }
      return isUpgraded ? chunks.reduce(0) { $0 + $1.count } : 0
    }

    private mutating func take(_ parser: inout HTTPResponseParser) {
      do throws(Refusal) {
        while let event = try parser.next() { events.appendJoiningBodies(event) }
      } catch {
        refusal = error.code
      }
    }
  }

  private struct EventReading: Equatable {
    var events: [ServerSentEvent] = []
    var isRefused = false

    init(_ chunks: [[UInt8]]) throws(BrokenLaw) {
      var reader = EventStreamReader(limit: eventBytes)
      for chunk in chunks {
        if isRefused { break }
        reader.receive(chunk.span.bytes)
        do throws(Refusal) {
          while let event = try reader.next() { events.append(event) }
        } catch {
          isRefused = true
        }
        try expect(
          isRefused || reader.bufferedBytes <= 2 * eventBytes + 2,
          "\(reader.bufferedBytes) bytes are held")
      }
    }
  }
}
