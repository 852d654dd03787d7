import Glibc
import Lockstep
import LockstepApps
import LockstepClient
import LockstepCommandLine
import LockstepHome
import LockstepJSON
import LockstepModel
import LockstepStorage
import LockstepStorageSQLite
import LockstepTerminal

/// `lockstep agent join`: makes a home a device of an account.
enum AgentJoinCommand {
  static let relay = CommandOption.optional(
    "relay", ValueKind.relay, "The relay's address; not needed with a link.")
  static let isNew = CommandOption.flag(
    "new", "Create a new account (on a relay that runs with --open).")
  static let code = CommandOption.optional(
    "code", ValueKind.text("CODE"),
    "Join the account that issued this pairing code, or the link printed with it; - reads it "
      + "from standard input.")
  static let name = CommandOption.optional(
    "name", ValueKind.text("NAME"), "Name of the device; this machine's name if not given.")

  static let command = Command(
    name: "join",
    summary: "Makes a home a device of an account: a new one, or one that issued a pairing code.",
    discussion: """
      A home whose device was revoked joins its account again with a code of that account; \
      unsynced changes are then sent. The second half of a code of 24 letters opens the vault, \
      and is not sent. Other users of this machine can see a code on the command line while the \
      command runs; --code - reads it from standard input.

      The certificate of a relay at an https:// address is always verified. The file of --ca is \
      copied into the home and used by later commands. LOCKSTEP_CA in the environment has the \
      same effect.
      """,
    options: [
      relay.entry, HomeTrust.option.entry, AgentCommand.home.entry, isNew.entry, code.entry,
      name.entry,
      AgentCommand.json.entry,
    ]
  ) { arguments throws(CommandFailure) in
    guard arguments[isNew] != (arguments[code] != nil) else {
      throw CommandFailure("give either --new or --code CODE", exitCode: .usage)
    }
    let typed = arguments[isNew] ? nil : try TypedCode.read(arguments[code])
    let relay = try relay(arguments, typed)
    if let warning = PlainAddress.warning(ofRelay: relay) {
      Log("lockstep agent join", level: .warning).warning("\(warning)")
    }
    let folder = AgentCommand.folder(arguments)
    guard let lock = try CommandFailure.wrap({ () throws(HomeFault) in try folder.lock() }) else {
      throw CommandFailure("another process holds the home \(folder.path); stop that one first")
    }
    defer { withExtendedLifetime(lock) {} }
    return try join(relay, typed, arguments, folder)
  }

  private static func join(
    _ relay: RelayAddress, _ typed: TypedCode?, _ arguments: Arguments, _ folder: HomeFolder
  ) throws(CommandFailure) -> ExitCode {
    let (store, owner) = try open(folder)
    if let owner, arguments[isNew] { throw belongsTo(owner, folder) }
    let deviceName = arguments[name] ?? machineName
    let isNamed = arguments[HomeTrust.option] != nil
    let trust =
      isNamed ? try HomeTrust.named(arguments[HomeTrust.option]) : try HomeTrust.of(folder)
    let call = RelayCall(relay: relay, trust: trust.trust)
    let credentials: Credentials
    if let owner, let code = typed?.code.relayPart {
      credentials = try join(again: owner, code: code, deviceName, call, folder)
    } else {
      credentials = try call.join(code: typed?.code.relayPart, deviceName: deviceName).credentials
    }
    try CommandFailure.wrap { () throws(HomeFault) in try trust.store(in: folder) }
    // Records, outbox and cursor belong to the account and stay. This device sends a batch again
    // that the previous device had sent.
    let identity = HomeIdentity(
      relay: relay.url, credentials: credentials, deviceName: deviceName)
    do throws(StorageError) {
      try store.write([.setIdentity(identity)])
    } catch {
      throw CommandFailure(
        "the relay created a device, but its home cannot be written: \(error)")
    }
    let scope = credentials.scope
    let keyFault = keyFault(
      typed, scope, folder,
      HomeAccess(relay: relay, token: credentials.token, trust: trust.trust))
    if arguments[AgentCommand.json] {
      _ = try TerminalOutput.printed(
        JSONValue.object([
          JSONMember("accountID", .string(credentials.account.text)),
          JSONMember("deviceID", .string(credentials.device.text)),
          JSONMember("deviceName", .string(deviceName)),
          JSONMember("relay", .string(relay.url)),
          JSONMember("scope", scope.json),
        ]).text)
    } else {
      let hasKey =
        typed?.code.secret != nil && keyFault == nil && scope.includes(VaultApp.zone)
      let limit = scope == .everything ? "" : "\nIt may \(RowText.line(scope.abilities))."
      _ = try TerminalOutput.printed(
        "\(deviceName) is a device of account \(credentials.account.text) on \(relay.url)"
          + (hasKey ? ", and has the key of its vault" : "") + limit)
    }
    if let keyFault { throw keyFault }
    return .success
  }

