import Changes

/// Some records and what happened to them, sorted so that many rules can be asked about all of them
/// at once: each record is looked into once at most, and only where some rule has conditions that
/// it could meet. A rule then costs a few steps for each of its conditions, however many records
/// there are.
struct WakeIndex: Sendable {
  private var zones: [Name: RecordSet] = [:]
  private var types: [Name: RecordSet] = [:]
  private var created: RecordSet
  private var updated: RecordSet
  private var deleted: RecordSet
  /// The records that meet a condition, for each that is asked about.
  private var holders: [JSONMember: RecordSet] = [:]

  /// `events`: what happened to each record, by its place. `rules`: all that will be asked.
  init(_ records: [Record], _ events: [ChangeEvents], for rules: [WakeRule]) {
    let none = RecordSet(count: records.count)
    (created, updated, deleted) = (none, none, none)
    for index in records.indices {
      zones[records[index].zone, default: none].insert(index)
      types[records[index].type, default: none].insert(index)
      if events[index].contains(.create) { created.insert(index) }
      if events[index].contains(.update) { updated.insert(index) }
      if events[index].contains(.delete) { deleted.insert(index) }
    }
    var keys: Set<JSONKey> = []
    var readable = none
    for rule in rules {
      for query in rule.queries where !query.conditions.isEmpty {
        let candidates = candidates(for: query)
        if candidates.isEmpty { continue }
        readable.formUnion(candidates)
        for condition in query.conditions {
          keys.insert(JSONKey(condition.name.utf8))
          holders[condition] = none
        }
      }
    }
    for index in records.indices where readable.contains(index) {
      if let fields = records[index].fields { read(fields, of: index, keys) }
    }
  }

  /// Records as a read from the store shows them: whether a live one was made or changed since is
  /// not known, so either counts.
  init(standing records: [Record], for rule: WakeRule) {
    let events: [ChangeEvents] = records.map { $0.isDeleted ? .delete : [.create, .update] }
    self.init(records, events, for: [rule])
  }

  /// `rule`: one of those that the index was made for.
  func wakes(_ rule: WakeRule) -> Bool {
    rule.kinds.contains { kind in
      switch kind {
      case .database: true
      case .zone(let zone): zones[zone] != nil
      case .query(let query): matches(query)
      }
    }
  }

  private func matches(_ query: Subscription.Query) -> Bool {
    var matching = candidates(for: query)
    if query.conditions.isEmpty || matching.isEmpty { return !matching.isEmpty }
    // A delete has no fields, and matches without.
    var gone = matching
    gone.formIntersection(deleted)
    if !gone.isEmpty { return true }
    for condition in query.conditions {
      guard let holders = holders[condition] else { return false }
      matching.formIntersection(holders)
      if matching.isEmpty { return false }
    }
    return true
  }

  /// The records that match as far as can be told without looking into them.
  private func candidates(for query: Subscription.Query) -> RecordSet {
    var candidates = RecordSet(count: 0)
    guard var found = types[query.recordType] else { return candidates }
    if let zone = query.zone {
      guard let ofZone = zones[zone] else { return candidates }
      found.formIntersection(ofZone)
    }
    for (event, records) in [
      (ChangeEvents.create, created), (.update, updated), (.delete, deleted),
    ] where query.events.contains(event) {
      candidates.formUnion(records)
    }
    candidates.formIntersection(found)
    return candidates
  }

  /// Notes which of the conditions a record meets. A name that stands twice in it counts twice;
  /// fields that are broken further on count as far as they can be read.
  private mutating func read(_ fields: [UInt8], of index: Int, _ keys: Set<JSONKey>) {
    var scanner = JSONScanner(fields.span.bytes)
    do throws(JSONFault) {
      try scanner.enterObject()
      while let name = try scanner.nextName() {
        let isAsked = keys.contains(try scanner.key(name))
        let range = try scanner.skipValue()
        guard isAsked, range.count <= Limits.comparedValueBytes,
          let value = WakeIndex.value(scanner.copy(range))
        else { continue }
        holders[JSONMember(try scanner.string(name), value)]?.insert(index)
      }
    } catch {
      return
    }
  }

  /// nil where it has a name twice: a value that no condition can have.
  private static func value(_ json: [UInt8]) -> JSONValue? {
    do { return try JSONValue(parsing: json) } catch { return nil }
  }
}

/// Some of a list's records, by their places.
private struct RecordSet: Sendable {
  private var words: [UInt64]

  init(count: Int) { words = Array(repeating: 0, count: (count + 63) / 64) }

  var isEmpty: Bool { words.allSatisfy { $0 == 0 } }

  func contains(_ index: Int) -> Bool {
    index / 64 < words.count && words[index / 64] & 1 << UInt64(index % 64) != 0
  }

  mutating func insert(_ index: Int) { words[index / 64] |= 1 << UInt64(index % 64) }

  mutating func formIntersection(_ other: RecordSet) {
    for index in words.indices {
      words[index] &= index < other.words.count ? other.words[index] : 0
    }
  }

  mutating func formUnion(_ other: RecordSet) {
    if words.count < other.words.count {
      words += Array(repeating: 0, count: other.words.count - words.count)
    }
    for index in other.words.indices { words[index] |= other.words[index] }
  }
}
