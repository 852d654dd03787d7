import LockstepModel
import LockstepStorage
import Testing

/// Test case of the contract of every relay's store: a claim, and its test on an empty store. The
/// reference and every backend run the same cases.
package struct ZoneStory: Sendable, CustomTestStringConvertible {
  package let claim: String
  /// Rules of the store under test.
  package let rules: StoreRules
  package let tell: @Sendable (ZoneScene) throws -> Void

  init(
    _ claim: String, rules: StoreRules = StoreRules(),
    _ tell: @escaping @Sendable (ZoneScene) throws -> Void
  ) {
    self.claim = claim
    self.rules = rules
    self.tell = tell
  }

  package var testDescription: String { claim }

  package static let all =
    AccountStories.all + PairingStories.all + SaveStories.all + BatchStories.all
    + ChangeStories.all + SnapshotStories.all + OwnerStories.all + SubscriptionStories.all
    + ZoneListStories.all + ChunkUseStories.all + HistoryStories.all + RestoreStories.all
    + ZoneDeletionStories.all + PortionStories.all + RoomStories.all + WakeStories.all
    + DueWakeStories.all + ScopeStories.all + MoveStories.all
}
