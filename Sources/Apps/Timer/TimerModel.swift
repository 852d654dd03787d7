import LockstepModel

/// What the timer is doing.
package enum TimerPhase: String, CaseIterable, Sendable {
  /// Nothing runs. Next: focus (start).
  case idle
  /// A person works. Next: focus (pause, resume), breakTime (skip, zero), idle (stop).
  case focus
  /// A person rests. Next: breakTime (pause, resume), snooze (snooze), focus (start), idle (skip,
  /// stop, zero).
  case breakTime
  /// The break waits. Next: snooze (pause, resume, snooze), breakTime (skip, zero), focus (start),
  /// idle (stop).
  case snooze
}

/// The fields of the record `current`: how many pomodoros are done, and the edits that are
/// candidates for the screen. `edits[0]` is what the screen shows; more than one stands there only
/// after a conflict. Fields that nobody here knows are kept.
package struct TimerState: Hashable, Sendable {
  package var completedPomodoros: Int64
  package var edits: [TimerEdit]
  private let unknown: JSONValue

  /// From a record's fields; nil, and whatever is missing or malformed, reads as a timer that was
  /// never started.
  package init(fields: JSONValue?) {
    completedPomodoros = fields?["completedPomodoros"]?.wholeNumber ?? 0
    edits = (fields?["edits"]?.array ?? []).compactMap(TimerEdit.init(object:))
    unknown = .object(
      (fields?.members ?? []).filter { $0.name != "completedPomodoros" && $0.name != "edits" })
  }

  package var fields: JSONValue {
    unknown
      .setting("completedPomodoros", to: .number(JSONNumber(completedPomodoros)))
      .setting("edits", to: .array(edits.map(\.object)))
  }

  /// What the screen shows; nil while nothing was ever started.
  package var shown: TimerEdit? { edits.first }
}

