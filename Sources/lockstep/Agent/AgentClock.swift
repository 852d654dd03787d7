import LockstepEventLoop
import LockstepModel

/// Deliberately wrong clock of one device, for tests. The machine's clock stays correct.
enum AgentClock {
  /// Largest offset, in seconds: a century in either direction.
  private static let farthestSeconds = 3_155_760_000

  static let offset = CommandOption.optional(
    "clock-offset", ValueKind.integer(-farthestSeconds...farthestSeconds, "SECONDS"),
    "For tests: this device's clock is ahead by so much, or behind (-SECONDS).")

  /// Returns the command with that option, or the group with the option on all its commands.
  static func settable(_ command: Command) -> Command {
    guard let action = command.action else {
      return Command(
        name: command.name, summary: command.summary, discussion: command.discussion,
        subcommands: command.subcommands.map(settable))
    }
    return Command(
      name: command.name, summary: command.summary, discussion: command.discussion,
      options: command.options + [offset.entry], operands: command.operands
    ) { arguments throws(CommandFailure) in
      if let seconds = arguments[offset] {
        SystemClock.setWall(aheadMilliseconds: Int64(seconds) * 1_000)
      }
      return try action(arguments)
    }
  }
}
