import LockstepModel

/// Which accounts something was heard of lately, so that an answer of the store that such news may
/// have overtaken is not taken for the newest: it is asked again. Of fixed size: accounts share
/// places, and now and then one is asked again for another's sake.
struct AccountLog: Sendable {
  private static let places = 1_024

  /// What was heard so far.
  private(set) var count = 0
  /// What `count` was when something was last heard of an account of that place.
  private var latest = Array(repeating: 0, count: AccountLog.places)

  mutating func changed(_ account: AccountID) {
    count += 1
    latest[AccountLog.place(of: account)] = count
  }

  /// Whether it may have, since `count` was `before`.
  func hasChanged(_ account: AccountID, since before: Int) -> Bool {
    latest[AccountLog.place(of: account)] > before
  }

  /// Ids are random, so a part of one spreads as well as all of it.
  private static func place(of account: AccountID) -> Int {
    Int(account.rawValue % UInt64(places))
  }
}
