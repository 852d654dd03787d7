import LockstepJSON

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

  /// Headroom that `text` needs for the header, in bytes.
  package static let headroom = 10

  /// Returns the frame of a server's message that was written with `headroom`, without another copy
  /// of it.
  package static func text(_ message: consuming OutputBytes) -> [UInt8] {
    let count = message.count
    switch count {
    case 0...125: message.prepend(UInt8(count))
    case 126...0xFFFF:
      for shift in [0, 8] { message.prepend(UInt8(truncatingIfNeeded: count >> shift)) }
      message.prepend(126)
    default:
      for shift in stride(from: 0, to: 64, by: 8) {
        message.prepend(UInt8(truncatingIfNeeded: count >> shift))
      }
      message.prepend(127)
    }
    message.prepend(0x80 | Opcode.text.rawValue)
    return message.finish()
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
    precondition(isCloseCode(code), "this close code may not be sent")
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
    precondition(!opcode.isControl || payload.count <= controlBytes, "a control frame is too long")
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

/// Header of a frame; `WebSocketFrame` draws its bits.
struct WebSocketHeader: Sendable {
  var opcode: WebSocketFrame.Opcode
  /// True for the last, or only, frame of its message.
  var isFinal: Bool
  /// RSV1: the first frame of a compressed message (RFC 7692 section 6).
  var isCompressed: Bool
  var payloadCount: Int
  var mask: UInt32?
  /// Bytes of the header itself.
  var count: Int

  /// Returns nil if the header is not complete. Each fault is thrown at the first byte that shows
  /// it. `masked`: true if frames must be masked; those of a client must be, and those of a server
  /// must not (RFC 6455 section 5.1). `mayBeCompressed`: both ends have agreed to compression.
  init?(
    reading input: IncomingBytes, masked: Bool, mayBeCompressed: Bool
  ) throws(WebSocketFault) {
    guard input.count > 0 else { return nil }
    let first = input[0]
    guard first & (mayBeCompressed ? 0x30 : 0x70) == 0 else {
      throw .protocolError("A reserved bit is set.")
    }
    guard let opcode = WebSocketFrame.Opcode(rawValue: first & 0x0F) else {
      throw .protocolError("The opcode is reserved.")
    }
    self.opcode = opcode
    isFinal = first & 0x80 != 0
    isCompressed = first & 0x40 != 0
    guard !isCompressed || opcode == .text || opcode == .binary else {
      throw .protocolError("Only the first frame of a message may be marked as compressed.")
    }
    guard isFinal || !opcode.isControl else {
      throw .protocolError("A control frame is fragmented.")
    }

    guard input.count > 1 else { return nil }
    let second = input[1]
    guard (second & 0x80 != 0) == masked else {
      throw .protocolError(masked ? "The frame is not masked." : "The frame is masked.")
    }
    let short = Int(second & 0x7F)
    guard short <= WebSocketFrame.controlBytes || !opcode.isControl else {
      throw .protocolError("A control frame is longer than 125 bytes.")
    }
    let lengthCount = short == 127 ? 8 : short == 126 ? 2 : 0
    guard input.count >= 2 + lengthCount else { return nil }
    let long = WebSocketHeader.number(input, at: 2, count: lengthCount)
    guard long <= UInt64(Int64.max) else {
      throw .protocolError("The topmost bit of a length is set.")
    }
    payloadCount = lengthCount == 0 ? short : Int(long)
    guard lengthCount == 0 || payloadCount > (lengthCount == 2 ? 125 : 0xFFFF) else {
      throw .protocolError("A length is not in its shortest form.")
    }

    count = 2 + lengthCount + (masked ? 4 : 0)
    guard input.count >= count else { return nil }
    mask =
      masked
      ? UInt32(truncatingIfNeeded: WebSocketHeader.number(input, at: 2 + lengthCount, count: 4))
      : nil
  }

  private static func number(_ input: IncomingBytes, at start: Int, count: Int) -> UInt64 {
    var number: UInt64 = 0
    for index in start..<start + count { number = number << 8 | UInt64(input[index]) }
    return number
  }
}

/// Masking of a client's payload (RFC 6455 section 5.3). Masking twice gives the payload again.
enum WebSocketMask {
  /// Masks in place, eight bytes at a time. `key`: its topmost byte masks the first byte.
  static func apply(_ key: UInt32, to bytes: UnsafeMutableRawBufferPointer) {
    let word = (UInt64(key) << 32 | UInt64(key)).bigEndian
    var index = 0
    while index + 8 <= bytes.count {
      let masked = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self) ^ word
      bytes.storeBytes(of: masked, toByteOffset: index, as: UInt64.self)
      index += 8
    }
    // The number of bytes so far is a multiple of four, so the key starts again at its first byte.
    var rest = key
    while index < bytes.count {
      rest = rotated(rest, by: 1)
      bytes[index] ^= UInt8(truncatingIfNeeded: rest)
      index += 1
    }
  }

  /// Returns the key for the bytes after the next `count` bytes.
  static func rotated(_ key: UInt32, by count: Int) -> UInt32 {
    let bits = UInt32(count & 3) * 8
    return bits == 0 ? key : key << bits | key >> (32 - bits)
  }
}

/// Protocol violation of the peer, in the form of a close frame (RFC 6455 section 7.4.1).
package struct WebSocketFault: Error, Hashable, Sendable {
  package var closeCode: UInt16
  /// One sentence, short enough for a close frame.
  package var reason: String

  static func protocolError(_ reason: String) -> WebSocketFault {
    WebSocketFault(closeCode: 1002, reason: reason)
  }

  static let notUTF8 = WebSocketFault(closeCode: 1007, reason: "The text is not UTF-8.")

  static let notDeflate = WebSocketFault(
    closeCode: 1007, reason: "The compressed message is not valid DEFLATE.")

  static func tooBig(_ limit: Int) -> WebSocketFault {
    WebSocketFault(closeCode: 1009, reason: "A message may have at most \(limit) bytes.")
  }
}
