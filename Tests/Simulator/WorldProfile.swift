import LockstepClient
import LockstepModel

/// Parameters of the simulations that seeds are played in.
package struct WorldProfile {
  package var name: String
  package var kinds: [FaultPlan.Kind] = []
  package var faults: ClosedRange<Int> = 0...0
  package var accounts: ClosedRange<Int> = 1...2
  package var devicesPerAccount: ClosedRange<Int> = 2...3
  package var actsPerAccount: ClosedRange<Int> = 8...20
  /// Minimums for each seed: edits by users, and faults that took effect.
  package var leastEdits = 0
  package var leastStrikes = 0
  /// Time in which users act and faults happen, in milliseconds.
  package var span: ClosedRange<Int64> = 10_000...30_000
  /// Time at the end in which all nodes must stay idle, in seconds.
  package var idleSeconds: Int64 = 60
  /// True if several relays share the store, each with devices of its own.
  package var hasSeveralRelays = false
  /// Stores with relays of their own, between which accounts may move: one or two.
  package var cells = 1
  /// Limits of the relay's send queue, and of the bytes in flight before a sender must wait.
  package var sendQueueBytes = Limits.sendQueueBytes
  package var windowBytes = 64 << 10
  /// Offset of the devices' wall clocks, in milliseconds.
  package var clockOffset: ClosedRange<Int64> = -2_000...2_000
  /// Apps that users use, besides notes.
  package var apps: [PlayedApp] = [.timer]
  /// True if breaks last seconds, so that all countdowns of a timer end during the simulation.
  package var hasShortBreaks = false
  /// Number of clipboard items that exist before the first device starts.
  package var clipboardItems = 0
  /// Number of notes that users write and delete; all exist before the first device starts. 0:
  /// none.
  package var notes = 0
  /// True if each account has one more device, which listens by a subscription.
  package var hasListeners = false
  /// True if each account has one more device, which sleeps until it is woken.
  package var hasSleepers = false
  /// True if devices start late, when others have written much or are writing.
  package var comesLate = false
  /// Time that the relay keeps tombstones and batch ids, in milliseconds.
  package var historyMilliseconds = Limits.historyMilliseconds

  /// True if users attach chunks of files to their notes, and read those that they find.
  package var hasChunks = false
  /// True if one device of each account does not have the key of the vault, and the others keep
  /// sealed files.
  package var hasKeylessDevice = false
  /// Zones that are sealed, with the account's keys if all can be, and else with their own.
  package var sealedZones: [Name] = []
  /// Time that the relay and the devices keep a chunk that no record names, in milliseconds.
  package var chunkLeaseMilliseconds = Limits.chunkLeaseMilliseconds

  /// True if the relay may report that a device's cursor cannot be followed, or a device may read
  /// all records again because it has new keys.
  var mayLoseCursor: Bool {
    kinds.contains { [.restoreStore, .rollBackStore, .putAway, .makeKeys].contains($0) }
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

  /// Devices are without a network, or suspended, while several countdowns end.
  package static let away = WorldProfile(
    name: "away", kinds: [.unplug, .switchOff, .suspendDevice], faults: 6...12,
    actsPerAccount: 12...30, span: 40_000...90_000, hasShortBreaks: true)

  package static let everything = WorldProfile(
    name: "everything", kinds: FaultPlan.Kind.usual, faults: 0...8,
    clockOffset: -60_000...60_000)

  /// Like `everything`, with more devices, more user actions and more time.
  package static let crowded = WorldProfile(
    name: "crowded", kinds: FaultPlan.Kind.usual, faults: 2...12, devicesPerAccount: 2...5,
    actsPerAccount: 15...40, span: 15_000...40_000, clockOffset: -60_000...60_000)
}

/// Profiles with all apps.
extension WorldProfile {
  /// All apps, on a relay that is never restored.
  package static let apps = WorldProfile(
    name: "apps", kinds: FaultPlan.Kind.usual, faults: 0...8, devicesPerAccount: 2...4,
    actsPerAccount: 60...120, span: 15_000...60_000, clockOffset: -60_000...60_000,
    apps: PlayedApp.ofProgram, clipboardItems: 97, notes: 4)
}

/// Profiles with two cells.
extension WorldProfile {
  /// Accounts move between two cells and back while they are written. Movers are killed; relays,
  /// stores and devices fail.
  package static let moved = WorldProfile(
    name: "moved",
    kinds: [
      .moveAccount, .moveAccount, .moveAccount, .moveAccount, .cut, .unplug, .switchOff,
      .suspendDevice, .stallDevice, .crashDevice, .failReplica, .crashRelay, .restartRelay,
      .stallRelay, .failStore, .slowStore,
    ], faults: 4...14, devicesPerAccount: 2...4, actsPerAccount: 20...50, span: 20_000...60_000,
    hasSeveralRelays: true, cells: 2, clockOffset: -60_000...60_000, notes: 12, hasChunks: true)
}

/// Profiles with devices that sleep.
extension WorldProfile {
  /// Devices sleep, on a relay that crashes, beside a push service that often fails.
  package static let asleep = WorldProfile(
    name: "asleep", kinds: [.crashRelay, .restartRelay, .failStore, .slowStore, .cut, .relayClock],
    faults: 1...6, span: 15_000...40_000, notes: 4, hasSleepers: true)

  /// Like `asleep`, without faults.
  package static let asleepInPeace = WorldProfile(
    name: "asleep in peace", span: 15_000...40_000, notes: 4, hasSleepers: true)
}

/// Profiles in which the relay's history is cut, restored or restricted.
extension WorldProfile {
  /// Tombstones expire soon, and devices are away for longer than that.
  package static let forgetful = WorldProfile(
    name: "forgetful", kinds: [.unplug, .switchOff, .crashDevice, .cut], faults: 4...10,
    span: 30_000...90_000, notes: 12, hasListeners: true, historyMilliseconds: 4_000)

  /// The store is restored from a backup.
  package static let restored = WorldProfile(
    name: "restored", kinds: [.restoreStore, .unplug, .cut, .crashDevice], faults: 2...6,
    span: 20_000...60_000, notes: 12, hasListeners: true)

  /// The store is rolled back together with all its files, and nothing in it shows this.
  package static let rolledBack = WorldProfile(
    name: "rolled back", kinds: [.rollBackStore, .unplug, .cut, .crashDevice, .crashRelay],
    faults: 2...6, span: 20_000...60_000, notes: 12, hasListeners: true)

  /// Plans expire and are renewed.
  package static let plans = WorldProfile(
    name: "plans", kinds: [.changePlan, .cut, .unplug, .crashRelay], faults: 3...8, notes: 12,
    hasListeners: true)

  /// A first sync takes several pages while others write.
  package static let large = WorldProfile(
    name: "large", kinds: [.cut, .unplug, .crashDevice, .crashRelay], faults: 1...4,
    devicesPerAccount: 2...3, actsPerAccount: 100...140, notes: 2_300, hasListeners: true,
    comesLate: true)

  /// All faults at once, including a restore of the relay from a backup.
  package static let whole = WorldProfile(
    name: "whole", kinds: FaultPlan.Kind.ofHonestRelays, faults: 2...12, devicesPerAccount: 2...4,
    actsPerAccount: 15...40, span: 15_000...60_000, clockOffset: -60_000...60_000, notes: 12,
    hasListeners: true, historyMilliseconds: 20_000)

  /// Like `whole`, with a first sync of several pages and more user actions.
  package static let wholeAndLarge = WorldProfile(
    name: "whole and large", kinds: FaultPlan.Kind.ofHonestRelays, faults: 4...12,
    devicesPerAccount: 2...4, actsPerAccount: 30...60, span: 15_000...60_000,
    clockOffset: -60_000...60_000, notes: 1_200, hasListeners: true, comesLate: true,
    historyMilliseconds: 20_000)

  /// All faults of a relay that is never restored.
  package static let unrestored = WorldProfile(
    name: "unrestored", kinds: FaultPlan.Kind.usual + [.changePlan], faults: 2...12,
    devicesPerAccount: 2...4, actsPerAccount: 15...40, span: 15_000...60_000,
    clockOffset: -60_000...60_000, notes: 12, hasListeners: true, historyMilliseconds: 20_000)

  /// Users switch zones off and on again.
  package static let zonesOff = WorldProfile(
    name: "zones off",
    kinds: [.switchZone, .cut, .unplug, .crashDevice, .failReplica, .crashRelay],
    faults: 4...10, notes: 12)

  /// Like `zonesOff`, with a relay that drops history and is restored from a backup.
  package static let zonesOffAndRestored = WorldProfile(
    name: "zones off and restored",
    kinds: [.switchZone, .switchZone, .restoreStore, .rollBackStore, .unplug, .crashDevice],
    faults: 3...9,
    span: 20_000...60_000, notes: 12, historyMilliseconds: 20_000)

  package static let all: [WorldProfile] = [
    trial, wideTrial, sharedTrial, quiet, partitions, away, crashes, slowReaders, clockJumps,
    everything, crowded,
    forgetful, restored, rolledBack, plans, large, whole, wholeAndLarge, unrestored, files,
    strangers, tables,
    zonesOff, zonesOffAndRestored, apps, asleep, asleepInPeace, sealed, sealedAccount,
    rotated, rotatedAndRestored, sealedAndRestored, hostile, moved,
  ]
}
