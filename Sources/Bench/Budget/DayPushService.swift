import LockstepCrypto
import LockstepModel
import LockstepRelay
import LockstepRuntime
import LockstepSimulation
import LockstepStorage
import LockstepWebPush

/// The push service of a simulated day. It takes each push, and wakes its device a moment later.
final class DayPushService {
  private static let key = WakeKey(
    madeAt: 1, privateKey: [UInt8](repeating: 0, count: 31) + [7])
  /// Time until a push is delivered, in nanoseconds.
  private static let delivery = Span.milliseconds(200)
  private static let path = "/day/"

  private(set) var faults: [String] = []
  private let environment: SimulationEnvironment
  private let devices: [DayDevice]
  private let node: NodeDriver<PushServiceNode>

  static let configuration = WakeConfiguration(keys: [key])

  /// Registers all devices at the relay.
  init(_ relay: VirtualRelay, _ devices: [DayDevice]) throws(StorageError) {
    environment = relay.environment
    self.devices = devices
    let clock = relay.clock
    node = NodeDriver(
      name: "push", environment: environment, clock: { clock }, node: PushServiceNode())
    node.onReport = { [unowned self] in handle($0) }
    node.begin()
    relay.pushService = node
    let secrets = SeededSecrets(SeededRandom(seed: 4))
    let deviceKey = PushMessage.newKey(from: SecretSource { secrets.bytes($0) })
    for (index, device) in devices.enumerated() {
      let (account, id) = (device.credentials.account, device.credentials.device)
      let registration = WakeRegistration(
        id: Name(trusted: "day"), endpoint: "https://push.test\(Self.path)\(index)",
        p256dh: deviceKey.publicKey.bytes, auth: secrets.bytes(PushRecipient.authBytes))
      let code = secrets.bytes(32)
      _ = try relay.store.commit(
        [
          .putWake(account, id, registration, keyMadeAt: Self.key.madeAt, codeHash: code),
          .verifyWake(account, id, registration.id, codeHash: code),
        ], wall: relay.environment.timeline.now / 1_000_000)
    }
  }

  private func handle(_ report: PushServiceNode.Report) {
    switch report {
    case .opened: break
    case .invalid(let reason): faults.append("a push is no request: \(reason)")
    case .pushed(let push):
      // Not within the node's own event.
      environment.timeline.after(0) { [unowned self] in
        node.handle(.ordered(.answer(push.connection, status: 201, retryAfter: nil)))
      }
      guard let index = Int(push.target.dropFirst(Self.path.count)), devices.indices.contains(index)
      else {
        faults.append("a push to \(push.target)")
        return
      }
      environment.timeline.after(Self.delivery) { [unowned self] in devices[index].wake() }
    }
  }
}
