import LockstepModel

/// Environment of the nodes: time, network, log, hash of the run, and the list of faults found. All
/// nodes share one; checkers write their findings to it.
open class SimulationEnvironment {
  package let timeline = Timeline()
  package let network: VirtualNetwork
  package private(set) var trafficLog = TrafficLog()
  package private(set) var hash = RunHash()
  /// Faults that checkers found, bounded in number; the first is usually the cause.
  package private(set) var faults: [String] = []
  /// Number of actions of each node since the last query: see `BoundsChecker`.
  package private(set) var actionCounts: [Int] = []
  /// Number of deadlines reached, by node number.
  package private(set) var wakeCounts: [Int] = []

  private static let faultsMax = 20
  private var nodeCount = 0
  /// True if the log is written. It does not affect the run; without it a simulation runs much
  /// faster.
  package let logsTraffic: Bool

  package init(random: SeededRandom, logsTraffic: Bool = true) {
    self.logsTraffic = logsTraffic
    network = VirtualNetwork(timeline: timeline, random: random)
    network.environment = self
  }

  package func nextNodeNumber() -> Int {
    nodeCount += 1
    actionCounts.append(0)
    wakeCounts.append(0)
    return nodeCount - 1
  }

  package func fault(_ description: String) {
    guard faults.count < SimulationEnvironment.faultsMax, !faults.contains(description) else {
      return
    }
    faults.append(description)
    log(from: "checker", to: "", .note("FAULT " + description))
  }

  package func log(
    from: @autoclosure () -> String, to: @autoclosure () -> String,
    _ what: @autoclosure () -> TrafficLog.Entry
  ) {
    if logsTraffic { trafficLog.add(timeline.now, from: from(), to: to(), what()) }
  }

  package func countAction(of node: some AnyNode) { actionCounts[node.number] += 1 }

  package func countWake(of node: some AnyNode) { wakeCounts[node.number] += 1 }

  package func hashAction(
    _ node: some AnyNode, _ kind: UInt64, _ word: UInt64, _ bytes: [UInt8] = []
  ) {
    hash.add(UInt64(node.number) << 8 | kind)
    hash.add(timeline.now)
    hash.add(word)
    hash.add(bytes)
  }

  /// Adds the final state to the hash.
  package func updateHash(_ change: (inout RunHash) -> Void) { change(&hash) }
}

extension SeededRandom {
  /// True with probability `numerator` / `denominator`.
  package mutating func chance(_ numerator: Int, of denominator: Int) -> Bool {
    Int.random(in: 0..<denominator, using: &self) < numerator
  }

  package mutating func number(in range: ClosedRange<Int64>) -> Int64 {
    Int64.random(in: range, using: &self)
  }

  package mutating func count(in range: ClosedRange<Int>) -> Int {
    Int.random(in: range, using: &self)
  }

  /// Returns a random element. The list must not be empty.
  package mutating func one<Element>(of list: [Element]) -> Element {
    list[Int.random(in: 0..<list.count, using: &self)]
  }
}

/// Deterministic source of secrets for a simulation. For use by one thread.
package final class SeededSecrets: @unchecked Sendable {
  private var random: SeededRandom

  package init(_ random: SeededRandom) { self.random = random }

  package func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
  }
}

/// One machine's clocks: a monotonic clock with drift, and a wall clock with an offset, which jumps
/// when it is set.
package struct VirtualClock {
  /// Value of the monotonic clock at the start of the simulation, in nanoseconds.
  package var start: Int64
  /// Drift of both clocks, in parts per million; positive: too fast.
  package var driftPartsPerMillion: Int64
  /// Offset of the wall clock from the true time, in milliseconds. A jump changes it.
  package var offsetMilliseconds: Int64

  /// True time at the start of a simulation: 2026-11-21 12:00 UTC, in milliseconds since the Unix
  /// epoch.
  package static let epoch: Int64 = 1_795_262_400_000

  package init(start: Int64 = 0, driftPartsPerMillion: Int64 = 0, offsetMilliseconds: Int64 = 0) {
    self.start = start
    self.driftPartsPerMillion = driftPartsPerMillion
    self.offsetMilliseconds = offsetMilliseconds
  }

  /// `now`: nanoseconds since the simulation started.
  package func moment(at now: Int64) -> Moment {
    let passed = passed(at: now)
    return Moment(
      instant: Instant(nanoseconds: start + passed),
      wall: VirtualClock.epoch + offsetMilliseconds + passed / 1_000_000)
  }

  /// Returns the first nanosecond of the simulation at which this machine's monotonic clock shows
  /// `instant`.
  package func simulationTime(of instant: Instant) -> Int64 {
    let wanted = instant.nanoseconds - start
    guard wanted > 0 else { return 0 }
    // Computed in parts, so that no product overflows 64 bits.
    let million: Int64 = 1_000_000
    let rate = million + driftPartsPerMillion
    var time = wanted / rate * million + (wanted % rate) * million / rate
    while passed(at: time) < wanted { time += 1 }
    return time
  }

  private func passed(at now: Int64) -> Int64 {
    let million: Int64 = 1_000_000
    return now + now / million * driftPartsPerMillion + (now % million) * driftPartsPerMillion
      / million
  }
}
