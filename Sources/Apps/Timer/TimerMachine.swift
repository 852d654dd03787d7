import LockstepModel

/// What a person does to the timer. Lengths are milliseconds, 1 to `Limits.timerMilliseconds`;
/// nil: as the settings say.
package enum TimerEvent: Hashable, Sendable {
  /// Begin a focus.
  case start(length: Int64?)
  case pause
  case resume
  /// End whatever runs; an unfinished focus does not count.
  case stop
  /// Go on to what follows this phase, as if its time were up; a skipped focus does not count.
  case skip
  /// Put the break off.
  case snooze(length: Int64?)
}

/// Why an event changes nothing, for the person who caused it.
package enum TimerRefusal: Error, Hashable, Sendable {
  case nothingIsRunning
  case alreadyRunning
  case alreadyPaused
  case notPaused
  case noBreakToSnooze
  case badLength
  /// A state that a later version of the app made.
  case unknownState(String)

  /// One sentence, with the next step.
  package var explanation: String {
    switch self {
    case .nothingIsRunning: "nothing is running; start the timer first"
    case .alreadyRunning: "a focus is already going on; stop it first to start another"
    case .alreadyPaused: "the timer is already paused; resume it to go on"
    case .notPaused: "the timer is not paused"
    case .noBreakToSnooze: "there is no break to put off; snooze works during a break"
    case .badLength:
      "a length must be more than 0 and at most \(Limits.timerMilliseconds / 60_000) minutes"
    case .unknownState(let state):
      "this version does not know the state \"\(state)\"; update it, or stop the timer"
    }
  }
}

/// The timer's state machine on one device: state, event and instant in, next state out. It reads
/// no clock and knows no other device; concurrent edits are the resolver's affair.
///
///     event    idle      focus        breakTime    snooze
///     start    focus     –            focus        focus
///     pause    –         stands still stands still stands still
///     resume   –         goes on      goes on      goes on       (where it is paused)
///     stop     –         idle         idle         idle
///     skip     –         breakTime    idle         breakTime
///     snooze   –         –            snooze       snooze
///     zero     –         breakTime    idle         breakTime     (where it is not paused)
///
/// Reaching zero in focus adds 1 to `completedPomodoros`, and every `longBreakEvery`-th time the
/// break is the long one. With `autoStart` off a break that follows by itself stands paused until
/// a person resumes it. A person's event replaces all edits of the record.
package struct TimerMachine: Hashable, Sendable {
  package private(set) var state: TimerState
  private let settings: TimerSettings
  private let deviceID: String

  /// `deviceID`: the device that the events happen on.
  package init(state: TimerState, settings: TimerSettings, deviceID: String) {
    self.state = state
    self.settings = settings
    self.deviceID = deviceID
  }

  /// A person acts at `now`, relay time in milliseconds. Countdowns that ended before come first:
  /// a focus that ran out a moment ago counts, even if no device has written that yet.
  package mutating func handle(_ event: TimerEvent, at now: Int64) throws(TimerRefusal) {
    state.advance(to: now)
    let phase = try currentPhase(for: event)
    let edit =
      switch event {
      case .start(let length): try started(phase, length, at: now)
      case .pause: try paused(phase, at: now)
      case .resume: try resumed(phase, at: now)
      case .stop: try stopped(phase, at: now)
      case .skip: try skipped(phase, at: now)
      case .snooze(let length): try snoozed(phase, length, at: now)
      }
    state.edits = [edit]
  }

  /// A state from a later version of the app can be left, by start or stop, and nothing else.
  private func currentPhase(for event: TimerEvent) throws(TimerRefusal) -> TimerPhase? {
    guard let shown = state.shown else { return .idle }
    if let phase = shown.phase { return phase }
    switch event {
    case .start, .stop: return nil
    case .pause, .resume, .skip, .snooze: throw .unknownState(shown.stateType)
    }
  }

  private func started(_ phase: TimerPhase?, _ length: Int64?, at now: Int64)
    throws(TimerRefusal) -> TimerEdit
  {
    guard phase != .focus else { throw .alreadyRunning }
    return TimerEdit(
      beginning: .focus, length: try checked(length ?? settings.focusMilliseconds),
      plan: TimerPlan(settings), timestamp: now, deviceID: deviceID)
  }

  private func paused(_ phase: TimerPhase?, at now: Int64) throws(TimerRefusal) -> TimerEdit {
    guard let shown = state.shown, phase != .idle else { throw .nothingIsRunning }
    guard !shown.isPaused else { throw .alreadyPaused }
    return shown.continued(
      isPaused: true, remaining: shown.remaining(at: now), timestamp: now, deviceID: deviceID)
  }

  private func resumed(_ phase: TimerPhase?, at now: Int64) throws(TimerRefusal) -> TimerEdit {
    guard let shown = state.shown, phase != .idle else { throw .nothingIsRunning }
    guard shown.isPaused else { throw .notPaused }
    return shown.continued(
      isPaused: false, remaining: shown.remaining, timestamp: now, deviceID: deviceID)
  }

  private func stopped(_ phase: TimerPhase?, at now: Int64) throws(TimerRefusal) -> TimerEdit {
    guard phase != .idle else { throw .nothingIsRunning }
    return TimerEdit(beginning: .idle, length: 0, plan: nil, timestamp: now, deviceID: deviceID)
  }

  private func skipped(_ phase: TimerPhase?, at now: Int64) throws(TimerRefusal) -> TimerEdit {
    guard let shown = state.shown, phase != .idle else { throw .nothingIsRunning }
    return shown.successor(completedPomodoros: nil, at: now, deviceID: deviceID)
  }

  private func snoozed(_ phase: TimerPhase?, _ length: Int64?, at now: Int64)
    throws(TimerRefusal) -> TimerEdit
  {
    guard let shown = state.shown, phase != .idle else { throw .nothingIsRunning }
    guard phase != .focus else { throw .noBreakToSnooze }
    let plan =
      phase == .snooze
      ? TimerPlan(of: shown)
      : TimerPlan(
        postponing: shown.duration ?? settings.shortBreakMilliseconds,
        autoStart: settings.autoStart)
    return TimerEdit(
      beginning: .snooze, length: try checked(length ?? settings.snoozeMilliseconds), plan: plan,
      timestamp: now, deviceID: deviceID)
  }

  private func checked(_ length: Int64) throws(TimerRefusal) -> Int64 {
    guard length >= 1, length <= Limits.timerMilliseconds else { throw .badLength }
    return length
  }
}

