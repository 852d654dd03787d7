import LockstepApps
import LockstepModel
import LockstepSimulation

/// Faults of a simulation and their times. Made from the seed alone, before the simulation begins,
/// so that the plan can be printed and read.
package struct FaultPlan {
  package enum Fault: Hashable {
    /// Breaks a device's connections, each in one of several ways.
    case cut(device: Int)
    /// Takes the network from a device. `isSilent`: neither end is notified, and connection
    /// attempts get no answer.
    case unplug(device: Int, milliseconds: Int64, isSilent: Bool)
    /// Switches sync off and on again, as the user.
    case switchOff(device: Int, milliseconds: Int64)
    /// Suspends a device's process, as a stopped process or a closed lid does.
    case suspendDevice(device: Int, milliseconds: Int64)
    /// Reads no bytes from the machine's connections.
    case stallDevice(device: Int, milliseconds: Int64)
    case stallRelay(milliseconds: Int64)
    /// Kills the relay's process. `isMachineGone`: its peers are not notified.
    case crashRelay(milliseconds: Int64, isMachineGone: Bool)
    /// Stops the relay gracefully and starts it again.
    case restartRelay(milliseconds: Int64)
    /// Kills a device's process after `actions` more actions, right before the next one.
    case crashDevice(device: Int, milliseconds: Int64, actions: Int)
    case deviceClock(device: Int, jumpMilliseconds: Int64)
    case relayClock(jumpMilliseconds: Int64)
    /// Fails the next `calls` commits of the relay's store.
    case failStore(calls: Int)
    /// Fails the `write`-th write of a device's store from now, once; the process is then
    /// restarted.
    case failReplica(device: Int, write: Int, milliseconds: Int64)
    /// Restores the relay's store from a copy of this age, while the relay is down.
    case restoreStore(ageMilliseconds: Int64, milliseconds: Int64)
    /// Rolls back the store together with the chunk files, so that nothing in the store shows it.
    case rollBackStore(ageMilliseconds: Int64, milliseconds: Int64)
    /// Switches a zone off on one device and on again, as the user.
    case switchZone(device: Int, zone: Name, milliseconds: Int64)
    /// Limits the plan of a device's account to these zones for this time.
    case changePlan(device: Int, zones: [Name], milliseconds: Int64)
    /// Fills the disk of the relay, or of a device: all its writes fail for this time.
    case fillRelayDisk(milliseconds: Int64)
    case fillDisk(device: Int, milliseconds: Int64)
    /// Delays each commit by up to 20 s for this time: longer than a device waits for its answer.
    case slowStore(milliseconds: Int64)
    /// Signs the device out for good, as the owner of the account.
    case revoke(device: Int)
    /// Switches off all devices and the relay's machine for this number of days.
    case putAway(days: Int64)
    /// Writes records of its own into the sealed zone of a device's account, as the relay.
    case forge(device: Int, records: Int)
    /// Makes new keys of the account on a device, as its user. `removes`: without another device,
    /// which is then removed. `isContested`: a further device of the account does so at the same
    /// time. `isCut`: the device dies before it knows that the keys are saved.
    case makeKeys(device: Int, removes: Bool, isContested: Bool, isCut: Bool)
    /// Moves the account of a device to the other cell. `steps`: after which the mover's process
    /// dies, and is run again later; nil: it does not.
    case moveAccount(device: Int, steps: Int?)
  }

  package struct Planned: Hashable {
    /// Milliseconds since the simulation began.
    package var at: Int64
    package var fault: Fault

    package init(at: Int64, fault: Fault) {
      self.at = at
      self.fault = fault
    }
  }

  package private(set) var faults: [Planned] = []

  package init(faults: [Planned] = []) {
    self.faults = faults.sorted { $0.at < $1.at }
  }

  /// Returns a plan with only the faults at these indices; nil: all.
  package func only(_ places: [Int]?) -> FaultPlan {
    guard let places else { return self }
    return FaultPlan(faults: places.filter(faults.indices.contains).map { faults[$0] })
  }

  /// Draws up to `count` faults of these `kinds` within `span` milliseconds.
  package init(
    random: inout SeededRandom, kinds: [Kind], count: Int, devices: Int, span: Int64
  ) {
    guard !kinds.isEmpty else { return }
    for _ in 0..<count {
      let at = random.number(in: 500...max(501, span - 1_000))
      let fault = FaultPlan.fault(random.one(of: kinds), devices, &random)
      faults.append(Planned(at: at, fault: fault))
    }
    faults.sort { $0.at < $1.at }
    leaveOutWhatDoesNotMeet()
  }

  /// Keeps one `putAway` at most, and no `revoke` if a store is restored: a revoked device may be
  /// the only one that had read what the restored relay lacks, and then no history contains it.
  private mutating func leaveOutWhatDoesNotMeet() {
    let isRestored = faults.contains { [.restoreStore, .rollBackStore].contains($0.fault.kind) }
    let away = faults.firstIndex { $0.fault.kind == .putAway }
    let places = faults.indices.filter { place in
      switch faults[place].fault.kind {
      case .revoke: !isRestored
      case .putAway: place == away
      default: true
      }
    }
    faults = places.map { faults[$0] }
  }

  /// Time at which all machines are switched off, and for how long, both in milliseconds; nil if
  /// the plan has no `putAway`. Later faults are delayed by this duration.
  package var away: (at: Int64, milliseconds: Int64)? {
    for planned in faults {
      if case .putAway(let days) = planned.fault { return (planned.at, days * 86_400_000) }
    }
    return nil
  }

  package enum Kind: String, CaseIterable {
    case cut, unplug, switchOff, stallDevice, stallRelay, crashRelay, restartRelay, crashDevice
    case deviceClock, relayClock, failStore, failReplica, restoreStore, changePlan, switchZone
    case fillRelayDisk, fillDisk, slowStore, revoke, putAway, rollBackStore, suspendDevice
    case forge, makeKeys, moveAccount

    /// All faults but those of a relay that does what it must not, of sealed accounts, and of
    /// several cells.
    package static let ofHonestRelays = allCases.filter {
      ![.forge, .makeKeys, .moveAccount].contains($0)
    }

    /// Faults of a relay that is never restored and that sells no plans.
    package static let usual: [Kind] = [
      .cut, .unplug, .switchOff, .stallDevice, .stallRelay, .crashRelay, .restartRelay,
      .crashDevice, .deviceClock, .relayClock, .failStore, .failReplica, .fillRelayDisk, .fillDisk,
      .slowStore, .suspendDevice,
    ]
  }

  private static func fault(_ kind: Kind, _ devices: Int, _ random: inout SeededRandom) -> Fault {
    let device = random.count(in: 0...(devices - 1))
    // Mostly short, sometimes long enough for deadlines and keep-alives to expire.
    let milliseconds =
      random.chance(1, of: 8)
      ? random.number(in: 5_000...70_000) : random.number(in: 10...5_000)
    switch kind {
    case .cut: return .cut(device: device)
    case .unplug:
      return .unplug(
        device: device, milliseconds: milliseconds, isSilent: random.chance(1, of: 2))
    case .switchOff: return .switchOff(device: device, milliseconds: milliseconds)
    case .suspendDevice:
      // Long enough for countdowns to end during the suspension.
      return .suspendDevice(
        device: device, milliseconds: max(milliseconds, random.number(in: 1_000...40_000)))
    case .stallDevice: return .stallDevice(device: device, milliseconds: milliseconds)
    case .stallRelay: return .stallRelay(milliseconds: min(milliseconds, 10_000))
    case .crashRelay:
      return .crashRelay(
        milliseconds: min(milliseconds, 20_000), isMachineGone: random.chance(1, of: 4))
    case .restartRelay: return .restartRelay(milliseconds: min(milliseconds, 5_000))
    case .crashDevice:
      return .crashDevice(
        device: device, milliseconds: milliseconds, actions: random.count(in: 0...12))
    case .deviceClock:
      return .deviceClock(device: device, jumpMilliseconds: jump(&random))
    case .relayClock:
      return .relayClock(jumpMilliseconds: random.number(in: -3_000...3_000))
    case .failStore: return .failStore(calls: random.count(in: 1...3))
    case .failReplica:
      return .failReplica(
        device: device, write: random.count(in: 1...3), milliseconds: milliseconds)
    case .restoreStore:
      return .restoreStore(
        ageMilliseconds: random.number(in: 0...15_000), milliseconds: min(milliseconds, 10_000))
    case .rollBackStore:
      return .rollBackStore(
        ageMilliseconds: random.number(in: 0...15_000), milliseconds: min(milliseconds, 10_000))
    case .switchZone:
      return .switchZone(
        device: device, zone: random.one(of: [TimerApp.zone, NotesApp.zone]),
        milliseconds: milliseconds)
    case .changePlan:
      let zones = random.one(of: [[], [TimerApp.zone], [NotesApp.zone]])
      return .changePlan(device: device, zones: zones, milliseconds: milliseconds)
    case .fillRelayDisk: return .fillRelayDisk(milliseconds: min(milliseconds, 20_000))
    case .fillDisk: return .fillDisk(device: device, milliseconds: min(milliseconds, 20_000))
    case .slowStore: return .slowStore(milliseconds: random.number(in: 1_000...30_000))
    case .revoke: return .revoke(device: device)
    case .putAway: return .putAway(days: random.number(in: 40...90))
    case .forge: return .forge(device: device, records: random.count(in: 1...3))
    case .makeKeys:
      return .makeKeys(
        device: device, removes: random.chance(1, of: 3), isContested: random.chance(1, of: 3),
        isCut: random.chance(1, of: 3))
    case .moveAccount: return .moveAccount(device: device, steps: steps(&random))
    }
  }

  /// Draws the number of steps after which a mover dies; nil: it does not.
  private static func steps(_ random: inout SeededRandom) -> Int? {
    random.chance(1, of: 2) ? random.count(in: 0...4) : nil
  }

  private static func jump(_ random: inout SeededRandom) -> Int64 {
    switch random.count(in: 0...3) {
    case 0: random.number(in: -500...500)
    case 1: random.number(in: -20_000...20_000)
    case 2: random.number(in: -86_400_000...86_400_000)
    default: random.number(in: -3_600_000...3_600_000)
    }
  }

  package var description: String {
    faults.isEmpty
      ? "  (no faults)" : faults.map { "  \($0.at) ms: \($0.fault)" }.joined(separator: "\n")
  }
}

