import Changes
import Devices

/// What kind of world a seed is played in.
package struct WorldProfile {
  package var name: String
  package var kinds: [FaultPlan.Kind] = []
  package var faults: ClosedRange<Int> = 0...0
  package var accounts: ClosedRange<Int> = 1...2
  package var devicesPerAccount: ClosedRange<Int> = 2...3
  package var actsPerAccount: ClosedRange<Int> = 8...20
  /// How long people act and things go wrong, in milliseconds.
  package var span: ClosedRange<Int64> = 10_000...30_000
  /// The relay's `sendQueueBytes`, and what the network takes before a sender must wait.
  package var sendQueueBytes = Limits.sendQueueBytes
  package var windowBytes = 64 << 10
  /// How far devices' wall clocks are off, in milliseconds.
  package var clockOffset: ClosedRange<Int64> = -2_000...2_000

  package static let quiet = WorldProfile(name: "quiet")

  package static let partitions = WorldProfile(
    name: "partitions", kinds: [.cut, .unplug, .switchOff], faults: 3...8)

  package static let crashes = WorldProfile(
    name: "crashes", kinds: [.crashRelay, .restartRelay, .crashDevice, .failStore, .failReplica],
    faults: 3...8)

  package static let slowReaders = WorldProfile(
    name: "slow readers", kinds: [.stallDevice, .stallRelay, .cut], faults: 4...8,
    sendQueueBytes: 2 << 10, windowBytes: 512)

  package static let clockJumps = WorldProfile(
    name: "clock jumps", kinds: [.deviceClock, .relayClock, .unplug], faults: 3...8,
    clockOffset: -86_400_000...86_400_000)

  package static let everything = WorldProfile(
    name: "everything", kinds: FaultPlan.Kind.allCases, faults: 0...8,
    clockOffset: -60_000...60_000)

  /// The same with more devices, more people and more time.
  package static let crowded = WorldProfile(
    name: "crowded", kinds: FaultPlan.Kind.allCases, faults: 2...12, devicesPerAccount: 2...5,
    actsPerAccount: 15...40, span: 15_000...40_000, clockOffset: -60_000...60_000)
}

/// A world that is broken on purpose, to prove that the checkers see it.
package enum Breakage: CaseIterable {
  /// The relay answers before its commits are durable, and loses them when it crashes.
  case answersBeforeCommit
  /// A device forgets what it has not sent when its process dies.
  case losesOutbox
  /// The timer's rule takes what the relay has, whatever it is.
  case takesRemote
}
