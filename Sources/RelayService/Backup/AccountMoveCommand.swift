import LockstepClient
import LockstepCommandLine
import LockstepEventLoop
import LockstepJSON
import LockstepModel
import LockstepStorage
import LockstepTerminal

/// `lockstep relay migrate --account`: moves one account to the store of another relay.
enum AccountMoveCommand {
  static let account = CommandOption.optional(
    "account", ValueKind<String>.text("ACCOUNT"),
    "Move only this account, named by its id or label.")
  static let relay = CommandOption.optional(
    "relay", ValueKind<RelayAddress>.relay,
    "With --account: the address of the relay on --to, which the account's devices are told.")
  static let repeatsDeparture = CommandOption.flag(
    "repeat-departure",
    "With --account: the account was moved, and --from was restored from an older copy since.")

  /// Returns nil if the whole store is to be moved.
  static func run(_ arguments: Arguments) throws(CommandFailure) -> ExitCode? {
    guard let name = arguments[account] else {
      guard arguments[relay] == nil, !arguments[repeatsDeparture] else {
        throw CommandFailure(
          "--relay and --repeat-departure are for the move of one account: add --account",
          exitCode: .usage)
      }
      return nil
    }
    guard let relay = arguments[relay] else {
      throw CommandFailure(
        "--account needs --relay URL, the address of the relay on --to, which the account's "
          + "devices are told", exitCode: .usage)
    }
    // Before anything exists that an interruption would leave behind.
    let interruption = try Interruption()
    let (source, target) = (arguments[RelayMigrateCommand.from], arguments[RelayMigrateCommand.to])
    try StoreMove.requireDifferentStores(source, target)
    let begun = SystemClock.instant()
    let (from, to) = (try MoveCell(source), try MoveCell(target))
    let mover = AccountMover(
      try find(name, in: from, or: to), from: from, to: to, relay: relay.link,
      departsAgain: arguments[repeatsDeparture], progress: Progress(), interruption: interruption)
    let outcome = try mover.run()
    let milliseconds = SystemClock.instant().milliseconds(since: begun)
    _ = try TerminalOutput.printed(
      arguments[RelayMigrateCommand.json]
        ? json(of: outcome, relay.link, milliseconds).text
        : text(of: outcome, to: to.text, relay.link, milliseconds))
    guard outcome.lost.isEmpty else {
      throw CommandFailure(
        "the account was moved, but \(outcome.lost.count) chunks of files were missing or damaged; "
          + "devices that hold them bring them back")
    }
    return .success
  }

  /// Returns the account of an id or a label. After its departure, only the target knows the label.
  static func find(
    _ name: String, in from: MoveCell, or to: MoveCell
  ) throws(CommandFailure) -> AccountID {
    if let id = AccountID(text: name) {
      if try from.residence(of: id) != .unknown { return id }
      if try to.residence(of: id) != .unknown { return id }
    }
    var found = try from.accounts(labelled: name)
    if found.isEmpty { found = try to.accounts(labelled: name) }
    guard found.count <= 1 else {
      throw CommandFailure(
        "\(found.count) accounts have the label \"\(Log.oneLine(name))\"; name one by its id")
    }
    guard let id = found.first else {
      throw CommandFailure("there is no account \"\(Log.oneLine(name))\" in \(from.text)")
    }
    return id
  }

  private static func text(
    of outcome: AccountMover.Outcome, to place: String, _ relay: String, _ milliseconds: Int64
  ) -> String {
    let totals = outcome.totals
    let seconds = "\(milliseconds / 1_000).\(milliseconds / 100 % 10) s"
    var lines: [String] = []
    if outcome.isContinued {
      lines.append(
        "the account \(outcome.account.text) lives in \(place) now; an earlier run had copied it")
    } else {
      lines += [
        "moved the account \(outcome.account.text) to \(place) in \(seconds):",
        "  devices: \(totals[.devices]), records: \(totals[.records] - totals.tombstones), "
          + "deletions: \(totals.tombstones), chunks of files: \(totals[.chunks]) "
          + "(\(ByteCount.text(totals.chunkBytes)))",
      ]
    }
    lines += outcome.lost.prefix(Limits.shownFaults).map { "  \(Log.oneLine($0.text))" }
    lines.append("Its devices are sent to \(relay), and register there for wakes.")
    return lines.joined(separator: "\n")
  }

  private static func json(
    of outcome: AccountMover.Outcome, _ relay: String, _ milliseconds: Int64
  ) -> JSONValue {
    let totals = outcome.totals
    let numbers = [
      ("devices", totals[.devices]), ("records", totals[.records] - totals.tombstones),
      ("tombstones", totals.tombstones), ("batches", totals[.batches]),
      ("pieces", totals[.chunks]), ("pieceBytes", totals.chunkBytes),
      ("lost", Int64(outcome.lost.count)), ("milliseconds", milliseconds),
    ].map { JSONMember($0.0, JSONValue(integerLiteral: $0.1)) }
    return JSONValue.object(numbers)
      .setting("accountID", to: .string(outcome.account.text))
      .setting("relay", to: .string(relay))
      .setting("continued", to: .bool(outcome.isContinued))
  }
}
