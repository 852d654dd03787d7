import LockstepClient
import LockstepCommandLine
import LockstepEventLoop
import LockstepRelay
import LockstepStorage

/// `lockstep relay admin`: a link with which the relay's owner signs in to the owner's page.
enum RelayAdminCommand {
  static let json = CommandOption.flag("json", "Print one JSON object.")

  static let command = Command(
    name: "admin",
    summary: "Prints a link to the owner's page, which works once, within ten minutes.",
    discussion: """
      The page shows accounts, devices, backups and live figures, and makes accounts. It is served \
      on the address of --admin-listen, and with --admin-page also at the relay's public address. \
      The link signs one browser in, for twelve hours or until the relay restarts.

      If the admin address is reachable from this machine alone, forward it to yours, and open the \
      link there: ssh -L 5626:127.0.0.1:5626 MACHINE
      """,
    options: [RelayCommand.store.entry, TerminalOutput.withoutQRCode.entry, json.entry]
  ) { arguments throws(CommandFailure) in
    let store = arguments[RelayCommand.store]
    if case .database = store {
      throw CommandFailure(
        "the owner's page needs a store in a folder; with a database, use lockstep account and "
          + "GET /status\nof the admin address (--admin-listen)")
    }
    let client = try AdminClient(store)
    guard client.hasRelay else {
      throw CommandFailure(
        "no relay runs on \(store.text); start it with --admin-listen 127.0.0.1:5626,\nthen give "
          + "this command again")
    }
    let code = try client.issueAdminCode()
    guard let link = code.url else {
      throw CommandFailure(
        "the relay serves its owner's page nowhere; start it with --admin-listen 127.0.0.1:5626 "
          + "(for this machine),\nor with --admin-page (at its public address, with TLS)")
    }
    if arguments[json] { return try TerminalOutput.printed(code.json.text) }
    let isLocal = isOnThisMachine(link)
    _ = try TerminalOutput.printed(text(of: link, isLocal: isLocal))
    if !isLocal, !arguments[TerminalOutput.withoutQRCode] {
      try TerminalOutput.standard.drawQRCode(of: link)
    }
    return .success
  }

  private static func address(_ link: String) -> RelayAddress? {
    link.split(separator: "/admin#", maxSplits: 1).first.flatMap { RelayAddress(url: String($0)) }
  }

  private static func isOnThisMachine(_ link: String) -> Bool {
    address(link).map { PlainAddress.isLoopback($0.host) } ?? false
  }

  private static func text(of link: String, isLocal: Bool) -> String {
    let begin = """
      To manage the relay, open this link in a browser\(isLocal ? " of this machine" : ""), once, \
      within 10 minutes:
        \(link)
      """
    guard isLocal, let address = address(link) else {
      guard address(link)?.isSecure == false else { return begin }
      return begin + """

        This address has no TLS: whoever is on the way can read the session. Better listen at
        127.0.0.1 alone (--admin-listen 127.0.0.1:5626), and forward it with ssh -L.
        """
    }
    let port = address.port
    return begin + """

      From another machine, first forward the address to it, and leave this open:
        ssh -L \(port):127.0.0.1:\(port) \(OwnHosts.hostname)
      """
  }
}
