import CZlib
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
    precondition(Deflater.windowBits.contains(terms.windowBits), "a window that zlib lacks")
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
        "zlib did not keep to its own bound")
      count = room - Int(stream.pointee.avail_out)
    }
    stream.pointee.next_in = nil
    stream.pointee.next_out = nil
    precondition(bytes.suffix(4).elementsEqual(Inflater.flushEnd), "a flush without its end")
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
