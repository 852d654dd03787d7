/// Log of the latest traffic between the nodes, as a table for debugging a failed seed.
package struct FlowLog {
  /// Maximum number of rows; the oldest rows are overwritten.
  package static let rowsMax = 1_000
  private static let previewBytes = 160

  private struct Row {
    var time: Int64
    var from: String
    var to: String
    var what: What
  }

  package enum What {
    case note(String)
    case bytes([UInt8])
  }

  private var rows: [Row] = []
  private var next = 0
  package private(set) var count = 0

  package init() {}

  /// `time`: nanoseconds since the simulation started.
  package mutating func add(_ time: Int64, from: String, to: String, _ what: What) {
    count += 1
    let row = Row(time: time, from: from, to: to, what: what)
    if rows.count < FlowLog.rowsMax {
      rows.append(row)
    } else {
      rows[next] = row
      next = (next + 1) % FlowLog.rowsMax
    }
  }

  package func table(last wanted: Int = FlowLog.rowsMax) -> String {
    let ordered = rows[next...] + rows[..<next]
    var lines = ["       ms  from          to            what"]
    if count > wanted {
      lines.append("           (\(count - min(wanted, rows.count)) rows before)")
    }
    for row in ordered.suffix(wanted) {
      let time = "\(row.time / 1_000_000).\(FlowLog.padded(row.time / 1_000 % 1_000))"
      lines.append(
        String(repeating: " ", count: max(0, 10 - time.count)) + time + "  "
          + FlowLog.column(row.from) + FlowLog.column(row.to) + FlowLog.text(row.what))
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

  private static func text(_ what: What) -> String {
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
