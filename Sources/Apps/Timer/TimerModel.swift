import LockstepJSON
import LockstepModel

/// Phases of the timer.
package enum TimerPhase: String, CaseIterable, Sendable {
  /// Nothing runs. Next: focus (start).
  case idle
  /// Working time. Next: focus (pause, resume), breakTime (skip, zero), idle (stop).
  case focus
  /// Break. Next: breakTime (pause, resume), snooze (snooze), focus (start), idle (skip, stop,
  /// zero).
  case breakTime
  /// Postponed break. Next: snooze (pause, resume, snooze), breakTime (skip, zero), focus (start),
  /// idle (stop).
  case snooze
}

/// Fields of the record `current`: the number of completed pomodoros, and the candidate edits for
/// the screen. The screen shows `edits[0]`; there is more than one edit only after a conflict.
/// Unknown fields are kept.
package struct TimerState: Hashable, Sendable {
  package var completedPomodoros: Int64
  package var edits: [TimerEdit]
  private let unknown: JSONValue

  /// Decodes a record's fields. nil, and missing or malformed fields, read as a timer that was
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

  /// Edit that the screen shows; nil if the timer was never started.
  package var shown: TimerEdit? { edits.first }
}

/// One edit of the timer, made by a person or by the end of a countdown.
///
/// Every edit has `deviceID`, `timestamp` (relay time, milliseconds), `stateType`, `isPaused` and
/// `remaining` (milliseconds left as of `timestamp`). Lockstep's edits also have `duration`, the
/// phase's full length in milliseconds; focus and snooze have `plan`, the phase that follows at
/// zero (see `TimerPlan`). Other members are kept unchanged.
///
/// An edit that a person made within seconds of another has `replaces`, the acts that the person
/// saw and ended with it: `[{"deviceID","timestamp"}]`. They never stand beside it again, even if a
/// device no longer knows on which version the edit was made, as after a relay's restore.
///
/// An edit made by time (its countdown ran out) is not an act of a person. It continues the act at
/// the head of its chain and names it: `"act": {"timestamp","stateType","remaining","isPaused"}`,
/// the values of the person's edit; the device is that of the person's edit too. Identity and age
/// are those of the act, so a countdown that ran out on an offline device does not count as newer
/// than what a person did on another device.
package struct TimerEdit: Hashable, Sendable {
  /// The edit as written in the record.
  package let object: JSONValue
  package let deviceID: String
  package let timestamp: Int64
  /// As written: a later version of the app may have phases that `TimerPhase` lacks.
  package let stateType: String
  package let isPaused: Bool
  package let remaining: Int64

  /// Returns nil if the value is not a JSON object. Missing members read as: no device, time 0, no
  /// time left, not paused.
  package init?(object: JSONValue) {
    guard object.members != nil else { return nil }
    self.object = object
    deviceID = object["deviceID"]?.string ?? ""
    timestamp = object["timestamp"]?.wholeNumber ?? 0
    stateType = object["stateType"]?.string ?? ""
    isPaused = object["isPaused"]?.bool ?? false
    remaining = max(0, object["remaining"]?.wholeNumber ?? 0)
  }

  /// A phase that begins at `timestamp` with its full length.
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

  /// Returns a new act: the same phase with the same plan, paused or running.
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

  /// Returns the same edit, with its own timestamp and its act's timestamp moved.
  package func moved(by milliseconds: Int64) -> TimerEdit {
    let edit = continued(
      isPaused: isPaused, remaining: remaining, timestamp: timestamp + milliseconds,
      deviceID: deviceID)
    guard isMadeByTime else { return edit }
    let stamp = JSONValue.number(JSONNumber(actTimestamp + milliseconds))
    return edit.with(act: act.setting("timestamp", to: stamp))
  }

  /// Returns the same edit, marked as made by time from an act.
  package func with(act: JSONValue) -> TimerEdit {
    TimerEdit(
      object: object.setting("act", to: act), deviceID: deviceID, timestamp: timestamp,
      stateType: stateType, isPaused: isPaused, remaining: remaining)
  }

  /// True if a countdown ran out. Edits of programs that do not know `act` count as acts.
  package var isMadeByTime: Bool { object["act"]?.members != nil }

  /// The person's act that this edit is, or continues, in the form of the `act` member.
  package var act: JSONValue {
    if let act = object["act"], act.members != nil { return act }
    return .object(
      TimerEdit.actMembers.compactMap { name in object[name].map { JSONMember(name, $0) } })
  }

  /// Relay time of the act, milliseconds. It is the edit's age.
  package var actTimestamp: Int64 {
    isMadeByTime ? object["act"]?["timestamp"]?.wholeNumber ?? 0 : timestamp
  }

  fileprivate static let actMembers = ["timestamp", "stateType", "remaining", "isPaused"]

  /// nil for a state that this version of the app does not know.
  package var phase: TimerPhase? { TimerPhase(rawValue: stateType) }

  /// Milliseconds left at an instant of relay time. A running countdown decreases to 0, a paused
  /// one keeps its value, idle has 0.
  package func remaining(at instant: Int64) -> Int64 {
    if phase == .idle { return 0 }
    return isPaused ? remaining : max(0, remaining - max(0, instant - timestamp))
  }

  /// Instant at which the countdown reaches zero; nil if none runs, if the edit lacks the times, or
  /// if the instant is out of range.
  package var zeroAt: Int64? {
    guard let phase, phase != .idle, !isPaused, object["timestamp"]?.wholeNumber != nil,
      object["remaining"]?.wholeNumber != nil
    else { return nil }
    let instant = timestamp + remaining
    return TimerEdit.instants.contains(instant) ? instant : nil
  }

  /// 1970 to 2248 (2⁴³ milliseconds): in nanoseconds these instants still fit into 64 bits.
  private static let instants: Range<Int64> = 0..<1 << 43

  /// Full length of the phase in milliseconds; nil if the edit does not have it.
  package var duration: Int64? { object["duration"]?.wholeNumber }
}

