import Changes
import Devices
import Glibc
import Storage
import StorageSQLite

/// `lockstep agent join`: makes a home a device of an account.
enum AgentJoinCommand {
  static let relay = CommandOption.required("relay", .relay, "The relay.")
  static let isNew = CommandOption.flag("new", "Make a new account (on a relay that is --open).")
  static let code = CommandOption.optional(
    "code", ValueKind.text("CODE"),
    "Join the account that issued this pairing code; - reads it from standard input.")
  static let name = CommandOption.optional(
    "name", ValueKind.text("NAME"), "What the device is called; this machine's name if not given.")

  static let command = Command(
    name: "join",
    summary: "Makes a home a device of an account: a new one, or one that issued a pairing code.",
    discussion: """
      A home whose device was revoked joins its account anew with a code of that account; what it \
      had not synced goes out then. A code on the command line can be seen by others on this \
      machine while the command runs; --code - keeps it to yourself.
      """,
    options: [
      relay.entry, AgentCommand.home.entry, isNew.entry, code.entry, name.entry,
      AgentCommand.json.entry,
    ]
  ) { arguments throws(CommandFailure) in
    guard arguments[isNew] != (arguments[code] != nil) else {
      throw CommandFailure("say either --new or --code CODE", exitCode: .usage)
    }
    let folder = AgentCommand.folder(arguments)
    guard let lock = try folder.lock() else {
      throw CommandFailure("another process holds the home \(folder.path); stop that one first")
    }
    defer { withExtendedLifetime(lock) {} }
    return try join(arguments, folder)
  }

  private static func join(_ arguments: Arguments, _ folder: HomeFolder)
    throws(CommandFailure) -> ExitCode
  {
    let (store, owner) = try open(folder)
    if let owner, arguments[isNew] { throw belongsTo(owner, folder) }
    let relay = arguments[relay]
    let deviceName = arguments[name] ?? machineName
    let code = arguments[code]
    let credentials = try RelayCall(relay: relay).join(
      code: code == "-" ? try readCode() : code, deviceName: deviceName)
    if let owner, owner.credentials.account != credentials.account {
      // Otherwise that account would list a device that nobody has.
      try RelayCall(relay: relay).revoke(credentials.device, token: credentials.token)
      throw belongsTo(owner, folder)
    }
    // Records, outbox and cursor are the account's, and stay; a batch that the device before had
    // sent goes out again by this one.
    let identity = HomeIdentity(
      relay: relay.url, credentials: credentials, deviceName: deviceName)
    do throws(StorageError) {
      try store.write([.setIdentity(identity)])
    } catch {
      throw CommandFailure(
        "the relay made a device, but its home cannot be written: \(error)")
    }
    if arguments[AgentCommand.json] {
      return try TerminalOutput.printed(
        JSONValue.object([
          JSONMember("accountID", .string(credentials.account.text)),
          JSONMember("deviceID", .string(credentials.device.text)),
          JSONMember("deviceName", .string(deviceName)),
          JSONMember("relay", .string(relay.url)),
        ]).text)
    }
    return try TerminalOutput.printed(
      "\(deviceName) is a device of account \(credentials.account.text) on \(relay.url)")
  }

  /// The home's store, and who it belongs to already.
  private static func open(_ folder: HomeFolder)
    throws(CommandFailure) -> (SQLiteReplicaStore, HomeIdentity?)
  {
    do throws(StorageError) {
      let store = try SQLiteReplicaStore(home: folder.path)
      return (store, try store.identity())
    } catch {
      throw CommandFailure("\(error)")
    }
  }

  private static func belongsTo(_ owner: HomeIdentity, _ folder: HomeFolder) -> CommandFailure {
    CommandFailure(
      "the home \(folder.path) belongs to account \(owner.credentials.account.text) on "
        + "\(owner.relay) already; leave that first (lockstep agent leave --home "
        + "\(folder.path)), name another home, or give a code of that account")
  }

  private static func readCode() throws(CommandFailure) -> String {
    guard let line = readLine(), !line.allSatisfy(\.isWhitespace) else {
      throw CommandFailure("no pairing code came on standard input")
    }
    return line
  }

  private static var machineName: String {
    var buffer = [CChar](repeating: 0, count: 256)
    guard gethostname(&buffer, 255) == 0 else { return "device" }
    let name = String(
      decoding: buffer.map(UInt8.init(bitPattern:)).prefix { $0 != 0 }, as: UTF8.self)
    return name.isEmpty ? "device" : name
  }
}
