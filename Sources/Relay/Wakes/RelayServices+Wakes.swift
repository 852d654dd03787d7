import LockstepCrypto
import LockstepModel
import LockstepRuntime
import LockstepStorage
import LockstepWebPush

/// The part of a process that wakes devices: one node has it.
struct WakeDesk: Sendable {
  var scheduler: WakeScheduler
  var sender: PushSender
  var complaints = PushComplaints()

  /// Returns nil if the configuration's subject is invalid.
  init?(_ configuration: WakeConfiguration, secrets: SecretSource, at now: Instant) {
    guard
      let sender = PushSender(
        rules: configuration.rules, secrets: secrets, subject: configuration.subject)
    else { return nil }
    scheduler = WakeScheduler(at: now)
    self.sender = sender
    use(configuration.wakeKeys)
  }

  /// Sends under these keys from now on.
  mutating func use(_ keys: [WakeKey]) {
    sender.setKeys(
      keys.compactMap { key in
        P256PrivateKey(key.privateKey).map { (madeAt: key.madeAt, key: $0) }
      })
  }
}

/// Wakes of sleeping devices: what their connections show, when a wake is due, and its pushes.
extension RelayServices {
  // MARK: contacts

  /// Records that a signed-in device has registered for wakes.
  mutating func followWakes(_ key: Presence.Key) {
    guard configuration.wakes != nil else { return }
    wakeContacts.follow(key)
    desk?.scheduler.follow(key.account)
  }

  /// Records that a signed-in device has registered for wakes just now. Its idle connections end
  /// soon (`RelayNode.endIdleConnectionsSoon`).
  mutating func beginWakes(_ key: Presence.Key) {
    guard configuration.wakes != nil else { return }
    if !wakeContacts.follows(key) { newSleepers.append(key) }
    followWakes(key)
  }

  /// Handles the end of a device's last connection on this node. What it has shown is written at
  /// once: the device may be woken soon.
  mutating func recordLeaving(_ key: Presence.Key) {
    guard let contact = wakeContacts.take(key, isLast: true) else { return }
    let sighting = DeviceSighting(
      account: key.account, device: key.device, lastSeen: moment.wall,
      isConnected: configuration.sharesStore && presence.isConnected(key), contact: contact)
    // If the queue is full, the device may be woken once more than needed.
    _ = submitCommit(.touchDevices([sighting]), for: .sightings([]))
    noteLeaving(key)
  }

  /// Handles the end of a device's last connection on any node.
  mutating func noteLeaving(_ key: Presence.Key) {
    guard desk != nil else { return }
    desk?.scheduler.recordLeaving(
      SleeperID(account: key.account, device: key.device), at: moment.instant)
    advanceWakes()
  }

  // MARK: registration

  /// Charges the account for a push with a code.
  mutating func chargeWakeCode(_ account: AccountID) throws(Refusal) {
    if let wait = rates.wakeCodes.takeToken(account, at: moment.instant) {
      throw RequestRates.tooManyWakeCodes(wait)
    }
  }

  /// Handles a stored registration: its device gets the code. `isVerified`: it needs none.
  mutating func handleWakePut(_ offer: WakeOffer, isVerified: Bool) {
    beginWakes(Presence.Key(account: offer.id.account, device: offer.id.device))
    actions.append(.broadcast(.wakePut(offer, isVerified: isVerified)))
    sendWakeCode(offer, isVerified: isVerified)
  }

  /// Sends the code of a registration, on the node that sends.
  mutating func sendWakeCode(_ offer: WakeOffer, isVerified: Bool) {
    desk?.scheduler.follow(offer.id.account)
    guard !isVerified, desk != nil else { return }
    send(
      WakeCodePayload(code: offer.code).bytes, to: offer.registration, keyMadeAt: offer.keyMadeAt,
      of: offer.id, for: .verification)
    finishPushes()
  }

  // MARK: wakes

  /// Records a change of an account.
  mutating func noteWakeChange(_ account: AccountID) {
    guard desk != nil else { return }
    desk?.scheduler.recordChange(account, at: moment.instant)
    advanceWakes()
  }

  /// Records a change of an account with registrations for wakes.
  mutating func followWakes(of account: AccountID) {
    desk?.scheduler.follow(account)
    noteWakeChange(account)
  }

