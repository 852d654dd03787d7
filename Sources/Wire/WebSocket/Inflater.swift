import CZlib

/// Inflates the compressed messages that come in on one WebSocket (RFC 7692 section 7.2.2), in
/// chunks as they come.
///
/// Has zlib's state only within a message, unless messages may refer to one another: so a
/// connection at rest keeps none. A copy of the value has a state of its own, as soon as one of the
/// two goes on.
struct Inflater: Sendable {
  /// zlib's state. A class, because it points back at its stream, which must not move, and has to
  /// be freed.
  ///
  /// Sendable without the compiler's check: it is written only while one value alone refers to it.
  private final class State: @unchecked Sendable {
    let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    /// A block that calls itself the last one has ended; another may follow it (section 7.2.3.4).
    var hasEnded = false

    init() {
      stream.initialize(to: z_stream())
      // Negative bits: no header. The largest window reads what any smaller one has made.
      let code = inflateInit2_(
        stream, -MAX_WBITS, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
      precondition(code == Z_OK, "no memory for zlib")
    }

    init(copying other: State) {
      stream.initialize(to: z_stream())
      precondition(inflateCopy(stream, other.stream) == Z_OK, "no memory for zlib")
      hasEnded = other.hasEnded
    }

    deinit {
      inflateEnd(stream)
      stream.deinitialize(count: 1)
      stream.deallocate()
    }
  }

  /// The end of an empty block, which the sender leaves out and the receiver puts back.
  static let flushEnd: [UInt8] = [0x00, 0x00, 0xFF, 0xFF]
  /// What zlib takes for a state with its window, in bytes; somewhat more than it does.
  static let stateBytes = 48 << 10
  /// Inflated at once.
  private static let chunkBytes = 16 << 10

  private let keepsContext: Bool
  private var state: State?

  /// `keepsContext`: whether a message may refer to those before it.
  init(keepsContext: Bool) { self.keepsContext = keepsContext }

  /// Memory that is held outside of the message.
  var heldBytes: Int { state == nil ? 0 : Inflater.stateBytes }

  /// Adds to `message` what `bytes` inflate to. What comes back is a fault behind that, which the
  /// caller's own checks of it may forestall: 1009 as soon as the message has over `limit` bytes,
  /// by one chunk at most, or 1007 where `bytes` are not DEFLATE.
  mutating func inflate(
    _ bytes: RawSpan, into message: inout [UInt8], limit: Int
  ) -> WebSocketFault? {
    if bytes.isEmpty { return nil }
    let state = ownState()
    return bytes.withUnsafeBytes { Inflater.inflate($0, state, into: &message, limit: limit) }
  }

  private static func inflate(
    _ bytes: UnsafeRawBufferPointer, _ state: State, into message: inout [UInt8], limit: Int
  ) -> WebSocketFault? {
    let stream = state.stream
    stream.pointee.next_in = UnsafeMutablePointer(
      mutating: bytes.bindMemory(to: UInt8.self).baseAddress)
    stream.pointee.avail_in = UInt32(bytes.count)
    defer {
      stream.pointee.next_in = nil
      stream.pointee.next_out = nil
    }
    repeat {
      if state.hasEnded {
        // The window stays, since what follows may refer to it.
        inflateResetKeep(stream)
        state.hasEnded = false
      }
      let code = Inflater.inflateChunk(stream, into: &message)
      guard message.count <= limit else { return .tooBig(limit) }
      switch code {
      case Z_OK, Z_BUF_ERROR: break
      case Z_STREAM_END: state.hasEnded = true
      default: return .notDeflate
      }
    } while stream.pointee.avail_in > 0 || (stream.pointee.avail_out == 0 && !state.hasEnded)
    return nil
  }

  /// The message's last byte was inflated. As `inflate`.
  mutating func endMessage(into message: inout [UInt8], limit: Int) -> WebSocketFault? {
    if !isAtBlockEnd {
      let fault = inflate(Inflater.flushEnd.span.bytes, into: &message, limit: limit)
      guard fault == nil, isAtBlockEnd else { return fault ?? .notDeflate }
    }
    if !keepsContext { state = nil }
    return nil
  }

  /// Whether all blocks are whole, and the last one ends with its byte. That is so before the end
  /// of the flush is put back only where the sender left it in place, or sent nothing at all.
  private var isAtBlockEnd: Bool {
    guard let state else { return true }
    // zlib tells the bits of a byte that are left over, and with 128 that a block has just ended.
    return state.hasEnded || state.stream.pointee.data_type & 0x9F == 128
  }

  private mutating func ownState() -> State {
    if isKnownUniquelyReferenced(&state), let state { return state }
    let own = state.map { State(copying: $0) } ?? State()
    state = own
    return own
  }

  private static func inflateChunk(
    _ stream: UnsafeMutablePointer<z_stream>, into message: inout [UInt8]
  ) -> Int32 {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: chunkBytes) { chunk in
      stream.pointee.next_out = chunk.baseAddress
      stream.pointee.avail_out = UInt32(chunkBytes)
      let code = CZlib.inflate(stream, Z_SYNC_FLUSH)
      let count = chunkBytes - Int(stream.pointee.avail_out)
      message.append(contentsOf: UnsafeMutableBufferPointer(rebasing: chunk[..<count]))
      return code
    }
  }
}
