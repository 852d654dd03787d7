import LockstepJSON

/// One field with its stamps.
enum FieldState: Hashable, Sendable {
  /// `newest`, `keepBoth`.
  case single(StampedValue)
  /// `least`, `greatest`, `or`, `and`: concurrent edits, oldest first, each stamp once; never
  /// empty.
  case candidates([StampedValue])
  /// `set` by the JSON text of the element, `map` by the name of the member; never empty.
  case members(TextTable<StampedValue>)
  /// `counter` by device: counted up and down; never empty.
  case counts(TextTable<[JSONNumber]>)
  /// `greatestEach` by name; never empty.
  case numbers(TextTable<JSONNumber>)
}

extension FieldRule {
  fileprivate enum Form { case single, candidates, members, counts, numbers }

  fileprivate var form: Form {
    switch self {
    case .newest, .keepBoth: .single
    case .greatest, .least, .or, .and: .candidates
    case .set, .map: .members
    case .counter: .counts
    case .greatestEach: .numbers
    }
  }

  /// Members of a value of `set` or `map`, by key; empty for a value of another kind.
  fileprivate func members(of value: JSONValue?) -> TextTable<JSONValue> {
    if self == .set { return TextTable((value?.array ?? []).map { ($0.text, $0) }) }
    return TextTable((value?.members ?? []).map { ($0.name, $0.value) })
  }

  /// The value that several concurrent values make.
  fileprivate func join(_ values: [JSONValue]) -> JSONValue? {
    guard values.count > 1 else { return values.first }
    switch self {
    case .or: return .bool(values.contains(true))
    case .and: return .bool(values.allSatisfy { $0 == true })
    case .least: return values.min(by: RuleOrder.precedes)
    case .greatest: return values.max(by: RuleOrder.precedes)
    case .newest, .counter, .set, .map, .greatestEach, .keepBoth: return values.last
    }
  }
}

/// Orders of values that the rules compare by.
enum RuleOrder {
  /// Numbers come before all else, which is ordered by its JSON text.
  static func precedes(_ left: JSONValue, _ right: JSONValue) -> Bool {
    switch (left.number, right.number) {
    case (let left?, let right?): precedes(left, right)
    case (.some, nil): true
    case (nil, .some): false
    case (nil, nil): left.serialized().lexicographicallyPrecedes(right.serialized())
    }
  }

  /// Compares the values as 64-bit integers if both are, else as binary64, as JavaScript does; two
  /// that only differ beyond its precision by their text.
  static func precedes(_ left: JSONNumber, _ right: JSONNumber) -> Bool {
    if let left = left.int64, let right = right.int64 { return left < right }
    // `Double` parses every JSON number.
    let values = (Double(left.text) ?? 0, Double(right.text) ?? 0)
    if values.0 != values.1 { return values.0 < values.1 }
    return left.canonicalText.utf8.lexicographicallyPrecedes(right.canonicalText.utf8)
  }

  static func greater(_ left: JSONNumber, _ right: JSONNumber) -> JSONNumber {
    precedes(left, right) ? right : left
  }
}

extension FieldState {
  /// Reads a field; nil if it has neither a value nor a stamp. A value of the wrong kind for its
  /// rule reads as nothing, and so does an entry of the wrong form.
  ///
  /// - Parameter common: Stamp of all that has no entry of its own.
  init?(value: JSONValue?, entry: JSONValue?, rule: FieldRule, common: Stamp) {
    switch rule.form {
    case .single:
      let own = Stamp(entry) ?? Self.candidates(in: entry).last?.stamp
      if let value {
        self = .single(StampedValue(stamp: own ?? common, value: value))
      } else if let own {
        self = .single(StampedValue(stamp: own, value: nil))
      } else {
        return nil
      }
    case .candidates:
      let several = Self.candidates(in: entry)
      if !several.isEmpty {
        self = .candidates(several)
      } else if let stamp = Stamp(entry) ?? (value == nil ? nil : common) {
        self = .candidates([StampedValue(stamp: stamp, value: value)])
      } else {
        return nil
      }
    case .members:
      let whole = Stamp(entry) ?? common
      let stamps = TextTable((entry?.members ?? []).map { ($0.name, $0.value) })
      let members = rule.members(of: value).combined(with: stamps) { _, value, entry in
        let stamp = Stamp(entry) ?? (value == nil ? nil : whole)
        return stamp.map { StampedValue(stamp: $0, value: value) }
      }
      guard !members.isEmpty else { return nil }
      self = .members(members)
    case .counts, .numbers:
      guard let unstamped = Self.unstamped(value, rule) else { return nil }
      self = unstamped
    }
  }

