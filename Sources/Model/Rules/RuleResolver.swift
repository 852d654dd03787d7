import LockstepJSON

/// All fields of a version with their stamps, read by the rules of the record's type.
struct StampedFields: Hashable, Sendable {
  private let rules: MergeRules
  private var fields: TextTable<FieldState>

  /// Reads a version. Without `"~"`, and where it holds no common stamp, the version's own stamp is
  /// that of all its fields.
  init(_ fields: JSONValue, rules: MergeRules, own: Stamp) {
    self.rules = rules
    let entries = fields[Stamps.member]
    let common = Stamp(entries?[Stamps.common]) ?? own
    let values = TextTable(
      (fields.members ?? []).filter { $0.name != Stamps.member }.map { ($0.name, $0.value) })
    let stamps = TextTable(
      (entries?.members ?? []).filter { $0.name != Stamps.common }.map { ($0.name, $0.value) })
    self.fields = values.combined(with: stamps) { name, value, entry in
      FieldState(value: value, entry: entry, rule: rules[name], common: common)
    }
  }

  /// Reads a version that may lack stamps, as a change of `base`.
  init(_ fields: JSONValue, rules: MergeRules, own: Stamp, over base: StampedFields?) {
    self.init(fields, rules: rules, own: own)
    guard let base, !isStamped(fields) else { return }
    self.fields = self.fields.combined(with: base.fields) { name, present, known in
      FieldState.inferred(present, over: known, rule: rules[name], own: own)
    }
  }

  /// True if these fields, which were read from `fields`, hold stamps of their own.
  func isStamped(_ fields: JSONValue) -> Bool {
    fields[Stamps.member]?.members != nil && newestStamp != nil
  }

  private init(rules: MergeRules, _ fields: TextTable<FieldState>) {
    self.rules = rules
    self.fields = fields
  }

  subscript(_ name: String) -> FieldState? { fields[name] }

  /// Names of all fields, by their UTF-8 bytes.
  var names: [String] { fields.entries.map(\.key) }

  var newestStamp: Stamp? { fields.entries.flatMap { $0.value.stamps }.max() }

  func contains(_ stamp: Stamp) -> Bool {
    fields.entries.contains { $0.value.stamps.contains(stamp) }
  }

  /// Merges two versions that were made on `base`.
  static func merge(base: StampedFields?, _ left: StampedFields, _ right: StampedFields)
    -> StampedFields
  {
    let merged = left.fields.combined(with: right.fields) { name, left, right in
      FieldState.merge(base: base?.fields[name], left, right)
    }
    return StampedFields(rules: left.rules, merged)
  }

  func mapStamps(_ transform: (Stamp) -> Stamp) -> StampedFields {
    StampedFields(rules: rules, fields.mapValues { $0.mapStamps(transform) })
  }

  func droppingRemovals(before time: Int64) -> StampedFields {
    let nothing = TextTable<FieldState>()
    return StampedFields(
      rules: rules,
      fields.combined(with: nothing) { _, state, _ in state?.droppingRemovals(before: time) })
  }

  /// Returns these fields with the parts of `other` that only grow and that these lack or have less
  /// of: a device must not take back what others have counted.
  func keepingCounts(of other: StampedFields) -> StampedFields {
    let merged = fields.combined(with: other.fields) { name, state, known -> FieldState? in
      switch rules[name] {
      case .counter, .greatestEach: FieldState.merge(base: nil, state, known)
      case .newest, .greatest, .least, .or, .and, .set, .map, .keepBoth: state
      }
    }
    return StampedFields(rules: rules, merged)
  }

  /// The fields with their values and `"~"`, which is left out if there is no stamp.
  var json: JSONValue {
    let values = fields.entries.compactMap { entry in
      entry.value.value(rules[entry.key]).map { JSONMember(entry.key, $0) }
    }
    let common = commonStamp
    // A field named "" has no entry: its name is that of the commonest stamp.
    var stamps = fields.entries.compactMap { entry in
      entry.key == Stamps.common
        ? nil : entry.value.entry(common: common).map { JSONMember(entry.key, $0) }
    }
    if let common { stamps.append(JSONMember(Stamps.common, common.json)) }
    return .object(
      values + (stamps.isEmpty ? [] : [JSONMember(Stamps.member, .object(stamps))]))
  }

