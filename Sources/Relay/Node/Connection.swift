import LockstepModel
import LockstepWire

/// One connection of the node: who is behind it, and how far its talk has come. It is large: hot
/// paths look at its parts where it lies (`ConnectionTable`), and some methods are mutating only
/// because those are called without a copy.
struct Connection: Sendable {
  enum Identity: Sendable {
    case guest(UnauthenticatedClient)
    case session(Session)
  }

  let id: ConnectionID
  let opening: Opening
  /// Who made the request that is being read or answered, or the socket.
  var client: ClientAddress
  /// What its answer says to the page that it is from.
  var crossOrigin = CrossOrigin.none
  var identity = Identity.guest(UnauthenticatedClient())
  var queue = SendQueue()
  var http = HTTPState()
  /// From the upgrade on.
  var socket: WebSocketState?
  /// From a `GET /v1/events` on.
  var stream: CopyOnWriteBox<EventStreamState>?
  /// Nothing is read from it until it has room again.
  var isPaused = false
  /// Memory that the node's budget counts for what came in.
  var heldBytes = 0
  /// Memory that the node's budget counts for what waits to leave.
  var heldUnsent = 0

  /// `exempt`: whose requests are not limited by their address. `trustedProxies`: whose word is
  /// taken on whom they pass on.
  init(
    id: ConnectionID, opening: Opening, exempt: [IPNetwork] = [], trustedProxies: [IPNetwork] = []
  ) {
    self.id = id
    self.opening = opening
    client = ClientAddress(opening, exempt: exempt, trustedProxies: trustedProxies)
  }

  var session: Session? {
    switch identity {
    case .guest: nil
    case .session(let session): session
    }
  }

  /// The holder of the share of the memory that its bytes count in.
  var holder: Admission.Holder {
    mutating get {
      if case .session(let session) = identity { return .account(session.account) }
      let isAddress =
        opening.door == .front && !client.isExempt
        && !(client.isBehindProxy && client.network == PeerNetwork(of: opening))
      return isAddress ? .address(client.network) : .anybody
    }
  }

  /// Whether its answer is a stream of events, which only ends with it.
  var isStreaming: Bool { stream?.value.hasBegun ?? false }

  /// Bytes that the client has sent and nobody looks at yet.
  var bufferedBytes: Int {
    mutating get {
      socket?.reader.bufferedBytes
        ?? (http.parser.bufferedBytes + (stream?.value.ignoredBytes ?? 0))
    }
  }

  /// Whether nothing lies here, and nothing did when it was last counted, so that there is nothing
  /// to count or to pause for.
  mutating func holdsNothing() -> Bool {
    guard !isPaused, heldBytes == 0, heldUnsent == queue.held, stream == nil else { return false }
    if let requestBytes = socket?.requestBytes { return requestBytes == 0 && bufferedBytes == 0 }
    return !http.holdsBytes()
  }

  /// Memory of what lies here and waits for something.
  var bytesToHold: Int {
    mutating get {
      if let requestBytes = socket?.requestBytes {
        return requestBytes + (socket?.reader.heldBytes ?? 0)
      }
      return http.parser.heldBytes + (http.exchange?.value.heldBytes ?? 0)
    }
  }
}

/// A connection's requests and answers, one at a time.
struct HTTPState: Sendable {
  var parser = HTTPRequestParser()
  /// The request that is being read or answered; nil between two.
  var exchange: CopyOnWriteBox<HTTPExchange>?
  /// The request before, where it was a long-poll of which the next may be a repetition.
  var lastPoll: CopyOnWriteBox<HTTPExchange>?
  /// What the timer `.request` stands for, and when that is due.
  var deadline = Deadline.none
  var dueAt = Instant(nanoseconds: 0)
  /// When the timer expires; nil where it is not set. It may be before `dueAt`: most deadlines are
  /// put off before they are due, and a timer that is left where it stands costs nothing.
  var timerAt: Instant?

  /// Whether the client's bytes are left where they are at once: an upload has sent enough, or
  /// nothing more is to be learned of a client while its answer goes out. One that ends its stream
  /// behind its request still gets all of it. So does one that ends it behind a long-poll, which
  /// is to be parked before that is learned of.
  var isHeldBack: Bool {
    switch exchange?.value.stage {
    case .full, .delayed, .sending: true
    case .whole, .asking: exchange?.value.isLongPoll == true
    case .reading, .parked, .streaming, nil: false
    }
  }

  /// Whether nothing of the next request has come.
  mutating func awaitsRequest() -> Bool { parser.isIdle }

