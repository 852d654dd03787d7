import LockstepCrypto
import LockstepModel
import LockstepRuntime

/// Work that the driver does for the node before the node goes on. What is written must be durable
/// then.
package enum ACMEJob: Sendable {
  case saveAccount([UInt8])
  case saveProgress([UInt8])
  /// Store this file with key and certificates, and serve them to new connections.
  case install([UInt8])
  /// Answer the validation of a name over TLS with this key and certificate, and no other.
  case validate(name: String, certificate: [UInt8])
  case endValidation
}

package enum ACMEJobOutcome: Sendable, Hashable {
  case done
  /// The reason, as a sentence without a next step.
  case failed(String)
}

package enum ACMEOrderFromOwner: Sendable {
  /// Attempt now what would be attempted later.
  case retry
}

/// News for the owner. Times are milliseconds since the Unix epoch.
package enum ACMEReport: Sendable, Hashable {
  case accountMade(url: String, terms: String?)
  case attempted(kind: ACMEChallengeKind)
  case issued(end: Int64, renewal: Int64)
  /// The certificate that is there is used: at the start, and if the owner asks for another one.
  case kept(end: Int64, renewal: Int64)
  case failed(ACMEFault, retryAt: Int64)
  /// No attempt is made yet, because an earlier run failed; `byAuthority`: or because the authority
  /// has asked for a pause.
  case waits(until: Int64, byAuthority: Bool)
  case renewalInfoFailed(ACMEFault)
  case stopped
}