  /// Reads a value of a rule that has no stamps.
  private static func unstamped(_ value: JSONValue?, _ rule: FieldRule) -> FieldState? {
    let members = value?.members ?? []
    if rule.form == .numbers {
      let numbers = TextTable(
        members.compactMap { member in
          member.value.number.map { (member.name, $0) }
        })
      return numbers.isEmpty ? nil : .numbers(numbers)
    }
    let counts = TextTable<[JSONNumber]>(
      members.compactMap { member in
        let parts = (member.value.array ?? []).compactMap(\.number)
        guard parts.count == 2, member.value.array?.count == 2 else { return nil }
        return (member.name, parts)
      })
    return counts.isEmpty ? nil : .counts(counts)
  }

  /// Reads `[[time, device, value], …]`.
  private static func candidates(in entry: JSONValue?) -> [StampedValue] {
    let read = (entry?.array ?? []).compactMap { element -> StampedValue? in
      guard let stamp = Stamp(element), let parts = element.array else { return nil }
      return StampedValue(stamp: stamp, value: parts.count > 2 ? parts[2] : nil)
    }
    return sorted(read)
  }

  /// Sorts candidates by their stamps, and keeps one of several with the same.
  private static func sorted(_ candidates: [StampedValue]) -> [StampedValue] {
    var result: [StampedValue] = []
    for candidate in candidates.sorted(by: { $0.stamp < $1.stamp }) {
      if let last = result.last, last.stamp == candidate.stamp {
        result[result.count - 1] = StampedValue.newest(last, candidate)
      } else {
        result.append(candidate)
      }
    }
    return result
  }

  /// The field's value; nil if it is absent.
  func value(_ rule: FieldRule) -> JSONValue? {
    switch self {
    case .single(let stamped): stamped.value
    case .candidates(let candidates): rule.join(candidates.compactMap(\.value))
    case .members(let members):
      if rule == .set {
        .array(members.entries.compactMap { $0.value.value })
      } else {
        .object(
          members.entries.compactMap { entry in
            entry.value.value.map { JSONMember(entry.key, $0) }
          })
      }
    case .counts(let counts):
      .object(counts.entries.map { JSONMember($0.key, .array($0.value.map { .number($0) })) })
    case .numbers(let numbers):
      .object(numbers.entries.map { JSONMember($0.key, .number($0.value)) })
    }
  }

  /// Stamps of all present values that need no entry if theirs is the commonest stamp.
  var presentStamps: [Stamp] {
    switch self {
    case .single(let stamped): stamped.value == nil ? [] : [stamped.stamp]
    case .candidates(let candidates):
      candidates.count == 1 && candidates[0].value != nil ? [candidates[0].stamp] : []
    case .members(let members):
      members.entries.compactMap { $0.value.value == nil ? nil : $0.value.stamp }
    case .counts, .numbers: []
    }
  }

  /// All stamps of the field.
  var stamps: [Stamp] {
    switch self {
    case .single(let stamped): [stamped.stamp]
    case .candidates(let candidates): candidates.map(\.stamp)
    case .members(let members): members.entries.map(\.value.stamp)
    case .counts, .numbers: []
    }
  }

  /// Returns the entry in `"~"`; nil if none is needed beside the commonest stamp.
  func entry(common: Stamp?) -> JSONValue? {
    switch self {
    case .single(let stamped):
      return stamped.value != nil && stamped.stamp == common ? nil : stamped.stamp.json
    case .candidates(let candidates):
      if candidates.count == 1 { return FieldState.single(candidates[0]).entry(common: common) }
      return .array(
        candidates.map { .array(($0.stamp.json.array ?? []) + ($0.value.map { [$0] } ?? [])) })
    case .members(let members):
      let entries = members.entries.compactMap { entry -> JSONMember? in
        guard entry.value.value == nil else {
          return entry.value.stamp == common ? nil : JSONMember(entry.key, entry.value.stamp.json)
        }
        return JSONMember(entry.key, .array((entry.value.stamp.json.array ?? []) + [0]))
      }
      return entries.isEmpty ? nil : .object(entries)
    case .counts, .numbers: return nil
    }
  }