/// Acts that a person ended with a further one.
extension TimerEdit {
  /// Device and relay time of an act.
  package struct ActName: Hashable, Sendable {
    package let deviceID: String
    package let timestamp: Int64
  }

  package var actName: ActName { ActName(deviceID: deviceID, timestamp: actTimestamp) }

  /// Acts that this edit's act replaced. An act cannot replace a later one.
  package var replacedActs: [ActName] {
    (object["replaces"]?.array ?? []).prefix(Limits.replacedActs).compactMap { value in
      guard let deviceID = value["deviceID"]?.string,
        let timestamp = value["timestamp"]?.wholeNumber, timestamp < actTimestamp
      else { return nil }
      return ActName(deviceID: deviceID, timestamp: timestamp)
    }
  }

  /// Returns the same edit, which replaces `edits` and what they replaced. Names only acts that the
  /// resolver could count as concurrent with it; most edits name none.
  package func replacing(_ edits: [TimerEdit]) -> TimerEdit {
    var seen: Set<ActName> = []
    let names = edits.flatMap { [$0.actName] + $0.replacedActs }.filter { name in
      name.timestamp < actTimestamp
        && actTimestamp - name.timestamp <= TimerResolver.concurrencyMilliseconds
        && seen.insert(name).inserted
    }
    let newest = names.sorted { $0.timestamp > $1.timestamp }.prefix(Limits.replacedActs)
    let values = newest.map { name -> JSONValue in
      ["deviceID": .string(name.deviceID), "timestamp": .number(JSONNumber(name.timestamp))]
    }
    return with(replaced: values.isEmpty ? nil : .array(values))
  }

  /// Returns the same edit, which replaces the acts that `edit` replaced.
  package func replacing(likewise edit: TimerEdit) -> TimerEdit {
    with(replaced: edit.object["replaces"])
  }

  private func with(replaced: JSONValue?) -> TimerEdit {
    TimerEdit(
      object: object.setting("replaces", to: replaced), deviceID: deviceID, timestamp: timestamp,
      stateType: stateType, isPaused: isPaused, remaining: remaining)
  }
}

/// Identity of acts, and so of edits: each edit belongs to one act. The members are compared as
/// JSON, as written.
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

  /// Identity of the same edit if a program that does not know `act` wrote it.
  package var plainIdentity: Identity { Identity(deviceID: object["deviceID"], act: object) }

  /// Returns the version of one act to keep: the one with the greater timestamp, and at equal
  /// timestamps the one with the greater JSON text.
  package static func further(_ edit: TimerEdit, _ other: TimerEdit) -> TimerEdit {
    if edit.timestamp != other.timestamp { return edit.timestamp > other.timestamp ? edit : other }
    return edit.object.serialized().lexicographicallyPrecedes(other.object.serialized())
      ? other : edit
  }
}
