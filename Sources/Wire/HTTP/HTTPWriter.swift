import LockstepModel

/// Encoder of requests and answers. It always sets Content-Length itself; no value can end its line
/// (`HTTPHeaders.append`).
package enum HTTPWriter {
  /// Encodes an answer. `headers` does not contain Content-Length. `omitsBody`: for an answer to
  /// HEAD, which gives the length of the body without the body. A status without a body (1xx, 204,
  /// 304) allows none. `bodyCount`: length of the whole body, if `body` is only its beginning.
  package static func response(
    status: Int, headers: HTTPHeaders = HTTPHeaders(), body: [UInt8] = [], omitsBody: Bool = false,
    bodyCount: Int? = nil
  ) -> [UInt8] {
    let hasBody = status >= 200 && status != 204 && status != 304
    let count = bodyCount ?? body.count
    precondition(hasBody || count == 0, "this status allows no body")
    precondition(count >= body.count, "`body` is longer than `bodyCount`")
    var bytes: [UInt8] = []
    bytes.reserveCapacity(128 + headers.lines.count + (omitsBody ? 0 : body.count))
    appendStatusLine(status, to: &bytes)
    bytes += headers.lines
    if hasBody {
      bytes.append("Content-Length: ")
      bytes.append(decimal: count)
      bytes.append("\r\n")
    }
    bytes.append("\r\n")
    if !omitsBody { bytes += body }
    return bytes
  }

  /// Encodes the head of an answer whose body is sent in chunks. `isChunked`: each is sent with
  /// `chunk`, and the end with `lastChunk`; otherwise the body ends with the connection, as in
  /// HTTP/1.0.
  package static func responseHead(
    status: Int, headers: HTTPHeaders, isChunked: Bool
  ) -> [UInt8] {
    var bytes: [UInt8] = []
    appendStatusLine(status, to: &bytes)
    bytes += headers.lines
    if isChunked { bytes += "Transfer-Encoding: chunked\r\n".utf8 }
    bytes += "\r\n".utf8
    return bytes
  }

  /// Encodes a chunk of a chunked body (RFC 9112 section 7.1), not empty: an empty one would end
  /// it.
  package static func chunk(_ data: [UInt8]) -> [UInt8] {
    precondition(!data.isEmpty, "an empty chunk ends the body")
    var bytes: [UInt8] = []
    bytes.reserveCapacity(data.count + 20)
    bytes += String(data.count, radix: 16).utf8
    bytes += "\r\n".utf8
    bytes += data
    bytes += "\r\n".utf8
    return bytes
  }

  package static let lastChunk = Array("0\r\n\r\n".utf8)

  /// Encodes a request. `method` is ours, a token. `headers` contains neither Host nor
  /// Content-Length. `host`: with the port unless it is the scheme's default. `body`: nil if the
  /// method has none. `bodyCount`: length of the whole body, if `body` is only its beginning.
  package static func request(
    method: String, target: RequestTarget, host: String, headers: HTTPHeaders = HTTPHeaders(),
    body: [UInt8]? = nil, bodyCount: Int? = nil
  ) -> [UInt8] {
    request(
      method: method, rawTarget: target.text, host: host, headers: headers, body: body,
      bodyCount: bodyCount)
  }

  /// Encodes a request whose target is sent as it is, for URLs of others: a server may tell apart
  /// two spellings that mean the same. `rawTarget`: visible ASCII characters, at least one.
  package static func request(
    method: String, rawTarget: String, host: String, headers: HTTPHeaders = HTTPHeaders(),
    body: [UInt8]? = nil, bodyCount: Int? = nil
  ) -> [UInt8] {
    precondition(
      !method.isEmpty && method.utf8.allSatisfy(ByteSet.token.contains), "not a valid method")
    precondition(
      !rawTarget.isEmpty && rawTarget.utf8.allSatisfy { (0x21...0x7E).contains($0) },
      "not a valid target")
    var first = HTTPHeaders()
    first.append("Host", host)
    var bytes: [UInt8] = []
    bytes += "\(method) \(rawTarget) HTTP/1.1\r\n".utf8
    bytes += first.lines
    bytes += headers.lines
    if let body { bytes += "Content-Length: \(bodyCount ?? body.count)\r\n".utf8 }
    bytes += "\r\n".utf8
    if let body { bytes += body }
    return bytes
  }

  private static func appendStatusLine(_ status: Int, to bytes: inout [UInt8]) {
    bytes.append("HTTP/1.1 ")
    bytes.append(decimal: status)
    bytes.append(" ")
    bytes.append(reason(status))
    bytes.append("\r\n")
  }

  /// Returns the reason phrase of a status; only people read it.
  private static func reason(_ status: Int) -> StaticString {
    switch status {
    case 100: "Continue"
    case 101: "Switching Protocols"
    case 200: "OK"
    case 201: "Created"
    case 204: "No Content"
    case 206: "Partial Content"
    case 304: "Not Modified"
    case 308: "Permanent Redirect"
    case 400: "Bad Request"
    case 401: "Unauthorized"
    case 402: "Payment Required"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 408: "Request Timeout"
    case 409: "Conflict"
    case 410: "Gone"
    case 411: "Length Required"
    case 412: "Precondition Failed"
    case 413: "Content Too Large"
    case 414: "URI Too Long"
    case 415: "Unsupported Media Type"
    case 416: "Range Not Satisfiable"
    case 417: "Expectation Failed"
    case 421: "Misdirected Request"
    case 422: "Unprocessable Content"
    case 426: "Upgrade Required"
    case 428: "Precondition Required"
    case 429: "Too Many Requests"
    case 431: "Request Header Fields Too Large"
    case 500: "Internal Server Error"
    case 501: "Not Implemented"
    case 502: "Bad Gateway"
    case 503: "Service Unavailable"
    case 505: "HTTP Version Not Supported"
    case 507: "Insufficient Storage"
    default: "Status"
    }
  }
}

