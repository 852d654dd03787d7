import Glibc
import Lockstep
import LockstepClient
import LockstepCommandLine
import LockstepLanguage
import LockstepModel
import LockstepWire

/// Prompt on a device that started without records in an account that has some: accept them here,
/// or delete them on all devices.
package enum RestorePrompt {
  /// True if there is a person at a terminal.
  package static var isPossible: Bool {
    isatty(STDIN_FILENO) == 1 && TerminalOutput.standardError.isTerminal
  }

  /// Asks a person at a terminal. If the person postpones, or there is none, the home itself
  /// refuses.
  package static func askIfNeeded(_ session: HomeSession, _ app: String, _ zone: Name)
    throws(CommandFailure)
  {
    guard isPossible,
      let count = HomeStatus(json: try session.send(.status)).restoreCount(of: app)
    else { return }
    let records = EditFailure.records(of: app, count)
    write(
      localized(
        "Other devices of this account have {records}; this one started with none.",
        ["records": records]) + "\n"
        + localized("  yes    accept them") + "\n"
        + localized("  wipe   delete them on all devices and start empty") + "\n"
        + localized("  later  decide another time") + "\n")
    while true {
      write(localized("yes, wipe or later? "))
      switch readAnswer() {
      case "yes", "y": return try acceptRecords(session, app)
      case "wipe":
        guard confirmDeletion(app, count) else { return }
        return try deleteRecords(session, app, zone)
      case "later", "l", "", nil: return
      default: continue
      }
    }
  }

  package static func confirmDeletion(_ app: String, _ count: Int64) -> Bool {
    write(
      localized(
        "This deletes {records} on all devices, for good. Type wipe again: ",
        ["records": EditFailure.records(of: app, count)]))
    return readAnswer() == "wipe"
  }

  package static func acceptRecords(_ session: HomeSession, _ app: String) throws(CommandFailure) {
    _ = try session.send(.answerRestore(app: app))
  }

  /// Deletes the relay's records up to this device's cursor. Records that other devices add
  /// meanwhile stay.
  package static func deleteRecords(_ session: HomeSession, _ app: String, _ zone: Name)
    throws(CommandFailure)
  {
    try session.requireScope(zone, forChanges: true)
    if try HomeKeys.keys(in: session.folder)?.keys(of: zone) != nil {
      // A relay deletes nothing in a sealed zone: its devices save again what it lacks.
      _ = try session.send(.answerRestore(app: app, wipes: true))
      _ = try session.send(.sync(milliseconds: HomeSession.patienceMilliseconds))
      return
    }
    let member = try HomeAccess(of: session)
    guard let cursor = member.cursor else {
      throw CommandFailure(
        localized("this device has not read all records yet; sync first, then try again"))
    }
    try member.call.delete(zone, through: cursor, token: member.token)
    _ = try session.send(.sync(milliseconds: HomeSession.patienceMilliseconds))
    _ = try session.send(.answerRestore(app: app))
  }

  private static func write(_ text: String) { TerminalOutput.writeToStandardError(text) }

  /// Returns nil at the end of input.
  private static func readAnswer() -> String? {
    readLine()?.split(separator: " ").joined(separator: " ").lowercased()
  }
}

extension RelayCall {
  /// Deletes all records of a zone up to a change token.
  package func delete(_ zone: Name, through cursor: String, token: String) throws(CommandFailure) {
    var request = HTTPCallRequest("DELETE", path: ["v1", "zones", zone.text], token: token)
    request.query = [RequestTarget.QueryItem(name: "through", value: cursor)]
    _ = try perform(request)
  }
}
