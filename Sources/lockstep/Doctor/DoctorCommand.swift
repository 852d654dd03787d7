import LockstepClient
import LockstepEventLoop
import LockstepTools

/// `lockstep doctor`: finds out why sync does not work, or that it does.
enum DoctorCommand {
  static let relay = CommandOption.optional(
    "relay", ValueKind.relay, "The relay; that of the home if not given.")
  static let home = CommandOption.optional("home", ValueKind.folder, "A device's home.")
  static let store = CommandOption.optional(
    "store", ValueKind.storePlace,
    "The store of a relay: a folder on this machine, or the URL of a database.")
  static let isLong = CommandOption.flag(
    "long", "Also see whether an idle WebSocket stands for 75 seconds.")
  static let json = CommandOption.flag("json", "Print one JSON object.")

  static let command = Command(
    name: "doctor",
    summary: "Tells why sync does not work, or that it does.",
    discussion: """
      It looks at a relay, a home, a relay's store, or several of them, and says of each thing \
      what it saw and, where that is not well, what to do next.

      In an account of a person nothing is written: the ways to the relay are tried with the \
      home's own token, and only read. Without a home, or with another relay than the home's, an \
      --open relay is tried with an account of two devices that is made for it; both are revoked \
      afterwards.

      The exit code is 1 where something keeps sync from working, and 0 where there are at most \
      warnings.
      """,
    options: [
      relay.entry, HomeTrust.option.entry, home.entry, store.entry, isLong.entry, json.entry,
    ]
  ) { arguments throws(CommandFailure) in
    let folder = arguments[home].map { HomeFolder(path: $0) }
    guard arguments[relay] != nil || folder != nil || arguments[store] != nil else {
      throw CommandFailure(
        "say what to look at: --home DIR, --relay URL, --store DIR|URL, or several of them",
        exitCode: .usage)
    }
    let progress = Progress()
    let trust = try arguments[HomeTrust.option].map { path throws(CommandFailure) in
      try HomeTrust.named(path).trust
    }
    let look = folder.map { HomeProbe($0, progress: progress) }
    var report = DoctorReport(
      of: [arguments[relay]?.url ?? look?.member?.relay.url, folder?.path, arguments[store]?.text]
        .compactMap(\.self))
    if let address = arguments[relay] ?? look?.member?.relay {
      let member = look?.member.flatMap { $0.relay == address ? $0 : nil }
      report.checks += RelayProbe(
        relay: address, trust: trust ?? member?.trust ?? .system, member: member,
        isLong: arguments[isLong], progress: progress
      ).checks()
    }
    report.checks += look?.checks ?? []
    report.checks += MachineProbe(store: arguments[store], progress: progress).checks()
    progress.clear()
    let isColoured = TerminalOutput.standard.takesColours
    if arguments[json] {
      _ = try TerminalOutput.printed(report.json.text)
    } else {
      // Not escaped, so that colours reach the terminal; the rows contain no unsafe text from
      // others.
      try TerminalOutput.standard.write(report.text(isColoured: isColoured) + "\n")
    }
    return report.hasProblem ? .failure : .success
  }
}
