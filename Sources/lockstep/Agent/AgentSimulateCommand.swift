import LockstepApps
import LockstepClient
import LockstepEventLoop
import LockstepModel
import LockstepTools

/// `lockstep agent simulate`: runs simulated users on a real relay.
enum AgentSimulateCommand {
  static let app = CommandOption.defaulted(
    "app", .word(of: KnownApp.words), default: "all",
    "What they use; everything, one thing after the other, if not given.")
  static let relay = CommandOption.optional(
    "relay", ValueKind.relay, "An --open relay; one of its own if not given.")
  static let accounts = CommandOption.defaulted(
    "accounts", .integer(1...1_000), default: "5", "People.")
  static let devices = CommandOption.defaulted(
    "devices", .integer(2...16), default: "3", "Devices of each.")
  static let seconds = CommandOption.defaulted(
    "seconds", .integer(1...3_600), default: "10", "How long they use them.")
  static let seed = CommandOption.defaulted(
    "seed", .seed, default: "1", "What they do, and when, follows from it.")

  static let transport = CommandOption.optional(
    "transport", ValueKind<Transport>.choice,
    "How changes reach the devices; the best way that works if not given.")

  static let command = Command(
    name: "simulate",
    summary: "Lets simulated people use a relay: offline, at odds, and back again.",
    discussion: """
      Everybody uses the apps on all devices, which lose the network now and then. At the end all \
      come online, and every device of an account must show the same, and that must be what the \
      rules demand of what was done: no text is lost that nobody saw when it was replaced, and \
      what was counted adds up. The exit code is 1 where it is not so.
      """,
    options: [
      app.entry, relay.entry, HomeTrust.option.entry, accounts.entry, devices.entry,
      seconds.entry, seed.entry,
      transport.entry, AgentCommand.json.entry,
    ]
  ) { arguments throws(CommandFailure) in
    let choice = KnownApp.chosen(by: arguments[app])
    try tell(choice)
    var plan = PeoplePlan()
    plan.apps = choice.apps
    plan.accounts = arguments[accounts]
    plan.devices = arguments[devices]
    plan.seconds = arguments[seconds]
    plan.seed = arguments[seed]
    plan.transport = arguments[transport]
    let trust = try HomeTrust.named(arguments[HomeTrust.option]).trust
    let result = try run(plan, on: arguments[relay], trust)
    let isJSON = arguments[AgentCommand.json]
    _ = try TerminalOutput.printed(isJSON ? result.json.text : result.text)
    return result.isGood ? .success : .failure
  }

  /// Reports apps that are not simulated. Throws if none is left, instead of simulating others.
  static func tell(_ choice: KnownApp.Choice) throws(CommandFailure) {
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
    progress.show("\(plan.accounts) people use their apps for \(plan.seconds) s")
    let finished = try FleetHomes.drive(
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
  var json: JSONValue {
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

  var text: String {
    let lines = [
      "\(edits) edits (and \(refused) that made no sense just then), "
        + "\(conflicts) conflicts, \(timesOffline) times offline",
      "all devices show the same:   \(equal) of \(accounts) accounts",
      "and what the rules demand:   \(asDemanded) of \(accounts) accounts",
    ]
    return (lines + faults.prefix(10)).joined(separator: "\n")
  }
}
