import LockstepModel
import LockstepStorage

/// `lockstep account list`: shows the relay's accounts and their usage.
enum AccountListCommand {
  static let json = CommandOption.flag("json", "Print one JSON object a line, for each account.")

  static let command = Command(
    name: "list",
    summary: "Shows all accounts.",
    discussion: """
      DEVICES is how many devices are signed in, CHANGES how many saves and deletes there have \
      been so far (the newest tag), RECORDS how much room records take, with those that \
      were deleted and are remembered, FILES how much the chunks of files take.
      """,
    options: [RelayCommand.store.entry, json.entry]
  ) { arguments throws(CommandFailure) in
    let office = try AccountCommand.office(arguments)
    if arguments[json] {
      try office.eachAccount { account throws(CommandFailure) in
        try TerminalOutput.standard.write(account.json.text + "\n")
      }
      return .success
    }
    var table = TextTable([
      ("ACCOUNT", .left), ("NAME", .left), ("DEVICES", .right), ("PLAN", .left),
      ("CHANGES", .right), ("RECORDS", .right), ("FILES", .right), ("MADE", .left),
    ])
    var count = 0
    try office.eachAccount { account in
      count += 1
      table.add(
        account.id.text, account.label, "\(account.devices)", account.plan.text,
        "\(account.newestTag)", ByteCount.text(account.recordBytes),
        ByteCount.text(account.chunkBytes), CalendarTime.text(account.madeAt))
    }
    return try TerminalOutput.printed(
      count == 0
        ? "there is no account yet; make the first with lockstep account create NAME" : table.text)
  }
}

extension Plan {
  /// Short description of the plan.
  var text: String {
    let zones =
      zones.map { names in
        names.isEmpty
          ? "no zone" : names.map { Log.oneLine($0.text) }.joined(separator: ", ")
      } ?? "all zones"
    let limits = [
      bytes.map { "\(ByteCount.text($0)) of records" },
      records.map { "\($0) records" },
    ].compactMap { $0 }
    return ([zones] + limits).joined(separator: "; ")
  }
}
