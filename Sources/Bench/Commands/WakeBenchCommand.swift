import LockstepCommandLine
import LockstepTerminal

/// `lockstep bench wake`: measures how fast sleeping devices learn of changes, and what that costs.
enum WakeBenchCommand {
  static let devices = CommandOption.defaulted(
    "devices", .integer(1...50_000), default: "10000",
    "Sleeping devices, each in an account of its own.")
  static let rate = CommandOption.defaulted(
    "rate", .integer(1...10_000), default: "200", "Changes per second while latencies are measured."
  )
  static let json = CommandOption.flag("json", "Print one JSON object.")

  static let command = Command(
    name: "wake",
    summary: "Measures how fast sleeping devices are woken, beside devices with a socket.",
    discussion: """
      Starts a relay of its own, and a push service on loopback with TLS. Another device of each \
      account makes one change. The push wakes the sleeping device, which decrypts it, connects, \
      fetches the change and disconnects. The same is measured with devices that keep a socket.

      Then all accounts change as fast as the relay saves, once with devices that sleep and are \
      woken, once with devices that are not: the difference is what a wake costs. The exit code is \
      1 if a device was not woken exactly once, or the 99th percentile is a second or more.
      """,
    options: [devices.entry, rate.entry, json.entry]
  ) { arguments throws(CommandFailure) in
    var plan = WakePlan()
    plan.devices = arguments[devices]
    plan.rate = arguments[rate]
    let table = try WakeBench(plan: plan, progress: Progress()).run()
    _ = try TerminalOutput.printed(arguments[json] ? table.json.text : table.text)
    return table.isMet ? .success : .failure
  }
}
