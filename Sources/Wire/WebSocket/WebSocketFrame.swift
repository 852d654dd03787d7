/// Encoder of whole frames (RFC 6455 section 5.2).
///
///      0                   1                   2                   3
///      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
///     +-+-+-+-+-------+-+-------------+-------------------------------+
///     |F|R|R|R| opcode|M|   length    |  if length is 126: 16 bits    |
///     |I|S|S|S|       |A|             |  if it is 127: 64 bits, the   |
///     |N|V|V|V|       |S|             |  topmost 0; else nothing      |
///     | |1|2|3|       |K|             |                               |
///     +-+-+-+-+-------+-+-------------+-------------------------------+
///     |  if MASK: 32 bits of key      |  payload, masked with the key |
///     +-------------------------------+-------------------------------+
///
/// RSV1 marks a compressed message (RFC 7692 section 6); `Deflater` makes such frames.
///
/// `mask`: a client masks every frame with an unpredictable key; a server never does.
package enum WebSocketFrame {
  enum Opcode: UInt8, Sendable {
    case continuation = 0
    case text = 1
    case binary = 2
    case close = 8
    case ping = 9
    case pong = 10

    var isControl: Bool { rawValue >= 8 }
  }

  /// Maximum bytes of the payload of a ping, pong or close (section 5.5).
  package static let controlBytes = 125

  /// `payload` is UTF-8.
  package static func text(_ payload: [UInt8], mask: UInt32? = nil) -> [UInt8] {
    encode(.text, payload, mask: mask)
  }

  package static func binary(_ payload: [UInt8], mask: UInt32? = nil) -> [UInt8] {
    encode(.binary, payload, mask: mask)
  }

  /// `payload`: at most `controlBytes`.
  package static func ping(_ payload: [UInt8] = [], mask: UInt32? = nil) -> [UInt8] {
    encode(.ping, payload, mask: mask)
  }

  /// `payload`: that of the ping.
  package static func pong(_ payload: [UInt8] = [], mask: UInt32? = nil) -> [UInt8] {
    encode(.pong, payload, mask: mask)
  }

  /// `code`: nil for a close without a reason. `reason` is truncated if it does not fit.
  package static func close(
    code: UInt16?, reason: String = "", mask: UInt32? = nil
  ) -> [UInt8] {
    guard let code else { return encode(.close, [], mask: mask) }
    precondition(isCloseCode(code), "a close code that may not be sent")
    var payload = [UInt8(code >> 8), UInt8(code & 0xFF)]
    for character in reason.unicodeScalars {
      let bytes = UTF8.encode(character).map(Array.init) ?? []
      guard payload.count + bytes.count <= controlBytes else { break }
      payload += bytes
    }
    return encode(.close, payload, mask: mask)
  }

  /// True if a close frame may carry the code: those registered for the wire (not 1004 to 1006 and
  /// 1015), and those for libraries and programs (section 7.4).
  static func isCloseCode(_ code: UInt16) -> Bool {
    switch code {
    case 1000...1003, 1007...1014, 3000...4999: true
    default: false
    }
  }

  /// Returns the offset of the payload in a whole frame without a mask.
  static func payloadStart(ofPlain frame: [UInt8]) -> Int {
    switch frame[1] {
    case 126: 4
    case 127: 10
    default: 2
    }
  }

  /// `isCompressed`: `payload` is the compressed message.
  static func encode(
    _ opcode: Opcode, _ payload: [UInt8], mask: UInt32?, isCompressed: Bool = false
  ) -> [UInt8] {
    precondition(!opcode.isControl || payload.count <= controlBytes, "a control frame too long")
    var frame: [UInt8] = []
    frame.reserveCapacity(14 + payload.count)
    frame.append(0x80 | (isCompressed ? 0x40 : 0) | opcode.rawValue)
    let maskBit: UInt8 = mask == nil ? 0 : 0x80
    switch payload.count {
    case 0...125: frame.append(maskBit | UInt8(payload.count))
    case 126...0xFFFF:
      frame.append(maskBit | 126)
      appendBytes(of: UInt16(payload.count), to: &frame)
    default:
      frame.append(maskBit | 127)
      appendBytes(of: UInt64(payload.count), to: &frame)
    }
    if let mask { appendBytes(of: mask, to: &frame) }
    let start = frame.count
    frame += payload
    if let mask {
      frame.withUnsafeMutableBytes {
        WebSocketMask.apply(mask, to: UnsafeMutableRawBufferPointer(rebasing: $0[start...]))
      }
    }
    return frame
  }

  private static func appendBytes(of number: some FixedWidthInteger, to frame: inout [UInt8]) {
    withUnsafeBytes(of: number.bigEndian) { frame.append(contentsOf: $0) }
  }
}
