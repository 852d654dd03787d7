import LockstepClient
import LockstepCommandLine
import LockstepSimulation
import LockstepStorage

/// `lockstep bench budget`: counts the cost of a simulated working day for a device.
enum BudgetBenchCommand {
  static let app = CommandOption.defaulted(
    "app", .word(of: KnownApp.words), default: "all", "The app to simulate.")
  static let transport = CommandOption.optional(
    "transport", .word(of: BudgetWay.all.map(\.text)),
    "Transport of changes, or wake for devices that sleep; all, one after the other, if not given.")
  static let seed = CommandOption.defaulted(
    "seed", .seed, default: "1", "Seed of the simulated actions and their times.")
  static let json = CommandOption.flag("json", "Print one JSON object.")

  static let command = Command(
    name: "budget",
    summary: "Simulates a working day, and counts the network use of a device.",
    discussion: """
      The day is simulated in virtual time with the real relay and the real agents. Requests, \
      bytes and wake-ups are counted and compared with their limits. The exit code is 1 if one is \
      exceeded.
      """,
    options: [app.entry, transport.entry, seed.entry, json.entry]
  ) { arguments throws(CommandFailure) in
    let choice = KnownApp.chosen(by: arguments[app])
    try AgentSimulateCommand.reportUnknownApps(in: choice)
    let ways = BudgetWay.all.filter { way in arguments[transport].map { $0 == way.text } ?? true }
    let progress = Progress()
    defer { progress.clear() }
    var rows: [BudgetRow] = []
    for app in choice.apps {
      for way in ways {
        progress.show("a day of \(app.rawValue) by \(way.text)")
        let day = BudgetDay(app: app, way: way, seed: arguments[seed])
        try CommandFailure.wrap { () throws(StorageError) in
          rows.append(try day.run())
        }
      }
    }
    progress.clear()
    let table = BudgetTable(rows: rows)
    try TerminalOutput.standard.write((arguments[json] ? table.json.text : table.text) + "\n")
    return table.isMet ? .success : .failure
  }
}