extension [UInt8] {
  mutating func append(_ text: StaticString) {
    append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  fileprivate mutating func append(decimal number: Int) {
    if number > 9 { append(decimal: number / 10) }
    append(UInt8(ascii: "0") + UInt8(number % 10))
  }
}

/// Time in the format of HTTP: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 section 5.6.7).
package enum HTTPDate {
  private static let days: StaticString = "ThuFriSatSunMonTueWed"
  private static let months: StaticString = "JanFebMarAprMayJunJulAugSepOctNovDec"

  /// Formats `milliseconds` since the Unix epoch.
  package static func text(_ milliseconds: Int64) -> String {
    let seconds = max(0, milliseconds / 1_000)
    let (day, second) = (seconds / 86_400, seconds % 86_400)
    // Days are counted from 1 March of the year 0, so that a leap day is the last day of its year.
    let shifted = day + 719_468
    let era = shifted / 146_097
    let dayOfEra = shifted % 146_097
    let yearOfEra =
      (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let dayOfMonth = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    var text = Array("Thu, 01 Jan 1970 00:00:00 GMT".utf8)
    write(days, Int(day % 7), into: &text, at: 0)
    write(dayOfMonth, into: &text, at: 5)
    write(months, Int(month - 1), into: &text, at: 8)
    write(year / 100 % 100, into: &text, at: 12)
    write(year % 100, into: &text, at: 14)
    write(second / 3_600, into: &text, at: 17)
    write(second / 60 % 60, into: &text, at: 20)
    write(second % 60, into: &text, at: 23)
    return String(decoding: text, as: UTF8.self)
  }

  /// Returns the milliseconds since the Unix epoch for a text in the format of `text`; nil for any
  /// other.
  package static func milliseconds(_ text: String) -> Int64? {
    let bytes = Array(text.utf8)
    guard bytes.count == 29, let month = (1...12).first(where: { isMonth($0, of: bytes) }) else {
      return nil
    }
    func digits(_ places: Range<Int>) -> String { String(decoding: bytes[places], as: UTF8.self) }
    let date = "\(digits(12..<16))-\(month < 10 ? "0" : "")\(month)-\(digits(5..<7))"
    guard let day = UniversalTime.day(of: date), let hour = Int64(digits(17..<19)),
      let minute = Int64(digits(20..<22)), let second = Int64(digits(23..<25))
    else { return nil }
    let milliseconds = (day * 86_400 + hour * 3_600 + minute * 60 + second) * 1_000
    // Another form of the same instant, or a leap second, is not accepted.
    return HTTPDate.text(milliseconds) == text ? milliseconds : nil
  }

  private static func isMonth(_ number: Int, of text: [UInt8]) -> Bool {
    (0..<3).allSatisfy { text[8 + $0] == months.utf8Start[(number - 1) * 3 + $0] }
  }

  /// Writes the three-letter word with this number out of `words`, which are stored one after
  /// another.
  private static func write(
    _ words: StaticString, _ number: Int, into text: inout [UInt8], at start: Int
  ) {
    for letter in 0..<3 { text[start + letter] = words.utf8Start[number * 3 + letter] }
  }

  /// Writes two digits.
  private static func write(_ number: Int64, into text: inout [UInt8], at start: Int) {
    text[start] = UInt8(ascii: "0") + UInt8(number / 10)
    text[start + 1] = UInt8(ascii: "0") + UInt8(number % 10)
  }
}
