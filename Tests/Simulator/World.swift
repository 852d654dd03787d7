import LockstepApps
import LockstepClient
import LockstepCrypto
import LockstepModel
import LockstepRelay
import LockstepSimulation
import LockstepStorage
import LockstepWire

/// All of Lockstep in virtual time: a relay, several accounts with their devices and users, and all
/// faults between them. Everything follows from the seed; two simulations of one seed are the same
/// in every process.
package final class World {
  package let seed: UInt64
  package let profile: WorldProfile
  package let environment: WorldEnvironment
  /// The relays of each cell; one at least.
  let cells: [RelayMachine]
  package let devices: [DeviceMachine]
  package let plan: FaultPlan
  package let people: [People]
  package let listeners: [ListenerMachine]
  package let sleepers: [SleeperMachine]
  /// nil if no device sleeps.
  let pushService: PushServiceMachine?

  let accounts: [AccountID]
  let ledger: CommitLedger
  let histories: [Histories]
  let span: Int64
  let breakage: Breakage?
  /// True if everything that the seed has planned is played.
  let isWhole: Bool
  var status: StatusChecker
  var bounds: BoundsChecker
  /// True if the relay's machine is switched off for days; `isAway` is the same per device.
  var isRelayAway = false
  var isAway: [Bool]
  /// Per device: true if the owner of the account wants it signed out.
  var isRevoked: [Bool]
  /// Random source of the faults while the simulation runs.
  var fate: SeededRandom
  /// Per device: end of its network outage, and true if the outage is silent.
  var unplugged: [(until: Int64, isSilent: Bool)]
  var switchedOff: [Bool]
  /// Per device: end of its suspension.
  var suspended: [Int64]
  /// Per device: zones that the user wants off.
  var zonesOff: [[Name]]
  /// New keys of each account.
  var rotations: [AccountID: [SavedKeys]] = [:]
  /// New keys that a device is about to save, by the batch.
  var pendingKeys: [BatchID: NewKeys] = [:]
  /// Accounts that are being moved, and the number of moves.
  var movers: [AccountID: Mover] = [:]
  var moves: UInt64 = 0
  /// Copies of the relay's store, by the number of the fault that will restore them.
  var backups: [Int: WatchedZoneStore.Backup] = [:]
  var fileBackups: [Int: MemoryChunkStore] = [:]
  package var relay: RelayMachine { cells[0] }
  private(set) var isHealed = false
  private(set) var convergedAfter: Int64 = 0

  /// Creates the simulation of a seed. `excerpt`: part of the seed's plan. `logsTraffic`: true to
  /// record the traffic between the machines, to find out why a seed failed.
  package init(
    seed: UInt64, profile: WorldProfile, breakage: Breakage? = nil, excerpt: Excerpt = Excerpt(),
    logsTraffic: Bool = false
  ) throws(StorageError) {
    self.seed = seed
    self.profile = profile
    self.breakage = breakage
    isWhole = excerpt == Excerpt()
    var random = SeededRandom(seed: seed)
    let environment = WorldEnvironment(random: random.branch(), logsTraffic: logsTraffic)
    self.environment = environment
    environment.network.conditions = World.conditions(profile, &random)
    let ledger = CommitLedger(environment: environment, sharesStore: profile.hasSeveralRelays)
    self.ledger = ledger
    span = random.number(in: profile.span)

    let accounts = (0..<random.count(in: profile.accounts)).map { _ in
      AccountID(rawValue: random.next())
    }
    self.accounts = accounts
    let sealedZones = Set(profile.sealedZones)
    let histories = accounts.map { _ in
      Histories(environment: environment, sealedZones: sealedZones)
    }
    self.histories = histories
    cells = World.cells(environment, ledger, profile, breakage, &random) { account in
      accounts.firstIndex(of: account).map { histories[$0] }
    }

    var participants = Participants(
      profile: profile, apps: World.apps(profile, breakage), span: span)
    for (account, histories) in zip(accounts, histories) {
      try participants.addAccount(account, histories, cells[0], ledger, environment, &random)
    }
    let devices = participants.devices
    self.devices = devices
    people = excerpt.people(of: participants.people)
    listeners = participants.listeners
    sleepers = participants.sleepers
    pushService =
      profile.hasSleepers
      ? PushServiceMachine(
        environment: environment, clock: VirtualClock(), random: random.branch()) : nil
    plan = FaultPlan(
      random: &random, kinds: profile.kinds, count: random.count(in: profile.faults),
      devices: devices.count, span: span
    ).only(excerpt.faults)
    status = StatusChecker(environment: environment, devices: devices.count)
    bounds = BoundsChecker(environment: environment, sharesStore: profile.hasSeveralRelays)
    unplugged = devices.map { _ in (0, false) }
    switchedOff = devices.map { _ in false }
    suspended = devices.map { _ in 0 }
    zonesOff = devices.map { _ in [] }
    isAway = devices.map { _ in false }
    isRevoked = isAway
    fate = SeededRandom(seed: seed &+ 0x0FA7E)
    injectBreakage()
    acceptConnections()
    schedule(&random)
  }
}

