import LockstepModel
import LockstepStorage

/// History of a record in which only the newest act counts: the result and the stamp of each act.
/// An act made with knowledge of another has a later stamp. So the act with the greatest stamp
/// wins, and the causal order is not needed.
package final class StampedHistory: RecordHistory {
  package struct Act: Hashable {
    package var device: DeviceID
    /// Number of the outbox entry that holds the act.
    var entry: Int64
    package var stamp: Int64
    /// Fields that the act made, without stamps; nil: deleted.
    package var fields: [UInt8]?
    /// True if no user did it: the app trimmed the record.
    package var isByApp: Bool
    fileprivate var isSaved = false
  }

  package private(set) var acts: [Act] = []
  package private(set) var hasLost = false
  /// True if the relay was restored more than once: what it lost first may be lost for good.
  package private(set) var isBlind = false

  package init() {}

  package var count: Int { acts.count { !$0.isByApp } }

  /// Acts of which one must win: at one instant a delete wins, and between others the device
  /// decides, which may be the one that merged them.
  package var newest: [Act] {
    let newest = acts.map(\.stamp).max()
    let top = acts.filter { $0.stamp == newest }
    let deletes = top.filter { $0.fields == nil }
    return deletes.isEmpty ? top : deletes
  }

  package func addInitial(_ record: Record) {
    acts.append(
      Act(
        device: record.device, entry: 0, stamp: record.modifiedAt,
        fields: FieldsText.unstamped(record.fields), isByApp: true, isSaved: true))
  }

  package func deviceMade(
    _ entry: OutboxEntry, insteadOf before: OutboxEntry?, byPerson: Bool, on device: DeviceID
  ) {
    if let before,
      FieldsText.unstamped(before.fields) == FieldsText.unstamped(entry.fields)
    {
      guard before.modifiedAt != entry.modifiedAt else { return }
      if let index = index(of: before, on: device) {
        acts[index].stamp = entry.modifiedAt
      } else {
        // A merged version has a new stamp, and counts as an act from here on.
        append(entry, isByApp: true, on: device)
      }
      return
    }
    // A change without a user is the result of a merge, or a trim by the app.
    let isByApp = !byPerson
    if isByApp && entry.fields != nil { return }
    deviceFolded(entry, on: device)
    append(entry, isByApp: isByApp, on: device)
  }

  private func append(_ entry: OutboxEntry, isByApp: Bool, on device: DeviceID) {
    acts.append(
      Act(
        device: device, entry: entry.number, stamp: entry.modifiedAt,
        fields: FieldsText.unstamped(entry.fields), isByApp: isByApp))
  }

  package func deviceMerged(_ entry: OutboxEntry, into merged: OutboxEntry, on device: DeviceID) {
    if let index = index(of: entry, on: device), acts[index].stamp == merged.modifiedAt {
      acts[index].entry = merged.number
    }
  }

  package func deviceFolded(_ entry: OutboxEntry, on device: DeviceID) {
    acts.removeAll { $0.device == device && $0.entry == entry.number && !$0.isSaved }
  }

  /// Does nothing: a version that is given back keeps the stamp of its act.
  package func deviceBringsBack(_ entry: OutboxEntry, on device: DeviceID) {}

  package func deviceWithdrew(_ entry: OutboxEntry, isDoneByOthers: Bool, on device: DeviceID) {
    acts.removeAll { $0.device == device && $0.entry == entry.number && !$0.isSaved }
  }

  package func deviceRevoked(_ device: DeviceID, saved: Record?) {
    acts.removeAll { $0.device == device && !$0.isSaved }
  }

  package func deviceDecided(_ server: Record, made: OutboxEntry?, on device: DeviceID) {}

  package func deviceRead(
    tag: ChangeTag, isDeleted: Bool, isAsHeld: Bool, on device: DeviceID
  ) {}

  package func relaySaved(_ record: Record, baseTag: ChangeTag?) {
    for index in acts.indices where acts[index].stamp == record.modifiedAt {
      acts[index].isSaved = true
    }
  }

  package func relayLost(isBlind: Bool, _ isLost: (ChangeTag) -> Bool) {
    hasLost = true
    self.isBlind = self.isBlind || isBlind
  }

  private func index(of entry: OutboxEntry, on device: DeviceID) -> Int? {
    acts.lastIndex { $0.device == device && $0.entry == entry.number }
  }

  package var description: String {
    acts.map { act in
      let content = act.fields.map { String(decoding: $0, as: UTF8.self) } ?? "deleted"
      return "  \(act.stamp) by \(act.device.text)\(act.isByApp ? " alone" : ""): \(content)"
    }.joined(separator: "\n")
  }
}
