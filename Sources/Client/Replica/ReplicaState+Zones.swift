import LockstepModel
import LockstepStorage

/// Zones that a user has switched off: their changes are neither sent nor applied. When a zone is
/// switched on again, the device reads again from its former position, and conflicts are resolved
/// by the rules, as after a time without a network.
///
/// A batch that was sent before the zone was switched off is completed: only its answer shows if it
/// was saved.
extension ReplicaState {
  struct ZoneOff: Hashable {
    var zone: Name
    /// The device's position; nil if it had none, or a snapshot was read meanwhile.
    var since: ChangeToken?
  }

  static let zonesOffKey = "zones.off"

  func isOff(_ zone: Name) -> Bool { zonesOff.contains { $0.zone == zone } }

  /// Returns true if the setting was different before, and the device's new position if it went
  /// back.
  mutating func setSyncing(_ zone: Name, _ isOn: Bool) throws(StorageError)
    -> (Result<Bool, EditFailure>, movedTo: ChangePosition?)
  {
    guard identity != nil else { return (.failure(.notJoined), nil) }
    guard apps.contains(where: { $0.zone == zone }) else {
      return (.failure(.refused(EditRefusal("no app of this home has the zone \(zone)"))), nil)
    }
    let index = zonesOff.firstIndex { $0.zone == zone }
    if isOn {
      guard let index else { return (.success(false), nil) }
      let off = zonesOff.remove(at: index)
      noteZonesOff()
      return (.success(true), goBack(to: off.since))
    }
    guard index == nil else { return (.success(false), nil) }
    // The store's cursor does not cover records that are held back because of the batch in flight.
    zonesOff.append(ZoneOff(zone: zone, since: try ledger.store.cursor()))
    zonesOff.sort { $0.zone < $1.zone }
    noteZonesOff()
    return (.success(true), nil)
  }

  /// Returns nil if the device need not go back.
  private mutating func goBack(to since: ChangeToken?) -> ChangePosition? {
    guard position != .nothing else { return nil }
    overtaken = []
    guard let now = position.cursor, let since, now.covers(since) else {
      noteFormerPlace()
      position = .nothing
      ledger.setCursor(nil)
      return position
    }
    let known = since.knowing(now.reach)
    position = .cursor(known)
    ledger.setCursor(known)
    return position
  }

  /// A snapshot skips zones that are off: they are read with another snapshot, once they are on.
  mutating func forgetPlacesOfZonesOff() {
    guard zonesOff.contains(where: { $0.since != nil }) else { return }
    for index in zonesOff.indices { zonesOff[index].since = nil }
    noteZonesOff()
  }

  /// Skips a record. But losses of a restored relay must be recorded now: they are not reported
  /// again once the zone is on.
  mutating func passOver(_ server: Record) throws(StorageError) {
    if let entry = ledger.outbox.open(server.key) {
      guard let restore, restore.hasLost(entry.knownTag) else { return }
      let isOlder = restore.precedesLoss(server.tag)
      let nothing = Record.nothing(at: server.key, type: entry.type)
      return try stand(entry, on: isOlder ? server : .lost(entry.base ?? nothing))
    }
    guard let held = try ledger.record(server.key), try isLost(held), !held.isSame(as: server)
    else { return }
    ledger.lose(server.key)
    hasLost = true
  }

  /// Number of entries that wait for the relay, without those of zones that are off.
  var unsentWhileOn: Int {
    let summary = ledger.outbox.summary
    return summary.waiting.reduce(summary.unsent) { isOff($1.zone) ? $0 - $1.count : $0 }
  }

  // MARK: stored settings

  private mutating func noteZonesOff() {
    let list = zonesOff.map { off -> JSONValue in
      ["zone": .string(off.zone.text), "since": off.since.map { .string($0.text) } ?? .null]
    }
    ledger.setValue(ReplicaState.zonesOffKey, list.isEmpty ? nil : JSONValue.array(list).text)
  }

  mutating func loadZonesOff() throws(StorageError) {
    let text = try ledger.store.value(ReplicaState.zonesOffKey) ?? "[]"
    zonesOff = (Merging.value(Array(text.utf8))?.array ?? []).compactMap { off in
      guard let zone = off["zone"]?.string.flatMap({ Name($0) }) else { return nil }
      return ZoneOff(zone: zone, since: off["since"]?.string.flatMap { ChangeToken(text: $0) })
    }
  }
}
