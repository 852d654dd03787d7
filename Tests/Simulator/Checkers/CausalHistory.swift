import LockstepModel
import LockstepSimulation
import LockstepStorage

/// Something that a person did to a record, as it stands in the record's fields: an edit of a
/// timer, a setting's new value. Two that are equal are the same deed.
package protocol Deed: Hashable {
  /// The deeds that stand in a record's fields; empty where there are none to read.
  static func list(in fields: [UInt8]) -> [Self]
  /// Whether this one, done with knowledge of `other`, takes its place.
  func replaces(_ other: Self) -> Bool
  /// Whether this is `other` with its stamp corrected by so many milliseconds: the same deed, which
  /// takes no one's place but that one's.
  func corrects(_ other: Self, by milliseconds: Int64) -> Bool
  /// Whether time alone makes this of `other`: its countdown ran out.
  func follows(_ other: Self) -> Bool
  /// Whether time has let go of `other`, which stood beside this one.
  func outlasts(_ other: Self) -> Bool
}

extension Deed {
  package func follows(_ other: Self) -> Bool { false }
  package func outlasts(_ other: Self) -> Bool { false }
}

/// Who had seen what when each deed was done, taken from what the devices and the relay wrote, and
/// from nothing else. From it follows what a record must be in the end, without asking a resolver.
///
/// One of these a record. A version's *past* is the set of acts that it was made with knowledge
/// of, its own included. An act is one device doing a deed. What time does (a countdown that ends)
/// is no deed: it is the one whose countdown it was, further along, whatever a program writes.
package final class CausalHistory<Fact: Deed>: RecordHistory {
  /// What an act did that deleted the record.
  static var deletion: Int { -1 }

  private unowned let outside: SimulationEnvironment
  /// Whether a deletion is an act like any other: it takes the place of what its doer had seen, and
  /// nothing else.
  private let countsDeletions: Bool
  /// Whether only a person may write over what another did: each version must be made having seen
  /// all of the one that it replaces.
  private let asksPeople: Bool
  var deeds: [Fact] = []
  private var numbers: [Fact: Int] = [:]
  /// Of each act, the deed.
  var acts: [Int] = []
  /// Of each act, who did it; nil where nobody in this world did.
  var doers: [DeviceID?] = []
  /// Of each act, those that took its place: done with knowledge of it.
  var takers: [EditSet] = []
  /// Acts that were taken back before anybody else heard of them.
  var withdrawn = EditSet()
  /// Acts that the relay has lost with all that was made on top of them.
  private var forgotten = EditSet()
  /// Deeds that stand in what the relay saved since it was put back.
  private var savedSince: Set<Int> = []
  /// Acts that met what had taken their place as if neither had seen the other, or outlived it.
  private var metAgain = EditSet()
  /// What each device has seen, by its own record.
  private var seen: [DeviceID: EditSet] = [:]
  private var pastOfTag: [ChangeTag: EditSet] = [:]
  private var deletedTags: Set<ChangeTag> = []
  private var pastOfVersion: [VersionKey: EditSet] = [:]
  /// What those who deleted the record had seen; nil while nobody did.
  private var pastOfDeletes: EditSet?
  /// What the person at each device had seen when they last acted.
  private var informed: [DeviceID: EditSet] = [:]
  /// What the versions stood for that the person at each device was asked about.
  private var askedAbout: [DeviceID: EditSet] = [:]
  private var informedOfVersion: [VersionKey: EditSet] = [:]
  private var released: Set<Int> = []

  /// A version that a device made, as its entry of the outbox and its save name it.
  private struct VersionKey: Hashable {
    var device: DeviceID
    var fields: [UInt8]?
    var modifiedAt: Int64
    var baseTag: ChangeTag
  }

  package init(
    outside: SimulationEnvironment, countsDeletions: Bool = false, asksPeople: Bool = false
  ) {
    self.outside = outside
    self.countsDeletions = countsDeletions
    self.asksPeople = asksPeople
  }

  /// How many deeds somebody did.
  package var count: Int {
    var isDone = deeds.map { _ in false }
    for act in acts.indices where doers[act] != nil && acts[act] >= 0 { isDone[acts[act]] = true }
    return isDone.count { $0 } + acts.count { $0 == Self.deletion }
  }

  /// Whether somebody did this.
  package func knows(_ fact: Fact) -> Bool { numbers[fact] != nil }

  /// All that anybody did but delete it.
  package var done: [Fact] { deeds }

  /// Whether anybody ever deleted the record.
  package var wasDeleted: Bool { pastOfDeletes != nil }

  /// Whether somebody deleted the record, and nobody did anything having seen that.
  package var isDeletionStanding: Bool {
    acts.indices.contains { acts[$0] == Self.deletion && !isReplaced($0) }
  }

  func isReplaced(_ act: Int) -> Bool {
    withdrawn.contains(act) || !takers[act].isSubset(of: withdrawn)
  }

  /// The deeds whose place nobody took, in the order in which they were done.
  package var standing: [Fact] {
    deeds.indices.filter { deed in
      acts.indices.allSatisfy { acts[$0] != deed || !isReplaced($0) }
    }.map { deeds[$0] }
  }

  /// The deeds whose place was taken by somebody who did them too, but who had not heard that
  /// another had, and those of which the relay has lost who had seen them. They may stand or not:
  /// it depends on who hears of what first.
  package var doubtful: [Fact] {
    deeds.indices.filter { deed in
      let own = acts.indices.filter { acts[$0] == deed }
      return own.contains { isReplaced($0) }
        && own.contains { !isReplaced($0) || isForgotten($0) }
    }.map { deeds[$0] }
  }

  /// The relay has lost it, or all that took its place: who had seen it is not known any more.
  private func isForgotten(_ act: Int) -> Bool {
    if withdrawn.contains(act) { return false }
    return forgotten.contains(act) || metAgain.contains(act)
      || takers[act].isSubset(of: forgotten.union(withdrawn))
  }

  /// Whether the relay has lost something that anybody did.
  package var hasForgotten: Bool { !forgotten.isEmpty }

  /// Whether the record may be gone: somebody deleted it, and had seen what stands, or at least
  /// something that may have won over it before.
  package var mayBeGone: Bool {
    guard let pastOfDeletes else { return false }
    return acts.indices.allSatisfy { isReplaced($0) || pastOfDeletes.contains($0) }
      || acts.indices.contains { pastOfDeletes.contains($0) }
  }

  /// A version that stood before the world began, by nobody's hand.
  package func stood(_ record: Record) {
    let past = Fact.list(in: record.fields ?? []).reduce(into: EditSet()) {
      $0.insert(act(number(of: $1)))
    }
    pastOfTag[record.tag] = past
  }

  /// The relay was put back, and has lost the versions of some tags. A device that did not hear of
  /// what was made on top of them may send the same once more. `isBlind`: the devices will not hear
  /// how far back it went, so whatever stood there may win over what was made on top of it.
  package func relayLost(isBlind: Bool, _ isLost: (ChangeTag) -> Bool) {
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

  /// The relay has lost a version, and this device, which holds it, gives it back with `entry`. Who
  /// had seen it, and then did something else, is not known to anybody any more: it stands beside
  /// what was done meanwhile, as if it were done only now.
  package func deviceBringsBack(_ entry: OutboxEntry, on device: DeviceID) {
    var past = seen[device] ?? EditSet()
    for fact in Fact.list(in: entry.fields ?? []) { past.insert(again(number(of: fact), device)) }
    if countsDeletions, entry.fields == nil {
      past.insert(takingAll(past, Self.deletion, on: device))
    }
    informed[device] = past
    hold(entry, past, on: device)
  }

  /// A new act of the deed, in the place of all whose place the same deed has taken before. Those
  /// that a version of after the loss was made with meet it with that version's stamp.
  private func again(_ deed: Int, _ device: DeviceID) -> Int {
    let own = act(deed, by: device)
    let before = acts.indices.filter { acts[$0] == deed && $0 != own }
    for other in 0..<own where acts[other] != deed {
      guard before.contains(where: takers[other].contains) else { continue }
      takers[other].insert(own)
      if savedSince.contains(acts[other]) { metAgain.insert(other) }
    }
    return own
  }

  /// A device was signed out: what it did and never brought to the relay is its own loss alone.
  package func deviceRevoked(_ device: DeviceID, saved: Record?) {
    let standing = saved.flatMap { pastOfTag[$0.tag] } ?? EditSet()
    for act in acts.indices where doers[act] == device && isOwnAffair(act) {
      if !standing.contains(act) { withdrawn.insert(act) }
    }
  }

  /// A device has taken back what stood in its outbox and was never sent.
  /// `isDoneByOthers`: another has done the same, so that what took a place keeps it.
  package func deviceWithdrew(
    _ entry: OutboxEntry, butFor kept: [Fact], isDoneByOthers: Bool, on device: DeviceID
  ) {
    let known = pastOfTag[entry.base?.tag ?? 0] ?? EditSet()
    for fact in Fact.list(in: entry.fields ?? []) where !kept.contains(fact) {
      guard let deed = numbers[fact] else { continue }
      for act in acts.indices where acts[act] == deed && doers[act] == device {
        let keepsPlace = isDoneByOthers && takers.contains { $0.contains(act) }
        if !known.contains(act) && !isShared(act) && !keepsPlace { withdrawn.insert(act) }
      }
    }
    if isDoneByOthers { return }
    withdrawSteps(to: entry, butFor: kept, on: device)
  }

  /// What led to a withdrawn act in the same entry, and would stand again without it.
  private func withdrawSteps(to entry: OutboxEntry, butFor kept: [Fact], on device: DeviceID) {
    let others = kept + Fact.list(in: entry.base?.fields ?? [])
    for act in acts.indices.reversed() where doers[act] == device && !isShared(act) {
      let isStep = !takers[act].isSubset(of: EditSet()) && takers[act].isSubset(of: withdrawn)
      if isStep && acts[act] >= 0 && !others.contains(deeds[acts[act]]) { withdrawn.insert(act) }
    }
  }

  /// A device holds a version that it made itself: `entry` stands in its outbox, where `before`
  /// stood under the same number.
  /// `byPerson`: with what somebody did just now.
  package func deviceMade(
    _ entry: OutboxEntry, insteadOf before: OutboxEntry? = nil, byPerson: Bool = false,
    on device: DeviceID
  ) {
    // Its state alone is another one: it leaves, or comes back.
    if let before, before.fields == entry.fields, before.modifiedAt == entry.modifiedAt,
      before.base?.tag == entry.base?.tag, !byPerson
    {
      return
    }
    if let before, isRewound(before, to: entry, on: device) {
      deviceWithdrew(
        before, butFor: Fact.list(in: entry.fields ?? []), isDoneByOthers: false, on: device)
    }
    if !byPerson { noteEnd(entry, insteadOf: before) }
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
      for act in acts.indices where known.contains(act) && !withdrawn.contains(act) {
        let takesPlace =
          old.map { acts[act] == $0 }
          ?? (acts[act] == Self.deletion || fact.replaces(deeds[acts[act]]))
        if takesPlace { takers[act].insert(own) }
      }
    }
    if countsDeletions, byPerson, entry.fields == nil, before?.fields != nil || before == nil {
      past.insert(takingAll(known, Self.deletion, on: device))
    }
    if byPerson { informed[device] = past }
    hold(entry, past, on: device)
  }

  /// Nobody did anything: what the entry has that is new, time made of what stood there.
  private func noteEnd(_ entry: OutboxEntry, insteadOf before: OutboxEntry?) {
    let stood = Fact.list(in: before?.fields ?? entry.base?.fields ?? [])
    guard let shown = stood.first, let made = Fact.list(in: entry.fields ?? []).first else {
      return
    }
    if numbers[made] == nil, made.follows(shown), corrected(by: made, entry, before) == nil {
      numbers[made] = numbers[shown]
    }
    guard numbers[made] == numbers[shown] else { return }
    let left = Fact.list(in: entry.fields ?? [])
    for fact in stood where !left.contains(fact) && made.outlasts(fact) {
      if let deed = numbers[fact], deed != numbers[shown] { released.insert(deed) }
    }
  }

  /// What somebody did that the fact is, or goes back to.
  package func origin(of fact: Fact) -> Fact { numbers[fact].map { deeds[$0] } ?? fact }

  /// Deeds that stood beside one whose countdown ended, after which nobody waits for them. A device
  /// that has not heard of that end may hold them yet, and bring them with what it does.
  package var letGo: [Fact] { released.sorted().map { deeds[$0] } }

  /// A person has chosen between what the device had in its outbox and the relay's version. `made`:
  /// what stands in the outbox now; nil where the relay's version was chosen.
  package func deviceDecided(_ server: Record, made: OutboxEntry?, on device: DeviceID) {
    guard let made else {
      let chosen = Fact.list(in: server.fields ?? []).compactMap { numbers[$0] }
      for act in acts.indices where doers[act] == device && isOwnAffair(act) {
        let isChosen = chosen.contains(acts[act]) || pastOfTag[server.tag]?.contains(act) == true
        if !isChosen { withdrawn.insert(act) }
      }
      return
    }
    var past = (seen[device] ?? EditSet()).union(pastOfTag[server.tag] ?? EditSet())
    past.formUnion(pastOfTag[made.base?.tag ?? 0] ?? EditSet())
    past.formUnion(askedAbout[device] ?? EditSet())
    let known = past
    if made.fields == nil { past.insert(takingAll(known, Self.deletion, on: device)) }
    for fact in Fact.list(in: made.fields ?? []) {
      past.insert(takingAll(known, number(of: fact), on: device))
    }
    informed[device] = past
    hold(made, past, on: device)
  }

  /// The person is asked about this version, which may be gone before there is an answer.
  package func deviceAsked(tag: ChangeTag, on device: DeviceID) {
    askedAbout[device] = (askedAbout[device] ?? EditSet()).union(pastOfTag[tag] ?? EditSet())
  }

  /// A new act of this deed, which takes the place of all that is known of any other.
  private func takingAll(_ known: EditSet, _ deed: Int, on device: DeviceID) -> Int {
    let own = act(deed, by: device)
    for other in 0..<own where known.contains(other) && !withdrawn.contains(other) {
      if acts[other] != deed { takers[other].insert(own) }
    }
    return own
  }

  /// The device holds this version, made with knowledge of `past`.
  private func hold(_ entry: OutboxEntry, _ past: EditSet, on device: DeviceID) {
    seen[device] = past
    if entry.fields == nil { pastOfDeletes = (pastOfDeletes ?? EditSet()).union(past) }
    let key = VersionKey(
      device: device, fields: entry.fields, modifiedAt: entry.modifiedAt,
      baseTag: entry.base?.tag ?? 0)
    pastOfVersion[key] = (pastOfVersion[key] ?? EditSet()).union(past)
    if asksPeople { informedOfVersion[key] = informed[device] }
  }

  /// Whether a device has gone back to what it had already replaced in the same entry.
  package func isRewound(
    _ before: OutboxEntry, to entry: OutboxEntry, on device: DeviceID
  ) -> Bool {
    let old = Fact.list(in: before.fields ?? [])
    return Fact.list(in: entry.fields ?? []).contains { fact in
      guard !old.contains(fact), let deed = numbers[fact] else { return false }
      return acts.indices.contains {
        acts[$0] == deed && doers[$0] == device && isReplaced($0) && !withdrawn.contains($0)
      }
    }
  }

  /// The deed of `before` that `fact` is with another stamp. The same once more leaves fewer.
  private func corrected(
    by fact: Fact, _ entry: OutboxEntry, _ before: OutboxEntry?
  ) -> Int? {
    guard let before, before.modifiedAt != entry.modifiedAt else { return nil }
    let old = Fact.list(in: before.fields ?? [])
    guard old.count == Fact.list(in: entry.fields ?? []).count else { return nil }
    return old.first { fact.corrects($0, by: entry.modifiedAt - before.modifiedAt) }
      .flatMap { numbers[$0] }
  }

  /// A device holds what the relay told it.
  package func deviceTook(tag: ChangeTag, isDeleted: Bool = false, on device: DeviceID) {
    let isOwnDeletion = acts.indices.contains {
      acts[$0] == Self.deletion && doers[$0] == device && !withdrawn.contains($0) && !isShared($0)
    }
    if isDeleted, isOwnDeletion { deletedTheSame(as: tag, device) }
    seen[device] = (seen[device] ?? EditSet()).union(pastOfTag[tag] ?? EditSet())
  }

  /// It had deleted the same, and nobody had heard of it: one deletion stands for both.
  private func deletedTheSame(as tag: ChangeTag, _ device: DeviceID) {
    let known = pastOfTag[tag] ?? EditSet()
    let deletions = acts.indices.filter {
      acts[$0] == Self.deletion && doers[$0] != device && known.contains($0)
    }
    for act in acts.indices where doers[act] == device && isOwnAffair(act) {
      withdrawn.insert(act)
      guard acts[act] == Self.deletion else { continue }
      for other in acts.indices where takers[other].contains(act) {
        for deletion in deletions where deletion != other { takers[other].insert(deletion) }
      }
    }
  }

  /// The relay saved a version.
  package func relaySaved(_ record: Record, baseTag: ChangeTag?) {
    let key = VersionKey(
      device: record.device, fields: record.fields, modifiedAt: record.modifiedAt,
      baseTag: baseTag ?? 0)
    guard let past = pastOfVersion[key] else {
      outside.fault("the relay saved a version (tag \(record.tag)) that no device's outbox held")
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

  /// Whether a change stands where somebody deleted the record, who had seen what it carries on: it
  /// stood in its device's outbox before that had heard of the deletion.
  private func hasOutlivedDeletion(_ record: Record, _ key: VersionKey) -> Bool {
    guard !record.isDeleted, deletedTags.contains(key.baseTag), let known = pastOfTag[key.baseTag]
    else { return false }
    let deletions = acts.indices.filter { acts[$0] == Self.deletion && known.contains($0) }
    return pastOfVersion.contains { other, past in
      other.device == key.device && other.fields == key.fields
        && !deletions.allSatisfy(past.contains)
    }
  }

  /// Whoever had seen what the version did is not known any more: it is done as if only now.
  package func relayForgotSave(_ mutation: Mutation, by device: DeviceID) {
    let key = VersionKey(
      device: device, fields: mutation.fields, modifiedAt: mutation.modifiedAt,
      baseTag: mutation.baseTag ?? 0)
    let deeds = Fact.list(in: mutation.fields ?? []).compactMap { numbers[$0] }
    for act in acts.indices where pastOfVersion[key]?.contains(act) == true {
      if deeds.contains(acts[act]) { forgotten.insert(act) }
    }
  }

  /// Whoever wrote over the version that stood there had it before them.
  private func checkInformed(_ record: Record, _ key: VersionKey) {
    let informed = informedOfVersion[key] ?? EditSet()
    let knownDeeds = acts.indices.filter { informed.contains($0) }.map { acts[$0] }
    let own = Fact.list(in: record.fields ?? []).compactMap { numbers[$0] }
    for act in acts.indices where pastOfTag[key.baseTag]?.contains(act) == true {
      // Where what was deleted stands there again, whoever gave it back wrote over the deletion.
      let isUndone = acts[act] == Self.deletion && !deletedTags.contains(key.baseTag)
      let isBack = stoodAgain(act)
      let isForgiven =
        withdrawn.contains(act) || forgotten.contains(act) || isBack || isReplacedBefore(act, key)
      let isKnown = knownDeeds.contains(acts[act]) || own.contains(acts[act])
      if isForgiven || isUndone || isKnown { continue }
      let deed = acts[act] < 0 ? "its deletion" : "\(deeds[acts[act]])"
      outside.fault("\(record.key.name) was written over \(deed) by nobody's choice")
    }
  }

  /// Whether the relay has lost what took the act's place, and has got nothing since that does: it
  /// stands there again for those who had seen it replaced.
  private func stoodAgain(_ act: Int) -> Bool {
    if takers[act].isEmpty { return false }
    if isForgotten(act) { return true }
    let others = acts.indices.filter { takers[act].contains($0) }
    return others.contains(where: forgotten.contains)
      && others.allSatisfy { withdrawn.contains($0) || isOwnAffair($0) }
  }

  /// Whether another act of the version that stood there had taken the act's place.
  private func isReplacedBefore(_ act: Int, _ key: VersionKey) -> Bool {
    guard let base = pastOfTag[key.baseTag] else { return false }
    return acts.indices.contains { base.contains($0) && takers[act].contains($0) }
  }

  /// A new act of a deed.
  private func act(_ deed: Int, by device: DeviceID? = nil) -> Int {
    acts.append(deed)
    doers.append(device)
    takers.append(EditSet())
    return acts.count - 1
  }

  /// The relay has saved a version that was made with knowledge of the act.
  private func isShared(_ act: Int) -> Bool { pastOfTag.values.contains { $0.contains(act) } }

  /// Nobody else has heard of it, or the relay has lost it, and who has it gives it back.
  private func isOwnAffair(_ act: Int) -> Bool { !isShared(act) || forgotten.contains(act) }

  private func number(of fact: Fact) -> Int {
    if let number = numbers[fact] { return number }
    numbers[fact] = deeds.count
    deeds.append(fact)
    return deeds.count - 1
  }
}
