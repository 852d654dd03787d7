import LockstepModel
import LockstepWire
import WireLaws

/// Result of parsing some bytes: the events, adjacent chunks of a body joined, and the refusal that
/// ended them.
struct RequestReading: Equatable {
  var events: [HTTPRequestEvent] = []
  var refusal: RefusalCode?
  var bufferedBytes = 0

  var heads: [HTTPRequestHead] {
    events.compactMap { if case .head(let head) = $0 { head } else { nil } }
  }
  var bodies: [String] {
    events.compactMap {
      if case .body(let bytes) = $0 { String(decoding: bytes, as: UTF8.self) } else { nil }
    }
  }

  /// `bodyLimit`: set after each head.
  init(_ chunks: [[UInt8]], bodyLimit: Int? = nil, endOfStream: Bool = false) {
    var parser = HTTPRequestParser()
    do throws(Refusal) {
      for chunk in chunks {
        parser.receive(chunk.span.bytes)
        while let event = try parser.next() {
          events.appendJoiningBodies(event)
          if case .head = event, let bodyLimit { parser.bodyLimit = bodyLimit }
        }
      }
      if endOfStream { try parser.endOfStream() }
    } catch {
      refusal = error.code
    }
    bufferedBytes = parser.bufferedBytes
  }

  init(_ text: String, bodyLimit: Int? = nil, endOfStream: Bool = false) {
    self.init([Array(text.utf8)], bodyLimit: bodyLimit, endOfStream: endOfStream)
  }
}
