import LockstepCrypto
import LockstepModel
import LockstepRelay
import LockstepRuntime
import LockstepStorage
import LockstepWire

/// A relay in virtual time, with accounts whose devices have joined. Used for tests of the bench
/// nodes and for `lockstep bench budget`.
package final class VirtualRelay {
  package let environment: SimulationEnvironment
  package let store = MemoryZoneStore()
  private let files = MemoryChunkStore()
  /// Duration of a commit in the relay's store, in nanoseconds.
  package var commitNanoseconds = Span.milliseconds(1)
  package private(set) var credentials: [Credentials] = []
  package let clock = VirtualClock()
  private var driver: NodeDriver<RelayNode>?
  private var lastStatus = RelayStatus()
  /// The node that accepts the relay's connections to push services; nil if there is none.
  package var pushService: (any AnyNode)?
  /// Numbers of the nodes that may not connect.
  private var unreachable: Set<Int> = []

  package init(
    accounts: Int, devices: Int,
    environment: SimulationEnvironment = SimulationEnvironment(random: SeededRandom(seed: 1)),
    configure: (inout RelayConfiguration) -> Void = { _ in }
  ) throws(StorageError) {
    self.environment = environment
    for account in 0..<accounts {
      for device in 0..<devices { try join(account, device) }
    }
    var configuration = RelayConfiguration()
    // The virtual network uses its own host names, so any host is accepted.
    configuration.hosts = .any
    configure(&configuration)
    let clock = clock
    let secrets = SeededSecrets(SeededRandom(seed: 3))
    let driver = NodeDriver(
      name: "relay", environment: environment, clock: { clock },
      node: RelayNode(
        configuration: configuration,
        secrets: SecretSource { secrets.bytes($0) }, random: SeededRandom(seed: 2)))
    driver.onJob = { [unowned self, unowned driver] id, job in
      perform(job, at: driver.moment.wall) { event in
        if driver.isAlive { driver.handle(event.of(id)) }
      }
    }
    driver.onReport = { [unowned self] report in
      if case .status(let status) = report { lastStatus = status }
    }
    self.driver = driver
    environment.network.connectHandler = { [unowned self] node, _ in
      if node.number == driver.number { return pushService.map { .accepted($0) } ?? .refused }
      return driver.isAlive && !unreachable.contains(node.number) ? .accepted(driver) : .refused
    }
    driver.begin()
  }

  /// Lets a node connect, or refuses it from now on.
  package func setReachable(_ isReachable: Bool, from node: some AnyNode) {
    if isReachable { unreachable.remove(node.number) } else { unreachable.insert(node.number) }
  }

  /// Adds a device to the first account.
  package func addDevice() throws(StorageError) -> Credentials {
    let device = credentials.count
    try join(0, device)
    return credentials[device]
  }

  /// The relay's current counters.
  package var status: RelayStatus {
    driver?.handle(.ordered(.reportStatus))
    return lastStatus
  }

  package func kill() {
    guard let driver else { return }
    driver.kill()
    environment.network.removeNode(driver, isMachineGone: false)
  }

  private enum Work {
    case outcome(StoreOutcome)
    case news(RelayNews)

    func of(_ id: JobID) -> NodeDriver<RelayNode>.Event {
      switch self {
      case .outcome(let outcome): .finished(id, outcome)
      case .news(let news): .news(news)
      }
    }
  }

  private func perform(
    _ job: StoreJob, at wall: Int64, report: @escaping (Work) -> Void
  ) {
    switch job {
    case .file(let job):
      let outcome = StoreWork.perform(job, on: files)
      environment.timeline.after(Span.microseconds(200)) { report(.outcome(.file(outcome))) }
    case .read(let job):
      let outcome = StoreWork.read(job, on: store)
      environment.timeline.after(Span.microseconds(200)) { report(.outcome(.read(outcome))) }
    case .commit(let job):
      environment.timeline.after(commitNanoseconds) { [unowned self] in
        for finished in StoreWork.commit([job], on: store, wall: wall) {
          if let driver, let news = finished.news {
            report(.news(news.durable(at: driver.moment.instant)))
          }
          report(.outcome(.commit(finished.outcome)))
        }
      }
    }
  }

  private func join(_ number: Int, _ device: Int) throws(StorageError) {
    let account = AccountID(rawValue: UInt64(number + 1))
    let token = "token \(number) \(device)"
    let new = NewDevice(
      id: DeviceID(rawValue: UInt64(credentials.count + 1)),
      description: DeviceDescription(deviceName: "device", platform: "test", appVersion: "1"),
      tokenHash: SHA256.hash(Array(token.utf8)))
    if device == 0 {
      _ = try store.commit(
        [.createAccount(account, generation: 1, label: "", device: new, pairing: nil)], wall: 0)
    } else {
      let pairing = NewPairing(codeHash: new.tokenHash, expiresAt: 1)
      _ = try store.commit(
        [
          .issuePairing(account, pairing),
          .redeemPairing(codeHash: pairing.codeHash, device: new),
        ], wall: 0)
    }
    credentials.append(Credentials(account: account, device: new.id, token: token))
  }
}
