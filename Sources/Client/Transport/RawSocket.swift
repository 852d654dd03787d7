import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepRuntime
import LockstepWire

/// Minimal WebSocket client for load, where an agent would cost too much. It produces and consumes
/// bytes; the owner handles the messages.
package struct RawSocket {
  package enum Event {
    /// The socket is open; send hello.
    case opened
    case text([UInt8])
    /// The socket has ended, for this reason.
    case ended(String)
  }

  private enum Stage {
    /// → handshaking
    case connecting
    /// → open, over
    case handshaking(HTTPResponseParser, key: String)
    /// → over
    case open(WebSocketReader)
    case over
  }

  package let id: ConnectionID
  private let relay: RelayAddress
  private let token: String
  private var stage = Stage.connecting
  private var random: SeededRandom
  /// Answers to pings, ready to send.
  private var replies: [[UInt8]] = []

  package init(_ id: ConnectionID, to relay: RelayAddress, token: String, random: SeededRandom) {
    self.id = id
    self.relay = relay
    self.token = token
    self.random = random
  }

  /// Returns the request that opens the socket. Call it when the connection is open.
  package mutating func opened() -> [UInt8] {
    var nonce: [UInt8] = []
    for _ in 0..<16 { nonce.append(UInt8.random(in: 0...255, using: &random)) }
    let key = WebSocketHandshake.key(nonce: nonce)
    var headers = WebSocketHandshake.offer(key: key)
    headers.append("Authorization", "Bearer " + token)
    var parser = HTTPResponseParser()
    parser.expectAnswer(to: "GET")
    stage = .handshaking(parser, key: key)
    return HTTPWriter.request(
      method: "GET", target: RequestTarget(path: ["v1", "socket"]), host: relay.authority,
      headers: headers)
  }

  package mutating func frame(of message: DeviceMessage) -> [UInt8] {
    WebSocketFrame.text(message.encoded(), mask: UInt32.random(in: 0 ... .max, using: &random))
  }

  package mutating func receive(_ bytes: RawSpan) {
    // The stage is cleared meanwhile, so that its contents are not copied.
    switch stage {
    case .connecting, .over: return
    case .handshaking(var parser, let key):
      stage = .over
      parser.receive(bytes)
      stage = .handshaking(parser, key: key)
    case .open(var reader):
      stage = .over
      reader.receive(bytes)
      stage = .open(reader)
    }
  }

  /// Returns the next event; nil if it is incomplete.
  package mutating func next() -> Event? {
    do {
      switch stage {
      case .connecting, .over: return nil
      case .handshaking(var parser, let key):
        let event = try parser.next()
        stage = .handshaking(parser, key: key)
        guard case .head(let head) = event else { return nil }
        try WebSocketHandshake.check(head, key: key)
        var reader = WebSocketReader(
          role: .client, maximumMessageBytes: Limits.relayMessageBytes)
        reader.receive(parser.takeRest().span.bytes)
        stage = .open(reader)
        return .opened
      case .open(var reader):
        stage = .over
        defer { stage = .open(reader) }
        return try text(from: &reader)
      }
    } catch let refusal as Refusal {
      return end(refusal.detail)
    } catch let fault as WebSocketFault {
      return end(fault.reason)
    } catch {
      return end("\(error)")
    }
  }

  private mutating func text(from reader: inout WebSocketReader) throws(WebSocketFault) -> Event? {
    while let event = try reader.next() {
      switch event {
      case .text(let bytes): return .text(bytes)
      case .ping(let payload):
        replies.append(
          WebSocketFrame.pong(payload, mask: UInt32.random(in: 0 ... .max, using: &random)))
      case .binary, .pong: break
      case .close(let code, let reason):
        return .ended(
          localized(
            "the relay closed the socket ({code}): {reason}",
            ["code": "\(code ?? 1005)", "reason": reason]))
      }
    }
    return nil
  }

  private mutating func end(_ reason: String) -> Event {
    stage = .over
    return .ended(reason)
  }

  package mutating func drainReplies() -> [[UInt8]] {
    defer { replies.removeAll() }
    return replies
  }
}
