import LockstepJSON

/// End of a WebSocket: a server sends unmasked frames, a client masked ones.
package enum WebSocketRole: Hashable, Sendable {
  case server
  case client
}

/// Message or control frame from the peer. Payloads are unmasked and complete; texts are UTF-8.
package enum WebSocketEvent: Hashable, Sendable {
  case text([UInt8])
  case binary([UInt8])
  /// To be answered with a pong of the same payload.
  case ping([UInt8])
  case pong([UInt8])
  /// The last event. `code` is nil if the frame has none (1005 in the API of a library).
  case close(code: UInt16?, reason: String)
}

/// Reads the frames of one WebSocket, from either end (RFC 6455 section 5).
///
/// `receive` accepts bytes; `next` returns events until it returns nil. A thrown fault ends the
/// connection, with its close code: no event follows. The reader holds a message while its
/// fragments arrive, never more of it than `maximumMessageBytes`, and no memory between messages
/// except a context that both ends have agreed to keep.
///
/// The number of fragments and control frames is unlimited. Each is removed from the bytes at once,
/// so that even an endless message of empty fragments costs no memory, and no more work than its
/// bytes justify. `next` returns when the bytes are used up, which are at most those of one
/// `receive`.
package struct WebSocketReader: Sendable {
  private enum Stage {
    /// → payload, over
    case header
    /// The payload of a data frame; a control frame is read at once. → header, over
    case payload(remaining: UInt32, mask: UInt32, isFinal: Bool)
    case over
  }

  // In an order almost without gaps: each WebSocket of a relay has a reader.
  private var input = IncomingBytes()
  /// Bytes of the arriving message before it is inflated.
  private var compressedBytes: UInt32 = 0
  private var message: [UInt8] = []
  /// nil if no compressed message is allowed.
  private var inflater: Inflater?
  private var text = UTF8Check()
  private var maximumBytes: UInt32
  private var stage = Stage.header
  /// Text or binary while a message is arriving.
  private var kind: WebSocketFrame.Opcode?
  private var isCompressed = false
  private let role: WebSocketRole

  /// A longer message is refused with 1009, before it has arrived. At most 1 GiB.
  package var maximumMessageBytes: Int {
    get { Int(maximumBytes) }
    set {
      precondition(newValue <= 1 << 30)
      maximumBytes = UInt32(newValue)
    }
  }

  /// `role`: the end that reads here. `deflate`: the agreed compression terms; nil without.
  package init(role: WebSocketRole, maximumMessageBytes: Int, deflate: DeflateTerms? = nil) {
    self.role = role
    maximumBytes = 0
    self.maximumMessageBytes = maximumMessageBytes
    inflater = deflate.map { Inflater(keepsContext: $0.receivesContext) }
  }

  /// Bytes held: those not yet returned, the arriving message, and the state that inflates it.
  package var bufferedBytes: Int { input.count + message.count + (inflater?.heldBytes ?? 0) }

  /// Memory of these.
  package var heldBytes: Int {
    input.heldBytes + message.capacity + (inflater?.heldBytes ?? 0)
  }

  /// True if a data message has begun and not ended.
  package var isInMessage: Bool { kind != nil }

  /// True if a data message or any frame has begun and not ended.
  package var hasPartialInput: Bool { isInMessage || !input.isEmpty }

  package mutating func receive(_ bytes: RawSpan) {
    if case .over = stage { return }
    input.append(bytes)
  }

  /// Returns the next event; nil if it is not complete.
  package mutating func next() throws(WebSocketFault) -> WebSocketEvent? {
    do {
      return try advance()
    } catch {
      end()
      throw error
    }
  }

  private mutating func advance() throws(WebSocketFault) -> WebSocketEvent? {
    while true {
      switch stage {
      case .over: return nil
      case .header:
        guard
          let header = try WebSocketHeader(
            reading: input, masked: role == .server, mayBeCompressed: inflater != nil)
        else { return nil }
        if header.opcode.isControl {
          guard input.count >= header.count + header.payloadCount else { return nil }
          return try finishControlFrame(header)
        }
        try beginFrame(header)
      case .payload(let remaining, let mask, let isFinal):
        let count = min(Int(remaining), input.count)
        if count > 0 { try appendPayload(count, mask: mask) }
        guard count == remaining else {
          if count > 0 {
            stage = .payload(
              remaining: remaining - UInt32(count),
              mask: WebSocketMask.rotated(mask, by: count), isFinal: isFinal)
          }
          return nil
        }
        stage = .header
        if isFinal { return try finishMessage() }
      }
    }
  }

  /// Begins a data frame.
  private mutating func beginFrame(_ header: WebSocketHeader) throws(WebSocketFault) {
    if header.opcode == .continuation {
      guard kind != nil else { throw .protocolError("A continuation frame without a message.") }
    } else {
      guard kind == nil else {
        throw .protocolError("A message begins before the previous one has ended.")
      }
      kind = header.opcode
      isCompressed = header.isCompressed
    }
    let bound = isCompressed ? maximumCompressedBytes : maximumMessageBytes
    let taken = isCompressed ? Int(compressedBytes) : message.count
    guard header.payloadCount <= bound - taken else { throw .tooBig(maximumMessageBytes) }
    let payloadCount = UInt32(header.payloadCount)
    if isCompressed { compressedBytes += payloadCount }
    input.drop(header.count)
    stage = .payload(
      remaining: payloadCount, mask: header.mask ?? 0, isFinal: header.isFinal)
  }

  /// Compression may make a message longer, by an eighth if it is done badly.
  private var maximumCompressedBytes: Int { maximumMessageBytes + maximumMessageBytes / 8 + 64 }

  /// Adds the next `count` bytes to the message.
  private mutating func appendPayload(_ count: Int, mask: UInt32) throws(WebSocketFault) {
    let start = message.count
    if isCompressed {
      var chunk = input.removePrefix(count)
      if mask != 0 { chunk.withUnsafeMutableBytes { WebSocketMask.apply(mask, to: $0) } }
      let fault = inflater?.inflate(
        chunk.span.bytes, into: &message, limit: Int(maximumBytes))
      return try checkInflated(from: start, fault)
    }
    if start == 0 {
      message = input.removePrefix(count)
    } else {
      message += input.removePrefix(count)
    }
    let isGood = message.withUnsafeMutableBytes { bytes in
      let new = UnsafeMutableRawBufferPointer(rebasing: bytes[start...])
      if mask != 0 { WebSocketMask.apply(mask, to: new) }
      return kind != .text || text.accepts(UnsafeRawBufferPointer(new))
    }
    guard isGood else { throw .notUTF8 }
  }

  /// Checks the inflated bytes from `start` on, then throws the fault that follows them: for any
  /// split of the bytes, the first of all faults is thrown.
  private mutating func checkInflated(
    from start: Int, _ fault: WebSocketFault?
  ) throws(WebSocketFault) {
    if kind == .text {
      let end = min(message.count, maximumMessageBytes)
      let isGood = message.withUnsafeBytes {
        text.accepts(UnsafeRawBufferPointer(rebasing: $0[start..<end]))
      }
      guard isGood else { throw .notUTF8 }
    }
    if let fault { throw fault }
  }

  private mutating func finishMessage() throws(WebSocketFault) -> WebSocketEvent {
    if isCompressed {
      let start = message.count
      let fault = inflater?.endMessage(into: &message, limit: Int(maximumBytes))
      try checkInflated(from: start, fault)
      compressedBytes = 0
      isCompressed = false
    }
    guard text.isComplete else { throw .notUTF8 }
    let isText = kind == .text
    let payload = message
    message = []
    kind = nil
    return isText ? .text(payload) : .binary(payload)
  }

  private mutating func finishControlFrame(
    _ header: WebSocketHeader
  ) throws(WebSocketFault) -> WebSocketEvent {
    input.drop(header.count)
    var payload = header.payloadCount == 0 ? [] : input.removePrefix(header.payloadCount)
    if let mask = header.mask {
      payload.withUnsafeMutableBytes { WebSocketMask.apply(mask, to: $0) }
    }
    switch header.opcode {
    case .ping: return .ping(payload)
    case .pong: return .pong(payload)
    case .close, .continuation, .text, .binary:
      let event = try WebSocketReader.close(payload)
      end()
      return event
    }
  }

  /// Section 5.5.1: nothing, or a code and a reason.
  private static func close(_ payload: [UInt8]) throws(WebSocketFault) -> WebSocketEvent {
    guard !payload.isEmpty else { return .close(code: nil, reason: "") }
    guard payload.count >= 2 else { throw .protocolError("A close code has two bytes.") }
    let code = UInt16(payload[0]) << 8 | UInt16(payload[1])
    guard WebSocketFrame.isCloseCode(code) else {
      throw .protocolError("The close code may not be sent.")
    }
    guard let reason = String(validating: payload[2...], as: UTF8.self) else { throw .notUTF8 }
    return .close(code: code, reason: reason)
  }

  private mutating func end() {
    stage = .over
    input.removeAll()
    message = []
    inflater = nil
    kind = nil
  }
}
