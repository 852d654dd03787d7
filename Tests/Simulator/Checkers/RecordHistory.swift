import LockstepModel
import LockstepStorage

/// What is written down about one record: what persons did to it, on which device, knowing what.
/// From that alone, and from the app's rule in words, follows what it must be in the end.
package protocol RecordHistory: AnyObject {
  /// How many deeds somebody did.
  var count: Int { get }
  /// It stood before the world began, by nobody's hand.
  func stood(_ record: Record)
  /// A device holds a version that it made itself: `entry` stands in its outbox, where `before`
  /// stood under the same number. `byPerson`: with what somebody did just now.
  func deviceMade(
    _ entry: OutboxEntry, insteadOf before: OutboxEntry?, byPerson: Bool, on device: DeviceID)
  /// `merged` holds what `entry` held, once that had met the relay's version.
  func deviceMerged(_ entry: OutboxEntry, into merged: OutboxEntry, on device: DeviceID)
  /// A later entry of the record stands for this one as well, which did not land.
  func deviceFolded(_ entry: OutboxEntry, on device: DeviceID)
  /// The relay has lost a version, and this device, which holds it, gives it back with `entry`.
  func deviceBringsBack(_ entry: OutboxEntry, on device: DeviceID)
  /// A device has taken back what stood in its outbox and was never sent. `isDoneByOthers`: since
  /// another has brought the same to the relay.
  func deviceWithdrew(_ entry: OutboxEntry, isDoneByOthers: Bool, on device: DeviceID)
  /// The device was signed out: what it did and never brought to the relay is its own loss alone.
  /// `saved`: what stands at the relay.
  func deviceRevoked(_ device: DeviceID, saved: Record?)
  /// A person has chosen; see `CausalHistory`.
  func deviceDecided(_ server: Record, made: OutboxEntry?, on device: DeviceID)
  /// See `CausalHistory`.
  func deviceAsked(tag: ChangeTag, on device: DeviceID)
  /// A device holds what the relay told it, and nothing of its own. `isDeleted`: a deletion.
  func deviceTook(tag: ChangeTag, isDeleted: Bool, on device: DeviceID)
  /// The relay saved a version.
  func relaySaved(_ record: Record, baseTag: ChangeTag?)
  /// The relay saved this once, has forgotten the batch that it came with since, and got it anew.
  func relayForgotSave(_ mutation: Mutation, by device: DeviceID)
  /// See `CausalHistory`.
  func relayLost(isBlind: Bool, _ isLost: (ChangeTag) -> Bool)
}

extension RecordHistory {
  package func deviceAsked(tag: ChangeTag, on device: DeviceID) {}
  package func relayForgotSave(_ mutation: Mutation, by device: DeviceID) {}
  package func deviceMerged(_ entry: OutboxEntry, into merged: OutboxEntry, on device: DeviceID) {}
  package func deviceFolded(_ entry: OutboxEntry, on device: DeviceID) {}
}

extension CausalHistory {
  package func deviceWithdrew(_ entry: OutboxEntry, isDoneByOthers: Bool, on device: DeviceID) {
    deviceWithdrew(entry, butFor: [], isDoneByOthers: isDoneByOthers, on: device)
  }
}
