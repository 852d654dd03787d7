import LockstepModel
import LockstepSimulation

/// Checks that memory is bounded, and that nodes without work are idle.
package struct BoundsChecker {
  /// Actions per second of one idle node: pings and polls, with a margin.
  private static let idleActionsPerSecond = 20

  /// Deadlines per minute of one idle node: a machine that wakes uses power.
  private static let idleWakesPerMinute = 40

  /// Actions of one node per second, for each edit that a user made meanwhile, and for each device
  /// that was started, and the number of seconds in a row that may exceed all: a node that does so
  /// for longer repeats its requests.
  private static let busyActionsPerSecond = 60
  private static let busyActionsPerEdit = 15
  private static let busyActionsPerStart = 20
  private static let busySecondsMax = 5

  private let environment: WorldEnvironment
  /// Per node: its actions at the last check, and the number of busy seconds in a row by then.
  private var busy: [(actions: Int, seconds: Int)] = []
  private var edits = 0
  private var starts = 0
  private var counts: [Int] = []
  private var wakes: [Int] = []
  /// Requests of each device, by its index.
  private var asked: [Int] = []
  private var since: Int64 = 0

  /// Store checks per minute that a relay promises if it shares its store; else 0.
  private let checksPerMinute: Int

  package init(environment: WorldEnvironment, sharesStore: Bool = false) {
    self.environment = environment
    checksPerMinute = sharesStore ? Int(60_000 / Limits.versionCheckMilliseconds) : 0
  }

  /// Checks for busy nodes. Called once per virtual second.
  package mutating func checkBusyness() {
    let made = environment.tally[.edit] - edits
    edits += made
    let started = environment.tally[.deviceStarted] - starts
    starts += started
    let allowed =
      BoundsChecker.busyActionsPerSecond + made * BoundsChecker.busyActionsPerEdit
      + started * BoundsChecker.busyActionsPerStart
    for (number, actions) in environment.actionCounts.enumerated() {
      if number == busy.count { busy.append((0, 0)) }
      let isBusy = actions - busy[number].actions > allowed
      busy[number] = (actions, isBusy ? busy[number].seconds + 1 : 0)
      if busy[number].seconds > BoundsChecker.busySecondsMax {
        environment.fault("node \(number) does more than it should for \(busy[number].seconds) s")
      }
    }
  }

  package mutating func beginIdling(_ devices: [DeviceMachine]) {
    counts = environment.actionCounts
    wakes = environment.wakeCounts
    asked = devices.map(\.requests)
    since = environment.timeline.now
  }

  package func endIdling(_ devices: [DeviceMachine]) {
    let milliseconds = (environment.timeline.now - since) / 1_000_000
    // Requests that are due by the hour come in bursts: only ten minutes or more show the rate.
    for (device, before) in zip(devices, asked) where milliseconds >= 600_000 {
      let asked = device.requests - before
      let polls = device.status?.transport == .poll
      if asked > RequestBudget.mostInRest(milliseconds: milliseconds, polls: polls) {
        environment.fault(
          "\(device.name) asked \(asked) times in \(milliseconds / 1_000) idle seconds")
      }
    }
    let seconds = max(1, Int((environment.timeline.now - since) / 1_000_000_000))
    for number in counts.indices {
      let actions = environment.actionCounts[number] - counts[number]
      if actions > BoundsChecker.idleActionsPerSecond * seconds {
        environment.fault("node \(number) did \(actions) actions in \(seconds) idle seconds")
      }
      let woken = environment.wakeCounts[number] - wakes[number]
      let allowed = BoundsChecker.idleWakesPerMinute + checksPerMinute
      if woken > allowed * (seconds + 59) / 60 {
        environment.fault("node \(number) woke \(woken) times in \(seconds) idle seconds")
      }
    }
  }

  /// Checks the number of a device's requests. `saves`: of the device's account.
  package func checkBudget(of device: DeviceMachine, saves: Int, strikes: Int) {
    let budget = RequestBudget(
      milliseconds: device.runTime / 1_000_000, saves: saves, strikes: strikes)
    if device.requests > budget.most {
      environment.fault(
        "\(device.name) asked \(device.requests) times and not \(budget.most) at most: \(budget)")
    }
  }

  /// Checks the lengths of queues. `sendQueueBytes`: the relay's limit for one connection; one
  /// message may be queued beyond it.
  package func checkQueues(sendQueueBytes: Int, storeRequestsWaiting: Int, nodes: Int) {
    let allowed = sendQueueBytes + Limits.messageBytes + (64 << 10)
    if environment.network.waitingBytesMax > allowed {
      environment.fault("\(environment.network.waitingBytesMax) bytes waited for one connection")
    }
    if storeRequestsWaiting > Limits.storeRequests * nodes {
      environment.fault("\(storeRequestsWaiting) store requests waited at once")
    }
  }
}