// Construction.
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

  private static func cells(
    _ environment: WorldEnvironment, _ ledger: CommitLedger, _ profile: WorldProfile,
    _ breakage: Breakage?, _ random: inout SeededRandom,
    histories: @escaping (AccountID) -> Histories?
  ) -> [RelayMachine] {
    var cells: [RelayMachine] = []
    for cell in 0..<profile.cells {
      let isCareless = breakage == .answersBeforeCommit
      cells.append(
        relay(
          environment, ledger, profile, cell, isCareless: isCareless, &random, histories: histories)
      )
    }
    return cells
  }

  private static func relay(
    _ environment: WorldEnvironment, _ ledger: CommitLedger, _ profile: WorldProfile, _ cell: Int,
    isCareless: Bool,
    _ random: inout SeededRandom,
    histories: @escaping (AccountID) -> Histories?
  ) -> RelayMachine {
    var configuration = RelayConfiguration()
    // Hosts of the virtual network have names of their own.
    configuration.hosts = .any
    configuration.limits.sendQueueBytes = profile.sendQueueBytes
    if profile.hasSleepers { configuration.wakes = WakeConfiguration(keys: [wakeKey]) }
    return RelayMachine(
      environment: environment,
      store: WatchedZoneStore(
        ledger: ledger, rules: rules(profile), isCareless: isCareless, histories: histories),
      clock: VirtualClock(
        start: random.number(in: 0...Span.seconds(1_000_000)),
        driftPartsPerMillion: random.number(in: -50...50),
        offsetMilliseconds: random.number(in: -1_000...1_000)),
      nodes: random.count(in: profile.hasSeveralRelays ? 2...3 : 1...2),
      hasSeveralRelays: profile.hasSeveralRelays, cell: cell, configuration: configuration,
      random: random.branch())
  }

  private static func rules(_ profile: WorldProfile) -> StoreRules {
    var rules = StoreRules()
    rules.historyMilliseconds = profile.historyMilliseconds
    rules.chunkLeaseMilliseconds = profile.chunkLeaseMilliseconds
    return rules
  }

  private static func apps(_ profile: WorldProfile, _ breakage: Breakage?) -> [any App] {
    let apps = AppCatalog.all.map { app -> any App in
      breakage.map { BrokenApp(app: app, breakage: $0) } ?? app
    }
    let notes: [any App] = profile.notes > 0 ? [NotesApp()] : []
    guard profile.apps.contains(.tables) else { return apps + notes }
    let tables: any App = TablesApp.app
    return apps + notes + [breakage.map { BrokenApp(app: tables, breakage: $0) } ?? tables]
  }

  private func injectBreakage() {
    for cell in cells {
      cell.breakage = breakage
      cell.store.breakage = breakage
    }
    for device in devices { device.breakage = breakage }
    let prompt: Set<FaultPlan.Kind> = [.cut, .unplug, .switchOff, .crashDevice]
    // Allowance for faults that set the relay's clock forward by a few seconds each.
    let clockSteps: Int64 = profile.kinds.contains(.relayClock) ? 60_000 : 0
    ledger.batchMemory = Span.milliseconds(max(0, profile.historyMilliseconds - clockSteps))
    ledger.isPrompt = prompt.isSuperset(of: profile.kinds)
    if prompt.isSuperset(of: profile.kinds) {
      ledger.relayTime = { [unowned self] in relay.clock.moment(at: environment.timeline.now).wall }
    }
  }

  private func acceptConnections() {
    environment.network.connectHandler = { [unowned self] opener, address in
      if case .screened = address {
        return pushService?.listener().map(VirtualNetwork.ConnectResult.accepted) ?? .refused
      }
      if let device = devices.first(where: { $0.driver === opener }),
        unplugged[device.index].until > environment.timeline.now
      {
        return unplugged[device.index].isSilent ? .silent : .refused
      }
      var cell = relay
      if case .host(let name, _) = address, let named = cells.first(where: { $0.host == name }) {
        cell = named
      }
      return cell.listener().map(VirtualNetwork.ConnectResult.accepted) ?? .refused
    }
  }

  private func schedule(_ random: inout SeededRandom) {
    let timeline = environment.timeline
    for cell in cells {
      cell.store.onSave = { [unowned self] in recordKeys(of: $0, $1) }
      timeline.after(0) { [unowned self, unowned cell] in start(cell) }
    }
    for listener in listeners {
      if let subscription = listener.subscription {
        relay.administer(.putSubscription(listener.account, listener.device, subscription))
      }
      timeline.after(Span.milliseconds(300)) { listener.start() }
    }
    for sleeper in sleepers { register(sleeper) }
    for device in devices {
      let late =
        random.chance(1, of: 6) || profile.comesLate
        ? random.number(in: 0...10_000) : random.number(in: 0...500)
      timeline.after(Span.milliseconds(late)) { [unowned self] in start(device) }
      device.onStoreFailure = { [unowned self] in
        // The user frees disk space and starts the program again.
        timeline.after(Span.seconds(1)) { [unowned self] in
          device.crashNow(isMachineGone: false)
          device.store.repair()
          start(device)
        }
      }
    }
    for person in people {
      for act in person.acts {
        timeline.at(instant(of: act.at)) { [unowned self] in press(act) }
      }
    }
    for (number, planned) in plan.faults.enumerated() {
      if let age = planned.fault.backupAge {
        timeline.at(instant(of: max(1, planned.at - age))) { [unowned self] in
          backups[number] = relay.store.backUp()
          fileBackups[number] = relay.copyFiles()
        }
      }
      if case .revoke(let device) = planned.fault {
        timeline.at(instant(of: max(1, planned.at - 5_000))) { [unowned self] in
          makeCode(number, ofDevice: device)
        }
      }
      timeline.at(instant(of: planned.at)) { [unowned self] in
        guard !isHealed else { return }
        environment.log(from: "fate", to: "", .note("\(planned.fault)"))
        applyFault(planned.fault, number)
      }
    }
    timeline.at(end) { [unowned self] in
      isHealed = true
      environment.log(from: "fate", to: "", .note("everything heals"))
      heal()
    }
  }

  /// Registers a sleeping device, as if it had done so before the simulation.
  private func register(_ sleeper: SleeperMachine) {
    guard let registration = pushService?.subscribe(sleeper) else { return }
    let code = [UInt8](repeating: 7, count: 32)
    sleeper.recordRegistration()
    relay.administer(
      .putWake(
        sleeper.account, sleeper.device, registration, keyMadeAt: World.wakeKey.madeAt,
        codeHash: code))
    relay.administer(
      .verifyWake(sleeper.account, sleeper.device, registration.id, codeHash: code))
  }

  static let wakeKey = WakeKey(
    madeAt: 1, privateKey: [UInt8](repeating: 0, count: 31) + [1])

  /// Virtual time of a planned event, in nanoseconds. Days that all machines were switched off
  /// before it are added.
  func instant(of milliseconds: Int64) -> Int64 {
    guard let away = plan.away, milliseconds > away.at else {
      return Span.milliseconds(milliseconds)
    }
    return Span.milliseconds(milliseconds + away.milliseconds)
  }

  /// Virtual time at which all faults end, in nanoseconds.
  var end: Int64 { instant(of: span) }

  /// Performs a user action, on another device of the account if this one is off or signed out.
  func press(_ act: People.Act) {
    let account = devices[act.device].credentials.account
    let own = devices.filter { $0.credentials.account == account }
    let ready = own.filter { $0.isRunning && !$0.isSignedOut }
    let device =
      ready.first { $0.index == act.device }
      ?? (ready.isEmpty ? devices[act.device] : ready[act.device % ready.count])
    environment.log(from: "person", to: device.name, .note("\(act.press)"))
    device.press(act.press)
  }

  func start(_ cell: RelayMachine) {
    if !isRelayAway { cell.start() }
  }

  func start(_ device: DeviceMachine) {
    guard !device.isRunning, !isAway[device.index] else { return }
    device.start()
    device.driver?.onRest = { [unowned self, unowned device] in
      status.check(device, isSwitchedOff: switchedOff[device.index])
    }
    device.driver?.onBytes = { [unowned self] in status.heard(device.index) }
    if switchedOff[device.index] { device.order(.goOffline) }
    // The process may have lost what it was ordered right before it died.
    applyZones(of: device)
  }
}
