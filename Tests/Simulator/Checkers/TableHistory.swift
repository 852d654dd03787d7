import LockstepJSON
import LockstepModel
import LockstepStorage

/// History of a record whose rules are a table: each user's edit of a field, with its stamp and the
/// edits that its author had seen. From these alone follows what each field must be in the end; the
/// stamps that the rules keep in the record are not used.
package final class TableHistory: RecordHistory {
  package struct Edit {
    package var device: DeviceID
    package var time: Int64
    package var field: String
    /// Element of a set (as JSON text) or member of an object; empty for all else.
    package var part = ""
    package var value: JSONValue?
    /// Amount by which a counter has grown.
    package var amount: Int64 = 0
    package var seen: EditSet
    /// False if its stamp was corrected in a way that this model does not follow.
    package var isTimeCertain = true
  }

  /// A version made by a device, as its outbox entry and its save identify it.
  private struct VersionKey: Hashable {
    var device: DeviceID
    var fields: [UInt8]?
    var modifiedAt: Int64
    var baseTag: ChangeTag
  }

  private let rules: MergeRules
  package private(set) var edits: [Edit] = []
  private var seen: [DeviceID: EditSet] = [:]
  private var pastOfTag: [ChangeTag: EditSet] = [:]
  private var pastOfVersion: [VersionKey: EditSet] = [:]
  /// Edits that were lost with their device.
  private var withdrawn = EditSet()
  /// True if the relay has lost or forgotten something, or the record was deleted: it is not known
  /// any more who had seen what.
  package private(set) var isUncertain = false

  package init(rules: MergeRules) { self.rules = rules }

  package var count: Int { edits.count }

  // MARK: edits

  package func addInitial(_ record: Record) {
    add(
      differences([:], FieldsText.value(record.fields ?? []) ?? [:]), record.device,
      record.modifiedAt)
    pastOfTag[record.tag] = seen.removeValue(forKey: record.device)
  }

  package func deviceMade(
    _ entry: OutboxEntry, insteadOf before: OutboxEntry?, byPerson: Bool, on device: DeviceID
  ) {
    // Only its state has changed: it is sent, or not sent any more.
    if let before, before.fields == entry.fields, before.modifiedAt == entry.modifiedAt,
      before.base?.tag == entry.base?.tag
    {
      return
    }
    guard let fields = entry.fields, let value = FieldsText.value(fields) else {
      isUncertain = true
      return
    }
    let base = pastOfTag[entry.base?.tag ?? 0] ?? EditSet()
    seen[device, default: EditSet()].formUnion(base)
    let former = (before?.fields ?? entry.base?.fields).flatMap { FieldsText.value($0) } ?? [:]
    let made = differences(former, value)
    if byPerson, !made.isEmpty {
      add(made, device, entry.modifiedAt)
    } else if let before, made.isEmpty, before.modifiedAt != entry.modifiedAt,
      before.base?.tag == entry.base?.tag
    {
      correct(entry, by: entry.modifiedAt - before.modifiedAt, butFor: base, on: device)
    }
    let key = VersionKey(
      device: device, fields: fields, modifiedAt: entry.modifiedAt, baseTag: entry.base?.tag ?? 0)
    pastOfVersion[key, default: EditSet()].formUnion(seen[device] ?? EditSet())
  }

  private typealias Difference = (field: String, part: String, value: JSONValue?, amount: Int64)

  private func add(_ made: [Difference], _ device: DeviceID, _ time: Int64) {
    let known = seen[device] ?? EditSet()
    for (field, part, value, amount) in made {
      seen[device, default: EditSet()].insert(edits.count)
      edits.append(
        Edit(
          device: device, time: time, field: field, part: part, value: value, amount: amount,
          seen: known))
    }
  }

  /// Moves the stamps of a device's edits in an entry: its clock was wrong.
  private func correct(
    _ entry: OutboxEntry, by milliseconds: Int64, butFor base: EditSet, on device: DeviceID
  ) {
    let newest = edits.indices.filter(base.contains).map { edits[$0].time }.max() ?? .min
    // The version on which the entry was made is itself not saved yet.
    let isOnOwn = entry.base?.tag == 0
    for index in edits.indices
    where edits[index].device == device && seen[device]?.contains(index) == true
      && !base.contains(index)
    {
      edits[index].time += milliseconds
      if isOnOwn || edits[index].time <= newest { edits[index].isTimeCertain = false }
    }
  }

  private func differences(_ old: JSONValue, _ new: JSONValue) -> [Difference] {
    let names = Set((old.members ?? []).map(\.name)).union((new.members ?? []).map(\.name))
    return names.sorted().filter { old[$0] != new[$0] }.flatMap { name -> [Difference] in
      switch rules[name] {
      case .newest, .keepBoth, .least, .greatest, .or, .and: return [(name, "", new[name], 0)]
      case .counter: return [(name, "", nil, Self.total(new[name]) - Self.total(old[name]))]
      case .set, .map, .greatestEach:
        let (former, now) = (Self.parts(of: old[name]), Self.parts(of: new[name]))
        return Set(former.keys).union(now.keys).sorted().filter { former[$0] != now[$0] }.map {
          (name, $0, now[$0], 0)
        }
      }
    }
  }

  /// Elements by their JSON text, or members by name.
  private static func parts(of value: JSONValue?) -> [String: JSONValue] {
    let elements = (value?.array ?? []).map { ($0.text, $0) }
    let members = (value?.members ?? []).map { ($0.name, $0.value) }
    return Dictionary(elements + members) { first, _ in first }
  }

  private static func total(_ counter: JSONValue?) -> Int64 {
    (counter?.members ?? []).reduce(0) { sum, member in
      let parts = (member.value.array ?? []).map { $0.int64 ?? 0 }
      return sum + (parts.first ?? 0) - (parts.count > 1 ? parts[1] : 0)
    }
  }

  // MARK: knowledge

  package func deviceRead(
    tag: ChangeTag, isDeleted: Bool, isAsHeld: Bool, on device: DeviceID
  ) {
    if isDeleted { isUncertain = true }
    seen[device, default: EditSet()].formUnion(pastOfTag[tag] ?? EditSet())
  }

  package func relaySaved(_ record: Record, baseTag: ChangeTag?) {
    let key = VersionKey(
      device: record.device, fields: record.fields, modifiedAt: record.modifiedAt,
      baseTag: baseTag ?? 0)
    // A version that no outbox held: the other checkers report it.
    guard let past = pastOfVersion[key] else {
      isUncertain = true
      return
    }
    pastOfTag[record.tag] = past
  }

  package func deviceRevoked(_ device: DeviceID, saved: Record?) {
    let shared = pastOfTag.keys.sorted().reduce(EditSet()) {
      $0.union(pastOfTag[$1] ?? EditSet())
    }
    for index in edits.indices where edits[index].device == device && !shared.contains(index) {
      withdrawn.insert(index)
    }
  }

  package func deviceBringsBack(_ entry: OutboxEntry, on device: DeviceID) { isUncertain = true }

  package func relayRepeated(_ tag: ChangeTag, of former: ChangeTag) {
    pastOfTag[tag] = pastOfTag[former]
  }

  package func deviceWithdrew(_ entry: OutboxEntry, isDoneByOthers: Bool, on device: DeviceID) {
    isUncertain = true
  }

  package func relayForgotSave(_ mutation: Mutation, by device: DeviceID) { isUncertain = true }

  package func relayLost(isBlind: Bool, _ isLost: (ChangeTag) -> Bool) { isUncertain = true }

  package func deviceDecided(_ server: Record, made: OutboxEntry?, on device: DeviceID) {
    isUncertain = true
  }

  // MARK: the demand

  /// Returns nil if all fields are what the history demands.
  ///
  /// - Parameter copies: Fields of the copies that were kept of this record.
  package func difference(_ fields: [UInt8]?, copies: [JSONValue]) -> String? {
    if isUncertain || edits.indices.allSatisfy(withdrawn.contains) { return nil }
    guard let value = fields.flatMap({ FieldsText.value($0) }) else { return "is gone" }
    let known = edits.indices.filter { !withdrawn.contains($0) }
    let names = Set(known.map { edits[$0].field }).union((value.members ?? []).map(\.name))
    for name in names.sorted() {
      let own = known.filter { edits[$0].field == name }
      guard let demanded = demand(name, own, shown: value[name]) else { continue }
      if !Self.isSame(value[name], demanded.value) {
        return "has \(name): \(value[name]?.text ?? "nothing"), and not "
          + "\(demanded.value?.text ?? "nothing"), by this history:\n\(text(of: name))"
      }
      guard rules[name] == .keepBoth else { continue }
      let kept = copies.compactMap { $0[name] } + [value[name]].compactMap { $0 }
      for index in unseen(own) {
        guard let text = edits[index].value, !kept.contains(text) else { continue }
        return "has lost \(text.text) of \(name), by this history:\n\(self.text(of: name))"
      }
    }
    return nil
  }

  /// The demanded value, nil inside for none.
  private struct Demand { var value: JSONValue? }

  /// Returns nil if stamps decide that are not certain.
  private func demand(_ name: String, _ own: [Int], shown: JSONValue?) -> Demand? {
    let rule = rules[name]
    switch rule {
    case .newest, .keepBoth:
      guard own.allSatisfy({ edits[$0].isTimeCertain }) else { return nil }
      return Demand(value: newest(own)?.value)
    case .set, .map, .greatestEach:
      guard rule == .greatestEach || own.allSatisfy({ edits[$0].isTimeCertain }) else {
        return nil
      }
      let parts = Set(own.map { edits[$0].part }).sorted().compactMap { part -> JSONMember? in
        let edits = own.filter { self.edits[$0].part == part }
        let value = rule == .greatestEach ? greatest(edits) : newest(edits)?.value
        return value.map { JSONMember(part, $0) }
      }
      if parts.isEmpty { return Demand(value: nil) }
      return Demand(value: rule == .set ? .array(parts.map(\.value)) : .object(parts))
    case .counter:
      let sum = own.reduce(0) { $0 + edits[$1].amount }
      // The sum alone counts, however the devices' parts are written.
      return Demand(value: Self.total(shown) == sum ? shown : .number(JSONNumber(sum)))
    case .least, .greatest, .or, .and:
      let last = unseen(own).compactMap { edits[$0].value }
      if last.count < 2 { return Demand(value: last.first) }
      switch rule {
      case .or: return Demand(value: .bool(last.contains(true)))
      case .and: return Demand(value: .bool(last.allSatisfy { $0 == true }))
      case .least: return Demand(value: last.min { ($0.int64 ?? 0) < ($1.int64 ?? 0) })
      default: return Demand(value: last.max { ($0.int64 ?? 0) < ($1.int64 ?? 0) })
      }
    }
  }

  private func greatest(_ own: [Int]) -> JSONValue? {
    own.compactMap { edits[$0].value }.max { ($0.int64 ?? 0) < ($1.int64 ?? 0) }
  }

  private func newest(_ own: [Int]) -> Edit? {
    own.map { edits[$0] }.max {
      if $0.time != $1.time { return $0.time < $1.time }
      return $0.device.text.utf8.lexicographicallyPrecedes($1.device.text.utf8)
    }
  }

  /// The edits that no later edit of the same field had seen.
  private func unseen(_ own: [Int]) -> [Int] {
    own.filter { index in !own.contains { edits[$0].seen.contains(index) } }
  }

  /// True if both have the same parts, in whatever order. An empty set or object is none.
  private static func isSame(_ left: JSONValue?, _ right: JSONValue?) -> Bool {
    if left == right { return true }
    let isObject = (left ?? right)?.members != nil || (left ?? right)?.array != nil
    return isObject && parts(of: left) == parts(of: right)
  }

  private func text(of field: String) -> String {
    edits.indices.filter { edits[$0].field == field }.map { index in
      let edit = edits[index]
      let part = edit.part.isEmpty ? "" : " \(edit.part)"
      let value = edit.value?.text ?? (edit.amount == 0 ? "removed" : "\(edit.amount)")
      let seen = edits.indices.filter { edit.seen.contains($0) && edits[$0].field == field }
      return "  \(index): \(edit.time) by \(edit.device.text)\(part): \(value), having seen \(seen)"
        + (withdrawn.contains(index) ? ", lost with its device" : "")
        + (edit.isTimeCertain ? "" : ", at an uncertain time")
    }.joined(separator: "\n")
  }
}

