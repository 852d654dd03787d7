import Apps
import Changes
import Devices
import Digest
import Link
import Relay
import Storage

/// The whole of Lockstep in virtual time: a relay, several accounts with their devices and persons,
/// and all that can go wrong between them. Everything follows from the seed; two worlds of one seed
/// are the same in every process.
package final class World {
  package let seed: UInt64
  package let profile: WorldProfile
  package let outside: Outside
  package let relay: RelayMachine
  package let devices: [DeviceMachine]
  package let plan: FaultPlan
  package let people: [People]

  let accounts: [AccountID]
  let ledger: Ledger
  let histories: [Histories]
  let span: Int64
  let breakage: Breakage?
  var status: StatusChecker
  var bounds: BoundsChecker
  /// Per device: until when it has no network, and whether nothing tells it.
  var unplugged: [(until: Int64, isSilent: Bool)]
  var switchedOff: [Bool]
  private(set) var isHealed = false
  private(set) var convergedAfter: Int64 = 0

  package init(seed: UInt64, profile: WorldProfile, breakage: Breakage? = nil) throws(StorageError)
  {
    self.seed = seed
    self.profile = profile
    self.breakage = breakage
    var random = SeededRandom(seed: seed)
    let outside = Outside(random: random.branch())
    self.outside = outside
    outside.network.conditions = World.conditions(profile, &random)
    let ledger = Ledger(outside: outside)
    self.ledger = ledger
    span = random.number(in: profile.span)

    let accounts = (0..<random.count(in: profile.accounts)).map { _ in
      AccountID(rawValue: random.next())
    }
    self.accounts = accounts
    let histories = accounts.map { _ in Histories(outside: outside) }
    self.histories = histories
    relay = World.relay(
      outside, ledger, profile, isCareless: breakage == .answersBeforeCommit, &random
    ) { account in accounts.firstIndex(of: account).map { histories[$0] } }

    var devices: [DeviceMachine] = []
    var people: [People] = []
    for (account, histories) in zip(accounts, histories) {
      let count = random.count(in: profile.devicesPerAccount)
      let numbers = Array(devices.count..<(devices.count + count))
      let credentials = try World.join(account, devices: count, relay, &random)
      for (index, credential) in zip(numbers, credentials) {
        let watch = ReplicaWatch(
          outside: outside, ledger: ledger, name: "device\(index)", account: account,
          device: credential.device, histories: histories)
        devices.append(
          try DeviceMachine(
            index: index, credentials: credential, outside: outside, watch: watch,
            clock: World.clock(profile, &random), configuration: World.agent(&random),
            apps: breakage == .takesRemote ? [BrokenApp()] : AppCatalog.all,
            random: random.branch()))
      }
      people.append(
        People(
          random: &random, devices: numbers, count: random.count(in: profile.actsPerAccount),
          span: span))
    }
    self.devices = devices
    self.people = people
    plan = FaultPlan(
      random: &random, kinds: profile.kinds, count: random.count(in: profile.faults),
      devices: devices.count, span: span)
    status = StatusChecker(outside: outside, devices: devices.count)
    bounds = BoundsChecker(outside: outside)
    unplugged = devices.map { _ in (0, false) }
    switchedOff = devices.map { _ in false }
    openDoors()
    schedule(&random)
  }
}

// How a world is made.
extension World {
  private static func conditions(
    _ profile: WorldProfile, _ random: inout SeededRandom
  ) -> VirtualNetwork.Conditions {
    var conditions = VirtualNetwork.Conditions()
    conditions.delayMax = Span.milliseconds(random.one(of: [1, 20, 100, 400]))
    conditions.splitOneIn = random.one(of: [0, 2, 6])
    conditions.windowBytes = profile.windowBytes
    return conditions
  }

  private static func relay(
    _ outside: Outside, _ ledger: Ledger, _ profile: WorldProfile, isCareless: Bool,
    _ random: inout SeededRandom,
    histories: @escaping (AccountID) -> Histories?
  ) -> RelayMachine {
    var configuration = RelayConfiguration()
    configuration.sendQueueBytes = profile.sendQueueBytes
    return RelayMachine(
      outside: outside,
      store: WatchedZoneStore(ledger: ledger, isCareless: isCareless, histories: histories),
      clock: VirtualClock(
        start: random.number(in: 0...Span.seconds(1_000_000)),
        driftPartsPerMillion: random.number(in: -50...50),
        offsetMilliseconds: random.number(in: -1_000...1_000)),
      nodes: random.count(in: 1...2), configuration: configuration, random: random.branch())
  }

