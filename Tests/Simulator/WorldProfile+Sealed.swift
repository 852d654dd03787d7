import LockstepApps
import LockstepModel

/// Profiles in which the zone of the notes is sealed, or all zones are.
extension WorldProfile {
  /// Zones of all apps whose records can be sealed: the vault seals its files itself.
  static let sealableZones = [
    NotesApp.zone, TimerApp.zone, HabitsApp.zone, MemosApp.zone, ClipboardApp.zone,
  ]

  /// True if the devices have the keys of the whole account.
  var sealsAccount: Bool { sealedZones.count == WorldProfile.sealableZones.count }

  /// True if devices have keys of their own, and give each other new ones of the account.
  var rotatesKeys: Bool { kinds.contains(.makeKeys) }

  /// A relay that keeps its promises.
  package static let sealed = WorldProfile(
    name: "sealed", kinds: FaultPlan.Kind.usual, faults: 2...10, devicesPerAccount: 2...4,
    actsPerAccount: 20...40, span: 15_000...40_000, clockOffset: -60_000...60_000, notes: 6,
    sealedZones: [NotesApp.zone])

  /// An account whose zones are all sealed.
  package static let sealedAccount = WorldProfile(
    name: "sealed account", kinds: FaultPlan.Kind.usual, faults: 2...10, devicesPerAccount: 2...4,
    actsPerAccount: 20...40, span: 15_000...40_000, clockOffset: -60_000...60_000,
    clipboardItems: 4, notes: 6, sealedZones: sealableZones)

  /// Devices of a sealed account give each other new keys, and some are removed by that.
  package static let rotated = WorldProfile(
    name: "rotated",
    kinds: [
      .makeKeys, .makeKeys, .makeKeys, .cut, .unplug, .switchOff, .suspendDevice, .crashDevice,
      .crashRelay, .restartRelay, .failReplica, .failStore, .slowStore,
    ], faults: 5...14, devicesPerAccount: 2...4, actsPerAccount: 20...40, span: 15_000...40_000,
    clockOffset: -60_000...60_000, clipboardItems: 4, notes: 6, sealedZones: sealableZones)

  /// Like `rotated`, on a relay that is restored from backups, also while records are sealed again.
  package static let rotatedAndRestored = WorldProfile(
    name: "rotated and restored",
    kinds: rotated.kinds + [.restoreStore, .restoreStore, .restoreStore], faults: 5...14,
    devicesPerAccount: 2...4, actsPerAccount: 20...40, span: 20_000...60_000,
    clockOffset: -60_000...60_000, clipboardItems: 4, notes: 6, sealedZones: sealableZones)

  /// Like `sealed`, on a relay that is restored from backups.
  package static let sealedAndRestored = WorldProfile(
    name: "sealed and restored",
    kinds: FaultPlan.Kind.usual + [.restoreStore, .restoreStore, .restoreStore], faults: 3...10,
    devicesPerAccount: 2...4, actsPerAccount: 20...40, span: 20_000...60_000,
    clockOffset: -60_000...60_000, notes: 6, sealedZones: [NotesApp.zone])

  /// The relay writes what it likes into the sealed zone, without its key.
  package static let hostile = WorldProfile(
    name: "hostile",
    kinds: [
      .forge, .forge, .forge, .forge, .cut, .unplug, .switchOff, .crashDevice, .crashRelay,
      .failReplica, .failStore, .restoreStore,
    ], faults: 6...16, devicesPerAccount: 2...4, actsPerAccount: 20...40, span: 15_000...40_000,
    notes: 6, sealedZones: [NotesApp.zone])
}