  /// The commonest stamp of what is present; of several, the least.
  private var commonStamp: Stamp? {
    var best: (stamp: Stamp, count: Int)?
    var run: (stamp: Stamp, count: Int)?
    for stamp in fields.entries.flatMap({ $0.value.presentStamps }).sorted() {
      run = run?.stamp == stamp ? (stamp, (run?.count ?? 0) + 1) : (stamp, 1)
      if let run, run.count > best?.count ?? 0 { best = run }
    }
    return best?.stamp
  }
}

/// Resolver of a record type whose rules are a table. The outcome is what the whole history
/// demands, for any number of devices and any order of arrival.
package struct RuleResolver: Resolver {
  package let rules: MergeRules

  package init(_ rules: MergeRules) { self.rules = rules }

  package var isLastWriterWins: Bool { rules.delete == .newest && !rules.asks }

  package func resolve(_ conflict: Conflict) -> Resolution {
    let sides = conflict.sides
    if rules.asks {
      let isSame =
        sides.newer.fields.map(Stamps.removed) == sides.older.fields.map(Stamps.removed)
      return isSame ? .merged(fields: sides.newer.fields, copies: []) : .ask
    }
    guard let newer = sides.newer.fields, let older = sides.older.fields else {
      return .merged(fields: survivor(conflict), copies: [])
    }
    let base = stampedBase(conflict.base)
    let newerFields = StampedFields(newer, rules: rules, own: sides.newer.stamp, over: base)
    let olderFields = StampedFields(older, rules: rules, own: sides.older.stamp, over: base)
    return .merged(
      fields: StampedFields.merge(base: base, newerFields, olderFields).json,
      copies: copies(
        base: base, Side(sides.newer, newer, newerFields), Side(sides.older, older, olderFields)))
  }

  /// The fields that remain if at least one version is deleted.
  private func survivor(_ conflict: Conflict) -> JSONValue? {
    let (local, server) = (conflict.local, conflict.server)
    if local.isDeleted && server.isDeleted { return nil }
    let live = local.isDeleted ? server : local
    let deleted = local.isDeleted ? local : server
    switch rules.delete {
    case .changeWins: return live.fields
    case .deleteWins: return nil
    case .newest: return live.modifiedAt > deleted.modifiedAt ? live.fields : nil
    }
  }

  private func stampedBase(_ base: Version?) -> StampedFields? {
    guard let base, let fields = base.fields else { return nil }
    return StampedFields(fields, rules: rules, own: base.stamp)
  }

  private struct Side {
    var name: String
    var whole: JSONValue
    var fields: StampedFields

    init(_ version: Version, _ whole: JSONValue, _ fields: StampedFields) {
      name = version.name
      self.whole = whole
      self.fields = fields
    }
  }

  /// Returns copies of the versions whose text of a `keepBoth` field lost, each name once, by name.
  private func copies(base: StampedFields?, _ left: Side, _ right: Side) -> [Resolution.Copy] {
    var copies = TextTable<JSONValue>()
    for name in left.fields.names where rules[name] == .keepBoth {
      guard case .single(let leftText)? = left.fields[name],
        case .single(let rightText)? = right.fields[name]
      else { continue }
      if case .single(let known)? = base?[name],
        known.stamp == leftText.stamp || known.stamp == rightText.stamp
      {
        continue
      }
      let winner = StampedValue.newest(leftText, rightText)
      let (loser, side) = winner == leftText ? (rightText, right) : (leftText, left)
      guard let text = loser.value, text.string != nil, text != winner.value else { continue }
      let copy = CopyName.text(side.name, "~\(loser.stamp.device)-\(loser.stamp.time)")
      if copies[copy] == nil { copies[copy] = Stamps.removed(from: side.whole) }
    }
    return copies.entries.map { Resolution.Copy(name: $0.key, fields: $0.value) }
  }
}

extension Version {
  /// The version's own stamp.
  package var stamp: Stamp { Stamp(time: modifiedAt, device: device) }
}

