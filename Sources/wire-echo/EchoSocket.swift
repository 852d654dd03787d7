import LockstepModel
import LockstepWire

/// One end of an open WebSocket that echoes all messages. A class, because its deflater is
/// noncopyable and cannot be in a collection.
final class EchoSocket {
  enum Reply {
    case frame([UInt8])
    /// The last frame.
    case last([UInt8])
  }

  private let role: WebSocketRole
  private var reader: WebSocketReader
  private var deflater: Deflater?
  private var random: SeededRandom
  /// Last received text, for a client that requested one.
  private(set) var lastText: [UInt8] = []

  /// `deflate`: the agreed compression terms. `random`: for the masks of a client.
  init(role: WebSocketRole, deflate: DeflateTerms?, random: SeededRandom) {
    self.role = role
    self.random = random
    reader = WebSocketReader(
      role: role, maximumMessageBytes: Limits.echoMessageBytes, deflate: deflate)
    if let sending = deflate?.sending { deflater = Deflater(sending, leastBytes: nil) }
  }

  func receive(_ bytes: RawSpan) { reader.receive(bytes) }

  /// Returns the next reply to the received bytes; nil if more bytes are needed.
  func nextReply() -> Reply? {
    do throws(WebSocketFault) {
      while let event = try reader.next() {
        switch event {
        case .text(let payload):
          lastText = payload
          return .frame(text(payload))
        case .binary(let payload): return .frame(binary(payload))
        case .ping(let payload): return .frame(WebSocketFrame.pong(payload, mask: mask()))
        case .pong: break
        case .close(let code, _): return .last(WebSocketFrame.close(code: code, mask: mask()))
        }
      }
      return nil
    } catch {
      return .last(
        WebSocketFrame.close(code: error.closeCode, reason: error.reason, mask: mask()))
    }
  }

  private func text(_ payload: [UInt8]) -> [UInt8] {
    let mask = mask()
    return deflater?.text(payload, mask: mask) ?? WebSocketFrame.text(payload, mask: mask)
  }

  private func binary(_ payload: [UInt8]) -> [UInt8] {
    let mask = mask()
    return deflater?.binary(payload, mask: mask) ?? WebSocketFrame.binary(payload, mask: mask)
  }

  private func mask() -> UInt32? {
    role == .client ? UInt32.random(in: 0 ... .max, using: &random) : nil
  }
}

/// Back-pressure on unsent bytes: above the limit a connection is not read until some are sent.
struct EchoBacklog {
  private(set) var isPaused = false

  /// Returns true to pause reading, false to resume it, with `unsent` bytes waiting; nil for no
  /// change.
  mutating func pauses(at unsent: Int) -> Bool? {
    guard isPaused != (unsent > Limits.echoUnsentBytes) else { return nil }
    isPaused.toggle()
    return isPaused
  }
}
