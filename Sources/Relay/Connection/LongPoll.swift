import LockstepModel
import LockstepWire

/// A `GET /v1/changes` with `wait`, while there are no changes.
struct LongPoll: Sendable {
  /// Reaction to a commit.
  enum Reaction: Hashable, Sendable {
    case nothing
    /// The commit is the whole answer.
    case answer
    /// The store must be read for the answer.
    case read
  }

  private(set) var query: FetchQuery
  private(set) var endsAt: Instant
  /// The account's token at the last read.
  var token: ChangeToken?
  /// The newest token announced while the store was being read.
  var newestAnnounced: ChangeToken?
  /// True if a matching commit was announced: the next page read is the answer.
  var hasMatch = false
  /// The newest token of changes that did not match the device's filter.
  var unmatchedToken: ChangeToken?

  /// Its number in the order in which polls were parked.
  var number: UInt64 = 0
  /// True if a single commit may be the whole answer, in bytes shared with other connections.
  var sharesAnswers = false

  /// True if the client's token, or that of the last read, covers `token`.
  func covers(_ token: ChangeToken) -> Bool {
    query.since?.covers(token) == true || self.token?.covers(token) == true
  }

  /// True if it asks for the changes after `newest`, the account's token.
  func isWaiting(at newest: ChangeToken) -> Bool { query.zone == nil && query.since == newest }

  init(_ query: FetchQuery, at now: Instant) {
    self.query = query
    endsAt = LongPoll.end(of: query, begunAt: now)
  }

  /// Handles a commit that does not answer it (`isAnswered`), while the store is read for it, or it
  /// waits. `isUnmatched`: the device's filter matches none of the records.
  mutating func handleCommit(
    _ change: borrowing AccountChange, _ stage: HTTPExchange.Stage, isUnmatched: Bool
  ) -> Reaction {
    guard change.mayConcern(query.zone), !covers(change.token) else { return .nothing }
    if isUnmatched {
      unmatchedToken = change.token
      return .nothing
    }
    switch stage {
    case .parked:
      hasMatch = true
      return .read
    case .awaitingStore:
      newestAnnounced = change.token
      hasMatch = true
      return .nothing
    case .reading, .full, .whole, .upgrading, .delayed, .sending, .streaming: return .nothing
    }
  }

  /// True if the commit, which matches the device's filter, is the whole answer of the parked poll,
  /// in bytes shared with other connections. `lastPoll`: the last poll parked before the store was
  /// read for the commit.
  func isAnswered(by change: borrowing AccountChange, lastPoll: UInt64) -> Bool {
    guard sharesAnswers, number <= lastPoll, let count = change.contents?.records.count else {
      return false
    }
    return query.since == change.since && token == change.since && count <= query.limit
      && change.mayConcern(query.zone) && !covers(change.token)
  }

  /// Starts again, at the account's token.
  mutating func restart(since: ChangeToken, at now: Instant) {
    query.since = since
    endsAt = LongPoll.end(of: query, begunAt: now)
    token = since
    newestAnnounced = nil
    hasMatch = false
    unmatchedToken = nil
  }

  private static func end(of query: FetchQuery, begunAt now: Instant) -> Instant {
    now.advanced(milliseconds: min(query.waitMilliseconds, Limits.longPollHeldMilliseconds))
  }
}

/// The request bytes of a client that polls again with the same head, except for its token: such
/// bytes would be parsed as the head before.
struct RepeatedPoll: Sendable {
  private let bytes: [UInt8]
  /// Range of the token in `bytes`.
  private let token: Range<Int>

  /// Returns nil if the poll cannot be repeated: it is limited to a zone, or its connection closes
  /// after it.
  init?(_ head: HTTPRequestHead, _ query: FetchQuery) {
    guard query.zone == nil, head.isPlainGet, head.framing == .none, let since = query.since else {
      return nil
    }
    let target = Array(head.target.text.utf8)
    let text = Array(("since=" + since.text).utf8)
    let offset = target.indices.first { target[$0...].starts(with: text) }
    // Otherwise another parameter's name ends with `since`.
    guard let offset, offset > 0, "?&".utf8.contains(target[offset - 1]) else { return nil }
    var bytes = Array("GET ".utf8)
    let start = bytes.count + offset + "since=".utf8.count
    token = start..<start + text.count - "since=".utf8.count
    bytes += target
    bytes += " HTTP/1.1\r\n".utf8
    bytes += head.headers.lines
    bytes += "\r\n".utf8
    self.bytes = bytes
  }

  /// Returns the token in `request`; nil if it is anything else than the same request again.
  func since(in request: RawSpan) -> ChangeToken? {
    let end = request.byteCount - (bytes.count - token.upperBound)
    let known = bytes.span.bytes
    guard end > token.lowerBound,
      request.commonPrefix(with: known) >= token.lowerBound,
      request.extracting(end...).commonPrefix(with: known.extracting(token.upperBound...))
        == request.byteCount - end
    else { return nil }
    return ChangeToken(bytes: Span(_bytes: request.extracting(token.lowerBound..<end)))
  }
}

extension HTTPRequestHead {
  /// True if other clients get the same answer to the same request, and the connection stays open.
  var isPlainGet: Bool { method == "GET" && minorVersion == 1 && keepsAlive }
}
