import LockstepModel
import LockstepWire

/// One HTTP request, from its head to its answer.
struct HTTPExchange: Sendable {
  enum Stage: Hashable, Sendable {
    /// The body is being received. → full, whole, answering
    case reading
    /// More of an upload's body has come than was written; no more is read. → reading
    case full
    /// The request is complete; it may wait for the sign-in. → answering, upgrading, parked,
    /// delayed
    case whole
    /// A request for a WebSocket, to be accepted.
    case upgrading
    /// The store is queried. → parked, sending, streaming, delayed
    case awaitingStore
    /// Over the rate limit (429); its answer is sent a little later.
    case delayed
    /// The answer is sent one part at a time.
    case sending
    /// A long-poll without changes so far. → awaitingStore
    case parked
    /// The answer is an event stream.
    case streaming
  }

  let head: HTTPRequestHead
  /// nil if only `pendingAnswer` is left to be sent.
  var call: Call?
  /// Answer that was known before the body was read, or that is delayed.
  var pendingAnswer: Answer?
  var stage = Stage.reading
  var body: [UInt8] = []
  /// Bytes of the body, including those passed on to the store.
  var bodyBytes = 0
  /// Bytes of its head if that is long, otherwise 0.
  let headBytes: Int
  /// True if it waits while there are no changes.
  let isLongPoll: Bool
  /// True if it asks for a WebSocket.
  let isUpgrade: Bool
  var isSigningIn = false
  /// Status of the answer; 0 until there is one.
  var status: UInt16 = 0
  var poll: LongPoll?
  /// The form in which it would be repeated; nil until it is answered.
  var repetition: RepeatedPoll?
  /// Upload or download of a chunk under way.
  var transfer = ChunkTransfer()
  /// Time at which its head was complete.
  var begunAt: Instant
  /// Bytes of the answer's body, if it is sent at once.
  var answerBytes = 0

  init(
    head: HTTPRequestHead, call: Call?, pendingAnswer: Answer? = nil,
    begunAt: Instant = Instant(nanoseconds: 0)
  ) {
    self.head = head
    self.call = call
    self.pendingAnswer = pendingAnswer
    self.begunAt = begunAt
    let bytes = head.headers.lines.count + head.target.byteCount
    headBytes = bytes > Limits.lightHeadBytes ? bytes : 0
    if case .socket = call { isUpgrade = true } else { isUpgrade = false }
    if case .signed(.changes(let query)) = call {
      isLongPoll = query.waitMilliseconds > 0
    } else {
      isLongPoll = false
    }
  }

  /// Memory that it uses, in bytes.
  var heldBytes: Int { headBytes + max(bodyBytes, body.capacity) }

  /// Returns the bytes of the answer that accepts the request for a WebSocket, and the terms of
  /// compression; nil if there is none. Throws if the request is invalid.
  ///
  /// It is mutating only because such a call makes no copy.
  mutating func acceptUpgrade(
    compresses: Bool
  ) throws(Refusal) -> (response: [UInt8], deflate: DeflateTerms?) {
    let acceptance = try WebSocketHandshake.accept(head)
    guard compresses, let agreed = try DeflateNegotiation.answer(to: head.headers, .shared) else {
      return (acceptance.response(), nil)
    }
    return (acceptance.response(extensions: agreed.field), agreed.terms)
  }

  /// Records the answer for the log.
  mutating func recordAnswer(_ answer: borrowing Answer) {
    status = UInt16(answer.status)
    answerBytes = answer.body.count
  }

  /// Restarts a long-poll, for changes after `since`, the account's token.
  mutating func repeatPoll(since: ChangeToken, number: UInt64, at now: Instant) {
    begunAt = now
    stage = .parked
    status = 0
    answerBytes = 0
    poll?.restart(since: since, at: now)
    poll?.number = number
  }
}
