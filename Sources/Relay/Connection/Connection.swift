import LockstepModel
import LockstepRuntime
import LockstepStorage
import LockstepWire

/// One connection of the node: an HTTP connection, and from its upgrade on a WebSocket. The value
/// is large: it is changed in place in the node's table (`ConnectionTable`), and some methods are
/// mutating only because such a call makes no copy.
///
/// The node calls a method for each event, with the services that all connections share. After a
/// call that may have closed the connection, it removes the connection from the table.
struct Connection: Sendable {
  private var channel: ConnectionChannel
  /// nil from the upgrade on: a socket needs nothing of it. Boxed, because most connections of a
  /// relay are sockets.
  private var http: CopyOnWriteBox<HTTPConnection>? = CopyOnWriteBox(HTTPConnection())
  /// Set from the upgrade on.
  private var socket: WebSocketConnection?

  /// `exempt`: networks without limits by address. `trustedProxies`: proxies that may name the
  /// client whose request they forward.
  init(
    id: ConnectionID, opening: Opening, exempt: [IPNetwork] = [], trustedProxies: [IPNetwork] = []
  ) {
    channel = ConnectionChannel(id, opening, exempt: exempt, trustedProxies: trustedProxies)
  }

  var id: ConnectionID { channel.id }
  var opening: Opening { channel.opening }
  /// The origin of the page whose request is being answered.
  var crossOrigin: CrossOrigin { http?.value.crossOrigin ?? .none }
  var session: Session? { channel.session }
  var isSignedIn: Bool { channel.session != nil }
  /// True once it is closed: the node removes it.
  var isClosed: Bool { channel.isClosed }
  /// The holder to whose share of the memory its bytes are charged.
  var holder: Admission.Holder { mutating get { channel.holder } }

  /// Sets its index in the node's table.
  mutating func setSlot(_ slot: Hub.Slot) { channel.slot = slot }

  // MARK: events of the driver

  /// Starts the deadline for the first request.
  mutating func open(_ services: inout RelayServices) {
    http?.value.updateRequestTimer(&channel, &services)
  }

  mutating func received(_ bytes: RawSpan, _ services: inout RelayServices) {
    if socket != nil {
      socket?.receive(bytes)
    } else if http?.value.receive(bytes, &channel, &services) == true {
      // A repeated long-poll, which needs nothing more.
      return
    }
    processInput(&services)
  }

  /// Handles the driver's report that `unsent` bytes still wait.
  mutating func handleDrained(unsent: Int, _ services: inout RelayServices) {
    channel.recordUnsent(unsent, &services)
    if channel.isClogged(services) {
      updateMemoryBudget(&services)
      return
    }
    socket?.resume(&channel, &services)
    http?.value.resume(&channel, &services)
    processInput(&services)
  }

  /// Records the driver's report of the memory of unsent bytes.
  mutating func recordMemory(_ bytes: Int) { channel.recordMemory(bytes) }

  /// Handles a connection that the client closed.
  mutating func handleClosed(_ cause: CloseCause, _ services: inout RelayServices) {
    if cause == .endOfStream, http?.value.isParked == true {
      // The client may still read; a half-closed connection does not wait.
      http?.value.answerEmpty(isLast: true, &channel, &services)
      return
    }
    if socket != nil { services.status.socketsClosed.add(CloseCounts.abnormal) }
    channel.handleClosed(cause, &services)
  }

  /// Closes the connection; `manner` decides if sent bytes leave first.
  mutating func close(_ manner: CloseManner, _ services: inout RelayServices) {
    channel.close(manner, &services)
  }

  /// Removes what the node has of the connection after its end.
  mutating func finish(_ services: inout RelayServices) {
    socket?.recordPosition(&channel, &services)
    http?.value.recordStreamPosition(&channel, &services)
    http?.value.finish(&channel, &services)
    if socket != nil { services.sockets -= 1 }
    channel.finish(&services)
  }

  // MARK: input

