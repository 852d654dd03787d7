/// Profile with tables of merge rules.
extension WorldProfile {
  /// Users edit the same few rows of a table with all rules, on a relay that is never restored and
  /// with clocks that do not jump: the model knows the result of each field.
  package static let tables = WorldProfile(
    name: "tables",
    kinds: [
      .cut, .unplug, .switchOff, .stallDevice, .stallRelay, .crashRelay, .restartRelay,
      .crashDevice, .failStore, .failReplica, .slowStore, .suspendDevice,
    ],
    faults: 4...10, devicesPerAccount: 2...5, actsPerAccount: 60...120, span: 15_000...60_000,
    apps: [.tables])
}
