import LockstepApps
import LockstepJSON
import LockstepModel
import LockstepStorage

/// Completed focuses of one day: every focus that a device has written is there once, and no other.
package final class FocusDayHistory: RecordHistory {
  /// Devices that have written each focus.
  private var makers: [String: Set<DeviceID>] = [:]
  /// Focuses that may be missing: their devices were signed out, or took them back.
  private var doubtful: Set<String> = []
  /// True if the relay has lost something that no device may have kept.
  private var isUncertain = false

  package init() {}

  /// No user writes it.
  package var count: Int { 0 }

  private static func names(_ fields: [UInt8]?) -> [String] {
    let value = fields.flatMap { FieldsText.value($0) }
    return (value?["focuses"]?.members ?? []).map(\.name)
  }

  /// Returns nil if the record has the focuses that were written.
  package func difference(_ fields: [UInt8]?) -> String? {
    let shown = Self.names(fields)
    if let unknown = shown.sorted().first(where: { makers[$0] == nil }) {
      return "has \(unknown), which no device wrote"
    }
    let missing = makers.keys.sorted().first { !shown.contains($0) && !doubtful.contains($0) }
    guard let missing, !isUncertain else { return nil }
    return "lacks \(missing), which was written"
  }

  package func addInitial(_ record: Record) { add(record.fields, record.device) }

  package func deviceMade(
    _ entry: OutboxEntry, insteadOf before: OutboxEntry?, byPerson: Bool, on device: DeviceID
  ) {
    add(entry.fields, device)
  }

  private func add(_ fields: [UInt8]?, _ device: DeviceID) {
    for name in Self.names(fields) { makers[name, default: []].insert(device) }
  }

  package func deviceBringsBack(_ entry: OutboxEntry, on device: DeviceID) {}

  package func deviceWithdrew(_ entry: OutboxEntry, isDoneByOthers: Bool, on device: DeviceID) {
    doubtful.formUnion(Self.names(entry.fields))
  }

  package func deviceRevoked(_ device: DeviceID, saved: Record?) {
    let saved = Self.names(saved?.fields)
    for name in makers.keys.sorted() where makers[name]?.contains(device) == true {
      if !saved.contains(name) { doubtful.insert(name) }
    }
  }

  package func deviceDecided(_ server: Record, made: OutboxEntry?, on device: DeviceID) {}
  package func deviceRead(
    tag: ChangeTag, isDeleted: Bool, isAsHeld: Bool, on device: DeviceID
  ) {}
  package func relaySaved(_ record: Record, baseTag: ChangeTag?) {
    add(record.fields, record.device)
  }

  package func relayLost(isBlind: Bool, _ isLost: (ChangeTag) -> Bool) { isUncertain = true }
}
