import LockstepCommandLine
import LockstepEventLoop
import LockstepJSON
import LockstepTerminal

/// `lockstep bench seam`: counts the loop's cost of a delivery, without sockets, store or network.
enum SeamBenchCommand {
  static let changes = CommandOption.defaulted(
    "changes", .integer(1...100_000_000), default: "20000",
    "Number of changes; each is delivered to \(SeamCost.receivers) receivers.")
  static let burst = CommandOption.defaulted(
    "burst", .integer(1...1_000), default: "1",
    "Number of changes received before the loop writes; 1 has the highest cost.")
  static let json = CommandOption.flag("json", "Print one JSON object.")

  static let command = Command(
    name: "seam",
    summary: "Counts the instructions that the event loop itself spends per delivery.",
    discussion: """
      The processor counts the instructions in user mode. Unlike times, the count is the same on \
      a busy machine. Some machines do not let programs read that counter; scripts/seam-cost \
      counts the same with valgrind.
      """,
    options: [changes.entry, burst.entry, json.entry]
  ) { arguments throws(CommandFailure) in
    let burst = arguments[burst]
    let figure: SeamCost.Figure
    figure = try CommandFailure.wrap { () throws(SystemFault) in
      try SeamCost.measure(
        changesATurn: burst, turns: max(1, arguments[changes] / burst))
    }
    return try TerminalOutput.printed(
      arguments[json] ? text(asJSON: figure) : text(of: figure))
  }

  static func text(asJSON figure: SeamCost.Figure) -> String {
    let count = figure.instructions.map { JSONValue(integerLiteral: $0) } ?? .null
    return JSONValue.object([JSONMember("instructionsPerDelivery", count)]).text
  }

  static func text(of figure: SeamCost.Figure) -> String {
    switch figure {
    case .instructionsPerDelivery:
      "\(figure.instructions ?? 0) instructions a delivery; the goal is at most "
        + "\(BenchTable.seamInstructionsMost)"
    case .notSupported(let fault):
      "this machine lets no program count instructions (\(fault)); scripts/seam-cost counts them "
        + "with valgrind"
    }
  }
}

extension SeamCost.Figure {
  /// Instructions per delivery, rounded; nil if they could not be counted.
  var instructions: Int64? {
    switch self {
    case .instructionsPerDelivery(let count): Int64(count.rounded())
    case .notSupported: nil
    }
  }
}