  private static func clock(
    _ profile: WorldProfile, _ random: inout SeededRandom
  ) -> VirtualClock {
    VirtualClock(
      start: random.number(in: 0...Span.seconds(1_000_000)),
      driftPartsPerMillion: random.number(in: -200...200),
      offsetMilliseconds: random.number(in: profile.clockOffset))
  }

  private static func agent(_ random: inout SeededRandom) -> AgentConfiguration {
    var configuration = AgentConfiguration()
    switch random.count(in: 0...9) {
    case 0: configuration.transports = [.poll]
    case 1: configuration.transports = [.longPoll, .poll]
    case 2: configuration.transports = [.longPoll]
    case 3: configuration.transports = [.webSocket]
    case 4: configuration.transports = [.events]
    default: break
    }
    return configuration
  }

  /// An account with its devices, as if they had joined before the world began.
  private static func join(
    _ account: AccountID, devices: Int, _ relay: RelayMachine, _ random: inout SeededRandom
  ) throws(StorageError) -> [Credentials] {
    let wall = relay.clock.moment(at: 0).wall
    var credentials: [Credentials] = []
    for index in 0..<devices {
      let token = "token-\(HexText.text(random.next()))"
      let id = DeviceID(rawValue: random.next())
      let device = NewDevice(
        id: id,
        description: DeviceDescription(
          deviceName: "device \(index)", platform: "simulated", appVersion: "1"),
        tokenHash: SHA256.hash(Array(token.utf8)))
      credentials.append(Credentials(account: account, device: id, token: token))
      if index == 0 {
        _ = try relay.store.commit(
          [
            .createAccount(
              account, generation: UInt32(truncatingIfNeeded: random.next()), label: "simulated",
              device: device, pairing: nil)
          ], wall: wall)
      } else {
        let code = SHA256.hash(Array("code \(index)".utf8) + device.tokenHash)
        _ = try relay.store.commit(
          [
            .issuePairing(account, NewPairing(codeHash: code, expiresAt: wall + 1_000)),
            .redeemPairing(codeHash: code, device: device),
          ], wall: wall)
      }
    }
    return credentials
  }

  private func openDoors() {
    outside.network.door = { [unowned self] opener, _ in
      if let device = devices.first(where: { $0.seat === opener }),
        unplugged[device.index].until > outside.timeline.now
      {
        return unplugged[device.index].isSilent ? .silent : .refused
      }
      return relay.listener().map(VirtualNetwork.Door.open) ?? .refused
    }
  }

  private func schedule(_ random: inout SeededRandom) {
    let timeline = outside.timeline
    timeline.after(0) { [unowned self] in relay.start() }
    for device in devices {
      let late =
        random.chance(1, of: 6) ? random.number(in: 0...10_000) : random.number(in: 0...500)
      timeline.after(Span.milliseconds(late)) { [unowned self] in start(device) }
      device.onStoreFailure = { [unowned self] in
        // The person makes room and starts the program again.
        timeline.after(Span.seconds(1)) { [unowned self] in
          device.crashNow(isMachineGone: false)
          device.store.heal()
          start(device)
        }
      }
    }
    for person in people {
      for act in person.acts {
        timeline.at(Span.milliseconds(act.at)) { [unowned self] in
          outside.log(from: "person", to: devices[act.device].name, .note("\(act.press)"))
          devices[act.device].press(act.press)
        }
      }
    }
    for planned in plan.faults {
      timeline.at(Span.milliseconds(planned.at)) { [unowned self] in
        guard !isHealed else { return }
        outside.log(from: "fate", to: "", .note("\(planned.fault)"))
        strike(planned.fault)
      }
    }
    timeline.at(Span.milliseconds(span)) { [unowned self] in
      isHealed = true
      outside.log(from: "fate", to: "", .note("everything heals"))
      heal()
    }
  }

  func start(_ device: DeviceMachine) {
    guard !device.isRunning else { return }
    device.start()
    device.seat?.onRest = { [unowned self, unowned device] in
      status.check(device, isSwitchedOff: switchedOff[device.index])
    }
    device.seat?.onBytes = { [unowned self] in status.heard(device.index) }
    if switchedOff[device.index] { device.order(.goOffline) }
  }
}
