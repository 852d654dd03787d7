import LockstepModel
import LockstepRuntime
import LockstepSimulation
import LockstepStorage
import LockstepWire

/// A device that sleeps until it is woken, reads what it missed, and sleeps again. It checks that
/// no change leaves it asleep for longer than the bound, and that it is woken no more often than
/// the rule allows.
package final class SleeperMachine {
  package let name: String
  package let account: AccountID
  package let device: DeviceID
  private let environment: WorldEnvironment
  private let ledger: CommitLedger
  private let credentials: Credentials
  private let clock: VirtualClock
  private var random: SeededRandom
  private var driver: NodeDriver<SleeperNode>?
  /// Kept on the device's disk.
  private var cursor: ChangeToken?
  private var connections: UInt64 = 1 << 40
  private var isWell = false
  /// Accepted wakes since the device's last contact, and the virtual time of the last one. Faults
  /// between them, refused pushes and failed commits are counted, because each may hide a contact
  /// or a result from the relay.
  private var unanswered: (count: Int, at: Int64, faults: Int)?

  package init(
    number: Int, credentials: Credentials, environment: WorldEnvironment, ledger: CommitLedger,
    clock: VirtualClock, random: SeededRandom
  ) {
    name = "sleeper\(number)"
    account = credentials.account
    device = credentials.device
    self.environment = environment
    self.ledger = ledger
    self.credentials = credentials
    self.clock = clock
    self.random = random
  }

  /// Newest tag of the account when the device registered.
  private var registeredTag: ChangeTag = 0

  package func heal() { isWell = true }

  func recordRegistration() {
    registeredTag = ledger.newest(account).map(\.tag).max() ?? 0
  }

  /// Records that the push service accepts a wake, and answers after `milliseconds`. `faults`:
  /// number of faults before the relay can have sent it.
  func recordAccepted(answeredAfter milliseconds: Int64, faults: Int) {
    environment.tally.note(.wakeAccepted)
    let now = environment.timeline.now
    let refused = environment.tally[.wakeRefused] + environment.tally[.commitFailed]
    if let unanswered, unanswered.faults == environment.tally.faultCount + refused,
      now - unanswered.at < Span.milliseconds(Limits.wakeRepeats.lowerBound - 1_000)
    {
      environment.fault(
        "\(name) is woken again after \((now - unanswered.at) / 1_000_000) ms, and has not answered"
      )
    }
    unanswered = (
      (unanswered?.count ?? 0) + 1, now + Span.milliseconds(milliseconds), faults + refused
    )
  }

  /// Wakes the device: it reads what it missed. Sometimes it dies before it has all.
  func wake(_ token: ChangeToken) {
    environment.tally.note(.wakeDelivered)
    guard driver == nil else { return }
    connections += 1
    let driver = NodeDriver(
      name: name, environment: environment, clock: { [clock] in clock },
      node: SleeperNode(
        token: credentials.token, cursor: cursor, connection: connections,
        at: clock.moment(at: environment.timeline.now)))
    driver.onReport = { [unowned self] report in handle(report) }
    // Any request answers the wake, whether its own answer arrives or not.
    driver.onSend = { [unowned self] _ in unanswered = nil }
    if !isWell, random.chance(1, of: 6) {
      driver.kill(afterActions: random.count(in: 1...4)) { [unowned self, unowned driver] in
        environment.tally.note(.sleeperDied)
        remove(driver, isMachineGone: random.chance(1, of: 2))
      }
    }
    self.driver = driver
    driver.begin()
  }

  /// Ends the device's connection. A wake that was accepted while the device was awake is answered
  /// by that: the relay knows that the device had a connection since.
  private func remove(_ ended: NodeDriver<SleeperNode>, isMachineGone: Bool) {
    environment.network.removeNode(ended, isMachineGone: isMachineGone)
    driver = nil
    unanswered = nil
  }

  private func handle(_ report: SleeperNode.Report) {
    switch report {
    case .moved(let page):
      cursor = page.token
    case .reset: cursor = nil
    case .done, .failed:
      // The process ends after the actions that follow the report.
      let ended = driver
      environment.timeline.after(0) { [unowned self] in
        guard driver === ended, let ended else { return }
        ended.kill()
        remove(ended, isMachineGone: false)
      }
    case .invalid(let reason):
      environment.fault("\(name) cannot understand the relay: \(reason)")
    }
  }

  /// Description of what is missing; nil if the device has all that others saved.
  package var difference: String? {
    let last = ledger.newest(account).filter { $0.device != device }.map(\.tag).max() ?? 0
    return last <= registeredTag || (cursor?.sequence ?? 0) >= last
      ? nil : "\(name) stands at \(cursor?.text ?? "nothing"), and others have saved \(last)"
  }
}
