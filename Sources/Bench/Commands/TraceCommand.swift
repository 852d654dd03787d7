import Lockstep
import LockstepClient
import LockstepCommandLine
import LockstepEventLoop
import LockstepHome
import LockstepModel
import LockstepStorage

/// `lockstep trace`: shows the time of each step from a change on one device to the app on another.
package enum TraceCommand {
  package static let relay = CommandOption.optional(
    "relay", ValueKind.relay,
    "An --open relay to use; if not given, a temporary one is started."
  )
  package static let transport = CommandOption.defaulted(
    "transport", ValueKind<Transport>.choice, default: Transport.webSocket.rawValue,
    "Transport of changes.")
  package static let count = CommandOption.defaulted(
    "count", .integer(1...TracePlan.changesMost), default: "5",
    "Number of changes, followed one after the other.")
  package static let json = CommandOption.flag("json", "Print one JSON object, with every change.")

  package static let command = Command(
    name: "trace",
    summary: "Shows the time of each step of a change from one device to another.",
    discussion: """
      Creates an account with two devices, makes changes on device A and follows each: acted, \
      stored and sent on device A; received, committed and pushed by the relay; received and \
      applied on device B. Shows the change with the median total time. On a relay given by \
      --relay the account remains. The exit code is 1 if a change did not arrive.
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

/// Follows changes between two devices of this process, on the given relay or one of its own.
struct TraceRun {
  var plan: TracePlan
  /// Relay to use; nil for one of its own, in another process, on a temporary store.
  var relay: RelayAddress?
  /// Trust policy for the relay's certificate.
  var trust: Trust
  var progress: Progress

  func table() throws(CommandFailure) -> TraceTable {
    defer { progress.clear() }
    guard let relay else {
      progress.show("starting a relay on a temporary store")
      let child = try ChildRelay()
      defer { child.stop() }
      return try follow(on: child.address)
    }
    return try follow(on: relay)
  }

  private func follow(on relay: RelayAddress) throws(CommandFailure) -> TraceTable {
    let stores = try FleetHomes(relay: relay, trust: trust, progress: progress).join(
      accounts: 1, devices: 2)
    progress.show("bringing both devices in sync")
    let (progress, changes) = (progress, plan.changes)
    let result = try FleetHomes.runNode(
      TraceNode(plan: plan, random: Entropy.seededRandom(), at: SystemClock.moment()),
      apps: [], on: stores, trust
    ) { report -> TraceResult? in
      switch report {
      case .following(let number):
        progress.show("following change \(number) of \(changes)")
        return nil
      case .finished(let result): return result
      }
    }
    guard let result else { throw CommandFailure("the trace was interrupted") }
    return TraceTable(plan: plan, result: result)
  }
}
