import LockstepModel
import LockstepWire

/// A `GET /v1/changes` with `wait`, while there is nothing to tell.
struct LongPoll: Sendable {
  private(set) var query: FetchQuery
  private(set) var endsAt: Instant
  /// Where the account stood when it was last read.
  var token: ChangeToken?
  /// The newest token heard of while the store was being read.
  var heard: ChangeToken?
  /// A commit that wakes the device was heard of: whatever is read next is the answer.
  var isWoken = false
  /// The newest token of what did not wake the device.
  var passed: ChangeToken?

  /// Its place in the order in which polls were parked.
  var number: UInt64 = 0
  /// Whether a commit alone may be its whole answer, in the bytes that others get too.
  var sharesAnswers = false

  /// Whether the client, or what was read for it, is past the token.
  func knows(_ token: ChangeToken) -> Bool {
    query.since?.covers(token) == true || self.token?.covers(token) == true
  }

  /// Whether it asks for what comes after `newest`, where an account stands.
  func stands(at newest: ChangeToken) -> Bool { query.zone == nil && query.since == newest }

  init(_ query: FetchQuery, at now: Instant) {
    self.query = query
    endsAt = LongPoll.end(of: query, begunAt: now)
  }

  /// Begins anew, at the token where the account stands.
  mutating func wait(since: ChangeToken, at now: Instant) {
    query.since = since
    endsAt = LongPoll.end(of: query, begunAt: now)
    token = since
    heard = nil
    isWoken = false
    passed = nil
  }

  private static func end(of query: FetchQuery, begunAt now: Instant) -> Instant {
    now.advanced(milliseconds: min(query.waitMilliseconds, Limits.longPollHeldMilliseconds))
  }
}

/// How a client asks that polls again with the same head, but for its token: bytes that would be
/// read as the head that was read before.
struct RepeatedPoll: Sendable {
  private let bytes: [UInt8]
  /// Where the token stands in them.
  private let token: Range<Int>

  /// nil where a poll has no form that could come again: it is limited to a zone, or its connection
  /// ends behind it.
  init?(_ head: HTTPRequestHead, _ query: FetchQuery) {
    guard query.zone == nil, head.isPlainGet, head.framing == .none, let since = query.since else {
      return nil
    }
    let target = Array(head.target.text.utf8)
    let text = Array(("since=" + since.text).utf8)
    let place = target.indices.first { target[$0...].starts(with: text) }
    // Where it does not begin an item, that name only ends with it.
    guard let place, place > 0, "?&".utf8.contains(target[place - 1]) else { return nil }
    var bytes = Array("GET ".utf8)
    let start = bytes.count + place + "since=".utf8.count
    token = start..<start + text.count - "since=".utf8.count
    bytes += target
    bytes += " HTTP/1.1\r\n".utf8
    bytes += head.headers.lines
    bytes += "\r\n".utf8
    self.bytes = bytes
  }

  /// The token that `said` asks with; nil where it is anything else than the same request again.
  func since(in said: RawSpan) -> ChangeToken? {
    let end = said.byteCount - (bytes.count - token.upperBound)
    let known = bytes.span.bytes
    guard end > token.lowerBound,
      said.commonPrefix(with: known) >= token.lowerBound,
      said.extracting(end...).commonPrefix(with: known.extracting(token.upperBound...))
        == said.byteCount - end
    else { return nil }
    return ChangeToken(bytes: Span(_bytes: said.extracting(token.lowerBound..<end)))
  }
}

extension HTTPRequestHead {
  /// Whether its answer is like that to anybody else who asks the same, and the connection stays.
  var isPlainGet: Bool { method == "GET" && minorVersion == 1 && keepsAlive }
}
