import LockstepJSON
import LockstepModel
import LockstepRuntime
import LockstepWire
import Testing

@testable import LockstepRelay

/// A client with an event stream, at the level of bytes.
final class EventsClient {
  let relay: TestRelay
  let id: ConnectionID
  private var parser = HTTPResponseParser()
  private var reader = EventStreamReader()
  private(set) var head: HTTPResponseHead?
  /// The body of an answer that is not a stream.
  private var body: [UInt8] = []
  /// True once the answer is complete.
  private(set) var isWhole = false
  /// Bytes of the stream received so far.
  private(set) var bytes = 0

  /// Sends the request, and runs the relay until nothing is left to do.
  init(
    _ relay: TestRelay, node: Int = 0, as device: TestDevice, since: ChangeToken? = nil,
    lastEventID: String? = nil, method: String = "GET", minorVersion: Int = 1,
    settles: Bool = true
  ) {
    self.relay = relay
    id = relay.open(node: node)
    parser.bodyLimit = .max
    parser.expectAnswer(to: method)
    var text = "\(method) /v1/events" + (since.map { "?since=\($0.text)" } ?? "")
    text += " HTTP/1.\(minorVersion)\r\nHost: relay\r\nAuthorization: Bearer \(device.token)\r\n"
    if let lastEventID { text += "Last-Event-ID: \(lastEventID)\r\n" }
    relay.send(id, Array((text + "\r\n").utf8))
    if settles { relay.runUntilIdle() }
  }

  var isClosed: Bool { relay.wire(id).closed != nil }
  var lastID: String? { reader.lastID }
  var retryMilliseconds: Int64? { reader.retryMilliseconds }

  /// The code of the problem received instead of a stream.
  var code: String? {
    do { return try JSONValue(parsing: body)["code"]?.string } catch { return nil }
  }

  /// Returns the next event received; nil if there is none.
  func next() throws -> RelayEvent? {
    try take()
    return try reader.next().map { try RelayEvent.decode($0) }
  }

  /// Returns all events received.
  func all() throws -> [RelayEvent] {
    var events: [RelayEvent] = []
    while let event = try next() { events.append(event) }
    return events
  }

  func take() throws {
    let wire = relay.wire(id)
    parser.receive(wire.incoming.span.bytes)
    wire.incoming = []
    while let event = try parser.next() {
      switch event {
      case .head(let head): self.head = head
      case .body(let chunk):
        bytes += chunk.count
        if head?.status == 200 { reader.receive(chunk.span.bytes) } else { body += chunk }
      case .end: isWhole = true
      }
    }
  }
}
