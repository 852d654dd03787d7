import LockstepCommandLine
import LockstepModel
import LockstepRelay
import LockstepTerminal

/// `lockstep relay wake-key`: the keys under which a relay sends to push services.
enum RelayWakeKeyCommand {
  static let json = CommandOption.flag("json", "Print one JSON object.")

  static let command = Command(
    name: "wake-key",
    summary: "Shows or replaces the key under which the relay wakes devices.",
    discussion: """
      Push services recognise a relay by its key, and devices subscribe for it (VAPID, RFC 8292). \
      The secret half stays in the store.
      """,
    subcommands: [show, rotate])

  private static let show = Command(
    name: "show",
    summary: "Shows the public keys in force, newest first.",
    options: [RelayCommand.store.entry, json.entry]
  ) { arguments throws(CommandFailure) in
    try printed(try AdminClient(arguments[RelayCommand.store]).wakeKeys(), arguments)
  }

  private static let rotate = Command(
    name: "rotate",
    summary: "Makes a new key, for example because a backup of the store was stolen.",
    discussion: """
      Each device that is woken under the former key is told of the new one by a push, and \
      subscribes for it. The relay sends under both keys for 30 days; a device that learns nothing \
      of the new key in that time does so when its app is opened. Relays that share a database use \
      the new key within a minute.
      """,
    options: [RelayCommand.store.entry, json.entry]
  ) { arguments throws(CommandFailure) in
    try printed(try AdminClient(arguments[RelayCommand.store]).addWakeKey(), arguments)
  }

  private static func printed(
    _ list: WakeKeyList, _ arguments: Arguments
  ) throws(CommandFailure) -> ExitCode {
    if arguments[json] {
      return try TerminalOutput.printed(String(decoding: list.encodedBody(), as: UTF8.self))
    }
    if list.keys.isEmpty {
      return try TerminalOutput.printed("no key yet; the relay makes one when it first starts")
    }
    let lines = list.keys.map { key in
      let end = key.endsAt.map { ", until \(CalendarTime.text($0))" } ?? ""
      return "\(key.wakeKey)  made \(CalendarTime.text(key.madeAt))\(end)"
    }
    return try TerminalOutput.printed(lines.joined(separator: "\n"))
  }
}
