import Glibc
import LockstepClient
import LockstepModel
import LockstepWire

/// Question for a device that began with no records in an account that has some: keep them here, or
/// delete them on all devices.
enum RestorePrompt {
  /// Returns the error text of a command that cannot continue before the answer.
  static func explanation(_ app: String, _ count: Int64) -> String {
    "other devices of this account have \(count) \(noun(app, count)), and this one began with "
      + "none; lockstep agent \(app) restore yes takes them, restore wipe deletes them everywhere"
  }

  /// Returns the app's name as a noun, such as `habits`, without the s for a count of one.
  private static func noun(_ app: String, _ count: Int64) -> String {
    count == 1 && app.hasSuffix("s") ? String(app.dropLast()) : app
  }

  /// Asks a person at a terminal. If the person postpones, or there is none, the home itself
  /// refuses.
  static func settle(_ session: HomeSession, _ app: String, _ zone: Name) throws(CommandFailure) {
    guard isatty(STDIN_FILENO) == 1, TerminalOutput.standardError.isTerminal,
      let count = HomeStatus(json: try session.ask(.status)).restoreCount(of: app)
    else { return }
    say(
      """
      Other devices of this account have \(count) \(noun(app, count)); this one began with none.
        yes    take them
        wipe   delete them, on all devices, and start anew
        later  decide another time

      """)
    while true {
      say("yes, wipe or later? ")
      switch answer() {
      case "yes", "y": return try keep(session, app)
      case "wipe":
        guard isSure(app, count) else { return }
        return try wipe(session, app, zone)
      case "later", "l", "", nil: return
      default: continue
      }
    }
  }

  static func isSure(_ app: String, _ count: Int64) -> Bool {
    say("This deletes \(count) \(noun(app, count)) on all devices, for good. Type wipe again: ")
    return answer() == "wipe"
  }

  static func keep(_ session: HomeSession, _ app: String) throws(CommandFailure) {
    _ = try session.ask(.answerRestore(app: app))
  }

  /// Deletes the relay's records up to this device's cursor. Records that other devices add
  /// meanwhile stay.
  static func wipe(_ session: HomeSession, _ app: String, _ zone: Name) throws(CommandFailure) {
    let member = try HomeMember(of: session)
    guard let cursor = member.cursor else {
      throw CommandFailure("this device has not read all there is yet; sync first, then try again")
    }
    try member.call.delete(zone, through: cursor, token: member.token)
    _ = try session.ask(.sync(milliseconds: AgentCommand.patienceMilliseconds))
    _ = try session.ask(.answerRestore(app: app))
  }

  private static func say(_ text: String) { TerminalOutput.writeToStandardError(text) }

  /// Returns nil at the end of input.
  private static func answer() -> String? {
    readLine()?.split(separator: " ").joined(separator: " ").lowercased()
  }
}

extension RelayCall {
  /// Deletes all records of a zone up to a change token.
  func delete(_ zone: Name, through cursor: String, token: String) throws(CommandFailure) {
    var request = HTTPCallRequest("DELETE", path: ["v1", "zones", zone.text], token: token)
    request.query = [RequestTarget.QueryItem(name: "through", value: cursor)]
    _ = try perform(request)
  }
}
