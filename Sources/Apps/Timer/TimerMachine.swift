import LockstepLanguage
import LockstepModel

/// Events that a person triggers. Lengths are milliseconds, 1 to `Limits.timerMilliseconds`; nil:
/// the length from the settings.
package enum TimerEvent: Hashable, Sendable {
  /// Start a focus.
  case start(length: Int64?)
  case pause
  case resume
  /// End any phase; an unfinished focus does not count.
  case stop
  /// Go to the next phase, as if the time were up; a skipped focus does not count.
  case skip
  /// Postpone the break.
  case snooze(length: Int64?)
}

/// Reason why an event was refused, for the person who triggered it.
package enum TimerRefusal: Error, Hashable, Sendable {
  case nothingIsRunning
  case alreadyRunning
  case alreadyPaused
  case notPaused
  case noBreakToSnooze
  case badLength
  /// State written by a later version of the app.
  case unknownState(String)

  /// One sentence, with the next step.
  package var explanation: String {
    switch self {
    case .nothingIsRunning: localized("nothing is running; start the timer first")
    case .alreadyRunning:
      localized("a focus is already going on; stop it first to start another")
    case .alreadyPaused: localized("the timer is already paused; resume it to go on")
    case .notPaused: localized("the timer is not paused")
    case .noBreakToSnooze:
      localized("there is no break to put off; snooze works during a break")
    case .badLength:
      localized(
        "a length must be more than 0 and at most {most} minutes",
        ["most": String(Limits.timerMilliseconds / 60_000)])
    case .unknownState(let state):
      localized(
        "this version does not know the state \"{state}\"; update it, or stop the timer",
        ["state": state])
    }
  }
}

/// State machine of the timer on one device. Input: state, event and time; output: the next state.
/// It reads no clock and knows no other device; the resolver handles concurrent edits.
///
///     event    idle      focus        breakTime    snooze
///     start    focus     –            focus        focus
///     pause    –         paused       paused       paused
///     resume   –         runs         runs         runs         (if it is paused)
///     stop     –         idle         idle         idle
///     skip     –         breakTime    idle         breakTime
///     snooze   –         –            snooze       snooze
///     zero     –         breakTime    idle         breakTime    (if it is not paused)
///
/// Reaching zero in focus adds 1 to `completedPomodoros`; after every `longBreakEvery`-th pomodoro
/// the break is the long one. If `autoStart` is off, a break that follows automatically starts
/// paused until a person resumes it. A person's event replaces all edits of the record.
package struct TimerMachine: Hashable, Sendable {
  package private(set) var state: TimerState
  private let settings: TimerSettings
  private let deviceID: String

  /// `deviceID`: the device on which the events happen.
  package init(state: TimerState, settings: TimerSettings, deviceID: String) {
    self.state = state
    self.settings = settings
    self.deviceID = deviceID
  }

  /// Applies a person's event at `now`, relay time in milliseconds. Countdowns that ended before
  /// are applied first: a finished focus counts, even if no device has written that yet.
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
    state.edits = [edit.replacing(state.edits)]
  }

  /// Returns nil for a state from a later version of the app, which accepts only start and stop.
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

// Automatic transitions at zero. They depend only on the record.
extension TimerState {
  /// Instant at which the shown countdown reaches zero; nil if none runs.
  package var zeroAt: Int64? { shown?.zeroAt }

  /// Returns the state after the shown countdown has reached zero. It has the same bytes on every
  /// device, because the new edit takes its deviceID, timestamp and act from the edit that ran out.
  ///
  /// The new edit replaces the edit that ran out. The other candidates stay as long as an edit can
  /// still be concurrent with the newest act among them; after that they are removed.
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
    let ended = successor.with(act: shown.act).replacing(likewise: shown)
    next.edits = [ended] + (areConcurrent ? others : [])
    return next
  }

  /// Applies all countdowns that reached zero by `now`. The loop ends: zero leads from focus and
  /// snooze to a break, and from a break to idle.
  package mutating func advance(to now: Int64) {
    while let zeroAt, zeroAt <= now, let next = afterZero() { self = next }
  }
}

extension TimerEdit {
  /// Returns the next phase. `completedPomodoros`: number including the focus that just ended; nil
  /// if no focus was completed.
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