  /// Continues to read a connection, as far as there is room for more.
  mutating func processInput(_ services: inout RelayServices) {
    guard !channel.isClosed else { return }
    if services.stage == .stopping { endIfIdle(&services) }
    while !channel.isClosed, socket == nil {
      http?.value.readRequests(&channel, &services)
      guard !channel.isClosed, http?.value.isUpgrading == true else { break }
      upgrade(&services)
    }
    guard !channel.isClosed else { return }
    socket?.readMessages(&channel, &services)
    guard !channel.isClosed else { return }
    if channel.isCrowded(services) && !channel.isClogged(services) {
      services.timers.schedule(
        .crowded(channel.id), at: services.moment.instant.advanced(milliseconds: 1))
    }
    updateMemoryBudget(&services)
  }

  /// Continues as a WebSocket, unless the request for it is refused.
  private mutating func upgrade(_ services: inout RelayServices) {
    guard let upgrade = http?.value.acceptUpgrade(&channel, &services) else { return }
    http = nil
    socket = WebSocketConnection(upgrade)
    socket?.open(&channel, &services)
  }

  /// Counts the connection's memory, pauses reading if it holds enough, and refuses it if the limit
  /// is exceeded.
  private mutating func updateMemoryBudget(_ services: inout RelayServices) {
    if holdsNothing() {
      let pauses =
        http?.value.pausesReading == true
        && http?.value.readsRequests(&channel, services) == false
      channel.setPaused(pauses, &services)
      return
    }
    let hasRoom = channel.countMemory(bytesToHold, &services)
    if !hasRoom { http?.value.pauseUpload() }
    let reads =
      socket?.readsMessages(&channel, services)
      ?? http?.value.readsRequests(&channel, services) ?? false
    if !hasRoom && reads {
      refuse(services.admission.refusal(of: channel.holder), &services)
      return
    }
    let isFull = bufferedBytes >= Limits.pipelineBytes
    let pauses = !hasRoom || isFull || http?.value.pausesReading == true
    channel.setPaused(!reads && pauses, &services)
  }

  /// True if no bytes are held, and none were at the last count, so that there is nothing to count.
  mutating func holdsNothing() -> Bool {
    guard channel.countsOnlyUnsent else { return false }
    if let holdsNothing = http?.value.holdsNothing() { return holdsNothing }
    return !channel.isPaused && socket?.holdsNothing() == true
  }

  /// Memory of received data that waits for something, in bytes.
  var bytesToHold: Int {
    mutating get { socket?.bytesToHold ?? http?.value.bytesToHold ?? 0 }
  }

  /// Received bytes that are not processed yet.
  private var bufferedBytes: Int {
    mutating get { socket?.bufferedBytes ?? http?.value.bufferedBytes ?? 0 }
  }

  /// Refuses the connection for a reason that is not in a single request.
  private mutating func refuse(_ refusal: Refusal, _ services: inout RelayServices) {
    if socket == nil {
      http?.value.refuseBytes(refusal, &channel, &services)
    } else {
      socket?.close(refusal, &channel, &services)
    }
  }

  // MARK: timers

  mutating func handleRequestTimeout(_ services: inout RelayServices) {
    if socket != nil {
      socket?.handleTimeout(&channel, &services)
    } else if http?.value.handleTimeout(&channel, &services) == true {
      processInput(&services)
    }
  }

  mutating func handleKeepAlive(_ services: inout RelayServices) {
    // A ping after unsent bytes shows nothing; `.stalled` checks the connection.
    if channel.unsentBytes == 0 {
      if http?.value.isStreaming == true {
        http?.value.sendHeartbeat(&channel, &services)
      } else if socket?.sendPing(&channel, &services) == false {
        abort(&services)
        return
      }
    }
    services.timers.schedule(
      .keepAlive(channel.id),
      at: services.moment.instant.advanced(
        milliseconds: services.configuration.keepAliveMilliseconds))
  }

  mutating func checkStalledQueue(_ services: inout RelayServices) {
    guard channel.isStalled(&services) else { return }
    services.status.slowConsumers += 1
    abort(&services)
  }

  /// Closes a connection whose device is gone, or accepts nothing: a close frame would not arrive.
  private mutating func abort(_ services: inout RelayServices) {
    if socket != nil { services.status.socketsClosed.add(CloseCounts.abnormal) }
    channel.close(.now, &services)
  }

