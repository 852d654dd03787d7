import CZlib

/// Content coding gzip (RFC 1952; RFC 9110 section 8.4.1.3) of files that are stored in it.
package enum GzipContent {
  /// Returns the decoded bytes; nil unless they are one member of gzip with at most `limit` bytes.
  package static func decoded(_ bytes: [UInt8], limit: Int) -> [UInt8]? {
    // The member ends with its length modulo 2^32, least significant byte first.
    guard bytes.count >= 18 else { return nil }
    let length = bytes.suffix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
    guard length <= limit else { return nil }
    // zlib needs room for a byte even if the content is empty.
    var output = [UInt8](repeating: 0, count: length + 1)
    guard inflateMember(bytes, into: &output) == length else { return nil }
    output.removeLast()
    return output
  }

  /// Returns the number of decoded bytes; nil unless `bytes` are one whole member.
  private static func inflateMember(_ bytes: [UInt8], into output: inout [UInt8]) -> Int? {
    // On the heap: zlib's state points back at it, so it must not move.
    let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    stream.initialize(to: z_stream())
    defer {
      inflateEnd(stream)
      stream.deinitialize(count: 1)
      stream.deallocate()
    }
    // 16 more than the largest window: gzip's header alone is accepted.
    let code = inflateInit2_(
      stream, MAX_WBITS + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    guard code == Z_OK else { return nil }
    var input = bytes
    return input.withUnsafeMutableBufferPointer { input in
      output.withUnsafeMutableBufferPointer { output in
        stream.pointee.next_in = input.baseAddress
        stream.pointee.avail_in = UInt32(input.count)
        stream.pointee.next_out = output.baseAddress
        stream.pointee.avail_out = UInt32(output.count)
        let isWhole = inflate(stream, Z_FINISH) == Z_STREAM_END && stream.pointee.avail_in == 0
        return isWhole ? Int(stream.pointee.total_out) : nil
      }
    }
  }

  /// True if the members of `Accept-Encoding` name gzip with a weight above 0 (RFC 9110 section
  /// 12.5.3). A `*` alone counts as no: every client understands plain bytes.
  package static func isAccepted(by members: [String]) -> Bool {
    members.contains { member in
      let parts = member.split(separator: ";").map {
        $0.filter { $0 != " " && $0 != "\t" }.lowercased()
      }
      guard parts.first == "gzip" else { return false }
      let weight = parts.first { $0.hasPrefix("q=") }?.dropFirst(2)
      return weight.map { $0.contains { ("1"..."9").contains($0) } } ?? true
    }
  }
}
