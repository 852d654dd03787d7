import LockstepModel
import LockstepRuntime
import LockstepWire
import Testing

@testable import LockstepRelay

/// A WebSocket client of a node, at the level of bytes.
final class SocketClient {
  let relay: TestRelay
  let id: ConnectionID
  private var parser = HTTPResponseParser()
  private var reader: WebSocketReader?
  private(set) var closeCode: UInt16?
  private(set) var pings = 0
  /// The last period for reconnecting that it received; nil if there was none.
  private(set) var reconnectWithin: Int64?
  /// True if pings are answered.
  var answersPings = true

  /// The negotiated compression.
  let deflate: DeflateTerms?

  /// Connects and performs the handshake. `token`: for the header. `connection`: an existing one.
  /// `deflate`: the compression to offer.
  init(
    _ relay: TestRelay, node: Int = 0, token: String? = nil, over connection: ConnectionID? = nil,
    deflate: DeflateOffer? = nil
  ) throws {
    self.relay = relay
    id = connection ?? relay.open(node: node)
    let key = WebSocketHandshake.key(nonce: Array(repeating: 7, count: 16))
    var headers = WebSocketHandshake.offer(key: key, deflate: deflate)
    if let token { headers.append("Authorization", "Bearer \(token)") }
    parser.expectAnswer(to: "GET")
    relay.send(
      id,
      HTTPWriter.request(
        method: "GET", target: RequestTarget(path: ["v1", "socket"]), host: "relay",
        headers: headers))
    relay.runUntilIdle()
    let wire = relay.wire(id)
    parser.receive(wire.incoming.span.bytes)
    wire.incoming = []
    guard case .head(let head)? = try parser.next() else {
      Issue.record("the handshake was not answered")
      self.deflate = nil
      return
    }
    self.deflate = try WebSocketHandshake.check(head, key: key, deflate: deflate)
    var reader = WebSocketReader(
      role: .client, maximumMessageBytes: 16 << 20, deflate: self.deflate)
    reader.receive(parser.takeRest().span.bytes)
    self.reader = reader
  }

  /// Connects, sends the hello and reads the welcome.
  convenience init(
    _ relay: TestRelay, node: Int = 0, as device: TestDevice, since: ChangeToken? = nil,
    deflate: DeflateOffer? = nil
  ) throws {
    try self.init(relay, node: node, deflate: deflate)
    sendMessage(.hello(token: device.token, since: since))
    relay.runUntilIdle()
    guard case .welcome? = try next() else {
      Issue.record("no welcome came")
      return
    }
  }

  var isClosed: Bool { relay.wire(id).closed != nil }

  func sendMessage(_ message: DeviceMessage) { sendText(message.encoded()) }

  func sendText(_ bytes: [UInt8]) {
    relay.send(id, WebSocketFrame.text(bytes, mask: 0x1234_5678, deflate: deflate?.sending))
  }

  /// Sends a message, and runs the relay until nothing is left to do.
  func call(_ message: DeviceMessage) {
    sendMessage(message)
    relay.runUntilIdle()
  }

  /// Returns the next message received, except those about reconnecting; nil if there is none.
  func next() throws -> RelayMessage? {
    let wire = relay.wire(id)
    reader?.receive(wire.incoming.span.bytes)
    wire.incoming = []
    while let event = try reader?.next() {
      switch event {
      case .text(let bytes):
        let message = try RelayMessage.decode(bytes)
        guard case .reconnect(let within) = message else { return message }
        reconnectWithin = within
      case .binary: Issue.record("the relay sent a binary frame")
      case .ping(let payload):
        pings += 1
        if answersPings { relay.send(id, WebSocketFrame.pong(payload, mask: 1)) }
      case .pong: break
      case .close(let code, _): closeCode = code
      }
    }
    return nil
  }

  /// Returns all messages received.
  func all() throws -> [RelayMessage] {
    var messages: [RelayMessage] = []
    while let message = try next() { messages.append(message) }
    return messages
  }
}

/// Returns a save of one record.
func save(
  _ name: String, value: Int = 1, zone: String = "z", base: ChangeTag? = nil,
  at modifiedAt: Int64 = 1_700_000_000_000, id: BatchID
) -> SaveRequest {
  SaveRequest(
    id: id, zone: Name(trusted: zone), atomic: false,
    mutations: [
      Mutation(
        name: Name(trusted: name), type: Name(trusted: "t"),
        fields: Array(#"{"v":\#(value)}"#.utf8),
        modifiedAt: modifiedAt, baseTag: base)
    ])
}