  /// Continues after a delay because of a client's rate.
  mutating func endThrottle(_ services: inout RelayServices) {
    http?.value.endDelay(&channel, &services)
    guard !channel.isClosed else { return }
    socket?.endThrottle(&channel, &services)
    processInput(&services)
  }

  // MARK: sign-in

  /// Handles the store's answer about a token. `newest`: the account's newest token; nil if
  /// announced commits may be newer.
  mutating func signIn(
    _ session: Session, _ filter: SubscriptionFilter?, newest: ChangeToken?, hasWakes: Bool,
    _ services: inout RelayServices
  ) {
    channel.signIn(session, filter, newest: newest, hasWakes: hasWakes, &services)
    channel.refundAddress(&services)
    if socket?.handleSignIn(session, &channel, &services) == true { return }
    http?.value.handleSignIn(session, &channel, &services)
    if !channel.isClosed, http?.value.isUpgrading == true { upgrade(&services) }
  }

  mutating func refuseSignIn(_ refusal: Refusal, _ services: inout RelayServices) {
    // A guessed token is charged to the address; a failing store is not the client's fault.
    if refusal.code != .badToken { channel.refundAddress(&services) }
    if socket != nil {
      socket?.refuseSignIn(refusal, &channel, &services)
    } else {
      http?.value.refuseSignIn(refusal, &channel, &services)
    }
  }

  /// True if the device has signed in.
  mutating func isSession(of device: DeviceID) -> Bool { channel.session?.device == device }

  /// True if the plan of the session's account is known to be this one.
  func hasPlan(_ plan: Plan) -> Bool { channel.session?.plan == plan }

  /// Ends the connection's session.
  mutating func signOut(_ services: inout RelayServices) { channel.signOut(&services) }

  /// Ends a connection whose device is no longer valid; the refusal answers its request.
  mutating func endSession(_ refusal: Refusal, _ services: inout RelayServices) {
    if socket != nil {
      socket?.close(refusal, &channel, &services)
    } else {
      http?.value.endSession(refusal, &channel, &services)
    }
  }

  /// Applies the account's new plan. Requests that were admitted before may finish, except those
  /// that wait for news, which will not come any more, and uploads, which could go on for long.
  mutating func applyPlan(_ plan: Plan, _ services: inout RelayServices) {
    channel.setPlan(plan)
    guard plan.hasNoZone else { return }
    if socket != nil {
      socket?.close(Session.needsPlan, &channel, &services)
    } else if http?.value.endWaitingRequest(&channel, &services) == true {
      processInput(&services)
    }
  }

  /// Handles new subscriptions of the device: changes that the old ones skipped are sent.
  mutating func applyFilterChange(_ services: inout RelayServices) {
    if socket != nil {
      socket?.applyFilterChange(&channel, &services)
    } else if http?.value.applyFilterChange(&channel, &services) == true {
      processInput(&services)
    }
  }

  // MARK: results of the store

  mutating func handleWelcomeRead(
    _ result: Result<ReadResult, Refusal>, _ services: inout RelayServices
  ) {
    socket?.handleWelcomeRead(result, &channel, &services)
    processInput(&services)
  }

  mutating func handleCatchUpRead(
    since: ChangeToken, _ result: Result<ReadPage, Refusal>, _ services: inout RelayServices
  ) {
    socket?.handleCatchUpRead(since: since, result, &channel, &services)
    processInput(&services)
  }

  mutating func handleFetchRead(
    request: String, ofWholeAccount: Bool, _ result: Result<ReadPage, Refusal>,
    _ services: inout RelayServices
  ) {
    socket?.handleFetchRead(
      request: request, ofWholeAccount: ofWholeAccount, result, &channel, &services)
    processInput(&services)
  }

  mutating func handleSaveResult(
    _ batch: BatchID, bytes: Int, _ result: Result<CommitResult, Refusal>,
    _ services: inout RelayServices
  ) {
    socket?.handleSaveResult(batch, bytes: bytes, result, &channel, &services)
    processInput(&services)
  }

