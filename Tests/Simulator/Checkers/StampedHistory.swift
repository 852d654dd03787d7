import LockstepModel
import LockstepStorage

/// Of a record where the newest act alone counts: what each act made of it, and when. An act made
/// having seen another has a later stamp, so that of all acts the one with the greatest stamp
/// stands, and who had seen what need not be known.
package final class StampedHistory: RecordHistory {
  package struct Act: Hashable {
    package var device: DeviceID
    /// The entry of the device's outbox that holds it.
    var entry: Int64
    package var stamp: Int64
    /// nil: deleted.
    package var fields: [UInt8]?
    /// Nobody's hand did it: the app let go of the record.
    package var isByApp: Bool
    fileprivate var isSaved = false
  }

  package private(set) var acts: [Act] = []
  package private(set) var hasLost = false
  /// The relay was put back more than once, and what it lost the first time may be gone for good.
  package private(set) var isBlind = false

  package init() {}

  package var count: Int { acts.count { !$0.isByApp } }

  /// Those of the acts of which one must stand: at one instant a delete comes first, and between
  /// others the device decides, which may be the one that merged them.
  package var newest: [Act] {
    let newest = acts.map(\.stamp).max()
    let top = acts.filter { $0.stamp == newest }
    let deletes = top.filter { $0.fields == nil }
    return deletes.isEmpty ? top : deletes
  }

  package func stood(_ record: Record) {
    acts.append(
      Act(
        device: record.device, entry: 0, stamp: record.modifiedAt, fields: record.fields,
        isByApp: true, isSaved: true))
  }

  package func deviceMade(
    _ entry: OutboxEntry, insteadOf before: OutboxEntry?, byPerson: Bool, on device: DeviceID
  ) {
    if let before, before.fields == entry.fields {
      guard before.modifiedAt != entry.modifiedAt else { return }
      if let index = index(of: before, on: device) {
        acts[index].stamp = entry.modifiedAt
      } else {
        // What a merge made is stamped anew: so it is told from here on.
        append(entry, isByApp: true, on: device)
      }
      return
    }
    // What nobody did is what a merge made of it, or what the app let go of.
    let isByApp = !byPerson
    if isByApp && entry.fields != nil { return }
    deviceFolded(entry, on: device)
    append(entry, isByApp: isByApp, on: device)
  }

  private func append(_ entry: OutboxEntry, isByApp: Bool, on device: DeviceID) {
    acts.append(
      Act(
        device: device, entry: entry.number, stamp: entry.modifiedAt, fields: entry.fields,
        isByApp: isByApp))
  }

  package func deviceMerged(_ entry: OutboxEntry, into merged: OutboxEntry, on device: DeviceID) {
    if let index = index(of: entry, on: device), acts[index].stamp == merged.modifiedAt {
      acts[index].entry = merged.number
    }
  }

  package func deviceFolded(_ entry: OutboxEntry, on device: DeviceID) {
    acts.removeAll { $0.device == device && $0.entry == entry.number && !$0.isSaved }
  }

  /// What it brings back was done when it was done.
  package func deviceBringsBack(_ entry: OutboxEntry, on device: DeviceID) {}

  package func deviceWithdrew(_ entry: OutboxEntry, isDoneByOthers: Bool, on device: DeviceID) {
    acts.removeAll { $0.device == device && $0.entry == entry.number && !$0.isSaved }
  }

  package func deviceRevoked(_ device: DeviceID, saved: Record?) {
    acts.removeAll { $0.device == device && !$0.isSaved }
  }

  package func deviceDecided(_ server: Record, made: OutboxEntry?, on device: DeviceID) {}

  package func deviceTook(tag: ChangeTag, isDeleted: Bool, on device: DeviceID) {}

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
