import LockstepJSON
import LockstepModel

/// A person's act on a timer, as named in rules.md, and its current edit. Two facts are equal if
/// they are the same act.
package struct TimerFact {
  /// Edit of a device, identified by these four fields.
  package struct Edit: Hashable {
    package var timestamp: Int64
    package var stateType: String
    package var remaining: Int64
    package var isPaused: Bool

    package init(timestamp: Int64, stateType: String, remaining: Int64, isPaused: Bool) {
      self.timestamp = timestamp
      self.stateType = stateType
      self.remaining = remaining
      self.isPaused = isPaused
    }

    /// Returns nil if a field is missing.
    package init?(_ value: JSONValue) {
      guard let timestamp = value["timestamp"]?.int64, let stateType = value["stateType"]?.string,
        let remaining = value["remaining"]?.int64, let isPaused = value["isPaused"]?.bool
      else { return nil }
      self.init(
        timestamp: timestamp, stateType: stateType, remaining: remaining, isPaused: isPaused)
    }
  }

  package var deviceID: String
  package var act: Edit
  /// Current edit: the act itself, or the edit that time made from it.
  package var edit: Edit

  package init(deviceID: String, act: Edit, edit: Edit) {
    self.deviceID = deviceID
    self.act = act
    self.edit = edit
  }

  package init(
    deviceID: String, timestamp: Int64, stateType: String, remaining: Int64, isPaused: Bool
  ) {
    let edit = Edit(
      timestamp: timestamp, stateType: stateType, remaining: remaining, isPaused: isPaused)
    self.init(deviceID: deviceID, act: edit, edit: edit)
  }

  package var isMadeByTime: Bool { edit != act }

  /// Returns the same edit with its timestamps moved by this many milliseconds.
  package func moved(by milliseconds: Int64) -> TimerFact {
    var fact = self
    fact.act.timestamp += milliseconds
    fact.edit.timestamp += milliseconds
    return fact
  }

  /// True if this edit follows from `other` by time alone, in one step or several.
  package func follows(_ other: TimerFact) -> Bool {
    let before = other.edit
    return deviceID == other.deviceID && !before.isPaused && before.remaining > 0
      && edit.timestamp >= before.timestamp + before.remaining
  }

  /// True if a merge drops `other`, because this act is too new to be concurrent with it.
  package func outdates(_ other: TimerFact) -> Bool {
    act.timestamp - other.act.timestamp > TimerFact.window
  }

  /// True if `other`, a candidate next to this act, is removed by time: the countdown ended when no
  /// act could be concurrent with `other` any more.
  package func outlasts(_ other: TimerFact) -> Bool {
    edit.timestamp - other.act.timestamp > TimerFact.window
  }

  /// Maximum age difference of concurrent acts, in milliseconds; beyond it the newer act wins.
  private static let window: Int64 = 5_000
  private static let priorities = ["focus", "breakTime", "snooze", "idle"]

  /// Returns the candidates among acts that were not replaced, the shown one first.
  package static func candidates(_ facts: [TimerFact]) -> [TimerFact] {
    guard let newest = facts.map(\.act.timestamp).max() else { return [] }
    let kept = facts.filter { newest - $0.act.timestamp <= window }
    let instant = kept.map(\.edit.timestamp).max() ?? newest
    return kept.sorted { left, right in
      let keys = (left.sortKey(at: instant), right.sortKey(at: instant))
      if keys.0 != keys.1 { return keys.0.lexicographicallyPrecedes(keys.1) }
      return right.deviceID.utf8.lexicographicallyPrecedes(left.deviceID.utf8)
    }
  }

  /// Returns the same for a timer that shows `shown`: its acts have the edits that it shows, and if
  /// a countdown ended after the sorting, its act keeps its place.
  package static func candidates(_ facts: [TimerFact], shown: [TimerFact]) -> [TimerFact] {
    let sorted = candidates(facts.map { fact in shown.first { $0 == fact } ?? fact })
    let isInPlace = shown.first?.isMadeByTime == true && shown.count == sorted.count
    return isInPlace && Set(shown) == Set(sorted) ? shown : sorted
  }

  /// Returns the sort key, least first: priority, time left at `instant`, then the newest act.
  private func sortKey(at instant: Int64) -> [Int64] {
    let priority =
      TimerFact.priorities.firstIndex(of: edit.stateType) ?? TimerFact.priorities.count
    let left: Int64 =
      edit.stateType == "idle"
      ? 0
      : edit.isPaused ? edit.remaining : max(0, edit.remaining - (instant - edit.timestamp))
    return [Int64(priority), left, -act.timestamp]
  }
}

extension TimerFact: Hashable {
  package static func == (left: TimerFact, right: TimerFact) -> Bool {
    left.deviceID == right.deviceID && left.act == right.act
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(deviceID)
    hasher.combine(act)
  }
}

extension TimerFact: CustomStringConvertible {
  package var description: String {
    "\(edit) by \(deviceID) at \(edit.timestamp)"
      + (isMadeByTime ? ", by time of \(act) at \(act.timestamp)" : "")
  }
}

extension TimerFact.Edit: CustomStringConvertible {
  package var description: String {
    "\(stateType)\(isPaused ? " paused" : "") \(remaining) ms"
  }
}

/// Decoded fields of a `TimerState`.
package struct TimerFacts: Hashable {
  package var edits: [TimerFact]
  package var completedPomodoros: Int64

  package init(edits: [TimerFact], completedPomodoros: Int64) {
    self.edits = edits
    self.completedPomodoros = completedPomodoros
  }

  /// Returns nil if the fields are not JSON.
  package init?(fields: [UInt8]) {
    let value: JSONValue
    do throws(JSONFault) {
      value = try JSONValue(parsing: fields)
    } catch {
      return nil
    }
    edits = (value["edits"]?.array ?? []).compactMap { object -> TimerFact? in
      guard let deviceID = object["deviceID"]?.string, let edit = TimerFact.Edit(object) else {
        return nil
      }
      return TimerFact(
        deviceID: deviceID, act: object["act"].flatMap { TimerFact.Edit($0) } ?? edit, edit: edit)
    }
    completedPomodoros = value["completedPomodoros"]?.int64 ?? 0
  }
}

extension TimerFacts: CustomStringConvertible {
  package var description: String {
    "[" + edits.map(\.description).joined(separator: ", ") + "], \(completedPomodoros) done"
  }
}
