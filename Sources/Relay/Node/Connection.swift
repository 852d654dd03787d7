import LockstepModel
import LockstepRuntime
import LockstepWire

/// One connection of the node: its client and its protocol state. The value is large: hot paths
/// access its parts in place (`ConnectionTable`), and some methods are mutating only because such a
/// call makes no copy.
struct Connection: Sendable {
  enum Identity: Sendable {
    case unauthenticated(UnauthenticatedClient)
    case session(Session)
  }

  let id: ConnectionID
  let opening: Opening
  /// Client of the request that is being read or answered, or of the socket.
  var client: ClientAddress
  /// The origin of that request's page, for the header fields of the answer.
  var crossOrigin = CrossOrigin.none
  var identity = Identity.unauthenticated(UnauthenticatedClient())
  var queue = SendQueue()
  var http = HTTPState()
  /// Set from the upgrade on.
  var socket: WebSocketState?
  /// Set from a `GET /v1/events` on.
  var stream: CopyOnWriteBox<EventStreamState>?
  /// True while nothing is read from it, until it has room again.
  var isPaused = false
  /// Memory of received data that counts in the node's budget, in bytes.
  var heldBytes = 0
  /// Memory of unsent data that counts in the node's budget, in bytes.
  var heldUnsent = 0

  /// `exempt`: networks without limits by address. `trustedProxies`: proxies that may name the
  /// client whose request they forward.
  init(
    id: ConnectionID, opening: Opening, exempt: [IPNetwork] = [], trustedProxies: [IPNetwork] = []
  ) {
    self.id = id
    self.opening = opening
    client = ClientAddress(opening, exempt: exempt, trustedProxies: trustedProxies)
  }

  var session: Session? {
    switch identity {
    case .unauthenticated: nil
    case .session(let session): session
    }
  }

  /// The holder to whose share of the memory its bytes are charged.
  var holder: Admission.Holder {
    mutating get {
      if case .session(let session) = identity { return .account(session.account) }
      let isAddress =
        opening.listenerKind == .public && !client.isExempt
        && !(client.isBehindProxy && client.network == PeerNetwork(of: opening))
      return isAddress ? .address(client.network) : .anybody
    }
  }

  /// True if its answer is an event stream, which ends only with the connection.
  var isStreaming: Bool { stream?.value.hasBegun ?? false }

  /// Received bytes that are not processed yet.
  var bufferedBytes: Int {
    mutating get {
      socket?.reader.bufferedBytes
        ?? (http.parser.bufferedBytes + (stream?.value.ignoredBytes ?? 0))
    }
  }

  /// True if no bytes are held, and none were at the last count, so that there is nothing to count.
  mutating func holdsNothing() -> Bool {
    guard heldBytes == 0, heldUnsent == queue.held, stream == nil else { return false }
    if let requestBytes = socket?.requestBytes {
      return !isPaused && requestBytes == 0 && bufferedBytes == 0
    }
    return !http.holdsBytes()
  }

  /// Memory of received data that waits for something, in bytes.
  var bytesToHold: Int {
    mutating get {
      if let requestBytes = socket?.requestBytes {
        return requestBytes + (socket?.reader.heldBytes ?? 0)
      }
      return http.parser.heldBytes + (http.exchange?.value.heldBytes ?? 0)
    }
  }
}

/// Requests and answers of a connection, one at a time.
struct HTTPState: Sendable {
  var parser = HTTPRequestParser()
  /// The request that is being read or answered; nil between two.
  var exchange: CopyOnWriteBox<HTTPExchange>?
  /// The request before, if it was a long-poll that the next request may repeat.
  var lastPoll: CopyOnWriteBox<HTTPExchange>?
  /// Meaning of the timer `.request`, and the time at which that is due.
  var deadline = Deadline.none
  var dueAt = Instant(nanoseconds: 0)
  /// Expiry of the timer; nil if it is not set. It may be before `dueAt`: most deadlines are
  /// postponed before they are due, and an unchanged timer costs nothing.
  var timerAt: Instant?