extension FaultPlan.Fault {
  package var kind: FaultPlan.Kind {
    switch self {
    case .cut: .cut
    case .unplug: .unplug
    case .switchOff: .switchOff
    case .suspendDevice: .suspendDevice
    case .stallDevice: .stallDevice
    case .stallRelay: .stallRelay
    case .crashRelay: .crashRelay
    case .restartRelay: .restartRelay
    case .crashDevice: .crashDevice
    case .deviceClock: .deviceClock
    case .relayClock: .relayClock
    case .failStore: .failStore
    case .failReplica: .failReplica
    case .restoreStore: .restoreStore
    case .rollBackStore: .rollBackStore
    case .changePlan: .changePlan
    case .switchZone: .switchZone
    case .fillRelayDisk: .fillRelayDisk
    case .fillDisk: .fillDisk
    case .slowStore: .slowStore
    case .revoke: .revoke
    case .putAway: .putAway
    case .forge: .forge
    case .makeKeys: .makeKeys
    case .moveAccount: .moveAccount
    }
  }

  /// Age of the copy of the store that the fault restores, in milliseconds; nil if it restores
  /// none.
  package var backupAge: Int64? {
    switch self {
    case .restoreStore(let age, _), .rollBackStore(let age, _): age
    default: nil
    }
  }
}
