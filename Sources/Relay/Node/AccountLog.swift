import LockstepModel

/// Tracks the accounts that recently had news. An answer of the store that such news may have
/// overtaken is not used as the newest, and the store is asked again. Its size is fixed: accounts
/// share entries, so the store is sometimes asked again because of another account.
struct AccountLog: Sendable {
  private static let places = 1_024

  /// Number of news so far.
  private(set) var count = 0
  /// Value of `count` at the last news of an account of that entry.
  private var latest = Array(repeating: 0, count: AccountLog.places)

  mutating func changed(_ account: AccountID) {
    count += 1
    latest[AccountLog.place(of: account)] = count
  }

  /// True if the account may have had news since `count` was `before`.
  func hasChanged(_ account: AccountID, since before: Int) -> Bool {
    latest[AccountLog.place(of: account)] > before
  }

  /// Ids are random, so a part of one spreads as evenly as all of it.
  private static func place(of account: AccountID) -> Int {
    Int(account.rawValue % UInt64(places))
  }
}
