import LockstepApps
import LockstepClient
import LockstepCrypto
import LockstepModel
import LockstepSimulation
import LockstepStorage

// Applies faults and ends them.
extension World {
  /// Applies a fault. `number`: its index in the plan.
  func applyFault(_ fault: FaultPlan.Fault, _ number: Int) {
    if applyToRelay(fault, number) || applyToStore(fault, number) || applyToDevice(fault) {
      environment.countFault(fault.kind)
    }
  }

  /// True if the fault took effect. A store's failure counts later, when a call fails by it: see
  /// the stores.
  private func applyToRelay(_ fault: FaultPlan.Fault, _ number: Int) -> Bool {
    let timeline = environment.timeline
    // The owner's requests go to the first of several cells.
    let cell = cells.count > 1 ? fate.one(of: cells) : relay
    let wasUp = cell.isUp
    switch fault {
    case .moveAccount(let device, let steps): return beginMove(ofDevice: device, steps: steps)
    case .stallRelay(let milliseconds):
      return cell.stall(nanoseconds: Span.milliseconds(milliseconds))
    case .crashRelay(let milliseconds, isMachineGone: false) where profile.hasSeveralRelays:
      return cell.crashOne(milliseconds: milliseconds)
    case .crashRelay(let milliseconds, let isMachineGone):
      cell.crash(isMachineGone: isMachineGone)
      audit()
      timeline.after(Span.milliseconds(milliseconds)) { [unowned self, unowned cell] in
        start(cell)
      }
      return wasUp
    case .restartRelay(let milliseconds):
      cell.stop()
      timeline.after(Span.milliseconds(milliseconds) + Span.seconds(12)) {
        [unowned self, unowned cell] in
        start(cell)
      }
      return wasUp
    case .relayClock(let jump):
      cell.clock.offsetMilliseconds += jump
      return jump != 0
    case .changePlan(let device, let zones, let milliseconds):
      setPlan(Plan(zones: zones), ofDevice: device)
      timeline.after(Span.milliseconds(milliseconds)) { [unowned self] in
        renewPlan(ofDevice: device)
      }
      return true
    case .revoke(let device):
      revoke(devices[device], number)
      return false
    case .putAway(let days):
      switchAllOff(days: days)
      return true
    case .forge(let device, let records):
      return forge(records, in: devices[device].credentials.account)
    default: return false
    }
  }

  private func applyToStore(_ fault: FaultPlan.Fault, _ number: Int) -> Bool {
    let timeline = environment.timeline
    let cell = cells.count > 1 ? fate.one(of: cells) : relay
    switch fault {
    case .failStore(let calls): cell.store.fail(calls: calls)
    case .fillRelayDisk(let milliseconds):
      cell.store.fill(until: timeline.now + Span.milliseconds(milliseconds))
    case .slowStore(let milliseconds):
      cell.slowDown(
        until: timeline.now + Span.milliseconds(milliseconds), by: Span.seconds(20))
    case .failReplica(let device, let write, _): devices[device].store.fail(atWrite: write)
    case .fillDisk(let device, let milliseconds):
      devices[device].store.fill(until: timeline.now + Span.milliseconds(milliseconds))
    case .restoreStore(_, let milliseconds), .rollBackStore(_, let milliseconds):
      let isSeen = fault.kind == .restoreStore
      guard let backup = backups[number], relay.store.mayRestore(backup, isSeen: isSeen) else {
        return false
      }
      relay.crash(isMachineGone: false)
      relay.store.restore(backup, opening: isSeen ? opening() : nil)
      if !isSeen, let files = fileBackups[number] { relay.restoreFiles(files) }
      timeline.after(Span.milliseconds(milliseconds)) { [unowned self] in start(relay) }
      return true
    default: break
    }
    return false
  }