/// Stamps of a device's own edits and of versions that have none.
extension MergeRules {
  /// Returns the fields of a local edit with their stamps.
  ///
  /// - Parameters:
  ///   - fields: The edited fields; their stamps are ignored.
  ///   - current: The version that the edit was made on; nil if none. A new record gets no
  ///     stamps: all its fields have the record's own.
  ///   - stamp: The edit's stamp, greater than `newestStamp` of `current`.
  package func stamped(_ fields: JSONValue, over current: Version?, at stamp: Stamp) -> JSONValue {
    let own = Stamps.removed(from: fields)
    guard let current else {
      return Stamps.removed(from: StampedFields(own, rules: self, own: stamp).json)
    }
    guard let known = current.fields else {
      return StampedFields(own, rules: self, own: stamp).json
    }
    let before = StampedFields(known, rules: self, own: current.stamp)
    return StampedFields(own, rules: self, own: stamp, over: before)
      .keepingCounts(of: before)
      .droppingRemovals(before: stamp.time - Limits.removalStampMilliseconds)
      .json
  }

  /// Returns the fields of a version that a person chose in the place of `other`, with their
  /// stamps: what differs has the choice's, the rest has that of `other`.
  ///
  /// - Parameter stamp: The choice's stamp, greater than `newestStamp` of both versions.
  package func chosen(_ fields: JSONValue, over other: Version, at stamp: Stamp) -> JSONValue {
    let before = other.fields.map { StampedFields($0, rules: self, own: other.stamp) }
    return StampedFields(Stamps.removed(from: fields), rules: self, own: stamp, over: before).json
  }

  /// Returns the fields of a version that another program wrote without stamps, with stamps by
  /// comparison with the version that it replaces. Returns the fields unchanged if they have
  /// stamps, or if there was no version before.
  package func completed(_ version: Version, over replaced: Version?) -> JSONValue? {
    guard let fields = version.fields, let known = replaced?.fields, let replaced else {
      return version.fields
    }
    if StampedFields(fields, rules: self, own: version.stamp).isStamped(fields) { return fields }
    let before = StampedFields(known, rules: self, own: replaced.stamp)
    return StampedFields(fields, rules: self, own: version.stamp, over: before).json
  }

  /// Returns a version's fields with the stamps in the form that a merge writes, after its fields
  /// were changed by code.
  package func normalized(_ fields: JSONValue, of version: Version) -> JSONValue {
    let stamped = StampedFields(fields, rules: self, own: version.stamp)
    return stamped.isStamped(fields) ? stamped.json : fields
  }

  /// Returns a version's fields with the stamps that it does not spell out, before its own stamp is
  /// replaced by a later one. Nil for a deleted version.
  package func explicit(_ version: Version) -> JSONValue? {
    guard let fields = version.fields else { return nil }
    let stamped = StampedFields(fields, rules: self, own: version.stamp)
    return stamped.isStamped(fields) ? fields : stamped.json
  }

  /// The newest stamp in a version, its own included. A later edit has a greater time.
  package func newestStamp(in version: Version) -> Stamp {
    guard let fields = version.fields else { return version.stamp }
    let newest = StampedFields(fields, rules: self, own: version.stamp).newestStamp
    return max(version.stamp, newest ?? version.stamp)
  }

  /// Returns the fields of a local change after the correction of its device's clock: the stamps
  /// that the change brought move by `to - from`.
  package func restamped(_ fields: JSONValue, over base: Version?, from: Int64, to: Int64)
    -> JSONValue
  {
    // Without stamps all fields have the record's own, which the caller moves.
    guard fields[Stamps.member]?.members != nil, from != to else { return fields }
    var before: StampedFields?
    if let base, let known = base.fields {
      before = StampedFields(known, rules: self, own: base.stamp)
    }
    let newest = before?.newestStamp
    let own = Stamp(time: from, device: "")
    return StampedFields(fields, rules: self, own: own).mapStamps { stamp in
      if before?.contains(stamp) == true { return stamp }
      var moved = stamp
      moved.time = min(stamp.time + (to - from), to)
      return newest.map { moved.after($0) } ?? moved
    }.json
  }

  /// Returns the fields with the stamps and counts of one device as those of another: those of a
  /// device that had no id yet.
  package func renamed(_ device: String, to other: String, in fields: JSONValue) -> JSONValue {
    let counted = JSONValue.object(
      (fields.members ?? []).map { member in
        guard self[member.name] == .counter, let parts = member.value.members else { return member }
        let renamed = parts.map { JSONMember($0.name == device ? other : $0.name, $0.value) }
        return JSONMember(member.name, .object(renamed))
      })
    guard counted[Stamps.member]?.members != nil else { return counted }
    return StampedFields(counted, rules: self, own: Stamp(time: 0, device: device)).mapStamps {
      $0.device == device ? Stamp(time: $0.time, device: other) : $0
    }.json
  }
}
