import LockstepApps
import LockstepModel

/// `lockstep agent timer watch`: shows the timer live.
enum AgentTimerWatchCommand {
  static let isSilent = CommandOption.flag("no-bell", "Ring no bell when a countdown ends.")
  static let isUntold = CommandOption.flag(
    "no-notify", "Show no desktop notification when a countdown ends.")

  static let command = HomeWatch.command(
    "Shows the timer live, with keys to press; without a terminal, a JSON line a change.",
    discussion: """
      On a terminal it takes the whole screen: the countdown, whose edit it is, the other devices, \
      sync, and what just happened; ? names the keys. When a countdown ends the bell rings, and \
      notify-send tells it where there is a desktop.

      Without a terminal, with --json, or with TERM=dumb, a line is {"at", "stateType", \
      "isPaused", "remaining", "completedPomodoros", "device"}: relay time and milliseconds left \
      at that time. It ends with q, Ctrl-C, or when nobody reads it any more.
      """,
    options: [isSilent.entry, isUntold.entry],
    app: TimerApp().name,
    live: HomeWatch.Live(
      question: TimerApp.board, isTicking: true, ringsBell: { !$0[isSilent] },
      notifies: { !$0[isUntold] }, view: { TimerView() }),
    question: { _ throws(CommandFailure) in TimerApp.screen })
}