  private func applyToDevice(_ fault: FaultPlan.Fault) -> Bool {
    let timeline = environment.timeline
    switch fault {
    case .cut(let device):
      guard let driver = devices[device].driver else { return false }
      return environment.network.cutAll(of: driver)
    case .unplug(let device, let milliseconds, let isSilent):
      unplugged[device] = (timeline.now + Span.milliseconds(milliseconds), isSilent)
      guard let driver = devices[device].driver else { return false }
      environment.network.cutAll(of: driver, isSilent ? .noneNotified : .bothNotified)
      return driver.isAlive
    case .switchOff(let device, let milliseconds):
      let isMet = devices[device].isRunning && !switchedOff[device]
      switchedOff[device] = true
      devices[device].order(.goOffline)
      timeline.after(Span.milliseconds(milliseconds)) { [unowned self] in switchOn(device) }
      return isMet
    case .suspendDevice(let device, let milliseconds):
      let wasRunning = devices[device].isRunning
      devices[device].driver?.suspend()
      suspended[device] = timeline.now + Span.milliseconds(milliseconds)
      timeline.after(Span.milliseconds(milliseconds)) { [unowned self] in
        if suspended[device] <= environment.timeline.now { devices[device].driver?.resume() }
      }
      return wasRunning
    case .stallDevice(let device, let milliseconds):
      guard let driver = devices[device].driver else { return false }
      return environment.network.stallAll(of: driver, nanoseconds: Span.milliseconds(milliseconds))
    case .crashDevice(let device, let milliseconds, let actions):
      let wasRunning = devices[device].isRunning
      crash(devices[device], after: actions, milliseconds)
      return wasRunning
    case .deviceClock(let device, let jump):
      devices[device].clock.offsetMilliseconds += jump
      return jump != 0
    case .makeKeys(let device, let removes, let isContested, let isCut):
      return makeKeys(
        on: devices[device], removes: removes, isContested: isContested, isCut: isCut)
    case .switchZone(let device, let zone, let milliseconds):
      zonesOff[device].append(zone)
      applyZones(of: devices[device])
      timeline.after(Span.milliseconds(milliseconds)) { [unowned self] in
        zonesOff[device].removeAll { $0 == zone }
        applyZones(of: devices[device])
      }
      return devices[device].isRunning
    default: return false
    }
  }

  /// Number that the relay's program draws when it opens the store.
  private func opening() -> UInt64 {
    OpeningNumber.make(
      wall: relay.clock.moment(at: environment.timeline.now).wall,
      random: UInt64(environment.timeline.now))
  }

  /// Issues a pairing code on the device, before the device is signed out.
  func makeCode(_ number: Int, ofDevice device: Int) {
    let expiry = relay.clock.moment(at: environment.timeline.now).wall + Limits.pairingMilliseconds
    relay.administer(
      .issuePairing(
        devices[device].credentials.account,
        NewPairing(codeHash: World.codeHash(number), expiresAt: expiry)))
  }

  /// Redeems that code after the sign-out. `WatchedZoneStore` checks that it is refused.
  private func tryCode(_ number: Int) {
    var random = SeededRandom(seed: seed &+ UInt64(number))
    let thief = NewDevice(
      id: DeviceID(rawValue: random.next()),
      description: DeviceDescription(deviceName: "thief", platform: "", appVersion: ""),
      tokenHash: SHA256.hash(Array("token \(number)".utf8)))
    relay.administer(.redeemPairing(codeHash: World.codeHash(number), device: thief))
  }

  private static func codeHash(_ number: Int) -> [UInt8] {
    SHA256.hash(Array("code \(number)".utf8))
  }

  /// Signs out one device of an account at most: another must remain to hold what the relay has.
  private func revoke(_ device: DeviceMachine, _ number: Int) {
    let account = device.credentials.account
    guard !devices.contains(where: { $0.credentials.account == account && isRevoked[$0.index] })
    else { return }
    isRevoked[device.index] = true
    relay.administer(.revokeDevice(account, device.credentials.device))
    tryCode(number)
    environment.timeline.after(Span.seconds(3)) { [unowned self] in tryCode(number) }
  }

