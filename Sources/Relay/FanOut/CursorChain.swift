import LockstepModel

/// The chain of cursors of one socket or stream: says what may be sent next so that no gap goes
/// unseen, and nothing stale is told (docs/protocol.md, "WebSocket", "Events").
///
/// Knows tokens only: who asks the store and who writes frames is not its matter. News of a commit
/// and pages read from the store come in any order; whatever the order, the `since` of each link
/// that goes out is the `token` of the one before: the same text, for clients compare texts. So
/// where only the cursor says how far the account had come, the store is read for the next link.
struct CursorChain: Sendable {
  enum State: Hashable, Sendable {
    /// The device has not been welcomed, and is told nothing. → unset, catchingUp, live
    case unwelcomed
    /// No cursor: hints only. → fetching, catchingUp
    case unset
    /// The relay reads on the device's behalf what it missed. → live, behind, fetching
    case catchingUp
    /// The cursor is the newest token. → catchingUp, behind, fetching
    case live
    /// The device's own fetches are under way; what comes meanwhile waits. → live, catchingUp,
    /// behind
    case fetching
    /// The device was told to fetch, or has more pages to ask for. → fetching
    case behind
  }

  /// What to do about a commit.
  enum Push: Hashable, Sendable {
    case nothing
    /// Send its records; the cursor has moved.
    case push
    /// Send `changed`.
    case hint
    /// Read from the cursor.
    case read
  }

  /// The answer to a save that waits for its place in the chain.
  struct Saved: Hashable, Sendable {
    var id: BatchID
    var answer: SaveAnswer
  }

  enum Turn: Hashable, Sendable {
    /// Send it: its `since` and `token` are the next link.
    case send(Saved)
    /// Read from the cursor: what came before is not told yet.
    case read
    case wait
  }

  /// Of a stream: what its device fetches and saves goes by other connections.
  private let isOneWay: Bool
  private(set) var state = State.unwelcomed
  /// Where the device stands once it has read all that was sent.
  private(set) var cursor: ChangeToken?
  /// The newest token that news have named.
  private var newest: ChangeToken?
  private var fetches = 0
  /// A hint is out that the device has not acted on.
  private var isHinted = false
  /// Newer tokens than the last hint's were not told because the connection was clogged.
  private var owesHint = false
  /// The newest token of what did not wake the device.
  private var passed: ChangeToken?
  /// What the device had missed when it came has been read.
  private var hasCaughtUp = false
  private var waiting: [Saved] = []

  /// Answers to saves that have not found their place yet.
  var owesSaved: Bool { !waiting.isEmpty }

  /// The newest token worth naming in a hint.
  var hintToken: ChangeToken? { newest ?? cursor }

  init(isOneWay: Bool = false) { self.isOneWay = isOneWay }

  // MARK: hello

  /// The device stands at `since`, and the page after it is at hand: `paged` follows.
  mutating func beginReading(from since: ChangeToken) {
    cursor = since
    state = .catchingUp
  }

  /// The device has been welcomed with the account's `newest` token. `since` is its own cursor.
  mutating func begin(since: ChangeToken?, newest welcome: ChangeToken) -> Push {
    let hasMoved = newest.map { !welcome.covers($0) } ?? false
    if !hasMoved { newest = welcome }
    guard let since else {
      state = .unset
      return hasMoved ? .hint : .nothing
    }
    cursor = since
    if since == welcome && !hasMoved {
      hasCaughtUp = true
      state = .live
      return .nothing
    }
    state = .catchingUp
    return .read
  }

  // MARK: commits

  /// A commit moved the account from `since` to `token`. `isOwn`: this connection asked for it, and
  /// `saved` follows. `isLarge`: its records are too many bytes for a push. `isCrowded`: much waits
  /// on the connection, or may. `isClogged`: much waits on it, and its driver will say when it does
  /// not.
  mutating func heard(
    since: ChangeToken, token: ChangeToken, isOwn: Bool, isLarge: Bool, isCrowded: Bool,
    isClogged: Bool
  ) -> Push {
    if let newest, newest.covers(token) { return .nothing }
    newest = token
    switch state {
    case .live:
      guard let cursor else { return .nothing }
      if cursor.covers(token) { return .nothing }
      guard cursor == since else {
        state = .catchingUp
        return .read
      }
      if isOwn { return .nothing }
      if isLarge || (isCrowded && !isOneWay) {
        state = .behind
        isHinted = true
        return .hint
      }
      if isCrowded {
        // A hint would wait as long as what it stands for.
        state = .catchingUp
        return .read
      }
      self.cursor = token
      return .push
    case .unwelcomed, .catchingUp, .fetching: return .nothing
    case .unset, .behind: return isOwn ? .nothing : recall(isClogged: isClogged)
    }
  }

  /// Tells someone behind of a commit. A stream is read for: what its device fetches the chain does
  /// not see. To a socket each commit is hinted as long as it takes bytes, for a device may act on
  /// a hint by HTTP. While it takes none, one hint stands for all.
  private mutating func recall(isClogged: Bool) -> Push {
    if isOneWay {
      state = .catchingUp
      return .read
    }
    if isHinted && isClogged {
      owesHint = true
      return .nothing
    }
    isHinted = true
    return .hint
  }

