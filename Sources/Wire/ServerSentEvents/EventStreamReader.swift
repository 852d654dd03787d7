import LockstepModel

/// Reads a stream of server-sent events (WHATWG HTML, section 9.2.6), however its bytes are cut.
///
/// Bytes go in with `receive`, events come out of `next` until it is nil. An event that the end of
/// the stream cuts off never comes out. A thrown refusal is the peer's fault, and the stream's end.
package struct EventStreamReader: Sendable {
  private var input = IncomingBytes()
  /// Bytes from the front that were searched for the end of the line.
  private var searched = 0
  private var isAtStart = true
  /// The last line ended with CR: a LF that follows belongs to it.
  private var endedWithReturn = false
  private var name = ""
  private var data: [UInt8] = []
  private var hasData = false
  /// As the lines of the event that is coming in say; it counts once that is whole.
  private var newID: String?

  /// The most bytes that one line, or the data of one event, may have.
  private let limit: Int
  /// The last id given by an event that is whole.
  package private(set) var lastID: String?
  /// How long to wait before connecting again, where the stream has said so.
  package private(set) var retryMilliseconds: Int64?

  package init(limit: Int = Limits.relayMessageBytes) { self.limit = limit }

  /// Bytes held: of an event that is not whole, and those not yet asked for.
  package var bufferedBytes: Int { input.count + data.count }

  package mutating func receive(_ bytes: RawSpan) { input.append(bytes) }

  /// The next event; nil while none is whole.
  package mutating func next() throws(Refusal) -> ServerSentEvent? {
    guard skipMark() else { return nil }
    while let count = try lineCount() {
      let event = count == 0 ? dispatch() : try field(count)
      dropLine(count)
      if let event { return event }
    }
    return nil
  }

  /// Passes over a byte order mark at the start. False while there may still be one.
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

  /// How many bytes the first line has, its end not counted; nil while its end has not come.
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

  /// Where the first line ends; the number of all bytes where it goes on.
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

  /// The empty line behind an event.
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
      // An id with a NUL would not pass a header field.
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