/// Client of an authority for the life of a process: gets a certificate, renews it, and answers on
/// the listener without TLS. One connection and one attempt at a time; each failure makes the next
/// attempt later, also across restarts.
package struct ACMENode: Node {
  package typealias CommitJob = ACMEJob
  package typealias CommitOutcome = ACMEJobOutcome
  package typealias Order = ACMEOrderFromOwner
  package typealias Report = ACMEReport
  package typealias News = Never
  package typealias Action = NodeAction<ByLane<ACMEJob, Never, Never>, ACMEReport, Never>

  /// State of an earlier run.
  package struct Stored: Sendable {
    package var account: ACMEAccount?
    package var progress = ACMEProgress()
    /// Certificate that is in use.
    package var certificate: CertificateChain?

    package init() {}
  }

  /// Continuation after a job.
  private enum Next: Sendable {
    case saveProgress
    case beginSession
    case resumeSession
    case finish(CertificateChain)
    case plan
  }

  private enum Stage: Sendable {
    /// The next plan is made at this time. → saving, running
    case waiting(Instant)
    /// → running, waiting
    case saving(Next)
    /// The session waits for an answer. → saving, paused, waiting
    case running
    /// The session goes on at this time. → running, saving, waiting
    case paused(Instant)
    case stopped
  }

  private let configuration: ACMEConfiguration
  private let secrets: SecretSource
  private var random: SeededRandom
  private var account: ACMEAccount?
  private var progress: ACMEProgress
  private var certificate: CertificateChain?
  private var plan: RenewalPlan?
  /// Time of the next request for renewal information; nil before it is chosen.
  private var nextCheck: Instant?
  private var session: ACMESession?
  private var stage = Stage.waiting(Instant(nanoseconds: 0))
  /// True after an order of the owner, until the next plan.
  private var isUrgent = false
  /// True once the state of an earlier run is reported.
  private var isReported = false
  private var nextJob: UInt64 = 0
  /// Jobs without a continuation that have no outcome yet; outcomes come in order.
  private var pendingEnds = 0
  private var authority: AuthorityConnection
  private var plain: PlainListener
  private var actions = ActionQueue<Action>()

  /// Certificates for names other than the configured ones count as none.
  package init(
    _ configuration: ACMEConfiguration, stored: Stored, secrets: SecretSource,
    random: SeededRandom
  ) {
    self.configuration = configuration
    self.secrets = secrets
    self.random = random
    account = stored.account
    progress = stored.progress
    authority = AuthorityConnection(version: configuration.version)
    plain = PlainListener(
      names: configuration.names, redirectPort: configuration.redirectPort)
    certificate = stored.certificate.flatMap { chain in
      Set(chain.names).isSuperset(of: configuration.names) ? chain : nil
    }
    if let chain = stored.certificate, let order = progress.order,
      CertificateChain(chain.text, key: order.key) != nil
    {
      // The process ended between storing the certificate and storing that it has one. The order
      // would lead to the same certificate again.
      progress.succeed(at: chain.start)
    }
    makePlan()
  }

  package mutating func nextAction() -> Action? { actions.popFirst() }

  package var nextDeadline: Instant? {
    let own: Instant? =
      switch stage {
      case .waiting(let time), .paused(let time): time
      case .saving, .running, .stopped: nil
      }
    return [own, authority.deadline, plain.nextDeadline].compactMap(\.self).min()
  }

  // MARK: events

  package mutating func received(_ id: ConnectionID, _ bytes: RawSpan, at moment: Moment) {
    guard id.isOutgoing else {
      if let answer = plain.received(id, bytes) {
        actions.append(.send(id, answer))
        actions.append(.close(id, .afterSending))
      }
      return
    }
    guard authority.owns(id) else { return }
    handle(authority.received(bytes, at: moment), at: moment)
  }

  package mutating func handle(
    _ event: consuming NodeEvent<ByLane<ACMEJobOutcome, Never, Never>, ACMEOrderFromOwner, Never>,
    at moment: Moment
  ) {
    switch event {
    case .opened(let id, _):
      if id.isOutgoing {
        authority.opened(id)
        flushAuthority()
      } else {
        plain.opened(id, at: moment.instant)
      }
    case .closed(let id, let cause):
      guard id.isOutgoing else { return plain.closed(id) }
      if authority.owns(id) { handle(authority.closed(cause, at: moment), at: moment) }
    case .finished(_, .commit(let outcome)): finishJob(outcome, at: moment)
    case .ordered(.retry): retry(at: moment)
    case .deadlineReached: expire(at: moment)
    case .stopping: stop()
    case .drained, .holding, .connectionRejected, .finished: break
    }
  }

  private mutating func expire(at moment: Moment) {
    for id in plain.expired(at: moment.instant) { actions.append(.close(id, .now)) }
    handle(authority.expire(at: moment), at: moment)
    switch stage {
    case .waiting(let time) where time <= moment.instant: act(at: moment)
    case .paused(let time) where time <= moment.instant: resume(at: moment)
    case .waiting, .paused, .saving, .running, .stopped: break
    }
  }

  private mutating func stop() {
    if case .stopped = stage { return }
    session = nil
    stage = .stopped
    authority.close()
    flushAuthority()
    for id in plain.removeAll() { actions.append(.close(id, .now)) }
    actions.append(.report(.stopped))
  }

  private mutating func retry(at moment: Moment) {
    switch stage {
    case .waiting:
      isUrgent = true
      nextCheck = moment.instant
      act(at: moment)
    // A plan follows.
    case .saving(.plan): isUrgent = true
    case .running, .paused: isUrgent = session?.isCheck == true
    case .saving, .stopped: break
    }
  }

  // MARK: plans

  private mutating func makePlan() {
    plan = certificate.map { RenewalPlan(start: $0.start, end: $0.end, random: &random) }
    nextCheck = nil
  }

  /// Time of the next attempt, in milliseconds since the Unix epoch.
  private func attemptTime(at wall: Int64) -> Int64 {
    let spacing = isUrgent ? 0 : ACMELimits.spacingMilliseconds
    let afterLast = min(progress.issuedAt ?? 0, wall) + spacing
    let due = plan.map { max($0.renewalTime, progress.issuedAt == nil ? 0 : afterLast) } ?? 0
    return max(due, (isUrgent ? progress.pausedUntil : progress.retryAt) ?? 0)
  }

  /// Begins what is due, or waits until something is.
  private mutating func act(at moment: Moment) {
    progress.limitWaits(at: moment.wall)
    let due = attemptTime(at: moment.wall)
    reportStart(due, at: moment)
    if due <= moment.wall {
      isUrgent = false
      return beginAttempt(at: moment)
    }
    let first = moment.instant.advanced(milliseconds: ACMELimits.firstCheckMilliseconds)
    let check = nextCheck ?? first
    nextCheck = check
    if certificate?.renewalID != nil, check <= moment.instant { return beginCheck(at: moment) }
    if isUrgent, progress.failures == 0 { reportKept(at: moment) }
    isUrgent = false
    let wait = min(due - moment.wall, ACMELimits.planMilliseconds)
    let time = moment.instant.advanced(milliseconds: wait)
    stage = .waiting(certificate?.renewalID == nil ? time : min(time, check))
  }

  private mutating func reportStart(_ due: Int64, at moment: Moment) {
    let isFirst = !isReported
    isReported = true
    if isFirst { reportKept(at: moment) }
    let isPaused = isUrgent && (progress.pausedUntil ?? 0) > moment.wall
    let waits = due > moment.wall && progress.failures > 0
    if isPaused || (isFirst && waits) {
      actions.append(.report(.waits(until: due, byAuthority: isPaused)))
    }
  }

  private mutating func reportKept(at moment: Moment) {
    guard let certificate, let plan, moment.wall < certificate.end else { return }
    actions.append(.report(.kept(end: certificate.end, renewal: plan.renewalTime)))
  }

  private mutating func beginAttempt(at moment: Moment) {
    // Set before anything is sent: a process that ends meanwhile waits as after a failure.
    progress.begin(at: moment.wall)
    if account == nil {
      let made = ACMEAccount(key: ACMEKey.make(secrets))
      account = made
      return run(.saveAccount(made.stored), then: .saveProgress)
    }
    run(.saveProgress(progress.stored), then: .beginSession)
  }

  private mutating func beginSession(at moment: Moment) {
    guard let account else { preconditionFailure("an attempt needs an account") }
    var session = ACMESession(
      configuration, account: account,
      goal: .certificate(order: progress.order, replaces: certificate?.renewalID),
      attempt: progress.failures - 1, secrets: secrets, at: moment.instant)
    let kinds = configuration.kinds
    actions.append(.report(.attempted(kind: kinds[max(0, progress.failures - 1) % kinds.count])))
    let step = session.begin()
    self.session = session
    perform(step, at: moment)
  }

  private mutating func beginCheck(at moment: Moment) {
    guard let id = certificate?.renewalID else { return }
    var session = ACMESession(
      configuration, account: account ?? ACMEAccount(key: ACMEKey.make(secrets)),
      goal: .renewalInfo(id: id), attempt: 0, secrets: secrets, at: moment.instant)
    nextCheck = moment.instant.advanced(milliseconds: ACMELimits.renewalChecks.lowerBound)
    let step = session.begin()
    self.session = session
    perform(step, at: moment)
  }

  // MARK: steps of a session

  private mutating func resume(at moment: Moment) {
    guard let step = session?.resume(at: moment) else { return }
    perform(step, at: moment)
  }

  private mutating func perform(_ step: ACMESession.Step, at moment: Moment) {
    switch step {
    case .send(let request):
      stage = .running
      authority.send(request, at: moment)
      flushAuthority()
    case .wait(let milliseconds):
      if milliseconds > ACMELimits.idleMilliseconds { closeAuthority() }
      stage = .paused(moment.instant.advanced(milliseconds: milliseconds))
    case .saveAccount(let account, let terms):
      if account.url != self.account?.url, let url = account.url {
        actions.append(.report(.accountMade(url: url, terms: terms)))
      }
      self.account = account
      run(.saveAccount(account.stored), then: .resumeSession)
    case .saveOrder(let order):
      progress.order = order
      run(.saveProgress(progress.stored), then: .resumeSession)
    case .present(let challenge): present(challenge, at: moment)
    case .issued(let chain, let key):
      closeAuthority()
      guard let file = chain.file(with: key) else {
        return fail(.unusableCertificate("OpenSSL cannot write it"), pause: nil, at: moment)
      }
      run(.install(file), then: .finish(chain))
    case .renewal(let window, let nextCheck):
      session = nil
      closeAuthority()
      self.nextCheck = moment.instant.advanced(milliseconds: nextCheck)
      plan?.propose(window, random: &random)
      act(at: moment)
    case .failed(let fault, let pause): fail(fault, pause: pause, at: moment)
    }
  }

  private mutating func present(_ challenge: ACMEChallenge, at moment: Moment) {
    switch challenge.kind {
    case .http01:
      plain.challenge = challenge
      resume(at: moment)
    case .tlsALPN01:
      let digest = SHA256.hash(Array(challenge.keyAuthorization.utf8))
      let text = ValidationCertificate.make(
        name: challenge.name, digest: digest, key: ACMEKey.make(secrets), at: moment.wall)
      guard let text else {
        return fail(.unusableCertificate("OpenSSL cannot make one"), pause: nil, at: moment)
      }
      run(.validate(name: challenge.name, certificate: text), then: .resumeSession)
    }
  }

  private mutating func fail(_ fault: ACMEFault, pause: Int64?, at moment: Moment) {
    let isCheck = session?.isCheck ?? false
    session = nil
    closeAuthority()
    plain.challenge = nil
    if isCheck {
      actions.append(.report(.renewalInfoFailed(fault)))
      return act(at: moment)
    }
    if !fault.keepsOrder { progress.order = nil }
    progress.fail(at: moment.wall, pause: pause)
    actions.append(.report(.failed(fault, retryAt: attemptTime(at: moment.wall))))
    runAfterValidation(.saveProgress(progress.stored), then: .plan)
  }

  private mutating func finish(_ chain: CertificateChain, at moment: Moment) {
    session = nil
    plain.challenge = nil
    progress.succeed(at: moment.wall)
    certificate = chain
    makePlan()
    actions.append(
      .report(.issued(end: chain.end, renewal: plan?.renewalTime ?? chain.end)))
    runAfterValidation(.saveProgress(progress.stored), then: .plan)
  }

  // MARK: jobs

  private mutating func run(_ job: ACMEJob, then next: Next) {
    stage = .saving(next)
    actions.append(.run(JobID(rawValue: nextJob), .commit(job)))
    nextJob &+= 1
  }

  /// Ends the validation by TLS, whose outcome needs no answer, and runs the job.
  private mutating func runAfterValidation(_ job: ACMEJob, then next: Next) {
    pendingEnds += 1
    actions.append(.run(JobID(rawValue: nextJob), .commit(.endValidation)))
    nextJob &+= 1
    run(job, then: next)
  }

  private mutating func finishJob(_ outcome: ACMEJobOutcome, at moment: Moment) {
    if pendingEnds > 0 {
      pendingEnds -= 1
      return
    }
    guard case .saving(let next) = stage else { return }
    if case .failed(let reason) = outcome {
      // Without a place to store it, an attempt would be repeated at every start.
      if case .plan = next { return wait(at: moment) }
      return fail(.storage(reason), pause: nil, at: moment)
    }
    switch next {
    case .saveProgress: run(.saveProgress(progress.stored), then: .beginSession)
    case .beginSession: beginSession(at: moment)
    case .resumeSession: resume(at: moment)
    case .finish(let chain): finish(chain, at: moment)
    case .plan: act(at: moment)
    }
  }

  /// Waits although the state could not be stored.
  private mutating func wait(at moment: Moment) {
    let due = max(0, attemptTime(at: moment.wall) - moment.wall)
    let time = min(max(due, ACMELimits.backoff[0]), ACMELimits.planMilliseconds)
    stage = .waiting(moment.instant.advanced(milliseconds: time))
  }

  // MARK: connection

  private mutating func handle(_ outcome: AuthorityConnection.Outcome?, at moment: Moment) {
    flushAuthority()
    guard let outcome, var session else { return }
    switch outcome {
    case .answered(let response):
      let step = session.receive(response, at: moment)
      self.session = session
      perform(step, at: moment)
    case .failed(let fault): fail(fault, pause: nil, at: moment)
    }
  }

  private mutating func closeAuthority() {
    authority.close()
    flushAuthority()
  }

  private mutating func flushAuthority() {
    while let action = authority.nextAction() {
      switch action {
      case .open(let id, let address): actions.append(.open(id, address))
      case .send(let id, let bytes): actions.append(.send(id, bytes))
      case .close(let id): actions.append(.close(id, .now))
      }
    }
  }
}
