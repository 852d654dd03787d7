import Changes
import Storage

/// Who had seen what when each edit of a timer was made, taken from what the devices and the relay
/// wrote, and from nothing else. From it follows what the timer must be in the end
/// (`TimerExpectation`), without asking any resolver.
///
/// One of these a timer record. A version's *past* is the set of edits that it was made with
/// knowledge of, its own included.
package final class CausalHistory {
  private unowned let outside: Outside
  package private(set) var edits: [TimerFact] = []
  private var numbers: [TimerFact: Int] = [:]
  /// Edits that somebody replaced who had seen them.
  private var superseded = EditSet()
  package private(set) var completedPomodoros: Int64 = 0
  /// What each device has seen, by its own record.
  private var seen: [DeviceID: EditSet] = [:]
  private var pastOfTag: [ChangeTag: EditSet] = [:]
  private var pastOfVersion: [VersionKey: EditSet] = [:]

  /// A version that a device made, as its entry of the outbox and its save name it.
  private struct VersionKey: Hashable {
    var device: DeviceID
    var fields: [UInt8]?
    var modifiedAt: Int64
    var baseTag: ChangeTag
  }

  package init(outside: Outside) { self.outside = outside }

  /// A device holds a version that it made itself: `entry` stands in its outbox.
  package func deviceMade(_ entry: OutboxEntry, on device: DeviceID) {
    let known = (seen[device] ?? EditSet()).union(pastOfTag[entry.base?.tag ?? 0] ?? EditSet())
    var past = known
    if let fields = entry.fields, let facts = TimerFact.list(in: fields) {
      for fact in facts.edits {
        let number = number(of: fact)
        guard !known.contains(number) else { continue }
        past.insert(number)
        // Made here, in place of all that was seen here.
        superseded.formUnion(known)
      }
      completedPomodoros = max(completedPomodoros, facts.completedPomodoros)
    }
    seen[device] = past
    let key = VersionKey(
      device: device, fields: entry.fields, modifiedAt: entry.modifiedAt,
      baseTag: entry.base?.tag ?? 0)
    pastOfVersion[key] = (pastOfVersion[key] ?? EditSet()).union(past)
  }

  /// A device holds what the relay told it.
  package func deviceTook(tag: ChangeTag, on device: DeviceID) {
    seen[device] = (seen[device] ?? EditSet()).union(pastOfTag[tag] ?? EditSet())
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
  }

  private func number(of fact: TimerFact) -> Int {
    if let number = numbers[fact] { return number }
    numbers[fact] = edits.count
    edits.append(fact)
    return edits.count - 1
  }

  /// What all devices must show once everyone has heard of everything.
  package var expectation: [TimerFact] {
    TimerFact.standing(edits.indices.filter { !superseded.contains($0) }.map { edits[$0] })
  }

  package var description: String {
    edits.indices.map { index in
      "  \(superseded.contains(index) ? "replaced" : "STANDS  ") \(edits[index])"
    }.joined(separator: "\n") + "\n  completedPomodoros \(completedPomodoros)"
  }
}

/// One edit of a timer as rules.md names it: these five make it what it is.
package struct TimerFact: Hashable {
  package var deviceID: String
  package var timestamp: Int64
  package var stateType: String
  package var remaining: Int64
  package var isPaused: Bool

  package init(
    deviceID: String, timestamp: Int64, stateType: String, remaining: Int64, isPaused: Bool
  ) {
    self.deviceID = deviceID
    self.timestamp = timestamp
    self.stateType = stateType
    self.remaining = remaining
    self.isPaused = isPaused
  }

  /// Beyond this an older edit gives way to a newer one, in milliseconds.
  private static let window: Int64 = 5_000
  private static let priorities = ["focus", "breakTime", "snooze", "idle"]

  /// The edits in the fields of a `TimerState`; nil where there are none to read.
  package static func list(in fields: [UInt8]) -> (edits: [TimerFact], completedPomodoros: Int64)? {
    let value: JSONValue
    do throws(JSONFault) {
      value = try JSONValue(parsing: fields)
    } catch {
      return nil
    }
    let edits = (value["edits"]?.array ?? []).compactMap { edit -> TimerFact? in
      guard let deviceID = edit["deviceID"]?.string, let timestamp = edit["timestamp"]?.int64,
        let stateType = edit["stateType"]?.string, let remaining = edit["remaining"]?.int64,
        let isPaused = edit["isPaused"]?.bool
      else { return nil }
      return TimerFact(
        deviceID: deviceID, timestamp: timestamp, stateType: stateType, remaining: remaining,
        isPaused: isPaused)
    }
    return (edits, value["completedPomodoros"]?.int64 ?? 0)
  }

  /// Of edits that nobody replaced: those that stand, the shown one first.
  package static func standing(_ edits: [TimerFact]) -> [TimerFact] {
    guard let newest = edits.map(\.timestamp).max() else { return [] }
    return edits.filter { newest - $0.timestamp <= window }.sorted { left, right in
      let keys = (left.sortKey(at: newest), right.sortKey(at: newest))
      if keys.0 != keys.1 { return keys.0.lexicographicallyPrecedes(keys.1) }
      return right.deviceID.utf8.lexicographicallyPrecedes(left.deviceID.utf8)
    }
  }

  /// Least first: priority, time left at `instant`, then the newest.
  private func sortKey(at instant: Int64) -> [Int64] {
    let priority = TimerFact.priorities.firstIndex(of: stateType) ?? TimerFact.priorities.count
    let left: Int64 =
      stateType == "idle"
      ? 0 : isPaused ? remaining : max(0, remaining - (instant - timestamp))
    return [Int64(priority), left, -timestamp]
  }
}
