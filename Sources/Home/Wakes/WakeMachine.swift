import LockstepModel

/// Decides when a device registers for wakes, when it may end its connection, and when it connects
/// again. Performs nothing itself.
///
/// Rules: the device sleeps only while the whole way of a push is proved, nothing waits, and no one
/// has used it for a while. Whenever the way breaks, it connects. It also connects from time to
/// time without a reason, in case a push was lost.
struct WakeMachine {
  /// Pauses between attempts to register: the first, and the longest, milliseconds. A distributor
  /// that appears ends a pause.
  static let pauses: ClosedRange<Int64> = 10_000...600_000
  /// Time in which a distributor names the endpoint, and in which the relay's push arrives.
  static let endpointMilliseconds: Int64 = 60_000
  static let pushMilliseconds: Int64 = 90_000
  /// Pauses between attempts to send the code back while the relay cannot handle it, milliseconds.
  static let proofPauses: [Int64] = [1_000, 2_000, 4_000, 8_000, 16_000]
  /// Longest sleep, milliseconds: the delay of a change whose push was lost.
  static let sleepMilliseconds: Int64 = 3_600_000

  /// State of the way from the relay to here. The arrows name the legal next states.
  enum Stage: Hashable, Sendable {
    /// The next attempt is due then. → registering
    case pausing(until: Instant)
    /// The distributor is asked. → awaitingEndpoint, pausing
    case registering
    /// → offering, pausing
    case awaitingEndpoint(until: Instant)
    /// The relay is asked to accept the endpoint. → awaitingPush, ready, pausing, offering
    case offering
    /// The relay's first push brings a code. → proving, offering, pausing
    case awaitingPush(until: Instant)
    /// The code is sent back. → ready, awaitingPush, awaitingProof, offering, pausing
    case proving(Proof)
    /// The code is sent once more then. → proving, offering, pausing
    case awaitingProof(Proof, until: Instant)
    /// → registering, offering, pausing
    case ready
  }

  /// Code of the relay's first push.
  struct Proof: Hashable, Sendable {
    let code: String
    /// Time at which it is given up to wait for another code.
    let pushUntil: Instant
    /// Attempts that the relay could not handle.
    var attempts = 0
  }

  enum Event: Hashable, Sendable {
    /// `isSettled`: the agent is connected, and nothing waits.
    case status(isSettled: Bool, isAsleep: Bool)
    /// A person or program has used the device, or another device has changed something.
    case used
    /// Results of `register`, `offer` and `prove`.
    case registered
    case offered(isVerified: Bool)
    case proved
    case codeRefused
    /// The relay could not handle the code for now.
    case proofDelayed(WakeProblem)
    case failed(WakeProblem)
    /// From the distributor.
    case endpoint(String)
    case code(String)
    case woken
    /// The relay has another key than the one for which the device is registered.
    case keyReplaced
    /// The distributor or the bus has gone, or has ended the registration.
    case lost(WakeProblem)
    case distributorAppeared
  }

  enum Action: Hashable, Sendable {
    case register
    case offer(endpoint: String)
    case prove(code: String)
    /// See `AgentOrder`.
    case sleep
    case wake
    /// The state has changed, for the log; nil: pushes arrive.
    case report(WakeProblem?)
  }

  private let idleMilliseconds: Int64
  private(set) var stage: Stage
  private(set) var problem: WakeProblem?
  private(set) var endpoint: String?
  private var actions: [Action] = []
  private var pause = WakeMachine.pauses.lowerBound
  /// Time of the last failure; nil: none.
  private var failedAt: Instant?
  private var isSettled = false
  /// The agent has no connection, as it last reported.
  private var isAsleep = false
  /// Time at which the agent, which may sleep, connects all the same; nil: it may not sleep.
  private var checkAt: Instant?
  /// The agent does not sleep before.
  private var awakeUntil: Instant
  private var wasReady = false

  /// - Parameter idleMilliseconds: Time without use after which the device may sleep.
  init(idleMilliseconds: Int64, at now: Instant) {
    self.idleMilliseconds = idleMilliseconds
    stage = .pausing(until: now)
    awakeUntil = now.advanced(milliseconds: idleMilliseconds)
  }

  /// Time of the next call of `nextAction` without an event; nil: none is needed.
  var deadline: Instant? {
    let ofStage: Instant? =
      switch stage {
      case .pausing(let until), .awaitingEndpoint(let until), .awaitingPush(let until),
        .awaitingProof(_, let until):
        until
      case .registering, .offering, .proving, .ready: nil
      }
    let ofSleep = checkAt ?? (stage == .ready && isSettled ? awakeUntil : nil)
    return [ofStage, ofSleep].compactMap(\.self).min()
  }

