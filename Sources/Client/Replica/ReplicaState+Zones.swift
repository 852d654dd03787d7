import LockstepModel
import LockstepStorage

/// Zones that a person has switched off: nothing of them goes out, and nothing that comes in is
/// taken. Switched on again, the device reads once more from where it stood, and what met in
/// between is settled by the rules, as after a time without a network.
///
/// What had left already when the zone was switched off is finished: whether it landed, only its
/// answer tells.
extension ReplicaState {
  struct ZoneOff: Hashable {
    var zone: Name
    /// Where the device stood; nil where it stood nowhere, or a snapshot was read meanwhile.
    var since: ChangeToken?
  }

  static let zonesOffKey = "zones.off"

  func isOff(_ zone: Name) -> Bool { zonesOff.contains { $0.zone == zone } }

  /// Whether it was otherwise before, and where the device stands now if it went back.
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
    // The store's cursor does not cover what is held back for the sake of what is in flight.
    zonesOff.append(ZoneOff(zone: zone, since: try ledger.store.cursor()))
    zonesOff.sort { $0.zone < $1.zone }
    noteZonesOff()
    return (.success(true), nil)
  }

  /// nil where the device need not go back.
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

  /// A snapshot passes over what is off: that is read with another one, once it is on.
  mutating func forgetPlacesOfZonesOff() {
    guard zonesOff.contains(where: { $0.since != nil }) else { return }
    for index in zonesOff.indices { zonesOff[index].since = nil }
    noteZonesOff()
  }

  /// Nothing is taken. But what a restored relay has lost must be noted now: by the time the zone
  /// is on nobody tells any more.
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

  /// Entries that wait for the relay, but for those of zones that are off.
  var unsentWhileOn: Int {
    let summary = ledger.outbox.summary
    return summary.waiting.reduce(summary.unsent) { isOff($1.zone) ? $0 - $1.count : $0 }
  }

  // MARK: the note in the store

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
