/// Profiles with chunks of files.
extension WorldProfile {
  /// Users attach chunks to notes. A chunk that no record names expires soon, on relay and devices.
  package static let files = WorldProfile(
    name: "files", kinds: FaultPlan.Kind.usual, faults: 1...8, actsPerAccount: 15...30,
    span: 15_000...60_000, notes: 6, hasChunks: true, chunkLeaseMilliseconds: 20_000)

  /// One of an account's devices does not have the vault's key, and writes plain records under the
  /// names of sealed files.
  package static let strangers = WorldProfile(
    name: "strangers", kinds: [.cut, .unplug, .switchOff, .crashDevice, .failReplica],
    faults: 2...6, devicesPerAccount: 3...4, actsPerAccount: 30...50, apps: [.vault],
    hasKeylessDevice: true)
}
