import Apps
import Changes
import Devices
import Digest
import Link
import Relay
import Simulator
import Storage
import Tools

/// A relay and one node of many agents, in virtual time: what `lockstep bench` and `lockstep agent
/// simulate` are for real.
final class FleetStage<N: Node & ~Copyable>
where N.Job == FleetJob, N.Outcome == ReplicaOutcome, N.Order == Never, N.News == Never {
  let outside = Outside(random: SeededRandom(seed: 1))
  let store = MemoryZoneStore()
  private(set) var reports: [N.Report] = []
  /// How long the relay's store takes for a commit, in nanoseconds.
  var commitNanoseconds = Span.milliseconds(1)
  private(set) var credentials: [Credentials] = []

  private var replicas: [Replica<MemoryReplicaStore>] = []
  private var seat: Seat<N>?
  private var relay: Seat<RelayNode>?

  /// `badTokens`: devices whose tokens the relay does not know.
  init(
    accounts: Int, devices: Int, badTokens: [Int] = [], apps: [any App] = [],
    _ makeNode: (Moment) -> N
  ) throws {
    let clock = VirtualClock()
    for account in 0..<accounts {
      for device in 0..<devices { try join(account, device) }
    }
    for (number, credentials) in credentials.enumerated() {
      var credentials = credentials
      if badTokens.contains(number) { credentials.token = "unknown" }
      let store = MemoryReplicaStore()
      try store.write([
        .setIdentity(
          HomeIdentity(relay: "http://relay:1", credentials: credentials, deviceName: "device"))
      ])
      replicas.append(Replica(store: store, apps: apps))
    }
    let relay = Seat(
      name: "relay", outside: outside, clock: { clock },
      node: RelayNode(
        configuration: RelayConfiguration(),
        secrets: SecretSource { Array(repeating: 7, count: $0) }, random: SeededRandom(seed: 2)))
    relay.onJob = { [unowned self, unowned relay] id, lane, job in
      perform(job, lane, at: relay.moment.wall) { event in
        if relay.isAlive { relay.handle(event.of(id)) }
      }
    }
    self.relay = relay
    outside.network.door = { _, _ in relay.isAlive ? .open(relay) : .refused }
    let seat = Seat(
      name: "fleet", outside: outside, clock: { clock }, node: makeNode(clock.moment(at: 0)))
    seat.onJob = { [unowned self, unowned seat] id, _, job in
      outside.timeline.after(Span.microseconds(100)) { [unowned self] in
        seat.handle(.finished(id, replicas[job.agent].perform(job.job)))
      }
    }
    seat.onReport = { [unowned self] in reports.append($0) }
    self.seat = seat
    relay.begin()
    seat.begin()
  }

  /// Lets time pass: until `isDone`, or so many seconds.
  func run(seconds: Int64, until isDone: ([N.Report]) -> Bool = { _ in false }) {
    let end = outside.timeline.now + Span.seconds(seconds)
    while !isDone(reports), outside.timeline.step(until: end) {}
  }

  var fleet: Seat<N>? { seat }

  /// Writes over the oldest record of the first account, by another way than the fleet.
  func overwriteOldest() throws {
    let (account, device) = (credentials[0].account, credentials[0].device)
    let answer = try store.read(.changes(account, since: nil, zone: nil, limit: 1))
    guard case .page(let page) = answer, let oldest = page.changes.first else {
      throw StorageError.failed(path: "memory", operation: "read", detail: "\(answer)")
    }
    let mutation = Mutation(
      name: oldest.name, type: oldest.type, fields: Array(#"{"number":-1}"#.utf8), modifiedAt: 1,
      baseTag: oldest.tag)
    let request = SaveRequest(
      id: BatchID(high: 1, low: 1), zone: oldest.zone, atomic: false, mutations: [mutation])
    _ = try store.commit(
      [.save(SaveCommit(account: account, device: device, request: request, digest: [1]))],
      wall: VirtualClock.epoch)
  }

  func stopFleet() { seat?.tell(.stopping) }

  func killRelay() {
    guard let relay else { return }
    relay.kill()
    outside.network.forget(relay, isMachineGone: false)
  }

  private enum Work {
    case outcome(StoreOutcome)
    case news(RelayNews)

    func of(_ id: JobID) -> Seat<RelayNode>.Event {
      switch self {
      case .outcome(let outcome): .finished(id, outcome)
      case .news(let news): .news(news)
      }
    }
  }

  private func perform(
    _ job: StoreJob, _ lane: Lane, at wall: Int64, tell: @escaping (Work) -> Void
  ) {
    switch lane {
    case .reads, .files:
      let outcome = StoreWork.read(job, on: store)
      outside.timeline.after(Span.microseconds(200)) { tell(.outcome(outcome)) }
    case .commits:
      outside.timeline.after(commitNanoseconds) { [unowned self] in
        for finished in StoreWork.commit([job], on: store, wall: wall) {
          if let news = finished.news { tell(.news(news)) }
          tell(.outcome(finished.outcome))
        }
      }
    }
  }

  private func join(_ number: Int, _ device: Int) throws {
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
