/// Log of the latest traffic between the nodes, as a table for debugging a failed seed.
package struct TrafficLog {
  /// Maximum number of rows; the oldest rows are overwritten.
  package static let rowsMax = 1_000
  private static let previewBytes = 160

  private struct Row {
    var time: Int64
    var from: String
    var to: String
    var what: Entry
  }

  package enum Entry {
    case note(String)
    case bytes([UInt8])
  }

  private var rows: [Row] = []
  private var next = 0
  package private(set) var count = 0

  package init() {}

  /// `time`: nanoseconds since the simulation started.
  package mutating func add(_ time: Int64, from: String, to: String, _ what: Entry) {
    count += 1
    let row = Row(time: time, from: from, to: to, what: what)
    if rows.count < TrafficLog.rowsMax {
      rows.append(row)
    } else {
      rows[next] = row
      next = (next + 1) % TrafficLog.rowsMax
    }
  }

  package func table(last wanted: Int = TrafficLog.rowsMax) -> String {
    let ordered = rows[next...] + rows[..<next]
    var lines = ["       ms  from          to            what"]
    if count > wanted {
      lines.append("           (\(count - min(wanted, rows.count)) rows before)")
    }
    for row in ordered.suffix(wanted) {
      let time = "\(row.time / 1_000_000).\(TrafficLog.padded(row.time / 1_000 % 1_000))"
      lines.append(
        String(repeating: " ", count: max(0, 10 - time.count)) + time + "  "
          + TrafficLog.column(row.from) + TrafficLog.column(row.to) + TrafficLog.text(row.what))
    }
    return lines.joined(separator: "\n")
  }

  private static func padded(_ number: Int64) -> String {
    let text = String(number)
    return String(repeating: "0", count: 3 - text.count) + text
  }

  private static func column(_ name: String) -> String {
    name + String(repeating: " ", count: max(1, 14 - name.count))
  }

  private static func text(_ what: Entry) -> String {
    switch what {
    case .note(let note): return note
    case .bytes(let bytes):
      let content = WireText.readable(bytes)
      let shown = content.count > previewBytes ? content.prefix(previewBytes) + "…" : content[...]
      return "\(bytes.count) B \(shown)"
    }
  }
}

/// Readable form of bytes on the wire: HTTP unchanged, WebSocket frames unmasked.
enum WireText {
  static func readable(_ bytes: [UInt8]) -> String {
    guard let first = bytes.first, first >= 0x80, let frame = frame(bytes[...]) else {
      return printable(bytes[...])
    }
    let rest = bytes[frame.end...]
    let kind = "[\(names[Int(first & 0xF)] ?? "op\(first & 0xF)")] "
    return kind + printable(frame.payload[...])
      + (rest.isEmpty ? "" : " + " + readable(Array(rest)))
  }

  private static let names: [Int: String] = [
    0: "more", 1: "text", 2: "binary", 8: "close", 9: "ping", 10: "pong",
  ]

  /// Returns the first frame of `bytes` (RFC 6455 section 5.2); nil if it is incomplete.
  private static func frame(_ bytes: ArraySlice<UInt8>) -> (payload: [UInt8], end: Int)? {
    guard bytes.count >= 2 else { return nil }
    var position = bytes.startIndex + 2
    var length = Int(bytes[bytes.startIndex + 1] & 0x7F)
    let extra = length == 126 ? 2 : length == 127 ? 8 : 0
    if extra > 0 {
      guard bytes.endIndex - position >= extra else { return nil }
      length = bytes[position..<position + extra].reduce(0) { $0 << 8 | Int($1) }
      position += extra
    }
    var mask: [UInt8] = [0, 0, 0, 0]
    if bytes[bytes.startIndex + 1] & 0x80 != 0 {
      guard bytes.endIndex - position >= 4 else { return nil }
      mask = Array(bytes[position..<position + 4])
      position += 4
    }
    guard length >= 0, bytes.endIndex - position >= length else { return nil }
    let payload = bytes[position..<position + length].enumerated().map { $1 ^ mask[$0 % 4] }
    return (payload, position + length)
  }

  private static func printable(_ bytes: ArraySlice<UInt8>) -> String {
    String(decoding: bytes.prefix(400).map { $0 >= 32 && $0 < 127 ? $0 : 46 }, as: UTF8.self)
  }
}

/// Running hash over all actions of nodes and the final state. Two runs of one seed count as equal
/// if and only if their hashes are equal. Not for secrets.
package struct RunHash: Hashable {
  package private(set) var value: UInt64 = 0x9E37_79B9_7F4A_7C15

  package init() {}

  package mutating func add(_ word: UInt64) {
    var mixed = value ^ word
    mixed = (mixed ^ (mixed >> 32)) &* 0xD6E8_FEB8_6659_FD93
    mixed = (mixed ^ (mixed >> 32)) &* 0xD6E8_FEB8_6659_FD93
    value = mixed ^ (mixed >> 32)
  }

  package mutating func add(_ number: Int) { add(UInt64(bitPattern: Int64(number))) }

  package mutating func add(_ number: Int64) { add(UInt64(bitPattern: number)) }

  package mutating func add(_ text: String) { add(Array(text.utf8)) }

  package mutating func add(_ bytes: [UInt8]) {
    add(UInt64(bytes.count))
    var words: [UInt64] = []
    bytes.withUnsafeBytes { buffer in
      var offset = 0
      while offset + 8 <= buffer.count {
        words.append(buffer.loadUnaligned(fromByteOffset: offset, as: UInt64.self).littleEndian)
        offset += 8
      }
      var rest: UInt64 = 0
      while offset < buffer.count {
        rest = rest << 8 | UInt64(buffer[offset])
        offset += 1
      }
      words.append(rest)
    }
    for word in words { add(word) }
  }
}