  /// Asks the store which devices are to be woken, as soon as it is time.
  mutating func advanceWakes() {
    guard desk != nil, stage == .running else { return }
    switch desk?.scheduler.next(at: moment.instant) {
    case .look(let query):
      guard let id = queue.add(.dueWakes(query)) else {
        desk?.scheduler.fail(at: moment.instant)
        timers.schedule(.wakes, at: moment.instant.advanced(milliseconds: 1_000))
        return
      }
      actions.append(
        .run(id, .read(.dueWakes(query, keys: keyTimes, wall: moment.wall))))
    case .wait(let instant): timers.schedule(.wakes, at: instant)
    case .awaitResult, nil: break
    }
  }

  mutating func handleDueWakes(_ query: SleeperQuery, _ result: Result<DueWakes, Refusal>) {
    guard stage == .running else { return }
    switch result {
    case .success(let found):
      let presence = presence
      let due =
        desk?.scheduler.handle(
          found, of: query, at: moment.instant, wall: moment.wall
        ) { id in
          presence.isConnected(Presence.Key(account: id.account, device: id.device))
        } ?? []
      // New ones let the next pass begin at once, after the end of this one.
      if let keys = found.relayKeys { handleWakeKeys(keys) }
      if !due.isEmpty {
        if !submitCommit(.claimWakes(due, keys: keyTimes), for: .wakeClaim) {
          desk?.scheduler.failClaim()
        }
      }
      reportWakes()
    case .failure: desk?.scheduler.fail(at: moment.instant)
    }
    advanceWakes()
  }

  /// Sends the wakes that the store has begun.
  mutating func handleWakeClaim(_ result: Result<CommitResult, Refusal>) {
    guard case .success(.wakesClaimed(let claimed)) = result else {
      desk?.scheduler.failClaim()
      return advanceWakes()
    }
    desk?.scheduler.begin(claimed)
    for wake in claimed {
      let token = ChangeToken(
        generation: wake.newest.generation, sequence: wake.newest.sequence)
      for entry in wake.entries {
        let newKey = configuration.wakes.flatMap { wakes in
          entry.keyMadeAt < wakes.keyTimes.newest ? wakes : nil
        }
        let content = WakePayload(
          token: token, newKey: newKey?.publicKey, notice: entry.registration.notice)
        send(
          content.bytes, to: entry.registration, keyMadeAt: entry.keyMadeAt, of: wake.id,
          for: .wake(toldKey: newKey?.keyTimes.newest))
      }
    }
    finishPushes()
  }

  // MARK: keys

  /// Times of the keys that this node knows; none if no device is woken.
  private var keyTimes: WakeKeyTimes { configuration.wakes?.keyTimes ?? .none }

  /// Uses the keys that the store has by now, on all nodes of the process.
  mutating func handleWakeKeys(_ keys: [WakeKey]) {
    let inForce = keys.inForce(at: moment.wall)
    // Each pass over the devices reads them, and they hardly ever differ. A read that began before
    // a key was added may arrive after it.
    guard let former = configuration.wakes, inForce != former.wakeKeys,
      let newest = inForce.last, newest.madeAt >= former.keyTimes.newest,
      let wakes = former.replacing(keys: inForce)
    else { return }
    useWakes(wakes)
    actions.append(.broadcast(.wakeKeys(wakes)))
  }

  /// Uses other keys for push services from now on.
  mutating func useWakes(_ wakes: WakeConfiguration) {
    configuration.wakes = wakes
    desk?.use(wakes.wakeKeys)
    // A new key is announced to all devices.
    desk?.scheduler.planPass(at: moment.instant)
    advanceWakes()
  }

  // MARK: pushes

  private mutating func send(
    _ content: [UInt8], to registration: WakeRegistration, keyMadeAt: Int64, of id: SleeperID,
    for purpose: WakeScheduler.Purpose
  ) {
    guard let number = desk?.scheduler.addPush(id, registration, for: purpose) else { return }
    let isVerification = purpose == .verification
    guard let endpoint = RelayServices.endpoint(of: registration),
      let recipient = PushRecipient(publicKey: registration.p256dh, auth: registration.auth)
    else {
      finishPush(number, .failed(.rejected, retryAfter: nil))
      return
    }
    let request = PushRequest(
      id: number, endpoint: endpoint, recipient: recipient, content: content,
      topic: RelayServices.topic(of: registration, isVerification: isVerification),
      ttlSeconds: isVerification ? Limits.wakeCodeSeconds : Limits.wakeSeconds, urgency: .normal,
      keyMadeAt: keyMadeAt)
    if desk?.sender.send(request, at: moment) != true {
      // Too many pushes wait; that is no fault of the push service.
      finishPush(number, .failed(.unavailable, retryAfter: Limits.wakePauses.lowerBound))
    }
  }

