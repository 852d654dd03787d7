import LockstepModel
import LockstepRuntime

/// Sender of pushes to APNs: one connection for each environment, opened when there is a push, and
/// the queue of those that wait for a stream. Opens no socket and reads no clock: its owner passes
/// events on, then performs `nextAction` and handles `nextOutcome` until there are none.
///
/// - Each push has exactly one outcome, at the latest `GatewayLimits.pushMilliseconds` after it was
///   accepted; at once if no connection will be opened until then.
/// - A push whose stream was refused, or whose connection broke, is sent once more; so is one whose
///   token had expired. A background push that arrives twice does no harm.
struct APNsSender {
  enum Action {
    case open(ConnectionID, APNsHost)
    case send(ConnectionID, [UInt8])
    case close(ConnectionID)
    case report(APNsReport)
  }

  struct Outcome: Hashable {
    /// Of the notification.
    let id: UInt64
    let result: APNsResult
  }

  /// State of one environment.
  private struct Channel {
    let host: APNsHost
    var waiting = FIFOQueue<APNsConnection.Attempt>()
    /// Pushes that were sent before and go first: at most as many as there were streams.
    var repeated: [APNsConnection.Attempt] = []
    /// In the order in which they were opened; only the last one may be other than draining.
    var connections: [APNsConnection] = []
    /// Time before which no connection is opened.
    var pausedUntil: Instant?
    /// Connections since the last answer to a push that ended without one.
    var failures = 0
    /// Answers `TooManyProviderTokenUpdates` since the last accepted push.
    var tokenFailures = 0
    /// Time up to which the pause is APNs' own wish: pushes do not wait for its end.
    var refusedUntil: Instant?

    func isRefused(at now: Instant) -> Bool { refusedUntil.map { $0 > now } ?? false }
    func isPaused(at now: Instant) -> Bool { pausedUntil.map { $0 > now } ?? false }
    var current: Int? { connections.lastIndex { $0.stage != .draining } }
    var hasWaiting: Bool { !waiting.isEmpty || !repeated.isEmpty }

    mutating func popWaiting() -> APNsConnection.Attempt? {
      repeated.isEmpty ? waiting.popFirst() : repeated.removeFirst()
    }

    /// Removes and returns the waiting pushes that are over time.
    mutating func removeOverdue(at now: Instant) -> [APNsConnection.Attempt] {
      var overdue = repeated.filter { $0.deadline <= now }
      repeated.removeAll { $0.deadline <= now }
      while let first = waiting.first, first.deadline <= now, let attempt = waiting.popFirst() {
        overdue.append(attempt)
      }
      return overdue
    }
  }

  private var token: APNsToken
  private var channels: [Channel]
  private var nextConnection: UInt64 = 0
  private var isStopped = false
  private var actions = ActionQueue<Action>()
  private var outcomes = ActionQueue<Outcome>()
  /// Time of the next `expire`; nil if there is nothing to wait for.
  private(set) var nextDeadline: Instant?

  /// `host`: takes the place of Apple's servers, for tests.
  init(_ team: APNsTeam, host: APNsHost? = nil) {
    token = APNsToken(team)
    channels = APNsEnvironment.allCases.map { Channel(host: host ?? $0.host) }
  }

  mutating func nextAction() -> Action? { actions.popFirst() }

  mutating func nextOutcome() -> Outcome? { outcomes.popFirst() }

  /// Number of pushes without an outcome.
  var pendingCount: Int {
    channels.reduce(0) { count, channel in
      let waiting = channel.waiting.count + channel.repeated.count
      return channel.connections.reduce(count + waiting) { $0 + $1.attempts.count }
    }
  }

  var hasConnections: Bool { channels.contains { !$0.connections.isEmpty } }

  /// Number of waiting pushes of an environment.
  func waitingCount(_ environment: APNsEnvironment) -> Int {
    let channel = channels[APNsSender.index(environment)]
    return channel.waiting.count + channel.repeated.count
  }

  func isReady(_ environment: APNsEnvironment) -> Bool {
    channels[APNsSender.index(environment)].connections.contains { $0.stage == .ready }
  }

  private static func index(_ environment: APNsEnvironment) -> Int {
    switch environment {
    case .production: 0
    case .development: 1
    }
  }

  // MARK: pushes

