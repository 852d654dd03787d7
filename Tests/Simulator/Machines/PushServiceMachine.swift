import LockstepCrypto
import LockstepModel
import LockstepRuntime
import LockstepSimulation
import LockstepWebPush
import LockstepWire

/// A push service with the devices that have subscribed. It checks each push as services and
/// devices do, and answers well, badly, slowly, or not at all. It keeps one undelivered push per
/// topic.
package final class PushServiceMachine {
  private struct Subscription {
    let sleeper: SleeperMachine
    let key: P256PrivateKey
    let auth: [UInt8]
    /// The push that waits for its delivery.
    var waiting: ChangeToken?
    var isDelivering = false
  }

  private let environment: WorldEnvironment
  private let clock: VirtualClock
  private var random: SeededRandom
  private var subscriptions: [String: Subscription] = [:]
  private var node: NodeDriver<PushServiceNode>?
  /// Number of faults when each connection was opened. A relay's push may still arrive after its
  /// relay has crashed.
  private var faultsAtOpening: [ConnectionID: Int] = [:]
  /// True once it answers well at once.
  private var isWell = false
  /// Origin that relays know.
  package static let origin = "https://push.test"

  package init(environment: WorldEnvironment, clock: VirtualClock, random: SeededRandom) {
    self.environment = environment
    self.clock = clock
    self.random = random
    let node = NodeDriver(
      name: "push", environment: environment, clock: { [clock] in clock }, node: PushServiceNode())
    node.onReport = { [unowned self] report in
      switch report {
      case .opened(let id): faultsAtOpening[id] = environment.tally.faultCount
      case .pushed(let push): handle(push)
      case .invalid(let reason): environment.fault("push service: not a request: \(reason)")
      }
    }
    self.node = node
    node.begin()
  }

  /// The node that accepts a relay's connection; nil if the service is not reachable now.
  package func listener() -> (any AnyNode)? {
    isWell || random.chance(7, of: 8) ? node : nil
  }

  package func heal() { isWell = true }

  /// Returns a registration for the device.
  package func subscribe(_ sleeper: SleeperMachine) -> WakeRegistration {
    let secrets = SeededSecrets(random.branch())
    let key = PushMessage.newKey(from: SecretSource { secrets.bytes($0) })
    let auth = secrets.bytes(PushRecipient.authBytes)
    let target = "/push/\(sleeper.name)"
    subscriptions[target] = Subscription(sleeper: sleeper, key: key, auth: auth)
    return WakeRegistration(
      id: Name(trusted: "simulated"), endpoint: PushServiceMachine.origin + target,
      p256dh: key.publicKey.bytes, auth: auth)
  }

  private func handle(_ push: PushServiceNode.Push) {
    guard let subscription = subscriptions[push.target] else {
      environment.fault("push service: a push to the unknown \(push.target)")
      return
    }
    guard
      let content = PushMessage.decrypt(
        push.body, key: subscription.key, auth: subscription.auth),
      let payload = WakePayload(content)
    else {
      environment.fault("\(subscription.sleeper.name) cannot read its push")
      return
    }
    let fields = [
      push.headers["TTL"], push.headers["Topic"], push.headers["Urgency"],
      push.headers["Content-Encoding"], push.headers["Authorization"],
    ]
    if fields.contains(nil) { environment.fault("push service: a push lacks a field") }
    answer(push, payload.token)
  }

  private func answer(_ push: PushServiceNode.Push, _ token: ChangeToken) {
    let connection = push.connection
    let outcome = isWell ? 0 : random.count(in: 0...11)
    switch outcome {
    case 0...5: accept(push.target, token, answering: connection, after: 20)
    case 6: accept(push.target, token, answering: connection, after: 4_000)
    // Accepted, and the answer is lost: the relay has to take it for a failure.
    case 7:
      deliver(push.target, token)
      order(.cut(connection), after: 20)
      environment.tally.note(.wakeRefused)
    case 8: refuse(connection, 503, retryAfter: random.count(in: 1...20))
    case 9: refuse(connection, 429, retryAfter: random.count(in: 1...20))
    case 10: refuse(connection, 500, retryAfter: nil)
    // No answer at all.
    default: environment.tally.note(.wakeRefused)
    }
  }

  private func refuse(_ connection: ConnectionID, _ status: Int, retryAfter: Int?) {
    environment.tally.note(.wakeRefused)
    order(.answer(connection, status: status, retryAfter: retryAfter), after: 50)
  }

  private func accept(
    _ target: String, _ token: ChangeToken, answering connection: ConnectionID,
    after milliseconds: Int64
  ) {
    let faults = faultsAtOpening[connection] ?? 0
    subscriptions[target]?.sleeper.recordAccepted(answeredAfter: milliseconds, faults: faults)
    deliver(target, token)
    order(.answer(connection, status: 201, retryAfter: nil), after: milliseconds)
  }

  private func order(_ order: PushServiceNode.Order, after milliseconds: Int64) {
    environment.timeline.after(Span.milliseconds(milliseconds)) { [unowned self] in
      node?.handle(.ordered(order))
    }
  }

  /// Delivers a push some time later, or loses it. A later push of the topic replaces it.
  private func deliver(_ target: String, _ token: ChangeToken) {
    subscriptions[target]?.waiting = token
    guard subscriptions[target]?.isDelivering == false else { return }
    subscriptions[target]?.isDelivering = true
    let isLost = !isWell && random.chance(1, of: 8)
    let delay = isWell ? 30 : random.number(in: 10...3_000)
    environment.timeline.after(Span.milliseconds(delay)) { [unowned self] in
      subscriptions[target]?.isDelivering = false
      guard let token = subscriptions[target]?.waiting else { return }
      subscriptions[target]?.waiting = nil
      if isLost {
        environment.tally.note(.wakeLost)
      } else {
        subscriptions[target]?.sleeper.wake(token)
      }
    }
  }
}
