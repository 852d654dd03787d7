import LockstepModel

/// Some records and their change events, indexed so that many queries can be evaluated on all of
/// them at once. The fields of each record are parsed once at most, and only if a query has
/// conditions that it could meet. A query then costs a few steps per condition, however many
/// records there are.
struct FilterIndex: Sendable {
  private let records: [Record]
  private var zones: [Name: RecordSet] = [:]
  private var types: [Name: RecordSet] = [:]
  private var created: RecordSet
  private var updated: RecordSet
  private var deleted: RecordSet
  /// Index into `holders` per condition number, for the records that meet it; -1 for none.
  private var places: [Int32] = []
  private var holders: [RecordSet] = []

  /// `events`: the events of each record, in the same order.
  init(_ records: [Record], _ events: [ChangeEvents]) {
    self.records = records
    let none = RecordSet(count: records.count)
    (created, updated, deleted) = (none, none, none)
    for index in records.indices {
      zones[records[index].zone, default: none].insert(index)
      types[records[index].type, default: none].insert(index)
      if events[index].contains(.create) { created.insert(index) }
      if events[index].contains(.update) { updated.insert(index) }
      if events[index].contains(.delete) { deleted.insert(index) }
    }
  }

  func hasZone(_ zone: Name) -> Bool { zones[zone] != nil }

  /// Parses the records for the conditions of these queries, before `matches` is called.
  mutating func look(for queries: [FilterTable.Query], _ conditions: FilterConditions) {
    var readable = RecordSet(count: records.count)
    for query in queries where !query.conditions.isEmpty {
      if let candidates = candidates(for: query) { readable.formUnion(candidates) }
    }
    if readable.isEmpty { return }
    places = Array(repeating: -1, count: conditions.limit)
    for index in records.indices where readable.contains(index) {
      if let fields = records[index].fields { read(fields, of: index, conditions) }
    }
  }

  /// True if a record matches.
  func matches(_ query: FilterTable.Query) -> Bool {
    guard var matching = candidates(for: query) else { return false }
    // A deletion has no fields, and matches without them.
    if query.conditions.isEmpty || matching.intersects(deleted) { return true }
    for condition in query.conditions {
      guard condition < places.count, places[condition] >= 0 else { return false }
      matching.formIntersection(holders[Int(places[condition])])
    }
    return !matching.isEmpty
  }

  /// Returns the records that match as far as known without their fields; nil if there are none.
  private func candidates(for query: FilterTable.Query) -> RecordSet? {
    guard let ofType = types[query.recordType] else { return nil }
    var candidates = RecordSet(count: records.count)
    if query.events.contains(.create) { candidates.formUnion(created) }
    if query.events.contains(.update) { candidates.formUnion(updated) }
    if query.events.contains(.delete) { candidates.formUnion(deleted) }
    candidates.formIntersection(ofType)
    if let zone = query.zone {
      guard let ofZone = zones[zone] else { return nil }
      candidates.formIntersection(ofZone)
    }
    return candidates.isEmpty ? nil : candidates
  }

  /// Records the conditions that a record meets. If a name occurs twice, both members count; if the
  /// fields are invalid, the members before the error count.
  private mutating func read(_ fields: [UInt8], of index: Int, _ conditions: FilterConditions) {
    var scanner = JSONScanner(fields.span.bytes)
    do throws(JSONFault) {
      try scanner.enterObject()
      while let name = try scanner.nextName() {
        let isAsked = conditions.asks(for: try scanner.key(name))
        let range = try scanner.skipValue()
        guard isAsked, range.count <= Limits.comparedValueBytes,
          let value = FilterIndex.value(scanner.copy(range)),
          let number = conditions.number(of: JSONMember(try scanner.string(name), value))
        else { continue }
        note(index, number)
      }
    } catch {
      return
    }
  }

  private mutating func note(_ index: Int, _ condition: Int) {
    if places[condition] < 0 {
      places[condition] = Int32(holders.count)
      holders.append(RecordSet(count: records.count))
    }
    holders[Int(places[condition])].insert(index)
  }

  /// Returns nil if an object in it has a duplicate name: no condition has such a value.
  private static func value(_ json: [UInt8]) -> JSONValue? {
    JSONValue(ifJSON: json)
  }
}

/// A set of records of a list, as a bit set of indexes. All sets of a list have one length.
private struct RecordSet: Sendable {
  private var words: [UInt64]

  init(count: Int) { words = Array(repeating: 0, count: (count + 63) / 64) }

  var isEmpty: Bool { words.allSatisfy { $0 == 0 } }

  func contains(_ index: Int) -> Bool { words[index / 64] & 1 << UInt64(index % 64) != 0 }

  func intersects(_ other: RecordSet) -> Bool {
    words.indices.contains { words[$0] & other.words[$0] != 0 }
  }

  mutating func insert(_ index: Int) { words[index / 64] |= 1 << UInt64(index % 64) }

  mutating func formIntersection(_ other: RecordSet) {
    for index in words.indices { words[index] &= other.words[index] }
  }

  mutating func formUnion(_ other: RecordSet) {
    for index in words.indices { words[index] |= other.words[index] }
  }
}