// What happens by itself when a countdown reaches zero: it follows from the record alone.
extension TimerState {
  /// The instant at which the shown countdown reaches zero; nil where none runs.
  package var zeroAt: Int64? { shown?.zeroAt }

  /// The state once the shown countdown has reached zero: the same bytes on every device, for the
  /// edit has the deviceID of the edit that ran out, the instant it ran out, and its act.
  ///
  /// It stands in the place of the edit that ran out. The other candidates stay while edits can
  /// still be concurrent with the newest act among them, and are forgotten after that.
  package func afterZero() -> TimerState? {
    guard let shown, let zeroAt = shown.zeroAt else { return nil }
    var next = self
    if shown.phase == .focus { next.completedPomodoros += 1 }
    let successor = shown.successor(
      completedPomodoros: shown.phase == .focus ? next.completedPomodoros : nil, at: zeroAt,
      deviceID: shown.deviceID)
    let others = edits.dropFirst()
    let areConcurrent =
      others.map(\.actTimestamp).max().map {
        zeroAt - $0 <= TimerResolver.concurrencyMilliseconds
      } ?? false
    next.edits = [successor.with(act: shown.act)] + (areConcurrent ? others : [])
    return next
  }

  /// Makes all edits of countdowns that reached zero by `now`. It ends: zero leads from focus and
  /// snooze to a break, and from a break to idle.
  package mutating func advance(to now: Int64) {
    while let zeroAt, zeroAt <= now, let next = afterZero() { self = next }
  }
}

extension TimerEdit {
  /// The phase that follows this one. `completedPomodoros`: how many there are with the focus that
  /// just ended; nil where none was completed.
  fileprivate func successor(
    completedPomodoros: Int64?, at instant: Int64, deviceID: String
  ) -> TimerEdit {
    switch phase {
    case .focus, .snooze:
      let plan = TimerPlan(of: self)
      let length =
        completedPomodoros.map(plan.breakMilliseconds(afterPomodoro:)) ?? plan.breakMilliseconds
      return TimerEdit(
        beginning: .breakTime, length: length, isPaused: !plan.autoStart, plan: nil,
        timestamp: instant, deviceID: deviceID)
    case .breakTime, .idle, nil:
      return TimerEdit(
        beginning: .idle, length: 0, plan: nil, timestamp: instant, deviceID: deviceID)
    }
  }
}
