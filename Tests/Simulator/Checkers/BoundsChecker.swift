import LockstepModel
import LockstepSimulation

/// Memory is bounded, and nobody is busy while there is nothing to do.
package struct BoundsChecker {
  /// Actions of one node a second in a world at rest: pings and polls, and some air.
  private static let idleActionsPerSecond = 20

  /// Deadlines that one node keeps a minute in a world at rest: a machine that wakes is a machine
  /// that uses power.
  private static let idleWakesPerMinute = 40

  /// Actions of one node a second, and for each edit that anybody made in it, and for how many
  /// seconds in a row it may do more: whoever does asks for the same again and again.
  private static let busyActionsPerSecond = 60
  private static let busyActionsPerEdit = 15
  private static let busySecondsMax = 5

  private let outside: WorldOutside
  /// Of each node: its actions when it was last looked at, and for how long it was busy by then.
  private var busy: [(actions: Int, seconds: Int)] = []
  private var edits = 0
  private var counts: [Int] = []
  private var wakes: [Int] = []
  /// Of each device, by its number.
  private var asked: [Int] = []
  private var since: Int64 = 0

  /// A relay that shares its store looks into it as often as it promises.
  private let looksPerMinute: Int

  package init(outside: WorldOutside, sharesStore: Bool = false) {
    self.outside = outside
    looksPerMinute = sharesStore ? Int(60_000 / Limits.movementMilliseconds) : 0
  }

  /// Asked once a second of the world's time.
  package mutating func checkBusyness() {
    let made = outside.tally[.edit] - edits
    edits += made
    let allowed =
      BoundsChecker.busyActionsPerSecond + made * BoundsChecker.busyActionsPerEdit
    for (number, actions) in outside.actionCounts.enumerated() {
      if number == busy.count { busy.append((0, 0)) }
      let isBusy = actions - busy[number].actions > allowed
      busy[number] = (actions, isBusy ? busy[number].seconds + 1 : 0)
      if busy[number].seconds > BoundsChecker.busySecondsMax {
        outside.fault("node \(number) does more than it should for \(busy[number].seconds) s")
      }
    }
  }

  package mutating func beginIdling(_ devices: [DeviceMachine]) {
    counts = outside.actionCounts
    wakes = outside.wakeCounts
    asked = devices.map(\.asked)
    since = outside.timeline.now
  }

  package func endIdling(_ devices: [DeviceMachine]) {
    let milliseconds = (outside.timeline.now - since) / 1_000_000
    // What is asked by the hour comes in gusts.
    for (device, before) in zip(devices, asked) where milliseconds >= 600_000 {
      let asked = device.asked - before
      let polls = device.status?.transport == .poll
      if asked > RequestBudget.mostInRest(milliseconds: milliseconds, polls: polls) {
        outside.fault("\(device.name) asked \(asked) times in \(milliseconds / 1_000) idle seconds")
      }
    }
    let seconds = max(1, Int((outside.timeline.now - since) / 1_000_000_000))
    for number in counts.indices {
      let actions = outside.actionCounts[number] - counts[number]
      if actions > BoundsChecker.idleActionsPerSecond * seconds {
        outside.fault("node \(number) did \(actions) actions in \(seconds) idle seconds")
      }
      let woken = outside.wakeCounts[number] - wakes[number]
      let allowed = BoundsChecker.idleWakesPerMinute + looksPerMinute
      if woken > allowed * (seconds + 59) / 60 {
        outside.fault("node \(number) woke \(woken) times in \(seconds) idle seconds")
      }
    }
  }

  /// `saves`: of the device's account.
  package func checkBudget(of device: DeviceMachine, saves: Int, strikes: Int) {
    let budget = RequestBudget(
      milliseconds: device.runTime / 1_000_000, saves: saves, strikes: strikes)
    if device.asked > budget.most {
      outside.fault(
        "\(device.name) asked \(device.asked) times and not \(budget.most) at most: \(budget)")
    }
  }

  /// `sendQueueBytes`: what the relay was told to hold at most for one connection. One message may
  /// be under way beyond it.
  package func checkQueues(sendQueueBytes: Int, storeRequestsWaiting: Int, nodes: Int) {
    let allowed = sendQueueBytes + Limits.messageBytes + (64 << 10)
    if outside.network.waitingBytesMax > allowed {
      outside.fault("\(outside.network.waitingBytesMax) bytes waited for one connection")
    }
    if storeRequestsWaiting > Limits.storeRequests * nodes {
      outside.fault("\(storeRequestsWaiting) store requests waited at once")
    }
  }
}
