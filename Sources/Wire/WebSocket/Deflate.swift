import CZlib
import LockstepJSON
import LockstepModel

/// Compresses the messages that one end sends (RFC 7692 section 7.2.1): DEFLATE without a header,
/// up to the empty block that ends a flush, whose four bytes the other end appends again.
///
/// Allocates zlib's state, some 150 KB, with the first message that it compresses, and keeps it.
/// Without a context one deflater serves any number of connections.
package struct Deflater: ~Copyable {
  /// Window sizes that zlib supports, in bits.
  package static let windowBits = 9...15

  private let terms: DeflateTerms.Sending
  private let leastBytes: Int?
  /// On the heap: zlib's state points back at it, so it must not move.
  private var stream: UnsafeMutablePointer<z_stream>?

  /// `leastBytes`: smaller messages are sent plain. nil: every message is compressed, even if that
  /// makes it longer, as conformance suites require.
  package init(_ terms: DeflateTerms.Sending, leastBytes: Int? = Limits.deflateBytes) {
    precondition(Deflater.windowBits.contains(terms.windowBits), "not a window size of zlib")
    self.terms = terms
    self.leastBytes = leastBytes
  }

  deinit {
    guard let stream else { return }
    deflateEnd(stream)
    stream.deinitialize(count: 1)
    stream.deallocate()
  }

  /// Returns the frame of a text, compressed if that makes it smaller. `payload` is UTF-8. `mask`:
  /// as in `WebSocketFrame`.
  package mutating func text(_ payload: [UInt8], mask: UInt32? = nil) -> [UInt8] {
    message(.text, payload, mask: mask)
  }

  package mutating func binary(_ payload: [UInt8], mask: UInt32? = nil) -> [UInt8] {
    message(.binary, payload, mask: mask)
  }

  /// Returns a frame with the same message as `plain`, which is a server's whole text frame.
  package mutating func frame(of plain: [UInt8]) -> [UInt8] {
    let start = WebSocketFrame.payloadStart(ofPlain: plain)
    guard plain.count - start >= leastBytes ?? 0 else { return plain }
    let compressed = plain.withUnsafeBytes {
      compress(UnsafeRawBufferPointer(rebasing: $0[start...]))
    }
    guard isWorthwhile(compressed.count, for: plain.count - start) else { return plain }
    return WebSocketFrame.encode(.text, compressed, mask: nil, isCompressed: true)
  }

  private mutating func message(
    _ opcode: WebSocketFrame.Opcode, _ payload: [UInt8], mask: UInt32?
  ) -> [UInt8] {
    guard payload.count >= leastBytes ?? 0 else {
      return WebSocketFrame.encode(opcode, payload, mask: mask)
    }
    let compressed = payload.withUnsafeBytes { compress($0) }
    guard isWorthwhile(compressed.count, for: payload.count) else {
      return WebSocketFrame.encode(opcode, payload, mask: mask)
    }
    return WebSocketFrame.encode(opcode, compressed, mask: mask, isCompressed: true)
  }

  /// The other end's context must contain everything that ours does, even if a message became
  /// longer.
  private func isWorthwhile(_ compressed: Int, for plain: Int) -> Bool {
    terms.keepsContext || leastBytes == nil || compressed < plain
  }

  private mutating func compress(_ payload: UnsafeRawBufferPointer) -> [UInt8] {
    // zlib refuses to flush twice with nothing between; this is an empty block (section 7.2.3.6).
    guard let start = payload.bindMemory(to: UInt8.self).baseAddress, !payload.isEmpty else {
      return [0]
    }
    let stream = readyStream()
    // The bound is for the end of a stream; a flush adds five bytes.
    let room = Int(deflateBound(stream, UInt(payload.count))) + 16
    stream.pointee.next_in = UnsafeMutablePointer(mutating: start)
    stream.pointee.avail_in = UInt32(payload.count)
    var bytes = [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
      stream.pointee.next_out = buffer.baseAddress
      stream.pointee.avail_out = UInt32(room)
      let code = deflate(stream, Z_SYNC_FLUSH)
      precondition(
        code == Z_OK && stream.pointee.avail_in == 0 && stream.pointee.avail_out > 0,
        "zlib exceeded its own bound")
      count = room - Int(stream.pointee.avail_out)
    }
    stream.pointee.next_in = nil
    stream.pointee.next_out = nil
    precondition(bytes.suffix(4).elementsEqual(Inflater.flushEnd), "a flush has no empty block")
    bytes.removeLast(4)
    if !terms.keepsContext { deflateReset(stream) }
    return bytes
  }

  private mutating func readyStream() -> UnsafeMutablePointer<z_stream> {
    if let stream { return stream }
    let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    stream.initialize(to: z_stream())
    // Negative bits: no header. 8: zlib's default memory level for its hash table.
    let code = deflateInit2_(
      stream, Deflater.level, Z_DEFLATED, -Int32(terms.windowBits), 8, Z_DEFAULT_STRATEGY,
      ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    precondition(code == Z_OK, "no memory for zlib")
    self.stream = stream
    return stream
  }

  /// zlib's fastest level: on pages of records the default level saves a tenth more bytes for half
  /// more time.
  private static let level: Int32 = 1
}

extension WebSocketFrame {
  /// Returns the frame of a text for a sender that sends too seldom to keep a deflater. `deflate`:
  /// nil if the message must be plain.
  package static func text(
    _ payload: [UInt8], mask: UInt32? = nil, deflate: DeflateTerms.Sending?
  ) -> [UInt8] {
    guard let deflate else { return text(payload, mask: mask) }
    var deflater = Deflater(deflate)
    return deflater.text(payload, mask: mask)
  }
}

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
      let code = inflateCopy(stream, other.stream)
      precondition(code == Z_OK, "no memory for zlib")
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

  private var state: State?
  private let keepsContext: Bool

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

/// zlib library that the program runs with. A release links it statically, so only the program
/// itself can report the version.
package enum LinkedZlib {
  /// `1.2.13`.
  package static var version: String { String(cString: zlibVersion()) }
}
