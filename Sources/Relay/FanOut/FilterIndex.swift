import LockstepModel

/// Some records and what happened to them, sorted so that many queries can be asked about all of
/// them at once: each record is looked into once at most, and only where a query has conditions
/// that it could meet. A query then costs a few steps for each of its conditions, however many
/// records there are.
struct FilterIndex: Sendable {
  private let records: [Record]
  private var zones: [Name: RecordSet] = [:]
  private var types: [Name: RecordSet] = [:]
  private var created: RecordSet
  private var updated: RecordSet
  private var deleted: RecordSet
  /// By a condition's number: where `holders` has the records that meet it; -1 for none.
  private var places: [Int32] = []
  private var holders: [RecordSet] = []

  /// `events`: what happened to each record, by its place.
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

  /// Looks into the records for what these queries ask for, before they are asked.
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

  /// Whether some record matches.
  func matches(_ query: FilterTable.Query) -> Bool {
    guard var matching = candidates(for: query) else { return false }
    // A delete has no fields, and matches without.
    if query.conditions.isEmpty || matching.intersects(deleted) { return true }
    for condition in query.conditions {
      guard condition < places.count, places[condition] >= 0 else { return false }
      matching.formIntersection(holders[Int(places[condition])])
    }
    return !matching.isEmpty
  }

  /// The records that match as far as can be told without looking into them; nil where none does.
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

  /// Notes which of the conditions a record meets. A name that stands twice in it counts twice;
  /// fields that are broken further on count as far as they can be read.
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

  /// nil where it has a name twice: a value that no condition can have.
  private static func value(_ json: [UInt8]) -> JSONValue? {
    JSONValue(ifJSON: json)
  }
}

/// Some of a list's records, by their places. All sets of a list are of one length.
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
