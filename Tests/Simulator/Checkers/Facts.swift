import Changes

/// One edit of a timer as rules.md names it: these five make it what it is.
package struct TimerFact: Deed {
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

  package static func list(in fields: [UInt8]) -> [TimerFact] {
    (FieldsText.value(fields)?["edits"]?.array ?? []).compactMap { edit in
      guard let deviceID = edit["deviceID"]?.string, let timestamp = edit["timestamp"]?.int64,
        let stateType = edit["stateType"]?.string, let remaining = edit["remaining"]?.int64,
        let isPaused = edit["isPaused"]?.bool
      else { return nil }
      return TimerFact(
        deviceID: deviceID, timestamp: timestamp, stateType: stateType, remaining: remaining,
        isPaused: isPaused)
    }
  }

  /// 0 where there is none to read.
  package static func completedPomodoros(in fields: [UInt8]) -> Int64 {
    FieldsText.value(fields)?["completedPomodoros"]?.int64 ?? 0
  }

  /// A new edit replaces all that its device had seen.
  package func replaces(_ other: TimerFact) -> Bool { other != self }

  package func corrects(_ other: TimerFact, by milliseconds: Int64) -> Bool {
    var moved = other
    moved.timestamp += milliseconds
    return moved == self
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

/// One setting's new value. Persons never choose a value twice, so that it tells who chose it.
package struct SettingFact: Deed {
  package var name: String
  package var value: JSONValue

  package init(name: String, value: JSONValue) {
    self.name = name
    self.value = value
  }

  package static func list(in fields: [UInt8]) -> [SettingFact] {
    (FieldsText.value(fields)?.members ?? []).map { SettingFact(name: $0.name, value: $0.value) }
  }

  package func replaces(_ other: SettingFact) -> Bool { other.name == name && other != self }

  package func corrects(_ other: SettingFact, by milliseconds: Int64) -> Bool { false }
}

enum FieldsText {
  /// nil where the bytes are not JSON.
  static func value(_ bytes: [UInt8]) -> JSONValue? {
    do throws(JSONFault) {
      return try JSONValue(parsing: bytes)
    } catch {
      return nil
    }
  }
}
