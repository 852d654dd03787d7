import LockstepModel
import LockstepSimulation
import LockstepStorage

/// An action of a user on a record, as the record's fields show it: an edit of a timer, a setting's
/// new value. Two equal values are the same deed.
package protocol Deed: Hashable {
  /// Returns the deeds in a record's fields; empty if there are none to read.
  static func list(in fields: [UInt8]) -> [Self]
  /// True if this deed, done with knowledge of `other`, replaces it.
  func replaces(_ other: Self) -> Bool
  /// True if this is `other` with its stamp corrected by this many milliseconds: the same deed,
  /// which replaces nothing else.
  func corrects(_ other: Self, by milliseconds: Int64) -> Bool
  /// True if time alone makes this of `other`: its countdown ended.
  func follows(_ other: Self) -> Bool
  /// True if time has dropped `other`, which was concurrent with this deed.
  func outlasts(_ other: Self) -> Bool
  /// True if a merge drops `other`, because this deed is too new to be concurrent with it.
  func outdates(_ other: Self) -> Bool
}

extension Deed {
  package func follows(_ other: Self) -> Bool { false }
  package func outlasts(_ other: Self) -> Bool { false }
  package func outdates(_ other: Self) -> Bool { false }
}

/// Causal order of the deeds on one record, taken only from what the devices and the relay wrote.
/// It determines what the record must be in the end, without a resolver.
///
/// A version's *past* is the set of acts that it was made with knowledge of, its own included. An
/// act is one device doing a deed. A change by time (a countdown that ends) is no deed: it is the
/// deed whose countdown it was, further along, whatever a program writes.
package final class CausalHistory<Fact: Deed>: RecordHistory {
  /// Deed number of a deletion of the record.
  static var deletion: Int { -1 }

  private unowned let environment: SimulationEnvironment
  /// True if a deletion is an act like any other: it replaces what its device had seen, and nothing
  /// else.
  private let countsDeletions: Bool
  /// True if only a user may overwrite another's change: each version must be made with knowledge
  /// of all of the version that it replaces.
  private let asksPeople: Bool
  /// True if each version shows what it was made on (a sealed zone): nothing is doubtful because
  /// the relay has lost or repeated versions.
  private let keepsOrder: Bool
  var deeds: [Fact] = []
  private var numbers: [Fact: Int] = [:]
  /// Deed number of each act.
  var acts: [Int] = []
  /// Device of each act; nil if the act was before the simulation.
  var actDevices: [DeviceID?] = []
  /// For each act, the acts that replaced it: they were done with knowledge of it.
  var replacers: [EditSet] = []
  /// Acts that were withdrawn before another device knew of them.
  var withdrawn = EditSet()
  /// Acts that the relay has lost, with everything that was made on top of them.
  private var forgotten = EditSet()
  /// Deeds in the versions that the relay has saved since its last restore.
  private var savedSince: Set<Int> = []
  /// Acts that were merged with their replacement as if the two were concurrent, or that outlived
  /// it.
  private var metAgain = EditSet()
  /// Acts that each device has seen, by its own record.
  private var seen: [DeviceID: EditSet] = [:]
  private var pastOfTag: [ChangeTag: EditSet] = [:]
  private var deletedTags: Set<ChangeTag> = []
  private var pastOfVersion: [VersionKey: EditSet] = [:]
  /// Acts that had been seen by the devices that deleted the record; nil if none did.
  private var pastOfDeletes: EditSet?
  /// Acts that the user of each device had seen at the user's last action.
  private var informed: [DeviceID: EditSet] = [:]
  /// Acts in the versions that the user of each device was asked about.
  private var askedAbout: [DeviceID: EditSet] = [:]
  private var informedOfVersion: [VersionKey: EditSet] = [:]
  private var released: Set<Int> = []

  /// A version made by a device, as its outbox entry and its save identify it.
  private struct VersionKey: Hashable {
    var device: DeviceID
    var fields: [UInt8]?
    var modifiedAt: Int64
    var baseTag: ChangeTag
  }

  package init(
    environment: SimulationEnvironment, countsDeletions: Bool = false, asksPeople: Bool = false,
    keepsOrder: Bool = false
  ) {
    self.environment = environment
    self.countsDeletions = countsDeletions
    self.asksPeople = asksPeople
    self.keepsOrder = keepsOrder
  }

  /// Number of deeds that users did.
  package var count: Int {
    var isDone = deeds.map { _ in false }
    for act in acts.indices where actDevices[act] != nil && acts[act] >= 0 {
      isDone[acts[act]] = true
    }
    return isDone.count { $0 } + acts.count { $0 == Self.deletion }
  }

  /// True if the deed was done.
  package func knows(_ fact: Fact) -> Bool { numbers[fact] != nil }

  /// All deeds except deletions.
  package var done: [Fact] { deeds }

  /// True if the record was ever deleted.
  package var wasDeleted: Bool { pastOfDeletes != nil }

  /// True if the record was deleted and no act followed with knowledge of that.
  package var isDeletionStanding: Bool {
    acts.indices.contains { acts[$0] == Self.deletion && !isReplaced($0) }
  }

  func isReplaced(_ act: Int) -> Bool {
    withdrawn.contains(act) || !replacers[act].isSubset(of: withdrawn)
  }

  /// Deeds that are not replaced, in the order in which they were done.
  package var standing: [Fact] {
    deeds.indices.filter { deed in
      acts.indices.allSatisfy { acts[$0] != deed || !isReplaced($0) }
    }.map { deeds[$0] }
  }

  /// Deeds that may be in effect or not, depending on the order in which changes arrive: two
  /// devices did the deed and one replaced it without knowledge of the other's act, or the relay
  /// has lost the version that shows who had seen it.
  package var doubtful: [Fact] {
    deeds.indices.filter { deed in
      let own = acts.indices.filter { acts[$0] == deed }
      return own.contains { isReplaced($0) }
        && own.contains { !isReplaced($0) || isForgotten($0) }
    }.map { deeds[$0] }
  }

  /// True if the relay has lost the act, or all that replaced it: it is not known who had seen it.
  private func isForgotten(_ act: Int) -> Bool {
    if withdrawn.contains(act) { return false }
    return forgotten.contains(act) || metAgain.contains(act)
      || replacers[act].isSubset(of: forgotten.union(withdrawn))
  }

  /// True if the relay has lost any act.
  package var hasForgotten: Bool { !forgotten.isEmpty }

  /// True if what is in effect was there at first, and no device has ever read it: a relay that
  /// deletes it then leaves no trace.
  package var wasNeverHeld: Bool {
    keepsOrder
      && acts.indices.allSatisfy { act in
        isReplaced(act)
          || (actDevices[act] == nil && !seen.values.contains { $0.contains(act) })
      }
  }

  /// True if the record may be deleted: its deletion was done with knowledge of all acts that are
  /// not replaced, or at least of an act that may have won over them before.
  package var mayBeGone: Bool {
    guard let pastOfDeletes else { return false }
    return acts.indices.allSatisfy { isReplaced($0) || pastOfDeletes.contains($0) }
      || acts.indices.contains { pastOfDeletes.contains($0) }
  }

  /// Adds a version that existed before the simulation began.
  package func addInitial(_ record: Record) {
    let past = Fact.list(in: record.fields ?? []).reduce(into: EditSet()) {
      $0.insert(act(number(of: $1)))
    }
    pastOfTag[record.tag] = past
  }

  /// Registers a restore of the relay, which has lost the versions of some tags. A device that has
  /// not read what was made on top of them may send the same again. `isBlind`: the devices do not
  /// learn how far back the restore went, so an old version may win over what was made on top of
  /// it.
  package func relayLost(isBlind: Bool, _ isLost: (ChangeTag) -> Bool) {
    if keepsOrder { return }
    savedSince = []
    var kept = EditSet()
    var lost = EditSet()
    for tag in pastOfTag.keys.sorted() {
      guard let past = pastOfTag[tag] else { continue }
      if isLost(tag) { lost.formUnion(past) } else { kept.formUnion(past) }
    }
    for act in acts.indices where isBlind || (lost.contains(act) && !kept.contains(act)) {
      forgotten.insert(act)
    }
  }

  package func deviceSavesAgain(_ entry: OutboxEntry, on device: DeviceID) {
    // The same content may be the result of a merge with the relay's version.
    let based = pastOfTag[entry.base?.tag ?? 0] ?? EditSet()
    recordVersion(entry, (seen[device] ?? EditSet()).union(based), on: device)
  }

  /// Registers that this device gives back, with `entry`, a version that the relay has lost. It is
  /// not known any more who had seen that version before doing something else. So the version is
  /// concurrent with what was done meanwhile, as if it were done only now.
  package func deviceBringsBack(_ entry: OutboxEntry, on device: DeviceID) {
    if keepsOrder { return deviceSavesAgain(entry, on: device) }
    var past = seen[device] ?? EditSet()
    for fact in Fact.list(in: entry.fields ?? []) {
      past.insert(repeatedAct(number(of: fact), device))
    }
    if countsDeletions, entry.fields == nil {
      past.insert(actReplacing(past, Self.deletion, on: device))
    }
    informed[device] = past
    recordVersion(entry, past, on: device)
  }

  /// Adds an act of the deed, which replaces all that the same deed has replaced before. If a
  /// version that was saved after the loss contains a replaced act, that act competes with that
  /// version's stamp.
  private func repeatedAct(_ deed: Int, _ device: DeviceID) -> Int {
    let own = act(deed, by: device)
    let before = acts.indices.filter { acts[$0] == deed && $0 != own }
    for other in 0..<own where acts[other] != deed {
      guard before.contains(where: replacers[other].contains) else { continue }
      replacers[other].insert(own)
      if savedSince.contains(acts[other]) { metAgain.insert(other) }
    }
    return own
  }

  /// Registers that a device was signed out: only the device loses what it never sent to the relay.
  package func deviceRevoked(_ device: DeviceID, saved: Record?) {
    let standing = saved.flatMap { pastOfTag[$0.tag] } ?? EditSet()
    for act in acts.indices where actDevices[act] == device && isOwnAffair(act) {
      if !standing.contains(act) { withdrawn.insert(act) }
    }
  }

  /// Registers that a device withdrew an outbox entry that was never sent. `isDoneByOthers`:
  /// another device has done the same, so that what the entry replaced stays replaced.
  package func deviceWithdrew(
    _ entry: OutboxEntry, butFor kept: [Fact], isDoneByOthers: Bool, on device: DeviceID
  ) {
    let known = pastOfTag[entry.base?.tag ?? 0] ?? EditSet()
    for fact in Fact.list(in: entry.fields ?? []) where !kept.contains(fact) {
      guard let deed = numbers[fact] else { continue }
      for act in acts.indices where acts[act] == deed && actDevices[act] == device {
        let keepsPlace = isDoneByOthers && replacers.contains { $0.contains(act) }
        if !known.contains(act) && !isShared(act) && !keepsPlace { withdrawn.insert(act) }
      }
    }
    if isDoneByOthers { return }
    withdrawSteps(to: entry, butFor: kept, on: device)
  }

  /// Withdraws acts that led to a withdrawn act in the same entry and would be in effect again
  /// without it.
  private func withdrawSteps(to entry: OutboxEntry, butFor kept: [Fact], on device: DeviceID) {
    let others = kept + Fact.list(in: entry.base?.fields ?? [])
    for act in acts.indices.reversed() where actDevices[act] == device && !isShared(act) {
      let isStep = !replacers[act].isSubset(of: EditSet()) && replacers[act].isSubset(of: withdrawn)
      if isStep && acts[act] >= 0 && !others.contains(deeds[acts[act]]) { withdrawn.insert(act) }
    }
  }

  /// Registers a version that a device made itself: `entry` is in its outbox, instead of `before`,
  /// which had the same number. `byPerson`: true if the entry has what a user did just now.
  package func deviceMade(
    _ entry: OutboxEntry, insteadOf before: OutboxEntry? = nil, byPerson: Bool = false,
    on device: DeviceID
  ) {
    // Only its state has changed: it is sent, or not sent any more.
    if let before, before.fields == entry.fields, before.modifiedAt == entry.modifiedAt,
      before.base?.tag == entry.base?.tag, !byPerson
    {
      return
    }
    if let before, isRewound(before, to: entry, on: device) {
      deviceWithdrew(
        before, butFor: Fact.list(in: entry.fields ?? []), isDoneByOthers: false, on: device)
    }
    recordCountdownEnd(entry, insteadOf: before, byPerson: byPerson)
    let known = (seen[device] ?? EditSet()).union(pastOfTag[entry.base?.tag ?? 0] ?? EditSet())
    var past = known
    for fact in Fact.list(in: entry.fields ?? []) {
      let deed = number(of: fact)
      let isKnown = acts.indices.contains {
        acts[$0] == deed && known.contains($0) && !withdrawn.contains($0)
      }
      if isKnown { continue }
      let own = act(deed, by: device)
      past.insert(own)
      let old = corrected(by: fact, entry, before)
      if let old { releaseOutdated(by: old, correctedTo: fact) }
      for act in acts.indices where known.contains(act) && !withdrawn.contains(act) {
        let takesPlace =
          old.map { acts[act] == $0 }
          ?? (acts[act] == Self.deletion || fact.replaces(deeds[acts[act]]))
        if takesPlace { replacers[act].insert(own) }
      }
    }
    if countsDeletions, byPerson, entry.fields == nil, before?.fields != nil || before == nil {
      past.insert(actReplacing(known, Self.deletion, on: device))
    }
    if byPerson { informed[device] = past }
    recordVersion(entry, past, on: device)
  }

  /// Registers what time made in an entry from what was there. Without a user, that is all that is
  /// new; an order of a user may also let a countdown end, and do nothing else.
  private func recordCountdownEnd(
    _ entry: OutboxEntry, insteadOf before: OutboxEntry?, byPerson: Bool
  ) {
    let stood = Fact.list(in: before?.fields ?? entry.base?.fields ?? [])
    guard let shown = stood.first, let made = Fact.list(in: entry.fields ?? []).first else {
      return
    }
    let isUnknown = !byPerson && numbers[made] == nil
    if isUnknown, made.follows(shown), corrected(by: made, entry, before) == nil {
      numbers[made] = numbers[shown]
    }
    guard numbers[made] == numbers[shown] else { return }
    let left = Fact.list(in: entry.fields ?? [])
    for fact in stood where !left.contains(fact) && made.outlasts(fact) {
      if let deed = numbers[fact], deed != numbers[shown] { released.insert(deed) }
    }
  }

  /// Registers a corrected stamp. A device that merged before the correction has dropped the deeds
  /// that the old stamp outdates, and one that merges after it keeps them.
  private func releaseOutdated(by old: Int, correctedTo fact: Fact) {
    let corrected = number(of: fact)
    for deed in deeds.indices where deed != old && deed != corrected {
      if deeds[old].outdates(deeds[deed]), !fact.outdates(deeds[deed]) { released.insert(deed) }
    }
  }

  /// Returns the deed of a user that the fact is, or that time made it from.
  package func origin(of fact: Fact) -> Fact { numbers[fact].map { deeds[$0] } ?? fact }

  /// Deeds that were concurrent with one whose countdown ended and are not needed after it, or that
  /// a deed outdated before its stamp was corrected. A device that has not read that may still hold
  /// them, and send them with its next change.
  package var releasedDeeds: [Fact] { released.sorted().map { deeds[$0] } }

  /// Registers a user's choice between the device's outbox entry and the relay's version. `made`:
  /// the entry that is in the outbox now; nil if the relay's version was chosen.
  package func deviceDecided(_ server: Record, made: OutboxEntry?, on device: DeviceID) {
    guard let made else {
      let chosen = Fact.list(in: server.fields ?? []).compactMap { numbers[$0] }
      for act in acts.indices where actDevices[act] == device && isOwnAffair(act) {
        let isChosen = chosen.contains(acts[act]) || pastOfTag[server.tag]?.contains(act) == true
        if !isChosen { withdrawn.insert(act) }
      }
      return
    }
    var past = (seen[device] ?? EditSet()).union(pastOfTag[server.tag] ?? EditSet())
    past.formUnion(pastOfTag[made.base?.tag ?? 0] ?? EditSet())
    past.formUnion(askedAbout[device] ?? EditSet())
    let known = past
    if made.fields == nil { past.insert(actReplacing(known, Self.deletion, on: device)) }
    for fact in Fact.list(in: made.fields ?? []) {
      past.insert(actReplacing(known, number(of: fact), on: device))
    }
    informed[device] = past
    recordVersion(made, past, on: device)
  }

  /// Registers that the user is asked about this version, which may be replaced before the answer.
  package func deviceAsked(tag: ChangeTag, on device: DeviceID) {
    askedAbout[device] = (askedAbout[device] ?? EditSet()).union(pastOfTag[tag] ?? EditSet())
  }

  /// Adds an act of this deed, which replaces all known acts of other deeds.
  private func actReplacing(_ known: EditSet, _ deed: Int, on device: DeviceID) -> Int {
    let own = act(deed, by: device)
    for other in 0..<own where known.contains(other) && !withdrawn.contains(other) {
      if acts[other] != deed { replacers[other].insert(own) }
    }
    return own
  }

  /// Registers that the device holds this version, made with knowledge of `past`.
  private func recordVersion(_ entry: OutboxEntry, _ past: EditSet, on device: DeviceID) {
    seen[device] = past
    if entry.fields == nil { pastOfDeletes = (pastOfDeletes ?? EditSet()).union(past) }
    let key = VersionKey(
      device: device, fields: entry.fields, modifiedAt: entry.modifiedAt,
      baseTag: entry.base?.tag ?? 0)
    pastOfVersion[key] = (pastOfVersion[key] ?? EditSet()).union(past)
    if asksPeople { informedOfVersion[key] = informed[device] }
  }

  /// True if a device has gone back to a deed that it had already replaced in the same entry.
  package func isRewound(
    _ before: OutboxEntry, to entry: OutboxEntry, on device: DeviceID
  ) -> Bool {
    let old = Fact.list(in: before.fields ?? [])
    return Fact.list(in: entry.fields ?? []).contains { fact in
      guard !old.contains(fact), let deed = numbers[fact] else { return false }
      return acts.indices.contains {
        acts[$0] == deed && actDevices[$0] == device && isReplaced($0) && !withdrawn.contains($0)
      }
    }
  }

  /// Returns the deed of `before` that `fact` is with a corrected stamp; nil if there is none. If a
  /// deed is done again instead, the entry has fewer deeds.
  private func corrected(
    by fact: Fact, _ entry: OutboxEntry, _ before: OutboxEntry?
  ) -> Int? {
    guard let before, before.modifiedAt != entry.modifiedAt else { return nil }
    let old = Fact.list(in: before.fields ?? [])
    guard old.count == Fact.list(in: entry.fields ?? []).count else { return nil }
    return old.first { fact.corrects($0, by: entry.modifiedAt - before.modifiedAt) }
      .flatMap { numbers[$0] }
  }

  /// Registers that a device holds a version from the relay. `isAsHeld`: see `RecordHistory`.
  package func deviceRead(
    tag: ChangeTag, isDeleted: Bool = false, isAsHeld: Bool = false, on device: DeviceID
  ) {
    let isOwnDeletion = acts.indices.contains {
      acts[$0] == Self.deletion && actDevices[$0] == device && !withdrawn.contains($0)
        && !isShared($0)
    }
    if isDeleted, isOwnDeletion { deletedTheSame(as: tag, device) }
    if keepsOrder { checkKept(by: tag, isAsHeld: isAsHeld, device) }
    seen[device] = (seen[device] ?? EditSet()).union(pastOfTag[tag] ?? EditSet())
  }

  /// Reports a violation if the device takes a version that was made without knowledge of what it
  /// held.
  private func checkKept(by tag: ChangeTag, isAsHeld: Bool, _ device: DeviceID) {
    guard let held = seen[device], let past = pastOfTag[tag] else { return }
    // A change whose save was not acknowledged may give way to a newer one. What was there at first
    // was saved by a device that has not read it. Two devices may merge the same versions to the
    // same content, one of them also with a change that no relay ever had: nobody misses it.
    let isKept = acts.indices.allSatisfy { act in
      !held.contains(act) || past.contains(act) || withdrawn.contains(act)
        || actDevices[act] == device || actDevices[act] == nil
        || (isAsHeld && !savedSince.contains(acts[act]))
    }
    if isKept { return }
    environment.fault(
      "device \(device.text) takes tag \(tag), made without knowledge of what it held:\n"
        + description)
  }

  /// Makes one deletion of two: the device had deleted the same, and no other device knew of it.
  /// The relay's deletion may be the device's own, which the device has saved again.
  private func deletedTheSame(as tag: ChangeTag, _ device: DeviceID) {
    let known = pastOfTag[tag] ?? EditSet()
    let deletions = acts.indices.filter { acts[$0] == Self.deletion && known.contains($0) }
    for act in acts.indices
    where actDevices[act] == device && isOwnAffair(act) && !known.contains(act) {
      withdrawn.insert(act)
      guard acts[act] == Self.deletion else { continue }
      for other in acts.indices where replacers[other].contains(act) {
        for deletion in deletions where deletion != other { replacers[other].insert(deletion) }
      }
    }
  }

  /// Registers a version that the relay saved.
  package func relaySaved(_ record: Record, baseTag: ChangeTag?) {
    let key = VersionKey(
      device: record.device, fields: record.fields, modifiedAt: record.modifiedAt,
      baseTag: baseTag ?? 0)
    guard let past = pastOfVersion[key] else {
      environment.fault(
        "the relay saved a version (tag \(record.tag)) that no device's outbox held")
      return
    }
    pastOfTag[record.tag] = past
    if record.isDeleted { deletedTags.insert(record.tag) }
    let deeds = Fact.list(in: record.fields ?? []).compactMap { numbers[$0] }
    savedSince.formUnion(deeds)
    if hasOutlivedDeletion(record, key) {
      for act in acts.indices where deeds.contains(acts[act]) { metAgain.insert(act) }
    }
    if asksPeople { checkInformed(record, key) }
  }

  package func relayRepeated(_ tag: ChangeTag, of former: ChangeTag) {
    pastOfTag[tag] = pastOfTag[former]
    if deletedTags.contains(former) { deletedTags.insert(tag) }
  }

  /// True if a change was saved over a deletion that was done with knowledge of what the change
  /// continues: the change was in its device's outbox before the device knew of the deletion.
  private func hasOutlivedDeletion(_ record: Record, _ key: VersionKey) -> Bool {
    guard !record.isDeleted, deletedTags.contains(key.baseTag), let known = pastOfTag[key.baseTag]
    else { return false }
    let deletions = acts.indices.filter { acts[$0] == Self.deletion && known.contains($0) }
    return pastOfVersion.contains { other, past in
      other.device == key.device && other.fields == key.fields
        && !deletions.allSatisfy(past.contains)
    }
  }

  /// Registers a forgotten save: it is not known who had seen its deeds, so they count as done now.
  package func relayForgotSave(_ mutation: Mutation, by device: DeviceID) {
    if keepsOrder { return }
    let key = VersionKey(
      device: device, fields: mutation.fields, modifiedAt: mutation.modifiedAt,
      baseTag: mutation.baseTag ?? 0)
    let deeds = Fact.list(in: mutation.fields ?? []).compactMap { numbers[$0] }
    for act in acts.indices where pastOfVersion[key]?.contains(act) == true {
      if deeds.contains(acts[act]) { forgotten.insert(act) }
    }
  }

  /// Reports a violation if the version overwrites what its user had not seen.
  private func checkInformed(_ record: Record, _ key: VersionKey) {
    let informed = informedOfVersion[key] ?? EditSet()
    let knownDeeds = acts.indices.filter { informed.contains($0) }.map { acts[$0] }
    let own = Fact.list(in: record.fields ?? []).compactMap { numbers[$0] }
    for act in acts.indices where pastOfTag[key.baseTag]?.contains(act) == true {
      // If the base exists again after a deletion, the device that gave it back overwrote the
      // deletion.
      let isUndone = acts[act] == Self.deletion && !deletedTags.contains(key.baseTag)
      let isBack = isInEffectAgain(act)
      let isForgiven =
        withdrawn.contains(act) || forgotten.contains(act) || isBack || isReplacedBefore(act, key)
      let isKnown = knownDeeds.contains(acts[act]) || own.contains(acts[act])
      if isForgiven || isUndone || isKnown { continue }
      let deed = acts[act] < 0 ? "its deletion" : "\(deeds[acts[act]])"
      environment.fault("\(record.key.name) was written over \(deed) by nobody's choice")
    }
  }

  /// True if the relay has lost what replaced the act, and has received no replacement since:
  /// devices that had seen the act replaced see it again.
  private func isInEffectAgain(_ act: Int) -> Bool {
    if replacers[act].isEmpty { return false }
    if isForgotten(act) { return true }
    let others = acts.indices.filter { replacers[act].contains($0) }
    return others.contains(where: forgotten.contains)
      && others.allSatisfy { withdrawn.contains($0) || isOwnAffair($0) }
  }

  /// True if another act in the base of the version had replaced the act.
  private func isReplacedBefore(_ act: Int, _ key: VersionKey) -> Bool {
    guard let base = pastOfTag[key.baseTag] else { return false }
    return acts.indices.contains { base.contains($0) && replacers[act].contains($0) }
  }

  /// Adds an act of a deed.
  private func act(_ deed: Int, by device: DeviceID? = nil) -> Int {
    acts.append(deed)
    actDevices.append(device)
    replacers.append(EditSet())
    return acts.count - 1
  }

  /// True if the relay has saved a version that was made with knowledge of the act.
  private func isShared(_ act: Int) -> Bool { pastOfTag.values.contains { $0.contains(act) } }

  /// True if no other device has read the act, or if the relay has lost it and its holder gives it
  /// back.
  private func isOwnAffair(_ act: Int) -> Bool { !isShared(act) || forgotten.contains(act) }

  private func number(of fact: Fact) -> Int {
    if let number = numbers[fact] { return number }
    numbers[fact] = deeds.count
    deeds.append(fact)
    return deeds.count - 1
  }
}
