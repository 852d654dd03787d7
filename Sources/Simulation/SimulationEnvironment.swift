import LockstepModel

/// Environment of the nodes: time, network, log, hash of the run, and the list of faults found. All
/// nodes share one; checkers write their findings to it.
open class SimulationEnvironment {
  package let timeline = Timeline()
  package let network: VirtualNetwork
  package private(set) var flow = FlowLog()
  package private(set) var hash = RunHash()
  /// Faults that checkers found, bounded in number; the first is usually the cause.
  package private(set) var faults: [String] = []
  /// Number of actions of each seat since the last query: see `BoundsChecker`.
  package private(set) var actionCounts: [Int] = []
  /// Number of deadlines reached, by seat number.
  package private(set) var wakeCounts: [Int] = []

  private static let faultsMax = 20
  private var seats = 0
  /// True if the log is written. It does not affect the run; without it a simulation runs much
  /// faster.
  package let keepsFlow: Bool

  package init(random: SeededRandom, keepsFlow: Bool = true) {
    self.keepsFlow = keepsFlow
    network = VirtualNetwork(timeline: timeline, random: random)
    network.outside = self
  }

  package func nextSeatNumber() -> Int {
    seats += 1
    actionCounts.append(0)
    wakeCounts.append(0)
    return seats - 1
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
    _ what: @autoclosure () -> FlowLog.What
  ) {
    if keepsFlow { flow.add(timeline.now, from: from(), to: to(), what()) }
  }

  package func countAction(of seat: some AnyNode) { actionCounts[seat.number] += 1 }

  package func countWake(of seat: some AnyNode) { wakeCounts[seat.number] += 1 }

  package func note(_ seat: some AnyNode, _ kind: UInt64, _ word: UInt64, _ bytes: [UInt8] = []) {
    hash.add(UInt64(seat.number) << 8 | kind)
    hash.add(timeline.now)
    hash.add(word)
    hash.add(bytes)
  }

  /// Adds the final state to the hash.
  package func add(_ change: (inout RunHash) -> Void) { change(&hash) }
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
