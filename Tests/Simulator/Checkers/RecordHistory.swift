import LockstepModel
import LockstepStorage

/// History of one record: the users' actions, on which device and with knowledge of what. From it
/// and the app's rule in words follows what the record must be in the end.
package protocol RecordHistory: AnyObject {
  /// Number of deeds that users did.
  var count: Int { get }
  /// Adds a version that existed before the simulation began; no user made it.
  func addInitial(_ record: Record)
  /// Registers a version that a device made itself: `entry` is in its outbox, instead of `before`,
  /// which had the same number. `byPerson`: true if the entry has what a user did just now.
  func deviceMade(
    _ entry: OutboxEntry, insteadOf before: OutboxEntry?, byPerson: Bool, on device: DeviceID)
  /// Registers that `merged` holds what `entry` held, merged with the relay's version.
  func deviceMerged(_ entry: OutboxEntry, into merged: OutboxEntry, on device: DeviceID)
  /// Registers that a later entry of the record includes this one, which was not saved.
  func deviceFolded(_ entry: OutboxEntry, on device: DeviceID)
  /// Registers that this device gives back, with `entry`, a version that the relay has lost.
  func deviceBringsBack(_ entry: OutboxEntry, on device: DeviceID)
  /// Registers that this device saves again, with `entry`, a version that the relay has: with newer
  /// keys.
  func deviceSavesAgain(_ entry: OutboxEntry, on device: DeviceID)
  /// Registers that a device withdrew an outbox entry that was never sent. `isDoneByOthers`:
  /// because another device has brought the same to the relay.
  func deviceWithdrew(_ entry: OutboxEntry, isDoneByOthers: Bool, on device: DeviceID)
  /// Registers that the device was signed out: only the device loses what it never sent to the
  /// relay. `saved`: the version at the relay.
  func deviceRevoked(_ device: DeviceID, saved: Record?)
  /// Registers a user's choice; see `CausalHistory`.
  func deviceDecided(_ server: Record, made: OutboxEntry?, on device: DeviceID)
  /// Registers a question to the user; see `CausalHistory`.
  func deviceAsked(tag: ChangeTag, on device: DeviceID)
  /// Registers that a device holds a version from the relay, and no change of its own. `isDeleted`:
  /// true if the version is a deletion. `isAsHeld`: true if the device held the same content and
  /// stamp before.
  func deviceRead(tag: ChangeTag, isDeleted: Bool, isAsHeld: Bool, on device: DeviceID)
  /// Registers a version that the relay saved.
  func relaySaved(_ record: Record, baseTag: ChangeTag?)
  /// Registers that the relay has this version of the record again, which it had under `former`.
  func relayRepeated(_ tag: ChangeTag, of former: ChangeTag)
  /// Registers that the relay saved this once, forgot its batch since, and received it again.
  func relayForgotSave(_ mutation: Mutation, by device: DeviceID)
  /// Registers a restore of the relay; see `CausalHistory`.
  func relayLost(isBlind: Bool, _ isLost: (ChangeTag) -> Bool)
}

extension RecordHistory {
  package func deviceSavesAgain(_ entry: OutboxEntry, on device: DeviceID) {}
  package func relayRepeated(_ tag: ChangeTag, of former: ChangeTag) {}
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