/// History of the timer's settings. The causal history tells which values are possible, also after
/// the relay was restored, and the stamps which of them must have won.
package final class SettingsHistory: RecordHistory {
  package let facts: CausalHistory<SettingFact>
  package let table = TableHistory(rules: MergeRules())

  package init(_ facts: CausalHistory<SettingFact>) { self.facts = facts }

  private var both: [any RecordHistory] { [facts, table] }

  package var count: Int { facts.count }

  package func addInitial(_ record: Record) { for history in both { history.addInitial(record) } }

  package func deviceMade(
    _ entry: OutboxEntry, insteadOf before: OutboxEntry?, byPerson: Bool, on device: DeviceID
  ) {
    for history in both {
      history.deviceMade(entry, insteadOf: before, byPerson: byPerson, on: device)
    }
  }

  package func deviceBringsBack(_ entry: OutboxEntry, on device: DeviceID) {
    for history in both { history.deviceBringsBack(entry, on: device) }
  }

  package func deviceSavesAgain(_ entry: OutboxEntry, on device: DeviceID) {
    for history in both { history.deviceSavesAgain(entry, on: device) }
  }

  package func relayRepeated(_ tag: ChangeTag, of former: ChangeTag) {
    for history in both { history.relayRepeated(tag, of: former) }
  }

  package func deviceWithdrew(_ entry: OutboxEntry, isDoneByOthers: Bool, on device: DeviceID) {
    for history in both {
      history.deviceWithdrew(entry, isDoneByOthers: isDoneByOthers, on: device)
    }
  }

  package func deviceRevoked(_ device: DeviceID, saved: Record?) {
    for history in both { history.deviceRevoked(device, saved: saved) }
  }

  package func deviceDecided(_ server: Record, made: OutboxEntry?, on device: DeviceID) {
    for history in both { history.deviceDecided(server, made: made, on: device) }
  }

  package func deviceRead(
    tag: ChangeTag, isDeleted: Bool, isAsHeld: Bool, on device: DeviceID
  ) {
    for history in both {
      history.deviceRead(tag: tag, isDeleted: isDeleted, isAsHeld: isAsHeld, on: device)
    }
  }

  package func relaySaved(_ record: Record, baseTag: ChangeTag?) {
    for history in both { history.relaySaved(record, baseTag: baseTag) }
  }

  package func relayForgotSave(_ mutation: Mutation, by device: DeviceID) {
    for history in both { history.relayForgotSave(mutation, by: device) }
  }

  package func relayLost(isBlind: Bool, _ isLost: (ChangeTag) -> Bool) {
    for history in both { history.relayLost(isBlind: isBlind, isLost) }
  }
}
