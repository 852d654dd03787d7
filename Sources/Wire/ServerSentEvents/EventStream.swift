import LockstepModel

/// One event of a stream, after parsing.
package struct ServerSentEvent: Hashable, Sendable {
  /// "message" if the stream gives no name.
  package var name: String
  package var data: [UInt8]
  /// The last id that the stream has given, with this event or before; nil if there was none.
  package var lastID: String?

  package init(name: String, data: [UInt8], lastID: String? = nil) {
    self.name = name
    self.data = data
    self.lastID = lastID
  }
}

/// Reads a stream of server-sent events (WHATWG HTML, section 9.2.6), for any split of its bytes.
///
/// `receive` accepts bytes; `next` returns events until it returns nil. An event that the end of
/// the stream truncates is never returned. A thrown refusal is the peer's fault and ends the
/// stream.
package struct EventStreamReader: Sendable {
  private var input = IncomingBytes()
  /// Bytes at the front that were already searched for the end of the line.
  private var searched = 0
  private var isAtStart = true
  /// True if the last line ended with CR: an LF that follows belongs to it.
  private var endedWithReturn = false
  private var name = ""
  private var data: [UInt8] = []
  private var hasData = false
  /// Id of the incomplete event; it takes effect when the event is complete.
  private var newID: String?

  /// Maximum bytes of one line, and of the data of one event.
  private let limit: Int
  /// The last id given by a complete event.
  package private(set) var lastID: String?
  /// Delay before a reconnect, if the stream has given one.
  package private(set) var retryMilliseconds: Int64?

  package init(limit: Int = Limits.relayMessageBytes) { self.limit = limit }

  /// Bytes held: those of an incomplete event, and those not yet returned.
  package var bufferedBytes: Int { input.count + data.count }

  package mutating func receive(_ bytes: RawSpan) { input.append(bytes) }

  /// Returns the next event; nil if none is complete.
  package mutating func next() throws(Refusal) -> ServerSentEvent? {
    guard skipMark() else { return nil }
    while let count = try lineCount() {
      let event = count == 0 ? dispatch() : try field(count)
      dropLine(count)
      if let event { return event }
    }
    return nil
  }

  /// Skips a byte order mark at the start. False while one may still arrive.
  private mutating func skipMark() -> Bool {
    guard isAtStart else { return true }
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    for index in 0..<min(mark.count, input.count) where input[index] != mark[index] {
      isAtStart = false
      return true
    }
    guard input.count >= mark.count else { return false }
    input.drop(mark.count)
    isAtStart = false
    return true
  }

  /// Returns the length of the first line in bytes, without its end; nil if its end has not
  /// arrived.
  private mutating func lineCount() throws(Refusal) -> Int? {
    if endedWithReturn, !input.isEmpty {
      endedWithReturn = false
      if input[0] == UInt8(ascii: "\n") { input.drop(1) }
    }
    let end = lineEnd()
    guard end <= limit else { throw tooLong }
    let isWhole = end < input.count
    searched = isWhole ? 0 : end
    return isWhole ? end : nil
  }

  /// Returns the offset of the end of the first line; the number of all bytes if the end has not
  /// arrived.
  private func lineEnd() -> Int {
    let bytes = input.bytes(0..<input.count)
    var index = searched
    while index < bytes.count, bytes[index] != UInt8(ascii: "\n"),
      bytes[index] != UInt8(ascii: "\r")
    {
      index += 1
    }
    return index
  }

  private mutating func dropLine(_ count: Int) {
    endedWithReturn = input[count] == UInt8(ascii: "\r")
    input.drop(count + 1)
  }

  /// Handles the empty line after an event.
  private mutating func dispatch() -> ServerSentEvent? {
    defer {
      name = ""
      data = []
      hasData = false
    }
    if let newID { lastID = newID }
    newID = nil
    guard hasData else { return nil }
    return ServerSentEvent(name: name.isEmpty ? "message" : name, data: data, lastID: lastID)
  }

  private mutating func field(_ count: Int) throws(Refusal) -> ServerSentEvent? {
    var colon = 0
    while colon < count, input[colon] != UInt8(ascii: ":") { colon += 1 }
    if colon == 0 { return nil }
    var start = min(colon + 1, count)
    if start < count, input[start] == UInt8(ascii: " ") { start += 1 }
    switch text(0..<colon) {
    case "event": name = text(start..<count)
    case "data":
      guard data.count + count - start + 1 <= limit else { throw tooLong }
      if hasData { data.append(UInt8(ascii: "\n")) }
      hasData = true
      data += input.bytes(start..<count).withUnsafeBufferPointer { Array($0) }
    case "id":
      // An id with a NUL could not be sent in a header field.
      let id = text(start..<count)
      if !id.utf8.contains(0) { newID = id }
    case "retry":
      let digits = text(start..<count)
      if let value = Int64(digits), digits.utf8.allSatisfy({ $0 >= 48 && $0 <= 57 }) {
        retryMilliseconds = value
      }
    default: break
    }
    return nil
  }

  private func text(_ range: Range<Int>) -> String {
    input.bytes(range).withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
  }

  private var tooLong: Refusal {
    Refusal(.internalError, "A line or event of the stream has more than \(limit) bytes.")
  }
}

/// Encoder of server-sent events (WHATWG HTML, section 9.2).
///
///     [id: ID LF] [retry: MILLISECONDS LF] event: NAME LF data: JSON LF LF
///     : LF LF                                                            a comment
package enum EventStreamWriter {
  /// Encodes one event. `name` and `id` are ours, on one line each. `json`: a JSON text of any
  /// origin. Its line ends can only be between its tokens and are replaced by spaces, so a record's
  /// content cannot end the line and begin another. `id`: the id that a client sends when it
  /// reconnects; without one the last received id stays. `retryMilliseconds`: the delay before a
  /// client reconnects.
  package static func event(
    _ name: String, id: String? = nil, retryMilliseconds: Int64? = nil, json: [UInt8]
  ) -> [UInt8] {
    precondition(isOneLine(name) && isOneLine(id ?? ""), "a name or id must be one line")
    var bytes: [UInt8] = []
    bytes.reserveCapacity(json.count + name.utf8.count + (id?.utf8.count ?? 0) + 64)
    if let id { add("id: ", id, to: &bytes) }
    if let retryMilliseconds { add("retry: ", String(retryMilliseconds), to: &bytes) }
    add("event: ", name, to: &bytes)
    bytes += "data: ".utf8
    let start = bytes.count
    bytes += json
    for index in start..<bytes.count where isLineEnd(bytes[index]) {
      bytes[index] = UInt8(ascii: " ")
    }
    bytes += "\n\n".utf8
    return bytes
  }

  /// An empty comment, which shows that the stream is still open.
  package static let heartbeat = Array(":\n\n".utf8)

  private static func add(_ field: String, _ value: String, to bytes: inout [UInt8]) {
    bytes += field.utf8
    bytes += value.utf8
    bytes.append(UInt8(ascii: "\n"))
  }

  private static func isOneLine(_ text: String) -> Bool {
    text.utf8.allSatisfy { !isLineEnd($0) && $0 != 0 }
  }

  private static func isLineEnd(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
  }
}