  /// True if reading of the client's bytes stops at once: an upload has sent enough, or more bytes
  /// have no use before its request is answered. A client that closes its side after its request
  /// still gets the whole answer, because the close is read only then. A long-poll is parked before
  /// the close is read, and ends with it. An upgrade has no use for a client that does not send.
  var pausesReading: Bool {
    switch exchange?.value.stage {
    case .full, .delayed, .sending: true
    case .whole, .awaitingStore: exchange?.value.isUpgrade == false
    case .reading, .parked, .streaming, nil: false
    }
  }

  /// True if no byte of the next request has come.
  mutating func awaitsRequest() -> Bool { parser.isIdle }

  /// True if bytes of a request are held.
  mutating func holdsBytes() -> Bool {
    parser.bufferedBytes > 0 || exchange?.value.heldBytes ?? 0 > 0
  }

  enum Deadline: Hashable, Sendable {
    case none
    /// No request is pending.
    case idle
    /// The head of a request must be complete.
    case head
    /// Its body must be complete.
    case body
    /// Upload of a chunk: the next part must be complete, after this number of parts.
    case part(Int)
    /// A long-poll ends.
    case poll
  }
}

/// One HTTP request, from its head to its answer.
struct HTTPExchange: Sendable {
  enum Stage: Hashable, Sendable {
    /// The body is being received. → full, whole, answering
    case reading
    /// More of an upload's body has come than was written; no more is read. → reading
    case full
    /// The request is complete; it may wait for the sign-in. → answering, parked, delayed
    case whole
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
  var poll: LongPoll?
  /// The form in which it would be repeated; nil until it is answered.
  var repetition: RepeatedPoll?
  /// Time at which its head was complete.
  var begunAt = Instant(nanoseconds: 0)
  /// Status of the answer; 0 until there is one.
  var status = 0
  /// Bytes of the answer's body, if it is sent at once.
  var answerBytes = 0

  init(head: HTTPRequestHead, call: Call?) {
    self.head = head
    self.call = call
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

  /// Records the answer for the log.
  mutating func recordAnswer(_ answer: borrowing Answer) {
    status = answer.status
    answerBytes = answer.body.count
  }
}

/// A `GET /v1/events`, from its registration for news on.
struct EventStreamState: Sendable {
  /// True for chunked transfer coding; otherwise the connection's end is the stream's (HTTP/1.0).
  let isChunked: Bool
  /// True once the store was read for the first event; before that, the request may be refused.
  var hasBegun = false
  var chain = CursorChain(isOneWay: true)
  /// True if a page must be read as soon as the connection accepts bytes again.
  var needsRead = false
  /// Bytes received after the request and discarded: a stream accepts no requests.
  var ignoredBytes = 0
}

/// State of a connection after the upgrade to WebSocket.
struct WebSocketState: Sendable {
  enum Stage: Hashable, Sendable {
    /// → signingIn, welcoming
    case awaitingHello
    /// The token of the hello is being looked up. → welcoming
    case signingIn(since: ChangeToken?)
    /// → open
    case welcoming(since: ChangeToken?)
    case open
  }

  var reader: WebSocketReader
  /// True if large messages are compressed for it, with `RelayServices.deflate`.
  let takesCompressed: Bool
  var stage = Stage.awaitingHello
  var chain = CursorChain()
  /// Requests without an answer so far, and the bytes of their messages.
  var requests = 0
  var requestBytes = 0
  /// True if one of the requests is a fetch.
  var isFetching = false
  /// True if a page must be read as soon as the connection accepts bytes again.
  var needsRead = false
  var unansweredPings = 0
  /// True if what has begun to come must be complete when the timer `.request` expires.
  var isTimed = false
  /// Period, last sent to its device, over which devices reconnect if all lose the relay, in
  /// milliseconds.
  var reconnectWithin: Int64 = 0
  /// True if its device exceeds its rate: reading resumes with the timer `.throttled`.
  var isThrottled = false
  /// True if it has signed in, and is welcomed with the timer `.throttled`.
  var isWelcomeDelayed = false

  /// `deflate`: the negotiated compression.
  init(deflate: DeflateTerms?) {
    reader = WebSocketReader(
      role: .server, maximumMessageBytes: Limits.helloBytes, deflate: deflate)
    takesCompressed = deflate != nil
  }
}