  mutating func handleBacklogRead(
    since: ChangeToken, _ result: Result<ReadPage, Refusal>, _ services: inout RelayServices
  ) {
    http?.value.handleBacklogRead(since: since, result, &channel, &services)
    processInput(&services)
  }

  mutating func handleCallCommit(
    _ response: CommitResponse, _ result: Result<CommitResult, Refusal>,
    _ services: inout RelayServices
  ) {
    http?.value.handleCallCommit(response, result, &channel, &services)
    processInput(&services)
  }

  mutating func handleCallRead(
    _ response: ReadResponse, _ result: Result<ReadResult, Refusal>,
    _ services: inout RelayServices
  ) {
    http?.value.handleCallRead(response, result, &channel, &services)
    processInput(&services)
  }

  mutating func handleCallPage(
    _ response: PageResponse, _ result: Result<ReadPage, Refusal>, _ services: inout RelayServices
  ) {
    http?.value.handleCallPage(response, result, &channel, &services)
    processInput(&services)
  }

  mutating func handleOwnPage(
    _ result: Result<PageFolderEntry, StorageError>, _ services: inout RelayServices
  ) {
    http?.value.handleOwnPage(result, &channel, &services)
    processInput(&services)
  }

  mutating func handleUploadStep(
    _ file: ChunkFile, _ result: Result<ChunkResult, Refusal>, _ services: inout RelayServices
  ) {
    http?.value.handleUploadStep(file, result, &channel, &services)
    processInput(&services)
  }

  mutating func handleChunkAdded(
    _ result: Result<CommitResult, Refusal>, _ services: inout RelayServices
  ) {
    http?.value.handleChunkAdded(result, &channel, &services)
    processInput(&services)
  }

  mutating func handleChunkRead(
    _ file: ChunkFile, _ result: Result<ChunkResult, Refusal>, _ services: inout RelayServices
  ) {
    http?.value.handleChunkRead(file, result, &channel, &services)
    processInput(&services)
  }

  // MARK: commits

  /// True if its device is one of these.
  mutating func isDevice(in devices: Set<DeviceID>) -> Bool { channel.isDevice(in: devices) }

  /// Records that a commit up to `token` did not match the device's filter. `own`: the connection
  /// that requested it.
  mutating func recordUnmatched(_ token: ChangeToken, own: ConnectionID?) {
    if socket != nil {
      socket?.recordUnmatched(token, isOwn: own == channel.id)
    } else {
      http?.value.recordUnmatched(token)
    }
  }

  /// Returns a socket's reaction to a commit, and whether the push is compressed. Only an
  /// uncompressed push is added to its queue here. `own`: the connection that requested the commit.
  /// `frameBytes`: of the push, 0 if its device cannot have it as one. `limit`: bytes that may
  /// wait.
  mutating func handleCommit(
    _ change: borrowing AccountChange, own: ConnectionID?, frameBytes: Int, limit: Int,
    _ services: inout RelayServices
  ) -> (ConnectionID, CursorChain.Push, isDeflated: Bool) {
    let push = socket?.handleCommit(
      change, isOwn: own == channel.id, isLarge: frameBytes == 0, limit: limit, &channel,
      at: services.moment.instant)
    let isDeflated = socket?.takesCompressed == true && frameBytes >= Limits.deflateBytes
    if push == .push, !isDeflated { channel.recordSent(frameBytes, &services) }
    return (channel.id, push ?? .nothing, isDeflated)
  }

  /// Records commits that moved the account from `since` to `token`, whose pushes are sent
  /// together and have `count` bytes. Returns false, and does nothing, if they cannot be sent to
  /// it together. `isCompressible`: a client that takes compressed messages gets one of them
  /// compressed. `limit`: bytes that may wait.
  mutating func handleCommits(
    since: ChangeToken, token: ChangeToken, bytes count: Int, isCompressible: Bool, limit: Int,
    _ services: inout RelayServices
  ) -> Bool {
    guard !isCompressible || socket?.takesCompressed != true,
      channel.hasRoom(for: count, limit: limit, at: services.moment.instant),
      socket?.handleCommits(since: since, token: token) == true
    else { return false }
    channel.recordSent(count, &services)
    return true
  }

