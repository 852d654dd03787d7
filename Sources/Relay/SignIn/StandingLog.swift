import Changes

/// Which accounts' standing changed lately (a device was revoked, subscribed, the plan is another),
/// so that a sign-in that such news overtook is asked again. Of fixed size: accounts share places,
/// and now and then one is asked again for another's sake.
struct StandingLog: Sendable {
  private static let places = 1_024

  /// Changes heard of so far.
  private(set) var count = 0
  /// What `count` was when an account of that place last changed.
  private var latest = Array(repeating: 0, count: StandingLog.places)

  mutating func changed(_ account: AccountID) {
    count += 1
    latest[StandingLog.place(of: account)] = count
  }

  /// Whether it may have, since `count` was `before`.
  func hasChanged(_ account: AccountID, since before: Int) -> Bool {
    latest[StandingLog.place(of: account)] > before
  }

  /// Ids are random, so a part of one spreads as well as all of it.
  private static func place(of account: AccountID) -> Int {
    Int(account.rawValue % UInt64(places))
  }
}