  /// A commit up to `token` did not wake the device. The cursor stays, so that the next one that
  /// does, or the device's own save, does not follow it, and all since then is read.
  mutating func passedOver(_ token: ChangeToken, isOwn: Bool) {
    // An own save is answered, whatever the device waits for.
    if !isOwn { passed = token }
  }

  /// Something else wakes the device from here on: what was passed over is told.
  mutating func ruleChanged(isClogged: Bool) -> Push {
    guard let token = passed else { return .nothing }
    passed = nil
    let known = [newest, cursor].compactMap { $0 }
    if known.contains(where: { $0.covers(token) }) { return .nothing }
    newest = token
    switch state {
    case .live:
      state = .catchingUp
      return .read
    case .unwelcomed, .catchingUp, .fetching: return .nothing
    case .unset, .behind: return recall(isClogged: isClogged)
    }
  }

  /// The connection takes bytes again. `.hint`: commits were folded meanwhile.
  mutating func unclogged() -> Push {
    guard owesHint else { return .nothing }
    owesHint = false
    return state == .unset || state == .behind ? .hint : .nothing
  }

  // MARK: what the relay reads for the device

  /// Whether a page read after `since` is the next link.
  func awaitsPage(since: ChangeToken) -> Bool { state == .catchingUp && cursor == since }

  /// Whether the next page may be kept back where nothing in it wakes the device. What it missed
  /// until it came it is told, and an answer to a save waits for its place.
  var mayPassPage: Bool { hasCaughtUp && !owesSaved }

  /// A page up to `token` was read, and kept back. `.read`: there is more by now.
  mutating func passedPage(to token: ChangeToken) -> Push {
    if let newest, !token.covers(newest) { return .read }
    newest = cursor
    passed = token
    state = .live
    return .nothing
  }

  /// The page was sent. `.read`: go on reading.
  mutating func paged(to token: ChangeToken, more: Bool) -> Push {
    cursor = token
    return more ? .read : settle(at: token)
  }

  /// The store could not be read: the device has to ask itself.
  mutating func pageFailed() -> Push {
    state = .behind
    isHinted = true
    return .hint
  }

  /// The device's cursor cannot be followed: it goes on without one.
  mutating func cursorRefused() {
    state = .unset
    cursor = nil
  }

  // MARK: what the device fetches

  /// A fetch of the whole account sets the cursor; one of a zone does not, and only shows that the
  /// device has heard the hint.
  mutating func fetchBegan(ofWholeAccount: Bool) {
    isHinted = false
    guard ofWholeAccount else { return }
    fetches += 1
    state = .fetching
  }

  /// A fetch of the whole account was answered with a page.
  mutating func fetched(to token: ChangeToken, more: Bool) -> Push {
    fetches -= 1
    // The end of a snapshot may lie before what was pushed while the fetch was on its way.
    let isPassed =
      !more
      && cursor.map { $0.pinned == nil && $0.covers(token) && !$0.isSamePlace(as: token) } ?? false
    let reached = isPassed ? cursor ?? token : token
    cursor = reached
    guard fetches == 0 else { return .nothing }
    if more {
      state = .behind
      return .nothing
    }
    return settle(at: reached)
  }

  /// A fetch of the whole account was refused.
  mutating func fetchFailed() {
    fetches -= 1
    if fetches == 0 { state = cursor == nil ? .unset : .behind }
  }

  private mutating func settle(at token: ChangeToken) -> Push {
    hasCaughtUp = true
    if let newest, !token.covers(newest) {
      state = .catchingUp
      return .read
    }
    newest = token
    state = .live
    return .nothing
  }

  // MARK: saves

  /// A save of this connection is durable.
  mutating func saved(_ saved: Saved) { waiting.append(saved) }

  /// What to do next about the answers to saves that wait.
  mutating func nextSaved() -> Turn {
    guard var next = waiting.first else { return .wait }
    switch state {
    case .unwelcomed, .fetching: return .wait
    case .unset, .behind: break
    case .catchingUp:
      // Where commits never pause the reading may go on for long; what it has passed is told.
      guard let cursor, cursor.pinned == nil, cursor.covers(next.answer.token) else {
        return .wait
      }
      next.answer.since = cursor
      next.answer.token = cursor
    case .live:
      guard let cursor else { return .wait }
      if cursor.covers(next.answer.token) {
        // What was read meanwhile holds this save already: a link that moves nothing.
        next.answer.since = cursor
        next.answer.token = cursor
      } else if cursor == next.answer.since {
        self.cursor = next.answer.token
      } else {
        state = .catchingUp
        return .read
      }
    }
    if !(newest.map { $0.covers(next.answer.token) } ?? false) {
      newest = next.answer.token
    }
    waiting.removeFirst()
    return .send(next)
  }
}
