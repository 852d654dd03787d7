import LockstepModel
import LockstepWire

extension WireLaw {
  /// Requests, read as a server does.
  package static func requests(_ bytes: [UInt8]) throws(BrokenLaw) {
    let reading = try agreed(bytes) { (chunks) throws(BrokenLaw) in try RequestReading(chunks) }
    for case .head(let head) in reading.events {
      let bytes = HTTPWriter.request(
        method: head.method, target: head.target, host: head.headers["Host"] ?? "a")
      guard bytes.count < Limits.requestLineBytes else { continue }
      let again = try RequestReading([bytes])
      guard case .head(let other)? = again.events.first else {
        throw BrokenLaw("\(head) is refused once it is written again")
      }
      try expect(
        other.method == head.method && other.target == head.target,
        "\(head) reads \(other) once it is written again")
    }
  }

  /// Result of parsing, with adjacent chunks of a body joined.
  private struct RequestReading: Equatable {
    var events: [HTTPRequestEvent] = []
    var refusal: RefusalCode?

    init(_ chunks: [[UInt8]]) throws(BrokenLaw) {
      var parser = HTTPRequestParser()
      for chunk in chunks {
        parser.receive(chunk.span.bytes)
        do throws(Refusal) {
          while let event = try parser.next() { events.appendJoiningBodies(event) }
        } catch {
          refusal = error.code
        }
        // An incomplete line, and the fields before it.
        let bound = Limits.requestLineBytes + 2 * Limits.headerBytes
        try expect(
          parser.bufferedBytes <= (refusal == nil ? bound : 0),
          "\(parser.bufferedBytes) bytes are held")
      }
    }
  }
}
