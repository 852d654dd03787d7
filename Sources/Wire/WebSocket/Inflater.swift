import CZlib

/// Inflates the compressed messages that arrive on one WebSocket (RFC 7692 section 7.2.2), chunk by
/// chunk.
///
/// Has zlib's state only within a message, unless messages may refer to one another, so that an
/// idle connection keeps none. A copy of the value gets its own state as soon as one of the two
/// continues.
struct Inflater: Sendable {
  /// zlib's state. A class, because it points back at its stream, which must not move and must be
  /// freed.
  ///
  /// Sendable without the compiler's check: it is written only while exactly one value refers to
  /// it.
  private final class State: @unchecked Sendable {
    let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    /// True after a block that is marked as the last one; another may follow it (section 7.2.3.4).
    var hasEnded = false

    init() {
      stream.initialize(to: z_stream())
      // Negative bits: no header. The largest window can read data of any smaller one.
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

  /// End of an empty block, which the sender omits and the receiver appends again.
  static let flushEnd: [UInt8] = [0x00, 0x00, 0xFF, 0xFF]
  /// Memory of zlib's state with its window, in bytes; slightly more than the real value.
  static let stateBytes = 48 << 10
  /// Bytes that are inflated at once.
  private static let chunkBytes = 16 << 10

  private let keepsContext: Bool
  private var state: State?

  /// `keepsContext`: true if a message may refer to those before it.
  init(keepsContext: Bool) { self.keepsContext = keepsContext }

  /// Memory held beside the message.
  var heldBytes: Int { state == nil ? 0 : Inflater.stateBytes }

  /// Appends the inflated `bytes` to `message`. Returns a fault that comes after the appended
  /// bytes, so that the caller's own checks of them take precedence: 1009 as soon as the message
  /// has over `limit` bytes, by one chunk at most, or 1007 if `bytes` are not DEFLATE.
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
        // The window stays, because the data that follows may refer to it.
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

  /// Ends the message after its last byte was inflated. Returns a fault as `inflate` does.
  mutating func endMessage(into message: inout [UInt8], limit: Int) -> WebSocketFault? {
    if !isAtBlockEnd {
      let fault = inflate(Inflater.flushEnd.span.bytes, into: &message, limit: limit)
      guard fault == nil, isAtBlockEnd else { return fault ?? .notDeflate }
    }
    if !keepsContext { state = nil }
    return nil
  }

  /// True if all blocks are complete and the last one ends on a byte boundary. Before the end of
  /// the flush is appended, that is true only if the sender did not remove it, or sent nothing at
  /// all.
  private var isAtBlockEnd: Bool {
    guard let state else { return true }
    // zlib reports the number of unused bits of a byte, and adds 128 if a block has just ended.
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