  /// Returns a stream's reaction to a commit. `limit`: bytes that may wait.
  mutating func handleStreamCommit(
    _ change: borrowing AccountChange, _ audience: borrowing ChangeAudience, limit: Int,
    at now: Instant
  ) -> CursorChain.Push {
    let isPartial = channel.isDevice(in: audience.partial)
    return http?.value.handleStreamCommit(
      change, isPartial: isPartial, limit: limit, &channel, at: now) ?? .nothing
  }

  /// Returns a long-poll's reaction to a commit. `lastPoll`: the last poll parked before the store
  /// was read for it.
  mutating func handlePollCommit(
    _ change: borrowing AccountChange, _ audience: borrowing ChangeAudience, lastPoll: UInt64,
    isRunning: Bool
  ) -> LongPoll.Reaction {
    http?.value.handlePollCommit(
      change, isUnmatched: channel.isDevice(in: audience.unmatched),
      isPartial: channel.isDevice(in: audience.partial), lastPoll: lastPoll,
      isRunning: isRunning) ?? .nothing
  }

  /// True if an event of its stream is a chunk of the transfer coding.
  var isChunkedStream: Bool { mutating get { http?.value.isChunkedStream == true } }

  /// Records bytes that are sent to several connections by one action.
  mutating func recordSent(_ count: Int, _ services: inout RelayServices) {
    channel.recordSent(count, &services)
  }

  /// Reads for a socket or a stream what it missed.
  mutating func readMissedChanges(_ services: inout RelayServices) {
    if socket != nil {
      socket?.readPage(&channel, &services)
    } else {
      http?.value.readBacklog(&channel, &services)
    }
  }

  /// Ends a poll that was answered together with others, by `count` bytes.
  mutating func endPoll(
    _ answer: borrowing Answer, bytes count: Int, _ services: inout RelayServices
  ) {
    channel.recordSent(count, &services)
    http?.value.endPoll(answer, &channel, &services)
  }

  /// Continues after a poll that was answered together with others.
  mutating func continueAfterPoll(_ services: inout RelayServices) {
    // Usually no request follows a poll.
    if holdsNothing(), !channel.isCrowded(services) {
      http?.value.updateRequestTimer(&channel, &services)
    } else {
      processInput(&services)
    }
  }

  /// Reads the store again for a poll.
  mutating func rereadChanges(_ services: inout RelayServices) {
    http?.value.rereadChanges(&channel, &services)
  }

  /// Handles a device that has registered for wakes: without a request, the connection ends soon.
  mutating func limitIdleTime(_ services: inout RelayServices) {
    http?.value.limitIdleTime(&channel, &services)
  }

  // MARK: stopping

  /// Ends a connection's socket, stream or parked poll that has no request under way.
  mutating func endIfIdle(_ services: inout RelayServices) {
    if socket != nil {
      socket?.endIfIdle(&channel, &services)
    } else {
      http?.value.endIfIdle(&channel, &services)
    }
  }

  /// True if a request is under way; an idle connection has nothing to lose.
  var isBusy: Bool { mutating get { socket != nil || http?.value.isBusy == true } }

  // MARK: state, for troubleshooting

  var isSocket: Bool { socket != nil }

  /// Transport as an index into `NodeState.transports`.
  var transport: Int {
    guard let http else { return 0 }
    if http.value.hasStream { return 1 }
    if http.value.isParked { return 2 }
    if http.value.isUploading { return 3 }
    return http.value.isDownloading ? 4 : 5
  }

  /// Unsent bytes, as the driver last reported them, and those sent after that.
  var unsentBytes: Int { mutating get { channel.unsentBytes } }

  /// State of its unsent bytes.
  mutating func queueState(_ services: borrowing RelayServices) -> NodeState.Queue {
    NodeState.Queue(
      transport: NodeState.transports[transport], account: session?.account,
      device: session?.device, bytes: channel.unsentBytes,
      stillMilliseconds: channel.stillMilliseconds(services))
  }

  /// Time at which the head of its request was complete; nil if there is none.
  var requestBegunAt: Instant? { http?.value.requestBegunAt }
}
