import LockstepJSON
import LockstepModel
import LockstepStorage

/// One day of a habit: what each device has counted, and taken back, is exactly the sum of what was
/// done there. The newest act decides if the day is done.
package final class CheckInHistory: RecordHistory {
  package struct Sums: Hashable {
    package var counts: [DeviceID: Int64] = [:]
    package var undone: [DeviceID: Int64] = [:]
  }

  package private(set) var sums = Sums()
  package let stamps = StampedHistory()

  package init() {}

  package var count: Int { stamps.count }

  /// Registers a count; a negative amount was taken back.
  package func counted(_ amount: Int64, on device: DeviceID) {
    if amount > 0 {
      sums.counts[device, default: 0] += amount
    } else {
      sums.undone[device, default: 0] -= amount
    }
  }

  /// Returns nil if the record's fields are what was done.
  package func difference(_ fields: [UInt8]?) -> String? {
    let value = fields.flatMap { FieldsText.value($0) }
    let shown = Sums(
      counts: CheckInHistory.numbers(value?["counts"]),
      undone: CheckInHistory.numbers(value?["undone"]))
    if shown != sums { return "counts \(shown), and \(sums) was done" }
    let isDone = value?["done"]?.bool
    let possible = stamps.newest.map { $0.fields.flatMap { FieldsText.value($0)?["done"]?.bool } }
    // The device that did all of it was signed out before any of it was saved.
    if possible.isEmpty, fields == nil { return nil }
    if possible.contains(isDone) || stamps.isBlind { return nil }
    return "says done: \(isDone.map { "\($0)" } ?? "nothing"), by this history:\n"
      + stamps.description
  }

  private static func numbers(_ value: JSONValue?) -> [DeviceID: Int64] {
    var numbers: [DeviceID: Int64] = [:]
    for member in value?.members ?? [] {
      if let device = DeviceID(text: member.name) { numbers[device] = member.value.int64 }
    }
    return numbers
  }
}

extension CheckInHistory {
  package func addInitial(_ record: Record) { stamps.addInitial(record) }

  package func deviceMade(
    _ entry: OutboxEntry, insteadOf before: OutboxEntry?, byPerson: Bool, on device: DeviceID
  ) {
    stamps.deviceMade(entry, insteadOf: before, byPerson: byPerson, on: device)
  }

  package func deviceMerged(_ entry: OutboxEntry, into merged: OutboxEntry, on device: DeviceID) {
    stamps.deviceMerged(entry, into: merged, on: device)
  }

  package func deviceFolded(_ entry: OutboxEntry, on device: DeviceID) {
    stamps.deviceFolded(entry, on: device)
  }

  package func deviceBringsBack(_ entry: OutboxEntry, on device: DeviceID) {}

  package func deviceWithdrew(_ entry: OutboxEntry, isDoneByOthers: Bool, on device: DeviceID) {
    stamps.deviceWithdrew(entry, isDoneByOthers: isDoneByOthers, on: device)
  }

  package func deviceRevoked(_ device: DeviceID, saved: Record?) {
    stamps.deviceRevoked(device, saved: saved)
    let value = saved?.fields.flatMap { FieldsText.value($0) }
    sums.counts[device] = CheckInHistory.numbers(value?["counts"])[device]
    sums.undone[device] = CheckInHistory.numbers(value?["undone"])[device]
  }

  package func deviceDecided(_ server: Record, made: OutboxEntry?, on device: DeviceID) {}

  package func deviceRead(
    tag: ChangeTag, isDeleted: Bool, isAsHeld: Bool, on device: DeviceID
  ) {}

  package func relaySaved(_ record: Record, baseTag: ChangeTag?) {
    stamps.relaySaved(record, baseTag: baseTag)
  }

  package func relayLost(isBlind: Bool, _ isLost: (ChangeTag) -> Bool) {
    stamps.relayLost(isBlind: isBlind, isLost)
  }
}
