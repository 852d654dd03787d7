import LockstepModel

/// The cursor chain of one socket or stream: decides what may be sent next, so that no gap goes
/// unnoticed and nothing stale is sent (docs/protocol.md, "WebSocket", "Events").
///
/// Handles tokens only; the store is read and frames are written by others. News of commits and
/// pages from the store come in any order. In every order, the `since` of each link that is sent is
/// the `token` of the one before: the same text, because clients compare texts. So if only the
/// cursor shows how far the account had come, the next link is read from the store.
struct CursorChain: Sendable {
  enum State: Hashable, Sendable {
    /// The device has no welcome yet, and is sent nothing. → unset, catchingUp, live
    case awaitingWelcome
    /// No cursor: hints only. → fetching, catchingUp
    case unset
    /// The relay reads for the device what it missed. → live, behind, fetching
    case catchingUp
    /// The cursor is the newest token. → catchingUp, behind, fetching
    case live
    /// The device's own fetches are under way; news wait meanwhile. → live, catchingUp, behind
    case fetching
    /// The device got a hint, or has more pages to fetch. → fetching
    case behind
  }

  /// Reaction to a commit.
  enum Push: Hashable, Sendable {
    case nothing
    /// Send its records; the cursor has moved.
    case push
    /// Send `changed`.
    case hint
    /// Read from the cursor.
    case read
  }

  /// The answer to a save, waiting for its place in the chain.
  struct Saved: Hashable, Sendable {
    var id: BatchID
    var answer: SaveAnswer
  }

  enum SavedStep: Hashable, Sendable {
    /// Send it: its `since` and `token` are the next link.
    case send(Saved)
    /// Read from the cursor: earlier changes are not sent yet.
    case read
    case wait
  }

  // In an order without gaps: each socket has a chain.
  /// The device's token once it has read all that was sent.
  private(set) var cursor: ChangeToken?
  /// The newest token in news.
  private var newest: ChangeToken?
  /// True for a stream: its device fetches and saves on other connections.
  private let isOneWay: Bool
  private(set) var state = State.awaitingWelcome
  /// True if a hint was sent on which the device has not acted.
  private var isHinted = false
  /// True if newer tokens than the last hint's were not sent because the connection was clogged.
  private var isHintPending = false
  /// True once all that the device had missed when it came has been read.
  private var hasCaughtUp = false
  /// Fetches of the whole account that are under way.
  private var fetches: UInt16 = 0
  /// The newest token of changes that did not match the device's filter; few devices have one.
  private var unmatched: CopyOnWriteBox<ChangeToken>?
  private var waiting: [Saved] = []

  /// True if answers to saves wait for their place in the chain.
  var hasWaitingSaves: Bool { !waiting.isEmpty }

  /// The newest token for a hint.
  var hintToken: ChangeToken? { newest ?? cursor }

  init(isOneWay: Bool = false) { self.isOneWay = isOneWay }

  // MARK: hello

  /// Starts at the device's token `since`. The page after it has been read; `handleSentPage`
  /// follows.
  mutating func beginReading(from since: ChangeToken) {
    cursor = since
    state = .catchingUp
  }

  /// Starts after the welcome with the account's `newest` token. `since`: the device's own cursor.
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