/// One edit of the timer: what a person or the end of a countdown made of it.
///
/// Every edit has `deviceID`, `timestamp` (relay time, milliseconds), `stateType`, `isPaused` and
/// `remaining` (milliseconds left as of `timestamp`). Ours have besides `duration`, the phase's
/// full length in milliseconds, and focus and snooze have `plan`, what follows at zero (see
/// `TimerPlan`). Other members travel with the edit untouched.
///
/// An edit that time made (its countdown ran out) is no act of a person. It is the act at the head
/// of its chain, further along, and says so: `"act": {"timestamp","stateType","remaining",
/// "isPaused"}`, those of the person's edit, whose device it has as well. Identity and age are
/// those of the act, so that a countdown that ran out on a device that was away does not count as
/// newer than what a person did elsewhere.
package struct TimerEdit: Hashable, Sendable {
  /// The edit as it stands in the record.
  package let object: JSONValue
  package let deviceID: String
  package let timestamp: Int64
  /// As it was written: a later version of the app may know more than `TimerPhase`.
  package let stateType: String
  package let isPaused: Bool
  package let remaining: Int64

  /// nil for what is no JSON object. What an edit lacks reads as nothing: no device, the beginning
  /// of time, no time left, not paused.
  package init?(object: JSONValue) {
    guard object.members != nil else { return nil }
    self.object = object
    deviceID = object["deviceID"]?.string ?? ""
    timestamp = object["timestamp"]?.wholeNumber ?? 0
    stateType = object["stateType"]?.string ?? ""
    isPaused = object["isPaused"]?.bool ?? false
    remaining = max(0, object["remaining"]?.wholeNumber ?? 0)
  }

  /// A phase that begins at `timestamp` with its full length before it.
  package init(
    beginning phase: TimerPhase, length: Int64, isPaused: Bool = false, plan: TimerPlan?,
    timestamp: Int64, deviceID: String
  ) {
    var members = [
      JSONMember("deviceID", .string(deviceID)),
      JSONMember("timestamp", .number(JSONNumber(timestamp))),
      JSONMember("stateType", .string(phase.rawValue)),
      JSONMember("isPaused", .bool(isPaused)),
      JSONMember("remaining", .number(JSONNumber(length))),
    ]
    if phase != .idle { members.append(JSONMember("duration", .number(JSONNumber(length)))) }
    if let plan { members.append(JSONMember("plan", plan.object)) }
    self.init(
      object: .object(members), deviceID: deviceID, timestamp: timestamp,
      stateType: phase.rawValue, isPaused: isPaused, remaining: length)
  }

  private init(
    object: JSONValue, deviceID: String, timestamp: Int64, stateType: String, isPaused: Bool,
    remaining: Int64
  ) {
    self.object = object
    self.deviceID = deviceID
    self.timestamp = timestamp
    self.stateType = stateType
    self.isPaused = isPaused
    self.remaining = remaining
  }

  /// The same phase with the same plan, halted or running on from here: an act of its own.
  package func continued(
    isPaused: Bool, remaining: Int64, timestamp: Int64, deviceID: String
  ) -> TimerEdit {
    let object =
      object
      .setting("deviceID", to: .string(deviceID))
      .setting("timestamp", to: .number(JSONNumber(timestamp)))
      .setting("isPaused", to: .bool(isPaused))
      .setting("remaining", to: .number(JSONNumber(remaining)))
      .setting("act", to: nil)
    return TimerEdit(
      object: object, deviceID: deviceID, timestamp: timestamp, stateType: stateType,
      isPaused: isPaused, remaining: remaining)
  }

  /// The same edit at another instant, its act with it.
  package func moved(by milliseconds: Int64) -> TimerEdit {
    let edit = continued(
      isPaused: isPaused, remaining: remaining, timestamp: timestamp + milliseconds,
      deviceID: deviceID)
    guard isMadeByTime else { return edit }
    let stamp = JSONValue.number(JSONNumber(actTimestamp + milliseconds))
    return edit.with(act: act.setting("timestamp", to: stamp))
  }

  /// The same edit, made by time out of an act.
  package func with(act: JSONValue) -> TimerEdit {
    TimerEdit(
      object: object.setting("act", to: act), deviceID: deviceID, timestamp: timestamp,
      stateType: stateType, isPaused: isPaused, remaining: remaining)
  }

  /// A countdown ran out. Edits of programs that do not know `act` count as acts.
  package var isMadeByTime: Bool { object["act"]?.members != nil }

  /// The person's act that this edit is, or goes on from, as it is written in an edit that time
  /// makes.
  package var act: JSONValue {
    if let act = object["act"], act.members != nil { return act }
    return .object(
      TimerEdit.actMembers.compactMap { name in object[name].map { JSONMember(name, $0) } })
  }

  /// Relay time of the act, milliseconds: the edit's age.
  package var actTimestamp: Int64 {
    isMadeByTime ? object["act"]?["timestamp"]?.wholeNumber ?? 0 : timestamp
  }

  fileprivate static let actMembers = ["timestamp", "stateType", "remaining", "isPaused"]

  /// nil for a state of which this version of the app knows nothing.
  package var phase: TimerPhase? { TimerPhase(rawValue: stateType) }

  /// Milliseconds left at an instant of relay time: a running countdown goes down to 0, a paused
  /// one stands still, idle has none.
  package func remaining(at instant: Int64) -> Int64 {
    if phase == .idle { return 0 }
    return isPaused ? remaining : max(0, remaining - max(0, instant - timestamp))
  }

  /// When the countdown reaches zero; nil where none runs, where the edit does not say, and where
  /// it says an instant that no clock will show.
  package var zeroAt: Int64? {
    guard let phase, phase != .idle, !isPaused, object["timestamp"]?.wholeNumber != nil,
      object["remaining"]?.wholeNumber != nil
    else { return nil }
    let instant = timestamp + remaining
    return TimerEdit.instants.contains(instant) ? instant : nil
  }

  /// From 1970 to 2248 (2⁴³ milliseconds): in nanoseconds they still fit into 64 bits.
  private static let instants: Range<Int64> = 0..<1 << 43

  /// The phase's full length in milliseconds, where the edit says it.
  package var duration: Int64? { object["duration"]?.wholeNumber }
}

/// Tells acts apart, and so edits, of which each goes back to one. The members are compared as
/// JSON, as they were written.
extension TimerEdit {
  package struct Identity: Hashable, Sendable {
    private let deviceID: JSONValue?
    private let act: [JSONValue?]

    fileprivate init(deviceID: JSONValue?, act: JSONValue) {
      self.deviceID = deviceID
      self.act = TimerEdit.actMembers.map { act[$0] }
    }
  }

  package var identity: Identity { Identity(deviceID: object["deviceID"], act: act) }

  /// The identity by which programs that do not know `act` have written the same edit.
  package var plainIdentity: Identity { Identity(deviceID: object["deviceID"], act: object) }

  /// Of two versions of one act, the one that stands: the further along, the one with the greater
  /// timestamp, and at one instant the one with the greater JSON text.
  package static func further(_ edit: TimerEdit, _ other: TimerEdit) -> TimerEdit {
    if edit.timestamp != other.timestamp { return edit.timestamp > other.timestamp ? edit : other }
    return edit.object.serialized().lexicographicallyPrecedes(other.object.serialized())
      ? other : edit
  }
}