  /// Accepts a push. Returns false, and there is no outcome, if too many wait or the sender is
  /// stopped.
  mutating func send(_ notification: APNsNotification, at moment: Moment) -> Bool {
    let index = APNsSender.index(notification.target.environment)
    guard !isStopped, channels[index].waiting.count < GatewayLimits.waitingPushes else {
      return false
    }
    let deadline = moment.instant.advanced(milliseconds: GatewayLimits.pushMilliseconds)
    channels[index].waiting.append(
      APNsConnection.Attempt(notification: notification, deadline: deadline))
    advance(index, at: moment)
    setDeadline()
    return true
  }

  /// Takes no further pushes; each connection is closed once it has none.
  mutating func stop(at moment: Moment) {
    isStopped = true
    for index in channels.indices { advance(index, at: moment) }
    setDeadline()
  }

  private mutating func finish(_ attempt: APNsConnection.Attempt, _ result: APNsResult) {
    outcomes.append(Outcome(id: attempt.notification.id, result: result))
  }

  // MARK: events of connections

  func owns(_ id: ConnectionID) -> Bool { place(of: id) != nil }

  mutating func opened(_ id: ConnectionID, at moment: Moment) {
    guard let (index, place) = place(of: id) else { return }
    channels[index].connections[place].markHeard(at: moment.instant)
    flush(index, place, at: moment)
    setDeadline()
  }

  mutating func received(_ id: ConnectionID, _ bytes: RawSpan, at moment: Moment) {
    guard let (index, place) = place(of: id) else { return }
    channels[index].connections[place].markHeard(at: moment.instant)
    do throws(HTTP2Client.Fault) {
      try channels[index].connections[place].http.receive(bytes)
    } catch {
      handleEvents(index, place, at: moment)
      lose(id, .violated, at: moment)
      return setDeadline()
    }
    handleEvents(index, place, at: moment)
    if let (index, place) = self.place(of: id) { flush(index, place, at: moment) }
    if let (index, place) = self.place(of: id) {
      // nghttp2 has told the peer its fault, and ends the connection.
      let connection = channels[index].connections[place]
      if connection.stage != .draining, connection.http.isOver { lose(id, .violated, at: moment) }
    }
    advance(index, at: moment)
    setDeadline()
  }

  /// Handles the number of bytes that APNs has not taken yet.
  mutating func drained(_ id: ConnectionID, unsent: Int, at moment: Moment) {
    guard unsent > GatewayLimits.unsentBytes else { return }
    lose(id, .silent, at: moment)
    setDeadline()
  }

  mutating func closed(_ id: ConnectionID, _ cause: CloseCause, at moment: Moment) {
    lose(id, .closed(cause), isClosed: true, at: moment)
    setDeadline()
  }

  /// Ends what is over at `nextDeadline`; does nothing before.
  mutating func expire(at moment: Moment) {
    let now = moment.instant
    guard let nextDeadline, nextDeadline <= now else { return }
    for index in channels.indices {
      expireStreams(index, at: moment)
      for connection in channels[index].connections where connection.deadline <= now {
        if connection.stage == .connecting || connection.pingedAt != nil {
          lose(connection.id, .silent, at: moment)
        } else if let (index, place) = place(of: connection.id) {
          channels[index].connections[place].pingedAt = now
          channels[index].connections[place].http.ping()
          flush(index, place, at: moment)
        }
      }
      expireWaiting(index, at: now)
      advance(index, at: moment)
    }
    setDeadline()
  }

  /// Ends pushes whose answer is late. If nothing has come on their connection since they were
  /// sent, it is dead.
  private mutating func expireStreams(_ index: Int, at moment: Moment) {
    for connection in channels[index].connections {
      var isSilent = false
      for stream in connection.overdueStreams(at: moment.instant) {
        guard let (_, place) = place(of: connection.id),
          let attempt = channels[index].connections[place].attempts.removeValue(forKey: stream)
        else { continue }
        channels[index].connections[place].http.cancel(stream)
        isSilent = isSilent || connection.heardAt <= attempt.sentAt
        finish(attempt, .unavailable(milliseconds: GatewayLimits.pauseMilliseconds))
      }
      if isSilent {
        lose(connection.id, .silent, at: moment)
      } else if let (_, place) = place(of: connection.id) {
        flush(index, place, at: moment)
      }
    }
  }

