import Apps
import Changes
import Devices
import Simulation
import Storage

// What goes wrong, and how it is mended.
extension World {
  /// `number`: of the fault in the plan.
  func strike(_ fault: FaultPlan.Fault, _ number: Int) {
    let timeline = outside.timeline
    switch fault {
    case .cut(let device):
      if let seat = devices[device].seat { outside.network.cutAll(of: seat) }
    case .unplug(let device, let milliseconds, let isSilent):
      unplugged[device] = (timeline.now + Span.milliseconds(milliseconds), isSilent)
      if let seat = devices[device].seat {
        outside.network.cutAll(of: seat, isSilent ? .nobodyTold : .bothTold)
      }
    case .switchOff(let device, let milliseconds):
      switchedOff[device] = true
      devices[device].order(.goOffline)
      timeline.after(Span.milliseconds(milliseconds)) { [unowned self] in switchOn(device) }
    case .stallDevice(let device, let milliseconds):
      if let seat = devices[device].seat {
        outside.network.stallAll(of: seat, nanoseconds: Span.milliseconds(milliseconds))
      }
    case .stallRelay(let milliseconds): relay.stall(nanoseconds: Span.milliseconds(milliseconds))
    case .crashRelay(let milliseconds, let isMachineGone):
      relay.crash(isMachineGone: isMachineGone)
      ledger.audit(relay.store)
      timeline.after(Span.milliseconds(milliseconds)) { [unowned self] in relay.start() }
    case .restartRelay(let milliseconds):
      relay.stop()
      timeline.after(Span.milliseconds(milliseconds) + Span.seconds(12)) { [unowned self] in
        relay.start()
      }
    case .crashDevice(let device, let milliseconds, let actions):
      crash(devices[device], after: actions, milliseconds)
    case .deviceClock(let device, let jump): devices[device].clock.offsetMilliseconds += jump
    case .relayClock(let jump): relay.clock.offsetMilliseconds += jump
    case .failStore(let calls): relay.store.fail(calls: calls)
    case .failReplica(let device, let write, _): devices[device].store.fail(atWrite: write)
    case .restoreStore(_, let milliseconds):
      guard let backup = backups[number] else { return }
      relay.crash(isMachineGone: false)
      relay.store.restore(backup, opening: opening())
      timeline.after(Span.milliseconds(milliseconds)) { [unowned self] in relay.start() }
    case .switchZone(let device, let zone, let milliseconds):
      zonesOff[device].append(zone)
      settleZones(of: devices[device])
      timeline.after(Span.milliseconds(milliseconds)) { [unowned self] in
        zonesOff[device].removeAll { $0 == zone }
        settleZones(of: devices[device])
      }
    case .changePlan(let device, let zones, let milliseconds):
      setPlan(Plan(zones: zones), ofDevice: device)
      timeline.after(Span.milliseconds(milliseconds)) { [unowned self] in
        renewPlan(ofDevice: device)
      }
    }
  }

  /// The relay's program draws it when it starts.
  private func opening() -> UInt64 {
    OpeningNumber.draw(
      wall: relay.clock.moment(at: outside.timeline.now).wall,
      random: UInt64(outside.timeline.now))
  }

  private func setPlan(_ plan: Plan, ofDevice device: Int) {
    relay.administer(.setPlan(devices[device].credentials.account, plan))
  }

  /// Somebody pays, and looks at all the devices.
  private func renewPlan(ofDevice device: Int) {
    setPlan(.everything, ofDevice: device)
    let account = devices[device].credentials.account
    outside.timeline.after(Span.seconds(2)) { [unowned self] in
      for device in devices where device.credentials.account == account {
        device.press(.syncNow)
      }
    }
  }

  private func crash(_ device: DeviceMachine, after actions: Int, _ milliseconds: Int64) {
    device.crash(afterActions: actions, isMachineGone: actions % 3 == 0)
    // Whoever does nothing dies at last.
    outside.timeline.after(Span.seconds(1)) { [unowned self] in
      device.crashNow(isMachineGone: false)
      if breakage == .losesOutbox { loseOutbox(of: device) }
      outside.timeline.after(Span.milliseconds(milliseconds)) { [unowned self] in start(device) }
    }
  }

  private func loseOutbox(of device: DeviceMachine) {
    do {
      try device.store.loseOutbox()
    } catch {
      outside.fault("the outbox of \(device.name) cannot even be lost: \(error)")
    }
  }

  /// The person looks which zones are off, and switches what should not be.
  func settleZones(of device: DeviceMachine) {
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

  /// From here on nothing goes wrong any more, and everyone runs.
  func heal() {
    relay.store.heal()
    relay.start()
    if profile.kinds.contains(.changePlan) {
      for person in people { person.acts.first.map { renewPlan(ofDevice: $0.device) } }
    }
    for device in devices {
      unplugged[device.index] = (0, false)
      zonesOff[device.index] = []
      switchOn(device.index)
      device.store.heal()
      settleZones(of: device)
      start(device)
    }
  }
}
