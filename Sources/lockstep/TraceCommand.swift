import LockstepClient
import LockstepModel
import LockstepTools

/// `lockstep trace`: shows the time of each step from a change on one device to the app on another.
enum TraceCommand {
  static let relay = CommandOption.optional(
    "relay", ValueKind.relay,
    "An --open relay to follow changes through; one of its own if not given."
  )
  static let transport = CommandOption.defaulted(
    "transport", ValueKind<Transport>.choice, default: Transport.webSocket.rawValue,
    "How changes reach the devices.")
  static let count = CommandOption.defaulted(
    "count", .integer(1...TracePlan.changesMost), default: "5",
    "Changes that are followed, one after the other.")
  static let json = CommandOption.flag("json", "Print one JSON object, with every change.")

  static let command = Command(
    name: "trace",
    summary: "Follows a change from one device through the relay to another, with times.",
    discussion: """
      Makes an account of its own with two devices, changes something on device A and follows it: \
      acted, stored and sent there, received, committed and pushed by the relay, received and \
      applied on device B. It shows the change in the middle of all that it followed. On a relay \
      that you name the account stays behind. The exit code is 1 where a change did not arrive.
      """,
    options: [
      relay.entry, HomeTrust.option.entry, transport.entry, count.entry, json.entry,
    ]
  ) { arguments throws(CommandFailure) in
    var plan = TracePlan()
    plan.changes = arguments[count]
    plan.transport = arguments[transport]
    let run = TraceRun(
      plan: plan, relay: arguments[relay],
      trust: try HomeTrust.named(arguments[HomeTrust.option]).trust, progress: Progress())
    let table = try run.table()
    try TerminalOutput.standard.write((arguments[json] ? table.json.text : table.text) + "\n")
    return table.result.failures.isEmpty ? .success : .failure
  }
}