  /// Handles a commit that moved the account from `since` to `token`. `isOwn`: this connection
  /// requested it, and `enqueueSaved` follows. `isLarge`: its records have too many bytes for a
  /// push. `isCrowded`: many bytes wait on the connection, or may wait. `isClogged`: many bytes
  /// wait on it, and its driver will report when they have left.
  mutating func handleCommit(
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
        // A hint would wait as long as the changes that it replaces.
        state = .catchingUp
        return .read
      }
      self.cursor = token
      return .push
    case .awaitingWelcome, .catchingUp, .fetching: return .nothing
    case .unset, .behind: return isOwn ? .nothing : announceCommit(isClogged: isClogged)
    }
  }

  /// Handles several commits, each of which follows on the one before, that moved the account from
  /// `since` to `token`. Returns false, and does nothing, unless `handleCommit` would return
  /// `.push` for each of them. None of them is this connection's own, is too large, or finds it
  /// crowded.
  mutating func handleCommits(since: ChangeToken, token: ChangeToken) -> Bool {
    guard state == .live, cursor == since, newest.map({ since.covers($0) }) ?? true else {
      return false
    }
    cursor = token
    newest = token
    return true
  }

  /// Announces a commit to a device that is behind. For a stream the store is read, because the
  /// chain does not see the fetches of its device. A socket gets a hint for each commit as long as
  /// it accepts bytes, because a device may act on a hint by HTTP. While it accepts none, one hint
  /// covers all commits.
  private mutating func announceCommit(isClogged: Bool) -> Push {
    if isOneWay {
      state = .catchingUp
      return .read
    }
    if isHinted && isClogged {
      isHintPending = true
      return .nothing
    }
    isHinted = true
    return .hint
  }

  /// Records that a commit up to `token` did not match the device's filter. The cursor stays, so
  /// that the next matching commit, or the device's own save, does not follow it, and all changes
  /// since then are read.
  mutating func recordUnmatched(_ token: ChangeToken, isOwn: Bool) {
    // An own save is answered, whatever the filter.
    if isOwn { return }
    if unmatched == nil {
      unmatched = CopyOnWriteBox(token)
    } else {
      unmatched?.value = token
    }
  }

  /// Applies a new filter: changes that the old one skipped are sent.
  mutating func applyFilterChange(isClogged: Bool) -> Push {
    guard let token = unmatched?.value else { return .nothing }
    unmatched = nil
    let known = [newest, cursor].compactMap { $0 }
    if known.contains(where: { $0.covers(token) }) { return .nothing }
    newest = token
    switch state {
    case .live:
      state = .catchingUp
      return .read
    case .awaitingWelcome, .catchingUp, .fetching: return .nothing
    case .unset, .behind: return announceCommit(isClogged: isClogged)
    }
  }

  /// Handles a connection that accepts bytes again. Returns `.hint` if hints were merged meanwhile.
  mutating func handleUnclogged() -> Push {
    guard isHintPending else { return .nothing }
    isHintPending = false
    return state == .unset || state == .behind ? .hint : .nothing
  }

  // MARK: pages read for the device

  /// True if a page read after `since` is the next link.
  func awaitsPage(since: ChangeToken) -> Bool { state == .catchingUp && cursor == since }

  /// True if the next page may be withheld if nothing in it matches the device's filter. Changes
  /// from before the device came are always sent, and an answer to a save waits for its place.
  var mayWithholdPage: Bool { hasCaughtUp && !hasWaitingSaves }

  /// Handles a page up to `token` that was withheld. Returns `.read` if there are more changes now.
  mutating func handleWithheldPage(to token: ChangeToken) -> Push {
    if let newest, !token.covers(newest) { return .read }
    newest = cursor
    unmatched = CopyOnWriteBox(token)
    state = .live
    return .nothing
  }

  /// Handles a page that was sent. Returns `.read` if reading goes on.
  mutating func handleSentPage(to token: ChangeToken, more: Bool) -> Push {
    cursor = token
    return more ? .read : finishReading(at: token)
  }

  /// Handles a failed read of the store: the device must fetch.
  mutating func handlePageFailure() -> Push {
    state = .behind
    isHinted = true
    return .hint
  }

  /// Continues without a cursor, because the device's cursor was refused.
  mutating func clearCursor() {
    state = .unset
    cursor = nil
  }

  // MARK: fetches by the device

  /// Records the start of a fetch. One of the whole account sets the cursor; one of a zone does
  /// not, and only shows that the device has received the hint.
  mutating func beginFetch(ofWholeAccount: Bool) {
    isHinted = false
    guard ofWholeAccount else { return }
    fetches += 1
    state = .fetching
  }

  /// Handles the page that answers a fetch of the whole account.
  mutating func completeFetch(to token: ChangeToken, more: Bool) -> Push {
    fetches -= 1
    // The end of a snapshot may be older than what was pushed during the fetch.
    let isPassed =
      !more
      && cursor.map {
        $0.pinned == nil && $0.covers(token) && !$0.isSamePosition(as: token)
      } ?? false
    let reached = isPassed ? cursor ?? token : token
    cursor = reached
    guard fetches == 0 else { return .nothing }
    if more {
      state = .behind
      return .nothing
    }
    return finishReading(at: reached)
  }

  /// Handles a refused fetch of the whole account.
  mutating func failFetch() {
    fetches -= 1
    if fetches == 0 { state = cursor == nil ? .unset : .behind }
  }

  private mutating func finishReading(at token: ChangeToken) -> Push {
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

  /// Records that a save of this connection is durable.
  mutating func enqueueSaved(_ saved: Saved) { waiting.append(saved) }

  /// Returns the next step for the answers to saves that wait.
  mutating func nextSaved() -> SavedStep {
    guard var next = waiting.first else { return .wait }
    switch state {
    case .awaitingWelcome, .fetching: return .wait
    case .unset, .behind: break
    case .catchingUp:
      // If commits never pause, reading may take long; saves that it has passed are answered.
      guard let cursor, cursor.pinned == nil, cursor.covers(next.answer.token) else {
        return .wait
      }
      next.answer.since = cursor
      next.answer.token = cursor
    case .live:
      guard let cursor else { return .wait }
      if cursor.covers(next.answer.token) {
        // The changes read meanwhile contain this save already: the link moves nothing.
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
