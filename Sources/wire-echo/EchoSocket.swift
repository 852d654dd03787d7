import LockstepModel
import LockstepWire

/// One end of an open WebSocket that says back what it hears. A class, since its deflater can stand
/// in no collection.
final class EchoSocket {
  enum Reply {
    case frame([UInt8])
    /// Nothing follows it.
    case last([UInt8])
  }

  private let role: WebSocketRole
  private var reader: WebSocketReader
  private var deflater: Deflater?
  private var random: SeededRandom
  /// The last text that came, for a client that asked for one.
  private(set) var heard: [UInt8] = []

  /// `deflate`: what was agreed on compression. `random`: for the masks of a client.
  init(role: WebSocketRole, deflate: DeflateTerms?, random: SeededRandom) {
    self.role = role
    self.random = random
    reader = WebSocketReader(
      role: role, maximumMessageBytes: Limits.echoMessageBytes, deflate: deflate)
    if let sending = deflate?.sending { deflater = Deflater(sending, leastBytes: nil) }
  }

  func receive(_ bytes: RawSpan) { reader.receive(bytes) }

  /// What to say to what has come; nil until more has.
  func nextReply() -> Reply? {
    do throws(WebSocketFault) {
      while let event = try reader.next() {
        switch event {
        case .text(let payload):
          heard = payload
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

/// What waits to leave a connection: above the limit it is not read until some has left.
struct EchoBacklog {
  private(set) var isPaused = false

  /// What to do where `unsent` bytes wait; nil where things stay as they are.
  mutating func pauses(at unsent: Int) -> Bool? {
    guard isPaused != (unsent > Limits.echoUnsentBytes) else { return nil }
    isPaused.toggle()
    return isPaused
  }
}
