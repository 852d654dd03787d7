import LockstepModel

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
    var rule: SubscriptionFilter
    var zones: [Name] = []
    var queries: [Query] = []
  }

  private var followers: [Follower] = []
  private var conditions = FilterConditions()

  var isEmpty: Bool { followers.isEmpty }

  /// Sets the device's filter; nil: everything matches.
  mutating func setRule(_ rule: SubscriptionFilter?, of device: DeviceID) {
    let place = followers.firstIndex { $0.device == device }
    if let place {
      if followers[place].rule == rule { return }
      for number in followers[place].queries.flatMap(\.conditions) { conditions.remove(number) }
      followers.remove(at: place)
    }
    guard let rule else { return }
    var follower = Follower(device: device, rule: rule)
    for kind in rule.kinds {
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
    followers.insert(follower, at: place ?? followers.count)
  }

  func rule(of device: DeviceID) -> SubscriptionFilter? {
    followers.first { $0.device == device }?.rule
  }

  /// Returns the devices whose filters do not match these changes. `events`: the events of each
  /// record, in the same order.
  func unmatchedDevices(through records: [Record], _ events: [ChangeEvents]) -> Set<DeviceID> {
    var index = FilterIndex(records, events)
    index.look(for: followers.flatMap(\.queries), conditions)
    return Set(followers.filter { !FilterTable.wakes($0, index) }.map(\.device))
  }

  /// Returns the devices whose filters do not match the deletion of unknown records of the zone.
  func unmatchedDevices(throughDeletionsIn zone: Name) -> Set<DeviceID> {
    let sleeping = followers.filter { follower in
      !follower.zones.contains(zone)
        && !follower.queries.contains {
          $0.events.contains(.delete) && ($0.zone ?? zone) == zone
        }
    }
    return Set(sleeping.map(\.device))
  }

  /// True if one of the records, as read from the store, matches the device's filter. The read does
  /// not tell if a live record was created or updated, so both events count.
  func wakes(_ device: DeviceID, standing records: [Record]) -> Bool {
    guard let follower = followers.first(where: { $0.device == device }) else { return true }
    var index = FilterIndex(
      records, records.map { $0.isDeleted ? .delete : [.create, .update] })
    index.look(for: follower.queries, conditions)
    return FilterTable.wakes(follower, index)
  }

  private static func wakes(_ follower: Follower, _ index: FilterIndex) -> Bool {
    follower.zones.contains { index.hasZone($0) } || follower.queries.contains { index.matches($0) }
  }
}

extension AccountChange {
  /// Returns the devices whose filters do not match the change.
  func unmatchedDevices(_ rules: FilterTable?) -> Set<DeviceID> {
    guard let rules else { return [] }
    guard let told else { return zone.map(rules.unmatchedDevices(throughDeletionsIn:)) ?? [] }
    return rules.unmatchedDevices(through: told.records, told.events)
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
  func asks(for key: JSONKey) -> Bool { keys[key] != nil }

  func number(of member: JSONMember) -> Int? { numbers[member] }
}
