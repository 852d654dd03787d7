import LockstepApps
import LockstepEventLoop
import LockstepModel

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
      options: own + AgentApp.options
    ) { arguments throws(CommandFailure) in
      let length = takesMinutes ? arguments[minutes] : nil
      return try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
        let event = event(try length.map(milliseconds))
        let (screen, status) = try AgentApp.ordered(session, TimerApp().name, event.order)
        return try TerminalOutput.printed(
          arguments[AgentCommand.json]
            ? screen.json.text
            : "\(screen.text) · \(AgentCommand.syncNote(status, goesOn: !session.isHolder))")
      }
    }
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
    options: AgentApp.options
  ) { arguments throws(CommandFailure) in
    try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      let (screen, status) = try AgentApp.view(session, TimerApp().name, TimerApp.screen)
      return try TerminalOutput.printed(
        arguments[AgentCommand.json]
          ? screen.json.text
          : "\(screen.text) · \(status.line(wall: SystemClock.moment().wall))")
    }
  }
}
