import LockstepModel
import LockstepStorage
import Testing

/// A claim about every relay's store, told as a story on an empty one. The same stories are told to
/// the reference and to every backend.
package struct ZoneStory: Sendable, CustomTestStringConvertible {
  package let claim: String
  /// What the store keeps to.
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
    + ZoneDeletionStories.all + PortionStories.all + RoomStories.all
}
