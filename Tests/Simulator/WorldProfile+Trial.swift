/// The world of the great run.
extension WorldProfile {
  /// All that can go wrong, to three or four devices whose people are busy. Each seed must have at
  /// least 200 edits and five faults that struck somebody.
  package static let trial = WorldProfile(
    name: "trial", kinds: FaultPlan.Kind.allCases, faults: 10...16, accounts: 1...1,
    devicesPerAccount: 3...4, actsPerAccount: 280...310, leastEdits: 200, leastStrikes: 5,
    span: 40_000...90_000, idleSeconds: 600, clockOffset: -60_000...60_000, notes: 12,
    hasListeners: true)
}
