import LockstepModel
import LockstepRuntime
import LockstepWire

/// A `GET /v1/events`, from its registration for news on. A stream accepts no requests, so bytes
/// that its client sends are ignored.
///
/// Each method gets the connection's channel and the services that all connections share.
struct EventStreamConnection: Sendable {
  /// True for chunked transfer coding; otherwise the connection's end is the stream's (HTTP/1.0).
  let isChunked: Bool
  /// True once the store was read for the first event; before that, the request may be refused.
  private(set) var hasBegun = false
  private var chain = CursorChain(isOneWay: true)
  /// True if a page must be read as soon as the connection accepts bytes again.
  private var needsRead = false
  /// Bytes received after the request and discarded.
  private(set) var ignoredBytes = 0

  /// Position up to which the changes were sent.
  var cursor: ChangeToken? { chain.cursor }

  private static let heartbeat = HTTPWriter.chunk(EventStreamWriter.heartbeat)

  init(isChunked: Bool) { self.isChunked = isChunked }

  /// Ignores received bytes. Returns false if the stream has not begun, and they must be kept.
  mutating func ignore(_ count: Int) -> Bool {
    if hasBegun { ignoredBytes += count }
    return hasBegun
  }

  /// Returns the form of its pages.
  func form(_ session: Session?, _ services: borrowing RelayServices) -> PageForm {
    PageForm(
      shape: .event(isChunked: isChunked), keepsRecords: services.mayWithholdPages(for: session))
  }

  /// Starts after the head of the answer was sent: the first event is the page after `since`.
  /// `ignored`: bytes received after the request.
  mutating func begin(
    at since: ChangeToken, _ page: ReadPage, ignored: Int, _ channel: inout ConnectionChannel,
    _ services: inout RelayServices
  ) {
    hasBegun = true
    ignoredBytes = ignored
    chain.beginReading(from: since)
    channel.scheduleKeepAlive(&services)
    sendPage(page, &channel, &services)
  }

  // MARK: commits

  /// Returns the reaction to a commit. `isPartial`: the device may have some of the records only.
  /// `limit`: bytes that may wait.
  mutating func handleCommit(
    _ change: borrowing AccountChange, isPartial: Bool, limit: Int,
    _ channel: inout ConnectionChannel, at now: Instant
  ) -> CursorChain.Push {
    chain.handleCommit(
      since: change.since, token: change.token, isOwn: false, isLarge: change.isLarge || isPartial,
      isCrowded: channel.isCrowded(limit: limit, at: now),
      isClogged: channel.isClogged(limit: limit))
  }

  /// Records that a commit up to `token` did not match the device's filter.
  mutating func recordUnmatched(_ token: ChangeToken) {
    chain.recordUnmatched(token, isOwn: false)
  }

  // MARK: missed changes

  /// Handles new subscriptions of the device: changes that the old ones skipped are sent.
  mutating func applyFilterChange(
    _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    let push = chain.applyFilterChange(isClogged: channel.isClogged(services))
    if push == .read { readBacklog(&channel, &services) }
  }

  /// Continues when the connection accepts bytes again.
  mutating func resume(_ channel: inout ConnectionChannel, _ services: inout RelayServices) {
    if needsRead { readBacklog(&channel, &services) }
  }

  /// Reads the changes after the cursor, as soon as the connection accepts bytes.
  mutating func readBacklog(_ channel: inout ConnectionChannel, _ services: inout RelayServices) {
    guard let session = channel.session, let cursor = chain.cursor else { return }
    let isClogged = channel.isClogged(services)
    needsRead = isClogged
    if isClogged { return }
    let isSubmitted = services.submitPageRead(
      session, FetchQuery(since: cursor), as: form(session, services),
      for: .backlog(channel.id, since: cursor))
    if !isSubmitted { handlePageFailure(&channel, &services) }
  }

  /// Handles a page that was read after the cursor `since`.
  mutating func handleBacklogRead(
    since: ChangeToken, _ result: Result<ReadPage, Refusal>, _ channel: inout ConnectionChannel,
    _ services: inout RelayServices
  ) {
    guard chain.awaitsPage(since: since) else { return }
    switch result {
    case .success(let page)
    where chain.mayWithholdPage && services.withholds(page, from: channel.session):
      if chain.handleWithheldPage(to: page.token) == .read { readBacklog(&channel, &services) }
    case .success(let page): sendPage(page, &channel, &services)
    // The cursor is no longer valid.
    case .failure(let refusal) where refusal.code.advice == .fetchFirst:
      end(refusal, &channel, &services)
    case .failure: handlePageFailure(&channel, &services)
    }
  }

  /// Sends a hint: the device must fetch.
  private mutating func handlePageFailure(
    _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    guard chain.handlePageFailure() == .hint, let token = chain.hintToken else { return }
    services.status.hints += 1
    sendEvent(RelayEvent.encodedHint(token), &channel, &services)
  }

  private mutating func sendPage(
    _ page: ReadPage, _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    channel.send(page.bytes, &services)
    let push = chain.handleSentPage(to: page.token, more: page.more)
    if push == .read { readBacklog(&channel, &services) }
  }

  // MARK: sending

  /// Ends the stream cleanly, with the reason as its last event.
  mutating func end(
    _ refusal: Refusal, _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    services.count(refusal.code)
    // Streams that end together must not reconnect together.
    let retry = refusal.retryAfterMilliseconds.map {
      $0 + Int64.random(in: 0...1_000, using: &services.random)
    }
    sendEvent(RelayEvent.encodedError(refusal, retryMilliseconds: retry), &channel, &services)
    if isChunked { channel.send(HTTPWriter.lastChunk, &services) }
    channel.close(.afterSending, &services)
  }

  /// Sends a heartbeat, so that the client and all proxies see that the stream is alive.
  mutating func sendHeartbeat(_ channel: inout ConnectionChannel, _ services: inout RelayServices) {
    channel.send(
      isChunked ? EventStreamConnection.heartbeat : EventStreamWriter.heartbeat, &services)
  }

  private mutating func sendEvent(
    _ event: [UInt8], _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    channel.send(isChunked ? HTTPWriter.chunk(event) : event, &services)
  }
}

extension ChangePage {
  /// Creates a page that does not move the cursor.
  init(nothingSince token: ChangeToken) {
    self.init(since: token, token: token, more: false, changes: [])
  }
}
