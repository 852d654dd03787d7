import LockstepClient
import LockstepModel
import LockstepSealing
import LockstepSimulation
import LockstepStorage

/// Checks that a device that reports "in sync" has nothing left to send, has received data from the
/// relay lately, and has read all that was saved before that.
package struct StatusChecker {
  /// Longest time without a message from the relay. The worst case: a poll's pause of 30 s, then a
  /// long-poll that replaces it and is held for 50 s, and up to 15 s for its answer.
  private static let silenceMax = Span.seconds(96)

  private let environment: SimulationEnvironment
  /// Virtual time at which each device, by its index, last received bytes from the relay.
  private var lastHeard: [Int64]

  package init(environment: SimulationEnvironment, devices: Int) {
    self.environment = environment
    lastHeard = Array(repeating: 0, count: devices)
  }

  package mutating func heard(_ device: Int) { lastHeard[device] = environment.timeline.now }

  /// Checks the status. Called each time a device has performed all its actions.
  package func check(_ device: DeviceMachine, isSwitchedOff: Bool) {
    guard device.isAtRest, let status = device.status, status.state == .inSync else { return }
    if isSwitchedOff { environment.fault("\(device.name) says in sync while it is switched off") }
    do throws(StorageError) {
      for entry in try device.store.outbox() {
        switch entry.state {
        case .waiting where status.switchedOff.contains { $0.zone == entry.key.zone }: break
        case .waiting, .sent:
          environment.fault("\(device.name) says in sync while \(entry.key.name) waits to be sent")
        case .parked, .asking:
          environment.fault(
            "\(device.name) says in sync while \(entry.key.name) waits for a person")
        }
      }
    } catch {
      environment.fault("\(device.name): the outbox cannot be read: \(error)")
    }
  }

  /// Checks the time since the last bytes from the relay. Called regularly.
  package func checkSilence(_ device: DeviceMachine, _ ledger: CommitLedger) {
    // A status from before a suspension is out of date.
    guard device.isRunning, device.driver?.isSuspended == false, device.status?.state == .inSync
    else { return }
    let silence = environment.timeline.now - lastHeard[device.index]
    if silence > StatusChecker.silenceMax {
      environment.fault(
        "\(device.name) says in sync and has heard nothing for \(silence / 1_000_000_000) s")
    }
    checkLag(device, ledger)
    checkReadability(device, ledger)
  }

  /// Reports a violation if the device has been told of records that it cannot read.
  private func checkReadability(_ device: DeviceMachine, _ ledger: CommitLedger) {
    // What a restored relay has, a device may not have read yet.
    guard device.isAtRest, ledger.restores == 0 else { return }
    do throws(StorageError) {
      let read = try device.store.cursor()?.sequence ?? 0
      for record in ledger.unreadable(device.credentials.account) where record.tag <= read {
        environment.fault(
          "\(device.name) says in sync and cannot read the record of tag \(record.tag)")
      }
      try checkKeys(of: device, through: read, ledger)
    } catch {
      environment.fault("\(device.name): the cursor cannot be read: \(error)")
    }
  }

  /// Reports a violation if the device has been told of a record, and lacks its key.
  private func checkKeys(
    of device: DeviceMachine, through read: ChangeTag, _ ledger: CommitLedger
  ) throws(StorageError) {
    guard let keys = try Replica.keys(in: device.store), keys.current != nil else { return }
    for record in ledger.stored(device.credentials.account) where record.tag <= read {
      guard let id = ZoneSeal.keyID(of: record), !keys.hasGeneration(id) else { continue }
      environment.fault("\(device.name) says in sync and has no key \(id) of tag \(record.tag)")
    }
  }

  /// Reports a violation if the device has not read what was saved before the longest silence.
  private func checkLag(_ device: DeviceMachine, _ ledger: CommitLedger) {
    let saved = ledger.sequence(device.credentials.account, before: StatusChecker.silenceMax)
    do throws(StorageError) {
      let read = try device.store.cursor()?.sequence ?? 0
      if read < saved {
        environment.fault(
          "\(device.name) says in sync at \(read), and \(saved) was saved long ago")
      }
    } catch {
      environment.fault("\(device.name): the cursor cannot be read: \(error)")
    }
  }
}
