import LockstepClient
import LockstepModel

/// What kind of world a seed is played in.
package struct WorldProfile {
  package var name: String
  package var kinds: [FaultPlan.Kind] = []
  package var faults: ClosedRange<Int> = 0...0
  package var accounts: ClosedRange<Int> = 1...2
  package var devicesPerAccount: ClosedRange<Int> = 2...3
  package var actsPerAccount: ClosedRange<Int> = 8...20
  /// Edits that people must have made in each seed, and faults that must have struck somebody.
  package var leastEdits = 0
  package var leastStrikes = 0
  /// How long people act and things go wrong, in milliseconds.
  package var span: ClosedRange<Int64> = 10_000...30_000
  /// How long everybody is watched at rest, in seconds.
  package var idleSeconds: Int64 = 60
  /// Whether several relays share the store, each with devices of its own.
  package var areNeighbours = false
  /// The relay's `sendQueueBytes`, and what the network takes before a sender must wait.
  package var sendQueueBytes = Limits.sendQueueBytes
  package var windowBytes = 64 << 10
  /// How far devices' wall clocks are off, in milliseconds.
  package var clockOffset: ClosedRange<Int64> = -2_000...2_000
  /// What persons use, besides notes.
  package var apps: [PlayedApp] = [.timer]
  /// Whether breaks last seconds, so that all of a timer's countdowns end while the world lasts.
  package var hasShortBreaks = false
  /// Items that stand in the clipboard before anybody comes.
  package var clipboardItems = 0
  /// Notes that persons write on and delete; they all stand before anybody comes. 0: none.
  package var notes = 0
  /// Whether each account has a device more, which listens by a subscription.
  package var hasListeners = false
  /// Whether devices come when much has been done already, or is being done.
  package var comesLate = false
  /// How long the relay keeps tombstones and batch ids, in milliseconds.
  package var historyMilliseconds = Limits.historyMilliseconds

  /// Whether persons attach chunks of files to their notes, and read those that they find.
  package var hasChunks = false
  /// Whether one device of each account does not have the key of the vault, and the others keep
  /// sealed files.
  package var hasStranger = false
  /// How long the relay keeps a chunk that no record names, and a home likewise, in milliseconds.
  package var chunkLeaseMilliseconds = Limits.chunkLeaseMilliseconds

  /// Whether the relay may say that a device's cursor cannot be followed.
  var mayLoseCursor: Bool {
    kinds.contains { [.restoreStore, .rollBackStore, .putAway].contains($0) }
      || historyMilliseconds < Limits.historyMilliseconds
  }

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

  /// Devices are without a network, or suspended, over the end of several countdowns.
  package static let away = WorldProfile(
    name: "away", kinds: [.unplug, .switchOff, .suspendDevice], faults: 6...12,
    actsPerAccount: 12...30, span: 40_000...90_000, hasShortBreaks: true)

  package static let everything = WorldProfile(
    name: "everything", kinds: FaultPlan.Kind.usual, faults: 0...8,
    clockOffset: -60_000...60_000)

  /// The same with more devices, more people and more time.
  package static let crowded = WorldProfile(
    name: "crowded", kinds: FaultPlan.Kind.usual, faults: 2...12, devicesPerAccount: 2...5,
    actsPerAccount: 15...40, span: 15_000...40_000, clockOffset: -60_000...60_000)
}

/// Worlds of people who use all apps.
extension WorldProfile {
  /// … on a relay that is never put back.
  package static let apps = WorldProfile(
    name: "apps", kinds: FaultPlan.Kind.usual, faults: 0...8, devicesPerAccount: 2...4,
    actsPerAccount: 60...120, span: 15_000...60_000, clockOffset: -60_000...60_000,
    apps: PlayedApp.allCases, clipboardItems: 97, notes: 4)
}

/// Worlds whose history ends somewhere.
extension WorldProfile {
  /// Tombstones are gone soon, and devices are away for longer than that.
  package static let forgetful = WorldProfile(
    name: "forgetful", kinds: [.unplug, .switchOff, .crashDevice, .cut], faults: 4...10,
    span: 30_000...90_000, notes: 12, hasListeners: true, historyMilliseconds: 4_000)

  /// The store is put back from a backup.
  package static let restored = WorldProfile(
    name: "restored", kinds: [.restoreStore, .unplug, .cut, .crashDevice], faults: 2...6,
    span: 20_000...60_000, notes: 12, hasListeners: true)

  /// All that the store is kept in goes back, and nothing tells.
  package static let rolledBack = WorldProfile(
    name: "rolled back", kinds: [.rollBackStore, .unplug, .cut, .crashDevice, .crashRelay],
    faults: 2...6, span: 20_000...60_000, notes: 12, hasListeners: true)

  /// Plans run out and are renewed.
  package static let plans = WorldProfile(
    name: "plans", kinds: [.changePlan, .cut, .unplug, .crashRelay], faults: 3...8, notes: 12,
    hasListeners: true)

  /// A first sync takes several pages while others write.
  package static let large = WorldProfile(
    name: "large", kinds: [.cut, .unplug, .crashDevice, .crashRelay], faults: 1...4,
    devicesPerAccount: 2...3, actsPerAccount: 100...140, notes: 2_300, hasListeners: true,
    comesLate: true)

  /// All of it at once, to a relay that is put back from a backup as well.
  package static let whole = WorldProfile(
    name: "whole", kinds: FaultPlan.Kind.allCases, faults: 2...12, devicesPerAccount: 2...4,
    actsPerAccount: 15...40, span: 15_000...60_000, clockOffset: -60_000...60_000, notes: 12,
    hasListeners: true, historyMilliseconds: 20_000)

  /// The same with a first sync of several pages, and more people.
  package static let wholeAndLarge = WorldProfile(
    name: "whole and large", kinds: FaultPlan.Kind.allCases, faults: 4...12,
    devicesPerAccount: 2...4, actsPerAccount: 30...60, span: 15_000...60_000,
    clockOffset: -60_000...60_000, notes: 1_200, hasListeners: true, comesLate: true,
    historyMilliseconds: 20_000)

  /// All that can happen to a relay that is never put back.
  package static let unrestored = WorldProfile(
    name: "unrestored", kinds: FaultPlan.Kind.usual + [.changePlan], faults: 2...12,
    devicesPerAccount: 2...4, actsPerAccount: 15...40, span: 15_000...60_000,
    clockOffset: -60_000...60_000, notes: 12, hasListeners: true, historyMilliseconds: 20_000)

  /// People switch zones off and on again.
  package static let zonesOff = WorldProfile(
    name: "zones off",
    kinds: [.switchZone, .cut, .unplug, .crashDevice, .failReplica, .crashRelay],
    faults: 4...10, notes: 12)

  /// … of a relay that forgets, and is put back from a backup.
  package static let zonesOffAndRestored = WorldProfile(
    name: "zones off and restored",
    kinds: [.switchZone, .switchZone, .restoreStore, .rollBackStore, .unplug, .crashDevice],
    faults: 3...9,
    span: 20_000...60_000, notes: 12, historyMilliseconds: 20_000)

  package static let all: [WorldProfile] = [
    trial, wideTrial, sharedTrial, quiet, partitions, away, crashes, slowReaders, clockJumps,
    everything, crowded,
    forgetful, restored, rolledBack, plans, large, whole, wholeAndLarge, unrestored, files,
    strangers,
    zonesOff, zonesOffAndRestored, apps,
  ]
}