  private static func join(
    again owner: HomeIdentity, code: String, _ deviceName: String, _ call: RelayCall,
    _ folder: HomeFolder
  ) throws(CommandFailure) -> Credentials {
    let account = owner.credentials.account
    guard
      let joined = try call.join(again: account, code: code, deviceName: deviceName)
    else { throw belongsTo(owner, folder) }
    return joined.credentials
  }

  /// Returns nil if the vault's key arrived, or if the code carries none. The device has joined in
  /// any case.
  private static func keyFault(
    _ typed: TypedCode?, _ scope: DeviceScope, _ folder: HomeFolder, _ member: HomeAccess
  ) -> CommandFailure? {
    guard let typed, typed.code.secret != nil, scope.includes(VaultApp.zone) else { return nil }
    do throws(CommandFailure) {
      _ = try VaultKeys.unlock(typed.code, folder, VaultRecords(member))
      return nil
    } catch {
      return CommandFailure(
        "the device has joined, but does not have the vault's key: \(error.message ?? ""); then "
          + "run lockstep agent vault unlock --home \(folder.path)")
    }
  }

  /// Returns the relay's address from the command or the link.
  private static func relay(
    _ arguments: Arguments, _ typed: TypedCode?
  ) throws(CommandFailure) -> RelayAddress {
    let named = arguments[relay]
    if let named, let link = typed?.relay, link != named {
      throw CommandFailure(
        "--relay says \(named.url), and the link \(link.url); give one of them", exitCode: .usage)
    }
    guard let address = named ?? typed?.relay else {
      throw CommandFailure(
        "--relay URL is missing (or LOCKSTEP_RELAY in the environment); a link with a code has "
          + "it too; see lockstep agent join --help",
        exitCode: .usage)
    }
    return address
  }

  /// Opens the home's store. Also returns the identity of the home, if it has one already.
  private static func open(_ folder: HomeFolder)
    throws(CommandFailure) -> (SQLiteReplicaStore, HomeIdentity?)
  {
    return try CommandFailure.wrap { () throws(StorageError) in
      let store = try SQLiteReplicaStore(home: folder.path)
      return (store, try store.identity())
    }
  }

  private static func belongsTo(_ owner: HomeIdentity, _ folder: HomeFolder) -> CommandFailure {
    CommandFailure(
      "the home \(folder.path) belongs to account \(owner.credentials.account.text) on "
        + "\(owner.relay) already; leave that first (lockstep agent leave --home "
        + "\(folder.path)), name another home, or give a code of that account")
  }

  private static var machineName: String {
    var buffer = [CChar](repeating: 0, count: 256)
    guard gethostname(&buffer, 255) == 0 else { return "device" }
    let name = String(
      decoding: buffer.map(UInt8.init(bitPattern:)).prefix { $0 != 0 }, as: UTF8.self)
    return name.isEmpty ? "device" : name
  }
}
