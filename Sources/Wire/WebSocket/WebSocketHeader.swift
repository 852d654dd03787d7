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
      throw .protocolError("A frame that begins no message is marked as compressed.")
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