  /// Returns nil for an endpoint that this version of the relay does not accept any more.
  private static func endpoint(of registration: WakeRegistration) -> PushEndpoint? {
    do throws(PushEndpointFault) {
      return try PushEndpoint(registration.endpoint)
    } catch {
      return nil
    }
  }

  /// Name by which a push service replaces an undelivered wake with the next one (RFC 8030 section
  /// 5.4). It tells the service nothing that it does not know.
  private static func topic(of registration: WakeRegistration, isVerification: Bool) -> String {
    let purpose = Array((isVerification ? "code" : "wake").utf8)
    let hash = SHA256.hash(purpose + Array(registration.endpoint.utf8) + registration.auth)
    return Base64.encodeURL(Array(hash.prefix(24)))
  }

  /// Performs what the sender has requested, and records its results. Called after each event of
  /// one of its connections.
  mutating func finishPushes() {
    guard desk != nil else { return }
    while let outcome = desk?.sender.nextOutcome() { handleOutcome(outcome) }
    while let action = desk?.sender.nextAction() { actions.append(action.map()) }
    if let deadline = desk?.sender.nextDeadline {
      timers.schedule(.pushes, at: deadline)
    } else {
      timers.cancel(.pushes)
    }
    reportWakes()
    advanceWakes()
  }

  private mutating func handleOutcome(_ outcome: PushOutcome) {
    reportComplaint(outcome)
    let result = WakeResult.Outcome(outcome.result)
    switch result {
    case .sent: status.wakesSent += 1
    case .gone: status.wakesGone += 1
    case .failed: status.wakesFailed += 1
    }
    finishPush(outcome.id, result, sentAt: outcome.sentAt)
  }

  private mutating func reportComplaint(_ outcome: PushOutcome) {
    guard case .answered(let answer) = outcome.result,
      let target = desk?.scheduler.target(of: outcome.id)
    else { return }
    do throws(PushEndpointFault) {
      let origin = try PushEndpoint(target.endpoint).origin
      let report = desk?.complaints.record(
        answer, of: origin, for: target.id.account, at: moment.instant)
      if let report { actions.append(.report(report)) }
    } catch {
      // Nothing was sent to it.
    }
  }

  private mutating func finishPush(
    _ number: UInt64, _ result: WakeResult.Outcome, sentAt: Int64? = nil
  ) {
    desk?.scheduler.finish(number, result, sentAt: sentAt)
  }

  /// Ends the pushes that are under way, because the relay stops. The next relay repeats them.
  mutating func stopWakes() {
    timers.cancel(.wakes)
    guard desk != nil else { return }
    desk?.sender.stop(at: moment)
    finishPushes()
  }

  /// Writes down what became of wakes. If that fails, they are repeated after a minute.
  private mutating func reportWakes() {
    while let reports = desk?.scheduler.takeReports(), !reports.isEmpty {
      guard submitCommit(.reportWakes(reports), for: .wakeReport) else { return }
    }
  }
}

extension WakeResult.Outcome {
  fileprivate init(_ result: PushOutcome.Result) {
    self =
      switch result {
      case .answered(.sent): .sent
      case .answered(.gone): .gone
      case .answered(.invalid), .answered(.redirected): .failed(.rejected, retryAfter: nil)
      case .answered(.keyRefused): .failed(.keyRefused, retryAfter: nil)
      case .answered(.throttled(let wait)): .failed(.throttled, retryAfter: wait)
      case .answered(.paused(let wait)): .failed(.unavailable, retryAfter: wait)
      case .unreachable(.noKey): .failed(.keyRefused, retryAfter: nil)
      // Too many pushes wait; that is no fault of the push service.
      case .unreachable(.waited): .failed(.unavailable, retryAfter: Limits.wakePauses.lowerBound)
      case .answered(.failed), .unreachable: .failed(.unavailable, retryAfter: nil)
      case .refused: .failed(.notAllowed, retryAfter: nil)
      }
  }
}

/// Events of the sender's connections.
extension RelayServices {
  mutating func openedPush(_ id: ConnectionID) {
    desk?.sender.opened(id, at: moment)
    finishPushes()
  }

  mutating func receivedPush(_ id: ConnectionID, _ bytes: RawSpan) {
    desk?.sender.received(id, bytes, at: moment)
    finishPushes()
  }

  mutating func closedPush(_ id: ConnectionID, _ cause: CloseCause) {
    desk?.sender.closed(id, cause, at: moment)
    finishPushes()
  }

  mutating func expirePushes() {
    desk?.sender.expire(at: moment)
    finishPushes()
  }
}
