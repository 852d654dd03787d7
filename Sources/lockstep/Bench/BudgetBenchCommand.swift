import LockstepClient
import LockstepStorage
import LockstepTools

/// `lockstep bench budget`: counts the cost of a simulated working day for a device.
enum BudgetBenchCommand {
  static let app = CommandOption.defaulted(
    "app", .word(of: KnownApp.words), default: "all", "The app that is used.")
  static let transport = CommandOption.optional(
    "transport", ValueKind<Transport>.choice,
    "How changes reach the devices; one after the other if not given.")
  static let seed = CommandOption.defaulted(
    "seed", .seed, default: "1", "What is done, and when, follows from it.")
  static let json = CommandOption.flag("json", "Print one JSON object.")

  static let command = Command(
    name: "budget",
    summary: "Lets a working day pass, and counts what it costs a device.",
    discussion: """
      The day is simulated, hours in a moment, with the real relay and the real agents; requests, \
      bytes and wakings are counted and stand beside their targets. The exit code is 1 where one \
      is missed.
      """,
    options: [app.entry, transport.entry, seed.entry, json.entry]
  ) { arguments throws(CommandFailure) in
    let choice = KnownApp.chosen(by: arguments[app])
    try AgentSimulateCommand.tell(choice)
    let transports = arguments[transport].map { [$0] } ?? Transport.allCases
    let progress = Progress()
    defer { progress.clear() }
    var rows: [BudgetRow] = []
    for app in choice.apps {
      for transport in transports {
        progress.show("a day of \(app.rawValue) by \(transport.rawValue)")
        let day = BudgetDay(app: app, transport: transport, seed: arguments[seed])
        do throws(StorageError) {
          rows.append(try day.run())
        } catch {
          throw CommandFailure("\(error)")
        }
      }
    }
    progress.clear()
    let table = BudgetTable(rows: rows)
    try TerminalOutput.standard.write((arguments[json] ? table.json.text : table.text) + "\n")
    return table.isMet ? .success : .failure
  }
}