  private mutating func expireWaiting(_ index: Int, at now: Instant) {
    for attempt in channels[index].removeOverdue(at: now) {
      finish(attempt, .unavailable(milliseconds: pause(of: index, at: now)))
    }
  }

  /// Ends the waiting pushes that are over before the next connection is opened: a relay has few
  /// connections to the gateway, and its pushes to the other environment need them.
  private mutating func expireHopeless(_ index: Int, at now: Instant) {
    guard let end = channels[index].pausedUntil else { return }
    for attempt in channels[index].removeOverdue(at: end) {
      finish(attempt, .unavailable(milliseconds: pause(of: index, at: now)))
    }
  }

  /// Returns the time after which a relay should try again.
  private func pause(of index: Int, at now: Instant) -> Int64 {
    let rest = channels[index].pausedUntil.map { $0.milliseconds(since: now) } ?? 0
    return max(rest, GatewayLimits.pauses.lowerBound)
  }

  // MARK: answers

  private mutating func handleEvents(_ index: Int, _ place: Int, at moment: Moment) {
    let id = channels[index].connections[place].id
    for event in channels[index].connections[place].http.takeEvents() {
      guard let (index, place) = self.place(of: id) else { return }
      switch event {
      case .ready:
        guard channels[index].connections[place].stage == .connecting else { continue }
        channels[index].connections[place].stage = .ready
        actions.append(.report(.connected(APNsEnvironment.allCases[index])))
      case .goingAway(let code):
        if channels[index].connections[place].stage != .draining {
          drain(index, place, at: moment)
        }
        actions.append(.report(.goingAway(APNsEnvironment.allCases[index], code: code)))
      case .refused(let stream):
        if let attempt = remove(stream, index, place) { sendAgain(attempt, index) }
      case .reset(let stream, _):
        if let attempt = remove(stream, index, place) { sendAgain(attempt, index) }
      case .answered(let stream, let answer):
        guard let attempt = remove(stream, index, place) else { continue }
        channels[index].connections[place].hasAnswered = true
        channels[index].failures = 0
        handle(APNsAnswer(answer), to: attempt, index, place, at: moment)
      }
    }
  }

  private mutating func remove(
    _ stream: Int32, _ index: Int, _ place: Int
  ) -> APNsConnection.Attempt? {
    channels[index].connections[place].attempts.removeValue(forKey: stream)
  }

  private mutating func handle(
    _ answer: APNsAnswer, to attempt: APNsConnection.Attempt, _ index: Int, _ place: Int,
    at moment: Moment
  ) {
    let environment = APNsEnvironment.allCases[index]
    switch answer {
    case .accepted(let notification):
      channels[index].tokenFailures = 0
      finish(attempt, .accepted(notification: notification))
    case .gone: finish(attempt, .gone)
    case .badToken: finish(attempt, .badToken)
    case .throttled(let milliseconds): finish(attempt, .throttled(milliseconds: milliseconds))
    case .unavailable(let milliseconds):
      finish(attempt, .unavailable(milliseconds: milliseconds))
    case .tokenExpired:
      guard token.expire(attempt.tokenNumber, at: moment) else {
        actions.append(.report(.clockWrong(environment)))
        return finish(attempt, .misconfigured)
      }
      sendAgain(attempt, index)
    case .tooManyTokens: pauseTokens(index, place, attempt, at: moment)
    case .notAuthorized(let reason):
      actions.append(.report(.notAuthorized(environment, reason: reason)))
      finish(attempt, .misconfigured)
    case .rejected(let status, let reason):
      actions.append(.report(.rejected(environment, status: status, reason: reason)))
      finish(attempt, .misconfigured)
    }
  }

  /// Waits until APNs accepts the team's token again. Apple's servers refuse all pushes of the
  /// connection until then, so it is given up.
  private mutating func pauseTokens(
    _ index: Int, _ place: Int, _ attempt: APNsConnection.Attempt, at moment: Moment
  ) {
    if channels[index].isRefused(at: moment.instant) {
      // It was sent before the first such answer came.
      return finish(
        attempt, .unavailable(milliseconds: pause(of: index, at: moment.instant)))
    }
    let pauses = GatewayLimits.tokenPauses
    let length = APNsSender.length(pauses, failures: channels[index].tokenFailures)
    channels[index].tokenFailures += 1
    channels[index].connections[place].stage = .draining
    let end = moment.instant.advanced(milliseconds: length)
    channels[index].pausedUntil = end
    channels[index].refusedUntil = end
    token.hold(until: end)
    actions.append(.report(.tooManyTokens(APNsEnvironment.allCases[index], milliseconds: length)))
    finish(attempt, .unavailable(milliseconds: length))
  }