  /// Returns the field with each stamp replaced.
  func mapStamps(_ transform: (Stamp) -> Stamp) -> FieldState {
    func moved(_ stamped: StampedValue) -> StampedValue {
      StampedValue(stamp: transform(stamped.stamp), value: stamped.value)
    }
    return switch self {
    case .single(let stamped): .single(moved(stamped))
    case .candidates(let candidates): .candidates(Self.sorted(candidates.map(moved)))
    case .members(let members): .members(members.mapValues(moved))
    case .counts, .numbers: self
    }
  }

  /// Returns the field without what was removed before `time`; nil if nothing remains.
  func droppingRemovals(before time: Int64) -> FieldState? {
    func isOld(_ stamped: StampedValue) -> Bool {
      stamped.value == nil && stamped.stamp.time < time
    }
    switch self {
    case .single(let stamped): return isOld(stamped) ? nil : self
    case .candidates(let candidates): return candidates.allSatisfy(isOld) ? nil : self
    case .members(let members):
      let rest = members.filter { !isOld($1) }
      return rest.isEmpty ? nil : .members(rest)
    case .counts, .numbers: return self
    }
  }
}

/// Merging, and the stamps of a version that has none.
extension FieldState {
  /// Merges a field of two versions. `base` decides only on candidates.
  static func merge(base: FieldState?, _ left: FieldState?, _ right: FieldState?) -> FieldState? {
    if left?.candidates != nil || right?.candidates != nil {
      return merge(
        base: (base?.candidates ?? []).map(\.stamp), left?.candidates ?? [],
        right?.candidates ?? [])
    }
    guard let left, let right else { return left ?? right }
    switch (left, right) {
    case (.single(let left), .single(let right)): return .single(.newest(left, right))
    case (.members(let left), .members(let right)):
      return .members(
        left.combined(with: right) { _, left, right in
          guard let left, let right else { return left ?? right }
          return .newest(left, right)
        })
    case (.counts(let left), .counts(let right)):
      return .counts(
        left.combined(with: right) { _, left, right in
          guard let left, let right else { return left ?? right }
          return zip(left, right).map { RuleOrder.greater($0, $1) }
        })
    case (.numbers(let left), .numbers(let right)):
      return .numbers(
        left.combined(with: right) { _, left, right in
          guard let left, let right else { return left ?? right }
          return RuleOrder.greater(left, right)
        })
    case (.single, _), (.candidates, _), (.members, _), (.counts, _), (.numbers, _):
      // Both sides were read by one rule, so both have its form.
      return left
    }
  }

  private var candidates: [StampedValue]? {
    guard case .candidates(let candidates) = self else { return nil }
    return candidates
  }

  /// A candidate remains if both sides have it, or if one has it and `base` lacks it; all remain if
  /// none would.
  private static func merge(
    base: [Stamp], _ left: [StampedValue], _ right: [StampedValue]
  ) -> FieldState {
    let inLeft = left.map(\.stamp)
    let inRight = right.map(\.stamp)
    let all = sorted(left + right)
    let kept = all.filter { candidate in
      let isInBoth = inLeft.contains(candidate.stamp) && inRight.contains(candidate.stamp)
      return isInBoth || !base.contains(candidate.stamp)
    }
    return .candidates(kept.isEmpty ? all : kept)
  }

  /// The field of a version without stamps, by comparison with `base`: what differs was set or
  /// removed at the version's own stamp, and what does not has base's.
  ///
  /// - Parameter present: The field as the version has it, with `own` as stamp everywhere.
  static func inferred(_ present: FieldState?, over base: FieldState?, rule: FieldRule, own: Stamp)
    -> FieldState?
  {
    guard let base else { return present }
    switch base {
    case .single(let known):
      guard case .single(let new)? = present else {
        return known.value == nil
          ? base : .single(StampedValue(stamp: own.after(known.stamp), value: nil))
      }
      if new.value == known.value { return base }
      return .single(StampedValue(stamp: own.after(known.stamp), value: new.value))
    case .candidates:
      let value = present?.value(rule)
      return value == base.value(rule)
        ? base : .candidates([StampedValue(stamp: own, value: value)])
    case .members(let known):
      var members = TextTable<StampedValue>()
      if case .members(let table)? = present { members = table }
      return .members(
        members.combined(with: known) { _, new, known in
          guard let known else { return new }
          if new?.value == known.value { return known }
          return StampedValue(stamp: own, value: new?.value)
        })
    case .counts, .numbers: return present
    }
  }
}
