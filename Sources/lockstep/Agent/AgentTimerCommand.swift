import Apps
import Changes
import Loop

/// `lockstep agent timer`: the pomodoro timer.
enum AgentTimerCommand {
  static let minutes = CommandOption.optional(
    "minutes", ValueKind.decimal(0.001...1_440, "M"),
    "How long; what the settings say if not given.")

  static let command = Command(
    name: "timer",
    summary: "Is a pomodoro timer: start, pause, resume, stop, skip, snooze, and see it run.",
    subcommands: [
      press("start", "Begins a focus.", takesMinutes: true) { .start(length: $0) },
      press("pause", "Halts the countdown.") { _ in .pause },
      press("resume", "Lets the countdown go on.") { _ in .resume },
      press("stop", "Ends whatever runs; an unfinished focus does not count.") { _ in .stop },
      press("skip", "Goes on to what follows, as if the time were up.") { _ in .skip },
      press("snooze", "Puts the break off.", takesMinutes: true) { .snooze(length: $0) },
      status, AgentTimerSettingsCommand.command, AgentTimerWatchCommand.command,
    ])

  private static func press(
    _ name: String, _ summary: String, takesMinutes: Bool = false,
    _ event: @escaping @Sendable (Int64?) -> TimerEvent
  ) -> Command {
    let own = takesMinutes ? [minutes.entry] : []
    return Command(
      name: name, summary: summary,
      options: own + [
        AgentCommand.home.entry, AgentCommand.transport.entry, AgentCommand.json.entry,
      ]
    ) { arguments throws(CommandFailure) in
      let length = takesMinutes ? arguments[minutes] : nil
      return try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
        let event = event(try length.map(milliseconds))
        // A home that nobody held may not know yet what other devices did; a person who presses a
        // button means what they show. Without a relay in reach, what is known has to do.
        let isInReach = session.isHolder ? try synced(session).isInReach : true
        let screen = HomeView(try session.ask(.order(app: "timer", event.order)))
        let status =
          isInReach ? try synced(session) : HomeStatus(json: try session.ask(.status))
        return try TerminalOutput.printed(
          arguments[AgentCommand.json]
            ? screen.json.text : "\(screen.text) · \(AgentCommand.syncNote(status))")
      }
    }
  }

  /// Where sync stands after a little patience: at once where no relay is in reach.
  private static func synced(_ session: HomeSession) throws(CommandFailure) -> HomeStatus {
    HomeStatus(json: try session.ask(.sync(milliseconds: AgentCommand.patienceMilliseconds)))
  }

  private static func milliseconds(_ minutes: Double) throws(CommandFailure) -> Int64 {
    guard let milliseconds = TimerSettings.milliseconds(minutes: minutes) else {
      throw CommandFailure("--minutes: \(TimerRefusal.badLength.explanation)", exitCode: .usage)
    }
    return milliseconds
  }

  private static let status = Command(
    name: "status",
    summary: "Shows what the timer does now.",
    options: [
      AgentCommand.home.entry, AgentCommand.transport.entry, AgentCommand.json.entry,
    ]
  ) { arguments throws(CommandFailure) in
    try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      // A home that nobody held has only just begun to connect.
      let patience = session.isHolder ? AgentCommand.patienceMilliseconds : 0
      let status = HomeStatus(json: try session.ask(.sync(milliseconds: patience)))
      let screen = HomeView(try session.ask(.show(app: "timer", TimerApp.screen)))
      return try TerminalOutput.printed(
        arguments[AgentCommand.json]
          ? screen.json.text
          : "\(screen.text) · \(status.line(now: SystemClock.moment().wall))")
    }
  }
}
