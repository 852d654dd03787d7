/// Worlds with pieces of files.
extension WorldProfile {
  /// Persons attach pieces to notes, and what nobody names any more is gone soon, on both sides.
  package static let files = WorldProfile(
    name: "files", kinds: FaultPlan.Kind.usual, faults: 1...8, actsPerAccount: 15...30,
    span: 15_000...60_000, notes: 6, hasPieces: true, chunkLeaseMilliseconds: 20_000)
}
