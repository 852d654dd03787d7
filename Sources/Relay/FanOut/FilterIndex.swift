import LockstepJSON
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
  /// Index into `matchSets` per condition number, for the records that meet it; -1 for none.
  private var setIndexes: [Int32] = []
  private var matchSets: [RecordSet] = []

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

  /// True if all records are of these zones, each named once.
  func hasOnlyZones(_ names: [Name]) -> Bool { zones.count == names.count { hasZone($0) } }

  /// Parses the records for the conditions of these queries, before `matches` is called.
  mutating func parseFields(for queries: [FilterTable.Query], _ conditions: FilterConditions) {
    var readable = RecordSet(count: records.count)
    for query in queries where !query.conditions.isEmpty {
      if let candidates = candidates(for: query) { readable.formUnion(candidates) }
    }
    if readable.isEmpty { return }
    setIndexes = Array(repeating: -1, count: conditions.limit)
    for index in records.indices where readable.contains(index) {
      if let fields = records[index].fields { matchFields(fields, of: index, conditions) }
    }
  }

  /// True if a record matches.
  func matches(_ query: FilterTable.Query) -> Bool {
    guard var matching = candidates(for: query) else { return false }
    // A deletion has no fields, and matches without them.
    if query.conditions.isEmpty || matching.intersects(deleted) { return true }
    for condition in query.conditions {
      guard condition < setIndexes.count, setIndexes[condition] >= 0 else { return false }
      matching.formIntersection(matchSets[Int(setIndexes[condition])])
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
  private mutating func matchFields(
    _ fields: [UInt8], of index: Int, _ conditions: FilterConditions
  ) {
    var scanner = JSONScanner(fields.span.bytes)
    do throws(JSONFault) {
      try scanner.enterObject()
      while let name = try scanner.nextName() {
        let isNeeded = conditions.hasCondition(on: try scanner.key(name))
        let range = try scanner.skipValue()
        guard isNeeded, range.count <= Limits.comparedValueBytes,
          let value = FilterIndex.value(scanner.copy(range)),
          let number = conditions.number(of: JSONMember(try scanner.string(name), value))
        else { continue }
        recordMatch(index, number)
      }
    } catch {
      return
    }
  }

  private mutating func recordMatch(_ index: Int, _ condition: Int) {
    if setIndexes[condition] < 0 {
      setIndexes[condition] = Int32(matchSets.count)
      matchSets.append(RecordSet(count: records.count))
    }
    matchSets[Int(setIndexes[condition])].insert(index)
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

/// The filters of an account's devices, prepared for evaluation on its commits. Each condition is
/// stored once, with a number, however many filters have it. This costs time when a device connects
/// or subscribes, not with each commit.
struct FilterTable: Sendable {
  /// A query with the numbers of its conditions.
  struct Query: Sendable {
    var recordType: Name
    var zone: Name?
    var events: ChangeEvents
    var conditions: [Int]
  }

  private struct Follower: Sendable {
    var device: DeviceID
    var filter: SubscriptionFilter
    var zones: [Name] = []
    var queries: [Query] = []
  }

  private var followers: [Follower] = []
  private var conditions = FilterConditions()

  var isEmpty: Bool { followers.isEmpty }

  /// Sets the device's filter; nil: everything matches.
  mutating func setFilter(_ filter: SubscriptionFilter?, of device: DeviceID) {
    let index = followers.firstIndex { $0.device == device }
    if let index {
      if followers[index].filter == filter { return }
      for number in followers[index].queries.flatMap(\.conditions) { conditions.remove(number) }
      followers.remove(at: index)
    }
    guard let filter else { return }
    var follower = Follower(device: device, filter: filter)
    for kind in filter.kinds ?? [] {
      switch kind {
      case .database: break
      case .zone(let zone): follower.zones.append(zone)
      case .query(let query):
        follower.queries.append(
          Query(
            recordType: query.recordType, zone: query.zone, events: query.events,
            conditions: query.conditions.map { conditions.add($0) }))
      }
    }
    followers.insert(follower, at: index ?? followers.count)
  }

  func filter(of device: DeviceID) -> SubscriptionFilter? {
    followers.first { $0.device == device }?.filter
  }

  /// Returns the devices that these changes do not reach as they are. `events`: the events of each
  /// record, in the same order.
  func audience(of records: [Record], _ events: [ChangeEvents]) -> ChangeAudience {
    var index = FilterIndex(records, events)
    index.parseFields(for: followers.flatMap(\.queries), conditions)
    var audience = ChangeAudience()
    for follower in followers {
      if !FilterTable.matches(follower, index) {
        audience.unmatched.insert(follower.device)
      } else if let zones = follower.filter.zones, !index.hasOnlyZones(zones) {
        audience.partial.insert(follower.device)
      }
    }
    return audience
  }

  /// Returns the devices whose filters do not match the deletion of unknown records of the zone.
  func unmatchedDevices(throughDeletionsIn zone: Name) -> Set<DeviceID> {
    let others = followers.filter { follower in
      if follower.filter.zones?.contains(zone) == false { return true }
      return follower.filter.kinds != nil && !follower.zones.contains(zone)
        && !follower.queries.contains {
          $0.events.contains(.delete) && ($0.zone ?? zone) == zone
        }
    }
    return Set(others.map(\.device))
  }

  /// True if one of the records, as read from the store, matches the device's filter. The read does
  /// not show if a live record was created or updated, so both events count.
  func matches(_ device: DeviceID, _ records: [Record]) -> Bool {
    guard let follower = followers.first(where: { $0.device == device }) else { return true }
    var index = FilterIndex(
      records, records.map { $0.isDeleted ? .delete : [.create, .update] })
    index.parseFields(for: follower.queries, conditions)
    return FilterTable.matches(follower, index)
  }

  private static func matches(_ follower: Follower, _ index: FilterIndex) -> Bool {
    if let zones = follower.filter.zones, !zones.contains(where: { index.hasZone($0) }) {
      return false
    }
    return follower.filter.kinds == nil || follower.zones.contains { index.hasZone($0) }
      || follower.queries.contains { index.matches($0) }
  }
}

/// Devices of an account that a change does not reach as it is; all others get it.
struct ChangeAudience: Sendable {
  /// Their filters match nothing in it.
  var unmatched: Set<DeviceID> = []
  /// They may have some of its records, but not all: they read it from the store.
  var partial: Set<DeviceID> = []

  var isEverybody: Bool { unmatched.isEmpty && partial.isEmpty }
}

extension AccountChange {
  func audience(_ filters: FilterTable?) -> ChangeAudience {
    guard let filters else { return ChangeAudience() }
    if let contents { return filters.audience(of: contents.records, contents.events) }
    var audience = ChangeAudience()
    if let zone { audience.unmatched = filters.unmatchedDevices(throughDeletionsIn: zone) }
    return audience
  }
}

/// The conditions of some filters, each once, by number.
struct FilterConditions: Sendable {
  private var numbers: [JSONMember: Int] = [:]
  /// By number: the condition, and the number of queries that have it; 0 if the number is free.
  private var entries: [(condition: JSONMember, uses: Int)] = []
  private var free: [Int] = []
  /// Number of conditions on a member of that name.
  private var keys: [JSONKey: Int] = [:]

  /// Upper bound of all numbers, exclusive.
  var limit: Int { entries.count }

  mutating func add(_ condition: JSONMember) -> Int {
    if let number = numbers[condition] {
      entries[number].uses += 1
      return number
    }
    let number = free.popLast() ?? entries.count
    if number == entries.count {
      entries.append((condition, 1))
    } else {
      entries[number] = (condition, 1)
    }
    numbers[condition] = number
    keys[JSONKey(condition.name.utf8), default: 0] += 1
    return number
  }

  mutating func remove(_ number: Int) {
    entries[number].uses -= 1
    if entries[number].uses > 0 { return }
    let condition = entries[number].condition
    numbers[condition] = nil
    let key = JSONKey(condition.name.utf8)
    let others = (keys[key] ?? 1) - 1
    keys[key] = others > 0 ? others : nil
    // Frees its memory at once, not with the next condition.
    entries[number].condition = JSONMember("", .null)
    free.append(number)
  }

  /// True if a condition may need a member of that name.
  func hasCondition(on key: JSONKey) -> Bool { keys[key] != nil }

  func number(of member: JSONMember) -> Int? { numbers[member] }
}

/// The filter that a device's subscriptions form (docs/protocol.md, "Subscriptions"), within the
/// zones of its scope.
struct SubscriptionFilter: Hashable, Sendable {
  /// One matching kind suffices. None is `.database`, which would match everything; nil: all match.
  let kinds: [Subscription.Kind]?
  /// The zones that the device may read; nil: all. What it reads is limited to them, whatever its
  /// subscriptions are.
  let zones: [Name]?

  /// Returns nil if everything matches: the device may read all zones, and has no subscription, or
  /// one to the whole database.
  init?(_ subscriptions: [Subscription], zones: [Name]? = nil) {
    let kinds = subscriptions.map(\.kind)
    self.kinds = kinds.isEmpty || kinds.contains(.database) ? nil : kinds
    self.zones = zones
    if self.kinds == nil, zones == nil { return nil }
  }
}
