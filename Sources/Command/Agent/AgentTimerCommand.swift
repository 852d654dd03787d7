import Lockstep
import LockstepApps
import LockstepCommandLine
import LockstepEventLoop
import LockstepJSON
import LockstepLanguage
import LockstepModel

/// `lockstep timer`: the pomodoro timer.
enum AgentTimerCommand {
  static let minutes = CommandOption.optional(
    "minutes", ValueKind.decimal(0.001...1_440, "M"),
    "Length; the setting if not given.")

  static let command = Command(
    name: "timer",
    summary: "Controls a pomodoro timer: start, pause, resume, stop, skip, snooze, stats, watch.",
    subcommands: [
      press("start", "Starts a focus.", takesMinutes: true) { .start(length: $0) },
      press("pause", "Pauses the countdown.") { _ in .pause },
      press("resume", "Resumes the countdown.") { _ in .resume },
      press("stop", "Stops the timer; an unfinished focus does not count.") { _ in .stop },
      press("skip", "Goes to the next phase, as if the time were up.") { _ in .skip },
      press("snooze", "Postpones the break.", takesMinutes: true) { .snooze(length: $0) },
      status, stats, AgentTimerSettingsCommand.command, AgentTimerWatchCommand.command,
    ])

  private static func press(
    _ name: String, _ summary: String, takesMinutes: Bool = false,
    _ event: @escaping @Sendable (Int64?) -> TimerEvent
  ) -> Command {
    let own = takesMinutes ? [minutes.entry] : []
    return Command(
      name: name, summary: summary,
      options: own + AgentApp.options
    ) { arguments throws(CommandFailure) in
      let length = takesMinutes ? arguments[minutes] : nil
      return try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
        let event = event(try length.map(milliseconds))
        let (screen, status) = try AgentApp.perform(
          session, TimerApp().name, TimerAction.event(event).json)
        return try TerminalOutput.printed(
          arguments[AgentCommand.json]
            ? screen.json.text
            : "\(screen.text) · \(status.syncNote(syncsFurther: !session.isHolder))")
      }
    }
  }

  private static func milliseconds(_ minutes: Double) throws(CommandFailure) -> Int64 {
    guard let milliseconds = TimerSettings.milliseconds(minutes: minutes) else {
      throw CommandFailure("--minutes: \(TimerRefusal.badLength.explanation)", exitCode: .usage)
    }
    return milliseconds
  }

  private static let stats = Command(
    name: "stats",
    summary: "Shows the pomodoros done, by day, week, month or year.",
    discussion: """
      A focus counts on the day on which it ended, in this machine's time zone, once for all \
      devices. Weeks begin on Monday. The total also has those that ended before days were kept.
      """,
    options: [period.entry, periods.entry] + AgentApp.options
  ) { arguments throws(CommandFailure) in
    let unit = arguments[period] ?? .day
    let periods = LocalCalendar.periods(
      unit, last: arguments[periods] ?? unit.usualCount, until: SystemClock.moment().wall)
    return try AgentApp.show(arguments, TimerApp().name, TimerQuestion.stats(periods).json)
  }

  private static let period = CommandOption.optional(
    "by", ValueKind<LocalCalendar.Unit>.choice, "Length of a period; day if not given.")
  private static let periods = CommandOption.optional(
    "last", ValueKind.integer(1...400), "Number of periods; 7 days, 8 weeks, 12 months or 5 years.")

  private static let status = Command(
    name: "status",
    summary: "Shows the timer's state.",
    options: AgentApp.options
  ) { arguments throws(CommandFailure) in
    try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      let (screen, status) = try AgentApp.view(
        session, TimerApp().name, TimerQuestion.screen.json)
      return try TerminalOutput.printed(
        arguments[AgentCommand.json]
          ? screen.json.text
          : "\(screen.text) · \(status.line(wall: SystemClock.moment().wall))")
    }
  }
}

/// `lockstep timer settings`: shows or changes the timer's settings.
enum AgentTimerSettingsCommand {
  static let command = Command(
    name: "settings",
    summary: "Shows the timer's settings, or changes them on all devices.",
    discussion: """
      If two devices change them at once, they are merged one by one. A change applies from the \
      next phase.
      """,
    subcommands: [get, set])

  private static let app = TimerApp().name

  private static let get = Command(
    name: "get", summary: "Shows all current settings.", options: AgentApp.options
  ) { arguments throws(CommandFailure) in
    try AgentApp.show(arguments, app, TimerQuestion.settings.json)
  }

  private static let set = Command(
    name: "set", summary: "Changes settings: focusMinutes=50 autoStart=false",
    options: AgentApp.options,
    operands: Command.Operands(
      "NAME=VALUE", "A setting and its value; more than one at once.", counts: 1...10,
      known: .words(TimerSettings.words.map { $0.name + "=" }))
  ) { arguments throws(CommandFailure) in
    var settings: [JSONMember] = []
    for word in arguments.operands {
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2 else {
        throw CommandFailure(
          localized(
            "\"{word}\" is not of the form NAME=VALUE", ["word": Log.oneLine(word)]),
          exitCode: .usage)
      }
      settings.append(JSONMember(String(parts[0]), value(String(parts[1]))))
    }
    return try AgentApp.order(arguments, app, TimerAction.set(settings).json)
  }

  /// Returns the text as a JSON number or Boolean if it is one, otherwise as a string.
  private static func value(_ text: String) -> JSONValue {
    do throws(JSONFault) {
      return try JSONValue(parsing: Array(text.utf8))
    } catch {
      return .string(text)
    }
  }
}

/// `lockstep timer watch`: shows the timer live.
enum AgentTimerWatchCommand {
  static let withoutBell = CommandOption.flag("no-bell", "Ring no bell when a countdown ends.")
  static let withoutNotifications = CommandOption.flag(
    "no-notify", "Show no desktop notification when a countdown ends.")

  static let command = HomeWatch.command(
    "Shows the timer live, with keys to press; without a terminal, a JSON line per change.",
    discussion: """
      On a terminal it uses the full screen: the countdown, the device of the last edit, the other \
      devices, the sync status, and recent events; ? lists the keys. When a countdown ends, the \
      bell rings, and notify-send shows a notification if there is a desktop.

      Without a terminal, with --json, or with TERM=dumb, a line is {"at", "stateType", \
      "isPaused", "remaining", "completedPomodoros", "device"}: relay time and milliseconds left \
      at that time. It ends with q, with Ctrl-C, or when its output is closed.
      """,
    options: [withoutBell.entry, withoutNotifications.entry],
    app: TimerApp().name,
    live: HomeWatch.Live(
      question: TimerQuestion.board.json, isTicking: true, ringsBell: { !$0[withoutBell] },
      notifies: { !$0[withoutNotifications] }, view: { TimerView() }),
    question: { _ throws(CommandFailure) in TimerQuestion.screen.json })
}
