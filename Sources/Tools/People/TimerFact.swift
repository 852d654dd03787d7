import Changes

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

  /// The same edit under another stamp.
  package func stamped(_ timestamp: Int64) -> TimerFact {
    var fact = self
    fact.timestamp = timestamp
    return fact
  }

  /// Beyond this an older edit gives way to a newer one, in milliseconds.
  private static let window: Int64 = 5_000
  private static let priorities = ["focus", "breakTime", "snooze", "idle"]

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

extension TimerFact: CustomStringConvertible {
  package var description: String {
    "\(stateType)\(isPaused ? " paused" : "") \(remaining) ms by \(deviceID) at \(timestamp)"
  }
}

/// What the fields of a `TimerState` say.
package struct TimerFacts: Hashable {
  package var edits: [TimerFact]
  package var completedPomodoros: Int64

  package init(edits: [TimerFact], completedPomodoros: Int64) {
    self.edits = edits
    self.completedPomodoros = completedPomodoros
  }

  /// nil where there is nothing to read.
  package init?(fields: [UInt8]) {
    let value: JSONValue
    do throws(JSONFault) {
      value = try JSONValue(parsing: fields)
    } catch {
      return nil
    }
    edits = (value["edits"]?.array ?? []).compactMap { edit -> TimerFact? in
      guard let deviceID = edit["deviceID"]?.string, let timestamp = edit["timestamp"]?.int64,
        let stateType = edit["stateType"]?.string, let remaining = edit["remaining"]?.int64,
        let isPaused = edit["isPaused"]?.bool
      else { return nil }
      return TimerFact(
        deviceID: deviceID, timestamp: timestamp, stateType: stateType, remaining: remaining,
        isPaused: isPaused)
    }
    completedPomodoros = value["completedPomodoros"]?.int64 ?? 0
  }
}

extension TimerFacts: CustomStringConvertible {
  package var description: String {
    "[" + edits.map(\.description).joined(separator: ", ") + "], \(completedPomodoros) done"
  }
}