  /// Returns the pause after that many failures, which doubles each time.
  private static func length(_ pauses: ClosedRange<Int64>, failures: Int) -> Int64 {
    min(pauses.lowerBound << Int64(min(failures, 20)), pauses.upperBound)
  }

  /// Puts a push back into the queue, unless it was sent too often.
  private mutating func sendAgain(_ attempt: APNsConnection.Attempt, _ index: Int) {
    guard attempt.count < GatewayLimits.attempts else {
      return finish(attempt, .unavailable(milliseconds: GatewayLimits.pauseMilliseconds))
    }
    channels[index].repeated.append(attempt)
  }

  // MARK: connections

  private func place(of id: ConnectionID) -> (index: Int, place: Int)? {
    for index in channels.indices {
      if let place = channels[index].connections.firstIndex(where: { $0.id == id }) {
        return (index, place)
      }
    }
    return nil
  }

  /// Sends what can be sent now, and opens a connection if one is needed.
  private mutating func advance(_ index: Int, at moment: Moment) {
    let now = moment.instant
    closeEmpty(index, at: moment)
    if channels[index].isRefused(at: now) {
      while let attempt = channels[index].popWaiting() {
        finish(attempt, .unavailable(milliseconds: pause(of: index, at: now)))
      }
      return
    }
    guard channels[index].hasWaiting else { return }
    guard let place = channels[index].current else {
      guard channels[index].isPaused(at: now) else { return open(index, at: moment) }
      return expireHopeless(index, at: now)
    }
    var isSent = false
    while channels[index].connections[place].room > 0,
      let attempt = channels[index].popWaiting()
    {
      guard submit(attempt, index, place, at: moment) else {
        // The connection takes no more: the next one does.
        drain(index, place, at: moment)
        channels[index].repeated.append(attempt)
        return advance(index, at: moment)
      }
      isSent = true
    }
    if isSent { flush(index, place, at: moment) }
  }

  private mutating func submit(
    _ attempt: APNsConnection.Attempt, _ index: Int, _ place: Int, at moment: Moment
  ) -> Bool {
    let issue = token.issue(at: moment)
    let request = attempt.notification.request(
      authority: channels[index].host.authority, authorization: issue.text)
    guard let stream = channels[index].connections[place].http.submit(request) else { return false }
    var attempt = attempt
    attempt.count += 1
    attempt.tokenNumber = issue.number
    attempt.sentAt = moment.instant
    channels[index].connections[place].attempts[stream] = attempt
    return true
  }

  private mutating func open(_ index: Int, at moment: Moment) {
    channels[index].refusedUntil = nil
    channels[index].pausedUntil = nil
    // All of them are draining. Nothing may advance here, or it would open a connection as well.
    while channels[index].connections.count >= GatewayLimits.connectionsPerEnvironment {
      removeConnection(0, index)
    }
    guard let http = HTTP2Client() else { return }
    let id = ConnectionID.outgoing(nextConnection)
    nextConnection += 1
    channels[index].connections.append(APNsConnection(id, http, at: moment.instant))
    actions.append(.open(id, channels[index].host))
  }

  /// Passes on the bytes that the connection has for APNs.
  private mutating func flush(_ index: Int, _ place: Int, at moment: Moment) {
    let connection = channels[index].connections[place]
    do throws(HTTP2Client.Fault) {
      let bytes = try connection.http.output()
      if !bytes.isEmpty { actions.append(.send(connection.id, bytes)) }
    } catch {
      lose(connection.id, .violated, at: moment)
    }
  }

