import LockstepCommandLine
import LockstepEventLoop
import LockstepJSON
import LockstepModel
import LockstepStorage
import LockstepTerminal

/// `lockstep relay migrate`: moves a store between a folder and a database.
enum RelayMigrateCommand {
  static let from = CommandOption.required(
    "from", .storeLocation,
    "The store to move, or that of the account: its folder, or postgres://USER@HOST/DATABASE.")
  static let to = CommandOption.required(
    "to", .storeLocation,
    "The target: a folder or a database without accounts, or with --account a relay's store.")
  static let json = CommandOption.flag("json", "Print one JSON object.")

  static let command = Command(
    name: "migrate",
    summary: "Moves a store between a folder and a PostgreSQL database, or one account of it.",
    discussion: """
      All relays on both stores must be stopped; if one is detected, the move is refused. Devices \
      see only the pause: accounts, devices and their tokens, records with their tags, deletions, \
      batches, subscriptions, plans, pairing codes and chunks of files are the same afterwards, \
      and each device continues at its cursor.

      The target becomes a store only when it is complete and durable. An interrupted or failed \
      move leaves nothing that a relay could open as a store. Missing or damaged chunks of files \
      are listed, and the relay requests them from the devices; the exit code is then 1, although \
      the store was moved.

      The old store remains. A relay that is started on it nevertheless treats it as an older \
      copy, as after a restore.

      With --account, one account moves to the store of another relay, and its devices follow to \
      the address --relay. Relays on databases run on; those on folders must be stopped. The \
      account's commits are refused for a moment, and nothing that was acknowledged is lost. An \
      interrupted move is completed, or begun again, by the same command. The former store keeps \
      the address for its devices; lockstep account remove removes it.
      """,
    options: [
      from.entry, to.entry, AccountMoveCommand.account.entry, AccountMoveCommand.relay.entry,
      AccountMoveCommand.repeatsDeparture.entry, json.entry,
    ]
  ) { arguments throws(CommandFailure) in
    if let code = try AccountMoveCommand.run(arguments) { return code }
    // Before anything exists that an interruption would leave behind.
    let interruption = try Interruption()
    let begun = SystemClock.moment()
    let move = StoreMove(
      from: arguments[from], to: arguments[to], wall: begun.wall,
      opening: RelayStore.openingNumber(), progress: Progress(), interruption: interruption)
    let outcome = try move.run()
    let milliseconds = SystemClock.moment().instant.milliseconds(since: begun.instant)
    _ = try TerminalOutput.printed(
      arguments[json]
        ? move.json(of: outcome, milliseconds: milliseconds).text
        : move.text(of: outcome, milliseconds: milliseconds))
    guard outcome.lost.isEmpty else {
      throw CommandFailure(
        "the store was moved, but \(outcome.lost.count) chunks of files were missing or damaged in "
          + "it; devices that hold them bring them back")
    }
    return .success
  }
}

extension StoreMove {
  package func text(of outcome: Outcome, milliseconds: Int64) -> String {
    let totals = outcome.totals
    func of(_ count: Int64, _ one: String, _ many: String) -> String {
      "\(count) \(count == 1 ? one : many)"
    }
    let figures = [
      of(totals[.accounts], "account", "accounts"), of(totals[.devices], "device", "devices"),
      of(totals[.records] - totals.tombstones, "record", "records"),
      of(totals.tombstones, "deletion", "deletions"),
      of(totals[.batches], "batch", "batches"),
      of(totals[.chunks], "chunk of a file", "chunks of files")
        + " (\(ByteCount.text(totals.chunkBytes)))",
    ]
    var lines = [
      "moved \(from.text) to \(to.text) in \(milliseconds / 1_000).\(milliseconds / 100 % 10) s:",
      "  " + figures.joined(separator: ", "),
    ]
    lines += outcome.lost.prefix(Limits.shownFaults).map { "  \(Log.oneLine($0.text))" }
    if outcome.lost.count > Limits.shownFaults {
      lines.append("  and \(outcome.lost.count - Limits.shownFaults) chunks more")
    }
    if outcome.lostBefore > 0 {
      lines.append(
        "  chunks that an earlier restore lost: \(outcome.lostBefore); devices that hold them "
          + "bring them back")
    }
    if let aside = outcome.aside {
      lines.append("The former store of the folder, without accounts, is in \(aside).")
    }
    lines.append("Start the relay with --store \(to.text).")
    lines.append(
      "The old store remains; do not start a relay on it, and remove it when it is not needed.")
    return lines.joined(separator: "\n")
  }

  package func json(of outcome: Outcome, milliseconds: Int64) -> JSONValue {
    let totals = outcome.totals
    let numbers = [
      ("accounts", totals[.accounts]), ("devices", totals[.devices]),
      ("records", totals[.records] - totals.tombstones), ("tombstones", totals.tombstones),
      ("batches", totals[.batches]), ("pieces", totals[.chunks]),
      ("pieceBytes", totals.chunkBytes), ("lostBefore", Int64(outcome.lostBefore)),
      ("milliseconds", milliseconds),
    ].map { JSONMember($0.0, JSONValue(integerLiteral: $0.1)) }
    return JSONValue.object(numbers)
      .setting("from", to: .string(from.text)).setting("to", to: .string(to.text))
      .setting("replaced", to: outcome.aside.map { .string($0) } ?? .null)
      .setting(
        "lost",
        to: .array(
          outcome.lost.map { chunk in
            [
              "account": .string(chunk.chunk.stored.file.account.text),
              "hash": .string(chunk.chunk.hash.text), "detail": .string(chunk.text),
            ]
          }))
  }
}

extension StoreMove.LostChunk {
  package var text: String {
    "the chunk \(chunk.hash.text) of account \(chunk.stored.file.account.text) \(defect)"
  }
}