  /// Switches the devices off one by one, the relay last. After these days the relay starts first.
  private func switchAllOff(days: Int64) {
    let timeline = environment.timeline
    for device in devices {
      timeline.after(Span.milliseconds(fate.number(in: 0...5_000))) { [unowned self] in
        isAway[device.index] = true
        device.crashNow(isMachineGone: false)
      }
      let back = days * 86_400_000 + fate.number(in: 1_000...30_000)
      timeline.after(Span.milliseconds(back)) { [unowned self] in
        isAway[device.index] = false
        start(device)
      }
    }
    timeline.after(Span.seconds(5)) { [unowned self] in
      isRelayAway = true
      for listener in listeners { listener.stop() }
      relay.crash(isMachineGone: false)
    }
    timeline.after(Span.milliseconds(days * 86_400_000)) { [unowned self] in
      isRelayAway = false
      relay.start()
      for listener in listeners { listener.start() }
    }
  }

  private func setPlan(_ plan: Plan, ofDevice device: Int) {
    relay.administer(.setPlan(devices[device].credentials.account, plan))
  }

  /// Renews the plan and syncs all devices of the account, as a user who pays would.
  private func renewPlan(ofDevice device: Int) {
    setPlan(.everything, ofDevice: device)
    let account = devices[device].credentials.account
    environment.timeline.after(Span.seconds(2)) { [unowned self] in
      for device in devices where device.credentials.account == account {
        device.press(.syncNow)
      }
    }
  }

  private func crash(_ device: DeviceMachine, after actions: Int, _ milliseconds: Int64) {
    device.crash(afterActions: actions, isMachineGone: actions % 3 == 0)
    // A process that performs too few actions dies after 1 s.
    environment.timeline.after(Span.seconds(1)) { [unowned self] in
      device.crashNow(isMachineGone: false)
      if breakage == .losesOutbox { loseOutbox(of: device) }
      environment.timeline.after(Span.milliseconds(milliseconds)) { [unowned self] in
        start(device)
      }
    }
  }

  private func loseOutbox(of device: DeviceMachine) {
    do {
      try device.store.loseOutbox()
    } catch {
      environment.fault("the outbox of \(device.name) cannot even be lost: \(error)")
    }
  }

  /// Orders the device to sync exactly the zones that its user wants.
  func applyZones(of device: DeviceMachine) {
    guard profile.kinds.contains(.switchZone) else { return }
    for zone in [NotesApp.zone, TimerApp.zone] where profile.notes > 0 || zone == TimerApp.zone {
      let isOn = !zonesOff[device.index].contains(zone)
      device.order(.setSyncing(device.nextOrderID(), zone: zone, isOn))
    }
  }

  private func switchOn(_ device: Int) {
    guard switchedOff[device] else { return }
    switchedOff[device] = false
    devices[device].order(.goOnline)
  }

  /// Ends all faults and starts all machines.
  func heal() {
    isRelayAway = false
    for cell in cells {
      cell.store.heal()
      cell.slowDown(until: 0, by: 0)
      cell.start()
    }
    for listener in listeners { listener.start() }
    pushService?.heal()
    for sleeper in sleepers { sleeper.heal() }
    if profile.kinds.contains(.forge) { replaceForgeries() }
    if profile.kinds.contains(.changePlan) {
      for account in accounts {
        devices.first { $0.credentials.account == account }.map { renewPlan(ofDevice: $0.index) }
      }
    }
    for device in devices {
      isAway[device.index] = false
      unplugged[device.index] = (0, false)
      suspended[device.index] = 0
      device.driver?.resume()
      zonesOff[device.index] = []
      switchOn(device.index)
      device.store.heal()
      applyZones(of: device)
      start(device)
    }
    if profile.rotatesKeys { finishKeys() }
  }
}