  /// Whether bytes of a request lie here, or must not come in.
  mutating func holdsBytes() -> Bool {
    parser.bufferedBytes > 0 || isHeldBack || exchange?.value.heldBytes ?? 0 > 0
  }

  enum Deadline: Hashable, Sendable {
    case none
    /// Nothing is asked.
    case idle
    /// The head of a request must be whole.
    case head
    /// Its body must be whole.
    case body
    /// Of a chunk of a file: the next part must be whole, after so many.
    case part(Int)
    /// A long-poll ends.
    case poll
  }
}

/// One HTTP request, from its head to its answer.
struct HTTPExchange: Sendable {
  enum Stage: Hashable, Sendable {
    /// The body is coming in. → full, whole, answering
    case reading
    /// More of an upload's body has come than was written, and no more is read. → reading
    case full
    /// All of it is here; it may wait for the sign-in. → answering, parked, delayed
    case whole
    /// The store has been asked. → parked, sending, streaming, delayed
    case asking
    /// It is one too many (429), and its answer leaves a little later.
    case delayed
    /// The answer goes out a part at a time.
    case sending
    /// A long-poll with nothing to tell yet. → asking
    case parked
    /// The answer is a stream of events.
    case streaming
  }

  let head: HTTPRequestHead
  /// nil where only `verdict` is left to be said.
  var call: Call?
  /// Known before the body was read.
  var verdict: Answer?
  var stage = Stage.reading
  var body: [UInt8] = []
  /// Of the body, also once it was handed on and lies with the store.
  var bodyBytes = 0
  /// Of its head, where that is long.
  let headBytes: Int
  /// It waits where there is nothing to tell.
  let isLongPoll: Bool
  var isSigningIn = false
  var owesContinue = false
  var poll: LongPoll?
  /// How it would be asked again; nil until it is answered.
  var repetition: RepeatedPoll?
  /// When its head was whole.
  var begunAt = Instant(nanoseconds: 0)
  /// Of the answer; 0 until there is one.
  var status = 0
  /// Of the answer's body, where it leaves at once.
  var answerBytes = 0

  init(head: HTTPRequestHead, call: Call?) {
    self.head = head
    self.call = call
    let bytes = head.headers.lines.count + head.target.text.utf8.count
    headBytes = bytes > Limits.lightHeadBytes ? bytes : 0
    if case .signed(.changes(let query)) = call {
      isLongPoll = query.waitMilliseconds > 0
    } else {
      isLongPoll = false
    }
  }

  /// Memory that it takes.
  var heldBytes: Int { headBytes + max(bodyBytes, body.capacity) }

  /// For the log: what it is answered with.
  mutating func note(_ answer: borrowing Answer) {
    status = answer.status
    answerBytes = answer.body.count
  }
}

/// A `GET /v1/events`, from the moment when it listens.
struct EventStreamState: Sendable {
  /// Each chunk is a chunk; otherwise the connection's end is the stream's (HTTP/1.0).
  let isChunked: Bool
  /// The store was read for the first event; before, the request may still be refused.
  var hasBegun = false
  var chain = CursorChain(isOneWay: true)
  /// A page must be read as soon as the connection takes bytes again.
  var owesRead = false
  /// Bytes that came behind the request and were thrown away: nothing is asked on a stream.
  var ignoredBytes = 0
}

/// A connection's talk after the upgrade to WebSocket.
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
  /// Large messages are compressed for it, as `RelayNode.deflate` says.
  let takesCompressed: Bool
  var stage = Stage.awaitingHello
  var chain = CursorChain()
  /// Requests whose answer is still to come, and the bytes of their messages.
  var requests = 0
  var requestBytes = 0
  /// One of the requests is a fetch.
  var isFetching = false
  /// A page must be read as soon as the connection takes bytes again.
  var owesRead = false
  var unansweredPings = 0
  /// What has begun to come is to be whole when the timer `.request` expires.
  var isTimed = false
  /// Over how long it was told to come back where all devices lose the relay, in milliseconds.
  var reconnectWithin: Int64 = 0
  /// Its device asks too often: it is read on when the timer `.throttled` says so.
  var isThrottled = false
  /// It has signed in, and is welcomed when the timer `.throttled` says so.
  var isKeptWaiting = false

  /// `deflate`: what was agreed on compression.
  init(deflate: DeflateTerms?) {
    reader = WebSocketReader(
      role: .server, maximumMessageBytes: Limits.helloBytes, deflate: deflate)
    takesCompressed = deflate != nil
  }
}
