import LockstepApps
import LockstepModel
import LockstepSimulation
import LockstepStorage

/// Checks one device's store: its cursor and tags only grow, what it takes from the relay is what
/// the relay saved in this device's own account, and what a screen shows is durable.
package final class ReplicaWatch {
  let environment: WorldEnvironment
  let ledger: CommitLedger
  private let name: String
  let account: AccountID
  let device: DeviceID
  let histories: Histories
  /// True if the relay may report that a cursor cannot be followed any more.
  let mayLoseCursor: Bool
  /// All versions of each record that the store ever held: a screen may show these.
  private var held: [RecordKey: Set<[UInt8]>] = [:]
  /// Numbers of the entries that give back what the relay has lost.
  private var broughtBack: Set<Int64> = []
  /// User action behind the current write; nil: time, the relay or the app made it.
  package var action: UserAction?
  /// Items that the clipboard has just trimmed.
  var trimmed: [OutboxEntry] = []
  /// Relay time of the last user action that an entry holds, by its number.
  var madeAt: [Int64: Int64] = [:]
  /// Last version of each record that was reported to the screen.
  private var reported: [RecordKey: Record] = [:]

  package init(
    environment: WorldEnvironment, ledger: CommitLedger, name: String, account: AccountID,
    device: DeviceID,
    histories: Histories, mayLoseCursor: Bool
  ) {
    self.environment = environment
    self.ledger = ledger
    self.name = name
    self.account = account
    self.device = device
    self.histories = histories
    self.mayLoseCursor = mayLoseCursor
  }

  /// Part of a store that a write may change.
  package struct View {
    var records: [Record] = []
    var outbox: [OutboxEntry]
    var cursor: ChangeToken?

    init(_ store: MemoryReplicaStore, touchedBy changes: [ReplicaChange]) throws(StorageError) {
      for key in View.keys(changes) {
        if let record = try store.record(key) { records.append(record) }
      }
      outbox = try store.outbox()
      cursor = try store.cursor()
    }

    func record(_ key: RecordKey) -> Record? { records.first { $0.key == key } }

    func entries(_ key: RecordKey) -> [OutboxEntry] { outbox.filter { $0.key == key } }

    static func keys(_ changes: [ReplicaChange]) -> [RecordKey] {
      var keys: [RecordKey] = []
      for change in changes {
        switch change {
        case .putRecord(let record, _, _, _): keys.append(record.key)
        case .removeRecord(let key): keys.append(key)
        case .removeRecords(let gone): keys += gone
        case .putEntry(let entry): keys.append(entry.key)
        case .markInSnapshot, .markLost, .setIdentity, .setCursor, .removeEntry, .setValue,
          .putChunk, .removeChunk:
          break
        }
      }
      return keys.sorted().reduce(into: []) { if $0.last != $1 { $0.append($1) } }
    }
  }

  package var isSignedOut: Bool { ledger.isSignedOut(device) }

  package func recordWrite(
    _ changes: [ReplicaChange], before: View, after: View, in store: MemoryReplicaStore
  ) {
    // A zone that is switched on again is read again from the point where it was switched off.
    let isSwitch = changes.contains { change in
      if case .setValue("zones.off", _) = change { true } else { false }
    }
    if isSwitch { environment.tally.note(.zoneSwitched) }
    if !isSwitch { checkCursor(before.cursor, after.cursor) }
    for case .markLost in changes { environment.tally.note(.recordMissed) }
    recordKeys(changes)
    if ledger.isSignedOut(device) { return checkForbidden(after) }
    for record in after.records {
      held[record.key, default: []].insert(record.fields ?? [])
      let old = before.record(record.key)
      checkWritten(record.fields, in: record.key)
      // An edit outlives the version that it was made on if the relay has dropped even its
      // tombstone.
      let isBaseGone = mayLoseCursor && record.tag == 0 && !after.entries(record.key).isEmpty
      // In a sealed zone tags say nothing of the order of versions.
      if let old, record.tag < old.tag, !isBaseGone, !ledger.isLost(account, tag: old.tag),
        !histories.isSealed(record.zone)
      {
        fault("\(record.key.name) went back from tag \(old.tag) to \(record.tag)")
      }
      if after.entries(record.key).isEmpty {
        checkReceived(record)
      }
    }
    let latest = recordMade(changes, before: before)
    checkTrims(after, in: store)
    let outcome = MergeOutcome(changes, before: before, after: after, device: device)
    for (entry, merged) in outcome.merged {
      histories.deviceMerged(entry, into: merged, on: device)
    }
    for entry in outcome.folded { histories.deviceFolded(entry, on: device) }
    if action == nil { for key in outcome.conflicts { histories.deviceConflicted(key) } }
    let decided = recordDecision(changes, before: before)
    for case .removeEntry(let number) in changes {
      // A later process uses the numbers again.
      madeAt[number] = nil
      guard let entry = latest.last(where: { $0.number == number }), entry.key != decided,
        after.entries(entry.key).isEmpty, !entry.isInFlight
      else { continue }
      let isDoneByOthers = isDoneByOthers(entry, in: after)
      if isDoneByOthers || isWithdrawn(entry, by: changes, in: after) {
        histories.deviceWithdrew(entry, isDoneByOthers: isDoneByOthers, on: device)
      }
    }
    for case .putEntry(let entry) in changes {
      guard case .asking(let server) = entry.state else { continue }
      histories.deviceAsked(entry.key, server, on: device)
    }
    for record in after.records where record.tag > 0 && after.entries(record.key).isEmpty {
      histories.deviceRead(record, insteadOf: before.record(record.key), on: device)
    }
  }

  /// Reports what was made here, in order. Returns all states of the entries, oldest first.
  private func recordMade(_ changes: [ReplicaChange], before: View) -> [OutboxEntry] {
    var latest = before.outbox
    for case .putEntry(let entry) in changes {
      checkBase(entry)
      checkWritten(entry.fields, in: entry.key)
      let old = latest.last { $0.number == entry.number }
      if old == nil && isHeld(entry, in: before) && entry.isSavedAgain {
        broughtBack.insert(entry.number)
        environment.tally.note(.recordSealedAgain)
        histories.deviceSavesAgain(entry, on: device)
      } else if old == nil && isHeld(entry, in: before) {
        broughtBack.insert(entry.number)
        environment.tally.note(.recordBroughtBack)
        histories.deviceBringsBack(entry, on: device)
      } else if isDecision(entry) {
        checkStamp(entry, byPerson: true)
      } else {
        // A lost version is already merged with the relay's current one.
        if old == nil, action == nil, let lost = lostVersion(of: entry, in: before) {
          histories.deviceBringsBack(lost, on: device)
        }
        let isNew = old == nil || old?.fields != entry.fields
        // A deletion by this device's user remains when it is merged with another's version.
        let isTrim =
          entry.fields == nil && isNew && isItem(entry) && action?.deletes(entry.key) != true
          && before.entries(entry.key).allSatisfy { $0.fields != nil }
        histories.deviceMade(
          entry, insteadOf: old, by: isNew && !isTrim ? action : nil, on: device)
        if isTrim { trimmed.append(entry) }
        checkStamp(entry, byPerson: isNew && action != nil)
        if isNew, let amount = action?.counts(in: entry.key) {
          histories.deviceCounted(entry.key, amount, on: device)
        }
      }
      latest.append(entry)
    }
    return latest
  }

  /// Returns the version that the device held and the relay has lost; nil if there is none.
  private func lostVersion(of entry: OutboxEntry, in view: View) -> OutboxEntry? {
    guard view.entries(entry.key).isEmpty, let held = view.record(entry.key), held.tag > 0,
      ledger.isLost(account, tag: held.tag)
    else { return nil }
    var lost = entry
    (lost.fields, lost.modifiedAt) = (held.fields, held.modifiedAt)
    return lost
  }

  private func isDecision(_ entry: OutboxEntry) -> Bool {
    if case .keep(entry.key, _) = action { true } else { false }
  }

  private func isItem(_ entry: OutboxEntry) -> Bool { entry.type == ClipboardApp.itemType }

  /// Reports a user's choice, and returns the record that it is about; nil if there was none.
  private func recordDecision(_ changes: [ReplicaChange], before: View) -> RecordKey? {
    guard case .keep(let key, _) = action else { return nil }
    for entry in before.entries(key) {
      guard case .asking(let server) = entry.state else { continue }
      let made = changes.lazy.compactMap { change in
        if case .putEntry(let made) = change, made.number == entry.number { made } else { nil }
      }.first
      let isGone = changes.contains(.removeEntry(number: entry.number))
      guard made != nil || isGone else { return nil }
      histories.deviceDecided(key, server, made: isGone ? nil : made, on: device)
      return key
    }
    return nil
  }

  /// Starts a new screen, as a new process does. It shows what is in the store. The reports to the
  /// one before prove nothing: its process may have died before it reported more.
  package func resetScreen() { reported = [:] }

  /// Checks that each change is reported to the screen once.
  package func checkReported(_ records: [Record]) {
    checkShown(records)
    for record in records {
      if let last = reported[record.key], last.fields == record.fields,
        last.device == record.device, last.modifiedAt == record.modifiedAt
      {
        fault("the screen is told twice of one change of \(record.key.name)")
      }
      reported[record.key] = record
    }
  }

  /// Checks a device that was signed out: it may go on alone, but must not receive what others
  /// save.
  private func checkForbidden(_ view: View) {
    for record in view.records {
      held[record.key, default: []].insert(record.fields ?? [])
      if ledger.isForbidden(record.tag, to: device) {
        fault("was signed out, and holds \(record.key.name) of tag \(record.tag) all the same")
      }
    }
  }

  /// Checks the records that the screen shows.
  package func checkShown(_ records: [Record]) {
    for record in records where held[record.key]?.contains(record.fields ?? []) != true {
      if record.isDeleted { continue }
      fault("the screen shows a version of \(record.key.name) that the store never held")
    }
  }

  /// True if the entry is what the device held: no user has edited anything.
  private func isHeld(_ entry: OutboxEntry, in view: View) -> Bool {
    guard view.entries(entry.key).isEmpty, let held = view.record(entry.key) else { return false }
    return held.modifiedAt == entry.modifiedAt && held.fields == entry.fields
  }

  /// True if another device has saved what this device was about to give back.
  private func isDoneByOthers(_ entry: OutboxEntry, in view: View) -> Bool {
    guard broughtBack.contains(entry.number), let held = view.record(entry.key) else {
      return false
    }
    return held.device != device && held.fields == entry.fields
      && held.modifiedAt == entry.modifiedAt
  }

  /// True if the entry left no trace: it was made and deleted before it was known elsewhere, or the
  /// device is back at its base.
  private func isWithdrawn(
    _ entry: OutboxEntry, by changes: [ReplicaChange], in view: View
  ) -> Bool {
    guard view.record(entry.key) != nil else { return entry.base == nil }
    // A version from the relay may have followed in the same transaction.
    return changes.contains { change in
      guard case .putRecord(let record, _, _, _) = change, record.key == entry.key else {
        return false
      }
      return record.tag == entry.base?.tag && record.fields == entry.base?.fields
        && record.fields != entry.fields
    }
  }

  private func checkCursor(_ old: ChangeToken?, _ new: ChangeToken?) {
    guard let old else { return }
    guard let new else {
      if !mayLoseCursor { fault("the cursor was thrown away") }
      return
    }
    let isOtherHistory = new.generation != old.generation && !mayLoseCursor
    if isOtherHistory || new.sequence < old.sequence {
      fault("the cursor went back from \(old.text) to \(new.text)")
    }
  }

  /// Checks that a record without a local edit is, byte for byte, what the relay saved in this
  /// account.
  private func checkReceived(_ record: Record) {
    guard record.tag > 0 else {
      fault("\(record.key.name) has neither an entry in the outbox nor a tag")
      return
    }
    if histories.isSealed(record.zone) {
      if !ledger.wasSaved(record, in: account) {
        fault("\(record.key.name) is no version that a device has saved: \(record)")
      }
    } else if ledger.record(account, tag: record.tag) != record {
      fault("\(record.key.name) is not what the relay saved with tag \(record.tag)")
    }
  }

  /// Checks that a user has written this into the very note, if notes are sealed.
  private func checkWritten(_ fields: [UInt8]?, in key: RecordKey) {
    guard key.zone == NotesApp.zone, histories.isSealed(key.zone),
      !histories.isWritten(fields, in: key)
    else { return }
    let text = String(decoding: fields ?? [], as: UTF8.self)
    fault("takes \(text) for \(key.name), which no user has written there")
  }

  private func checkBase(_ entry: OutboxEntry) {
    guard let base = entry.base, base.tag > 0, !histories.isSealed(entry.key.zone) else { return }
    if ledger.record(account, tag: base.tag) != base {
      fault("the base of \(entry.key.name) is not what the relay saved with tag \(base.tag)")
    }
  }

  func fault(_ description: String) { environment.fault("\(name): \(description)") }
}

extension OutboxEntry {
  /// True if it saves again, with newer keys, a version of a sealed zone that the relay has.
  var isSavedAgain: Bool {
    guard let lineage, let id = lineage.id, let base else { return false }
    return id == lineage.base?.id && base.tag > 0
  }

  var isInFlight: Bool {
    if case .sent = state { true } else { false }
  }
}
