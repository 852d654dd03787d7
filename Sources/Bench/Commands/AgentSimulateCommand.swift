import Lockstep
import LockstepApps
import LockstepClient
import LockstepCommandLine
import LockstepEventLoop
import LockstepHome
import LockstepJSON
import LockstepSimulation

/// `lockstep agent simulate`: runs simulated users on a real relay.
package enum AgentSimulateCommand {
  package static let app = CommandOption.defaulted(
    "app", .word(of: KnownApp.words), default: "all",
    "The app to use; all apps if not given.")
  package static let relay = CommandOption.optional(
    "relay", ValueKind.relay, "An --open relay; if not given, a temporary one is started.")
  package static let accounts = CommandOption.defaulted(
    "accounts", .integer(1...1_000), default: "5",
    "Number of accounts, each with one simulated user.")
  package static let devices = CommandOption.defaulted(
    "devices", .integer(2...16), default: "3", "Number of devices per account.")
  package static let seconds = CommandOption.defaulted(
    "seconds", .integer(1...3_600), default: "10", "Length of the active phase in seconds.")
  package static let seed = CommandOption.defaulted(
    "seed", .seed, default: "1", "Seed of the simulated actions and their times.")

  package static let json = CommandOption.flag("json", "Print one JSON object.")
  package static let transport = CommandOption.optional(
    "transport", ValueKind<Transport>.choice,
    "Transport of changes; the best one that works if not given.")

  package static let command = Command(
    name: "simulate",
    summary: "Runs simulated users on a relay, with offline phases and conflicts.",
    discussion: """
      Simulated users use the apps on several devices each; the devices lose the network at \
      random. At the end all devices go online. All devices of an account must then show the \
      same state, and it must be the state that the apps' merge rules require: a text may be \
      missing only if a user who saw it replaced it, and counts must add up. The exit code is 1 \
      otherwise.
      """,
    options: [
      app.entry, relay.entry, HomeTrust.option.entry, accounts.entry, devices.entry,
      seconds.entry, seed.entry,
      transport.entry, json.entry,
    ]
  ) { arguments throws(CommandFailure) in
    let choice = KnownApp.chosen(by: arguments[app])
    try reportUnknownApps(in: choice)
    var plan = PeoplePlan()
    plan.apps = choice.apps
    plan.accounts = arguments[accounts]
    plan.devices = arguments[devices]
    plan.seconds = arguments[seconds]
    plan.seed = arguments[seed]
    plan.transport = arguments[transport]
    let trust = try HomeTrust.named(arguments[HomeTrust.option]).trust
    let result = try run(plan, on: arguments[relay], trust)
    let isJSON = arguments[json]
    _ = try TerminalOutput.printed(isJSON ? result.json.text : result.text)
    return result.isGood ? .success : .failure
  }

  /// Reports apps that are not simulated. Throws if none is left, instead of simulating others.
  package static func reportUnknownApps(in choice: KnownApp.Choice) throws(CommandFailure) {
    guard let advice = choice.advice else { return }
    if choice.apps.isEmpty { throw CommandFailure(advice, exitCode: .usage) }
    TerminalOutput.writeToStandardError("lockstep: \(advice)\n")
  }

  private static func run(
    _ plan: PeoplePlan, on relay: RelayAddress?, _ trust: Trust
  ) throws(CommandFailure) -> PeopleResult {
    guard let relay else {
      let child = try ChildRelay()
      defer { child.stop() }
      return try run(plan, on: child.address, trust)
    }
    let progress = Progress()
    defer { progress.clear() }
    let stores = try FleetHomes(relay: relay, trust: trust, progress: progress).join(
      accounts: plan.accounts, devices: plan.devices)
    progress.show("\(plan.accounts) simulated users are active for \(plan.seconds) s")
    let finished = try FleetHomes.runNode(
      PeopleNode(plan: plan, random: Entropy.seededRandom(), at: SystemClock.moment()),
      apps: AppCatalog.all, on: stores, trust
    ) { report in
      switch report {
      case .finished(let result): result
      }
    }
    guard let finished else { throw CommandFailure("the simulation was interrupted") }
    return finished
  }
}

extension PeopleResult {
  package var json: JSONValue {
    func number(_ name: String, _ value: Int) -> JSONMember {
      JSONMember(name, .number(JSONNumber(Int64(value))))
    }
    return .object([
      number("accounts", accounts), number("equal", equal), number("asDemanded", asDemanded),
      number("edits", edits), number("refused", refused), number("conflicts", conflicts),
      number("timesOffline", timesOffline),
      JSONMember("faults", .array(faults.map(JSONValue.string))),
      JSONMember("good", .bool(isGood)),
    ])
  }

  package var text: String {
    let all = accounts == 1 ? "1 account" : "\(accounts) accounts"
    let lines = [
      "\(edits) edits, \(refused) refused, "
        + "\(conflicts) conflicts, \(timesOffline) times offline",
      "all devices show the same:    \(equal) of \(all)",
      "and what the rules require:   \(asDemanded) of \(all)",
    ]
    return (lines + faults.prefix(10)).joined(separator: "\n")
  }
}