  mutating func handle(_ event: Event, at now: Instant) {
    switch event {
    case .status(let isSettled, let isAsleep):
      // The agent has connected by itself, for a local change.
      if self.isAsleep, !isAsleep, checkAt != nil { keepAwake(at: now) }
      self.isSettled = isSettled
      self.isAsleep = isAsleep
    case .used, .woken: keepAwake(at: now)
    case .registered:
      guard stage == .registering else { return }
      stage = .awaitingEndpoint(until: now.advanced(milliseconds: Self.endpointMilliseconds))
    case .endpoint(let endpoint): offer(endpoint)
    case .offered(let isVerified):
      guard stage == .offering else { return }
      if isVerified { return succeed() }
      stage = .awaitingPush(until: now.advanced(milliseconds: Self.pushMilliseconds))
    case .code(let code):
      prove(code)
    case .proved: if case .proving = stage { succeed() }
    // It was of an earlier push.
    case .codeRefused:
      guard case .proving(let proof) = stage else { return }
      stage = .awaitingPush(until: proof.pushUntil)
    case .proofDelayed(let problem): delayProof(problem, at: now)
    case .keyReplaced:
      guard stage == .ready else { return }
      stage = .registering
      actions.append(.register)
    case .failed(let problem): fail(problem, at: now)
    case .lost(let problem):
      if case .pausing = stage { return }
      fail(problem, at: now)
    case .distributorAppeared:
      guard case .pausing(let until) = stage else { return }
      // Asking it may be what makes it appear, and end again.
      let earliest = failedAt?.advanced(milliseconds: pause / 10) ?? now
      stage = .pausing(until: min(until, max(now, earliest)))
    }
  }

  /// Returns what to do next; nil: nothing before `deadline` or the next event.
  mutating func nextAction(at now: Instant) -> Action? {
    if !actions.isEmpty { return actions.removeFirst() }
    if let action = nextOfStage(at: now) { return action }
    guard let checkAt else {
      guard stage == .ready, isSettled, awakeUntil <= now else { return nil }
      self.checkAt = now.advanced(milliseconds: Self.sleepMilliseconds)
      return .sleep
    }
    guard stage != .ready || checkAt <= now else { return nil }
    self.checkAt = nil
    if stage == .ready {
      // The relay or the distributor may have lost the registration.
      stage = .registering
      actions.append(.register)
    }
    return .wake
  }

  private mutating func nextOfStage(at now: Instant) -> Action? {
    switch stage {
    case .pausing(let until) where until <= now:
      stage = .registering
      return .register
    case .awaitingProof(let proof, let until) where until <= now:
      stage = .proving(proof)
      return .prove(code: proof.code)
    case .awaitingEndpoint(let until) where until <= now: fail(.noEndpoint, at: now)
    case .awaitingPush(let until) where until <= now: fail(.noPush, at: now)
    case .pausing, .registering, .awaitingEndpoint, .offering, .awaitingPush, .proving,
      .awaitingProof, .ready:
      return nil
    }
    return actions.isEmpty ? nil : actions.removeFirst()
  }

  private mutating func keepAwake(at now: Instant) {
    awakeUntil = now.advanced(milliseconds: idleMilliseconds)
    guard checkAt != nil else { return }
    checkAt = nil
    actions.append(.wake)
  }

  private mutating func offer(_ endpoint: String) {
    switch stage {
    // It comes unasked if it changes; an earlier attempt may also have caused it.
    case .offering, .awaitingPush, .proving, .awaitingProof, .ready:
      guard endpoint != self.endpoint else { return }
    case .pausing, .registering, .awaitingEndpoint: break
    }
    self.endpoint = endpoint
    stage = .offering
    actions.append(.offer(endpoint: endpoint))
  }

  private mutating func prove(_ code: String) {
    switch stage {
    // A newer code replaces one that the relay could not handle.
    case .awaitingPush(let until): stage = .proving(Proof(code: code, pushUntil: until))
    case .awaitingProof(let former, _):
      stage = .proving(Proof(code: code, pushUntil: former.pushUntil))
    case .pausing, .registering, .awaitingEndpoint, .offering, .proving, .ready: return
    }
    actions.append(.prove(code: code))
  }

  private mutating func delayProof(_ problem: WakeProblem, at now: Instant) {
    guard case .proving(var proof) = stage else { return }
    guard proof.attempts < Self.proofPauses.count else { return fail(problem, at: now) }
    let until = now.advanced(milliseconds: Self.proofPauses[proof.attempts])
    proof.attempts += 1
    stage = .awaitingProof(proof, until: until)
  }

  private mutating func succeed() {
    stage = .ready
    pause = Self.pauses.lowerBound
    if problem != nil || !wasReady { actions.append(.report(nil)) }
    wasReady = true
    problem = nil
  }

  private mutating func fail(_ problem: WakeProblem, at now: Instant) {
    stage = .pausing(until: now.advanced(milliseconds: pause))
    pause = min(2 * pause, Self.pauses.upperBound)
    failedAt = now
    if problem != self.problem { actions.append(.report(problem)) }
    self.problem = problem
  }
}
