import Lockstep
import LockstepClient
import LockstepCommandLine
import LockstepEventLoop
import LockstepHome

/// `lockstep doctor`: finds out why sync does not work, or that it does.
package enum DoctorCommand {
  package static let relay = CommandOption.optional(
    "relay", ValueKind.relay, "The relay to check; the home's relay if not given.")
  package static let home = CommandOption.optional(
    "home", ValueKind.folder,
    "A device's home; \(DefaultHome.text) if nothing else is named here.")
  package static let store = CommandOption.optional(
    "store", ValueKind.storeLocation,
    "The store of a relay: a folder on this machine, or the URL of a database.")
  static let isLong = CommandOption.flag(
    "long", "Also check whether an idle WebSocket stays open for 75 seconds.")
  package static let json = CommandOption.flag("json", "Print one JSON object.")

  package static let command = Command(
    name: "doctor",
    summary: "Finds the reason why sync does not work, or confirms that it does.",
    discussion: """
      Checks a relay, a home, a relay's store, or several of them. For each check it prints the \
      result and, if there is a problem, the next step.

      Nothing is written into an existing account: with a home, the transports are tested with \
      the home's own token, by reading only. Without a home, or with another relay than the \
      home's, an --open relay is tested with a new account of two devices; both are revoked \
      afterwards.

      The exit code is 1 if something prevents sync, and 0 if there are at most warnings.
      """,
    options: [
      relay.entry, HomeTrust.option.entry, home.entry, store.entry, isLong.entry, json.entry,
    ]
  ) { arguments throws(CommandFailure) in
    let isNamed = arguments[relay] != nil || arguments[store] != nil
    let folder =
      arguments[home].map { HomeFolder(path: $0) } ?? (isNamed ? nil : DefaultHome.existing)
    guard isNamed || folder != nil else {
      throw CommandFailure(
        "nothing to check: there is no home at \(DefaultHome.text); name --home DIR, --relay URL, --store DIR|URL, or several of them",
        exitCode: .usage)
    }
    let progress = Progress()
    let trust = try arguments[HomeTrust.option].map { path throws(CommandFailure) in
      try HomeTrust.named(path).trust
    }
    let homeProbe = folder.map { HomeProbe($0, progress: progress) }
    var report = DoctorReport(
      of: [
        arguments[relay]?.url ?? homeProbe?.member?.relay.url, folder?.path, arguments[store]?.text,
      ].compactMap(\.self))
    if let address = arguments[relay] ?? homeProbe?.member?.relay {
      let member = homeProbe?.member.flatMap { $0.relay == address ? $0 : nil }
      report.checks += RelayProbe(
        relay: address, trust: trust ?? member?.trust ?? .system, member: member,
        isLong: arguments[isLong], progress: progress
      ).checks()
    }
    report.checks += homeProbe?.checks ?? []
    if let folder, let member = homeProbe?.member {
      report.checks.append(WakesProbe.check(folder, member, progress: progress))
    }
    report.checks += MachineProbe(store: arguments[store], progress: progress).checks()
    progress.clear()
    let isColoured = TerminalOutput.standard.supportsColours
    if arguments[json] {
      _ = try TerminalOutput.printed(report.json.text)
    } else {
      // Not escaped, so that colours reach the terminal; the rows contain no unsafe text from
      // others.
      try TerminalOutput.standard.write(
        report.text(isColoured: isColoured, documents: .installed) + "\n")
    }
    return report.hasProblem ? .failure : .success
  }
}