  /// Closes the connections that have had their last push.
  private mutating func closeEmpty(_ index: Int, at moment: Moment) {
    for connection in channels[index].connections {
      let isUnused = isStopped && !channels[index].hasWaiting
      guard connection.attempts.isEmpty, connection.stage == .draining || isUnused else { continue }
      connection.http.goAway()
      if let (index, place) = place(of: connection.id) { flush(index, place, at: moment) }
      // Flushing may have failed, and the connection be gone.
      guard let (index, place) = place(of: connection.id) else { continue }
      channels[index].connections.remove(at: place)
      actions.append(.close(connection.id))
    }
  }

  /// Removes a connection, and puts its pushes back into the queue. `isClosed`: its socket is
  /// closed already.
  @discardableResult
  private mutating func removeConnection(
    _ place: Int, _ index: Int, isClosed: Bool = false
  ) -> APNsConnection {
    var connection = channels[index].connections.remove(at: place)
    if !isClosed { actions.append(.close(connection.id)) }
    for attempt in connection.takeAttempts() { sendAgain(attempt, index) }
    return connection
  }

  /// Gives up a connection; its pushes are sent on the next one.
  private mutating func lose(
    _ id: ConnectionID, _ loss: APNsLoss, isClosed: Bool = false, at moment: Moment
  ) {
    guard let (index, place) = place(of: id) else { return }
    let connection = removeConnection(place, index, isClosed: isClosed)
    if connection.stage != .draining {
      let pause = pauseConnecting(index, after: connection, at: moment)
      actions.append(
        .report(.lost(APNsEnvironment.allCases[index], loss, retryMilliseconds: pause)))
    }
    advance(index, at: moment)
  }

  /// Sends no further pushes on a connection.
  private mutating func drain(_ index: Int, _ place: Int, at moment: Moment) {
    let connection = channels[index].connections[place]
    channels[index].connections[place].stage = .draining
    _ = pauseConnecting(index, after: connection, at: moment)
  }

  /// Returns the milliseconds until the next connection. One that has carried an answer is replaced
  /// at once, so that no peer makes this one connect in a loop.
  private mutating func pauseConnecting(
    _ index: Int, after connection: APNsConnection, at moment: Moment
  ) -> Int64 {
    if connection.hasAnswered { return 0 }
    let length = APNsSender.length(
      GatewayLimits.connectPauses, failures: channels[index].failures)
    channels[index].failures += 1
    let end = moment.instant.advanced(milliseconds: length)
    channels[index].pausedUntil = max(channels[index].pausedUntil ?? end, end)
    return length
  }

  private mutating func setDeadline() {
    var earliest: Instant?
    func consider(_ instant: Instant?) {
      guard let instant else { return }
      earliest = min(earliest ?? instant, instant)
    }
    for channel in channels {
      consider(channel.waiting.first?.deadline)
      consider(channel.repeated.map(\.deadline).min())
      if channel.hasWaiting, channel.current == nil { consider(channel.pausedUntil) }
      for connection in channel.connections {
        consider(connection.deadline)
        consider(connection.earliestDeadline)
      }
    }
    nextDeadline = earliest
  }
}

/// End of a connection to APNs.
enum APNsLoss: Hashable, Sendable {
  case closed(CloseCause)
  /// Nothing came in time.
  case silent
  /// APNs has violated HTTP/2.
  case violated

  var text: String {
    switch self {
    case .closed(.endOfStream): "the peer closed it"
    case .closed(.connectFailed(let text)), .closed(.failed(let text)): text
    case .closed(.notTrusted(.otherProtocol)): "the peer does not speak HTTP/2"
    case .closed(.notTrusted): "the peer's certificate is not trusted"
    case .silent: "no answer in time"
    case .violated: "the peer violated HTTP/2"
    }
  }
}

/// Report about APNs for the log; without tokens and endpoints.
package enum APNsReport: Hashable, Sendable {
  case connected(APNsEnvironment)
  case lost(APNsEnvironment, String, retryMilliseconds: Int64)
  case goingAway(APNsEnvironment, code: UInt32)
  case tooManyTokens(APNsEnvironment, milliseconds: Int64)
  /// A new token was refused as too old.
  case clockWrong(APNsEnvironment)
  case notAuthorized(APNsEnvironment, reason: String)
  case rejected(APNsEnvironment, status: Int, reason: String)

  static func lost(
    _ environment: APNsEnvironment, _ loss: APNsLoss, retryMilliseconds: Int64
  ) -> APNsReport {
    .lost(environment, loss.text, retryMilliseconds: retryMilliseconds)
  }
}
