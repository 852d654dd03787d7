import Glibc
import Lockstep
import LockstepApps
import LockstepClient
import LockstepCommandLine
import LockstepHome
import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepSealing
import LockstepStorage
import LockstepStorageSQLite
import LockstepTerminal
import LockstepWire

/// `lockstep agent join`: makes a home a device of an account.
enum AgentJoinCommand {
  static let relay = CommandOption.optional(
    "relay", ValueKind.relay, "The relay's address; not needed with a link.")
  static let isNew = CommandOption.flag(
    "new", "Create a new account (on a relay that runs with --open).")
  static let isSealed = CommandOption.flag(
    "sealed", "With --new: seal the account's records. This is the default.")
  static let isPlain = CommandOption.flag(
    "plain", "Do not seal the records of a new account, so that the relay can read them.")
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
      unsynced changes are then sent. The second half of a code of 24 letters opens the account's \
      keys and the vault, and is not sent. Other users of this machine can see a code on the \
      command line while the command runs; --code - reads it from standard input.

      The first device of an account makes keys that its devices share, and the relay stores only \
      sealed records, and only sealed chunks of their files. Write the keys down with lockstep \
      agent key phrase; if all devices are lost, nothing else brings the records back. \
      With --plain, the relay can read the records: for programs that read and write them there \
      without the keys. lockstep agent seal seals zones of such an account later.

      The certificate of a relay at an https:// address is always verified. The file of --ca is \
      copied into the home and used by later commands. LOCKSTEP_CA in the environment has the \
      same effect.
      """,
    options: [
      relay.entry, HomeTrust.option.entry, AgentCommand.home.entry, isNew.entry, isSealed.entry,
      isPlain.entry, code.entry, name.entry, AgentCommand.json.entry,
    ]
  ) { arguments throws(CommandFailure) in
    guard arguments[isNew] != (arguments[code] != nil) else {
      throw CommandFailure(localized("give either --new or --code CODE"), exitCode: .usage)
    }
    guard arguments[isNew] || !arguments[isSealed] else {
      throw CommandFailure(
        localized(
          "--sealed makes the keys of a new account; a code carries those of its "
            + "account"),
        exitCode: .usage)
    }
    guard !(arguments[isSealed] && arguments[isPlain]) else {
      throw CommandFailure(localized("give --sealed or --plain, and not both"), exitCode: .usage)
    }
    let typed = arguments[isNew] ? nil : try TypedCode.read(arguments[code])
    let relay = try relay(arguments, typed)
    if let warning = PlainAddress.warning(ofRelay: relay) {
      Log("lockstep agent join", level: .warning).warning("\(warning)")
    }
    let folder = AgentCommand.folder(arguments)
    try DefaultHome.makeParents(of: folder)
    guard let lock = try CommandFailure.wrap({ () throws(HomeFault) in try folder.lock() }) else {
      throw CommandFailure(
        localized(
          "another process holds the home {home}; stop that one first", ["home": folder.path]))
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
    let joined: JoinAnswer
    if let owner, let code = typed?.code.relayPart {
      joined = try join(again: owner, code: code, deviceName, call, folder)
    } else {
      joined = try call.join(code: typed?.code.relayPart, deviceName: deviceName)
    }
    let credentials = joined.credentials
    // Records, outbox and cursor belong to the account and stay. This device sends a batch again
    // that the previous device had sent.
    let identity = HomeIdentity(
      relay: call.relay.url, credentials: credentials, deviceName: deviceName)
    var keys: SealingKeys?
    var secret: JoinSecret?
    var makesKeys = arguments[isNew] && !arguments[isPlain]
    let isLocked: Bool
    let member = HomeAccess(relay: call.relay, token: credentials.token, trust: trust.trust)
    do throws(CommandFailure) {
      if !arguments[isNew] {
        (keys, secret) = try PairingKeys.open(joined, typed?.code, VaultRecords(member))
        let mayMakeKeys = keys == nil && secret == nil && owner == nil && !arguments[isPlain]
        if mayMakeKeys, credentials.scope == .everything {
          makesKeys = try CommandFailure.wrap { () throws(LockstepError) in
            try DeviceKeys.isUnused(member.call.client, token: member.token)
          }
        }
      }
      if makesKeys { keys = DeviceKeys.make() }
      try CommandFailure.wrap { () throws(HomeFault) in try trust.store(in: folder) }
      isLocked = try HomeKeys.join(identity, keys, folder, store, member)
      if makesKeys, let keys { try HomeKeys.storeRing(keys, member) }
    } catch {
      // No home has its token.
      call.discard(credentials)
      throw error
    }
    // No home has its token any more.
    if let owner { call.discard(owner.credentials) }
    let isVaultSealed = keys?.keys(of: VaultApp.zone) != nil
    let vault =
      isVaultSealed
      ? .success(true)
      : openVault(
        secret.flatMap { typed?.code.with(secret: $0) }, credentials.scope, folder, member,
        isRequired: joined.wrapped == nil)
    try printJoined(
      identity, folder, keys, opensVault: vault == .success(true), isLocked: isLocked,
      isNew: makesKeys, arguments)
    if case .failure(let failure) = vault { throw failure }
    return .success
  }

  private static func printJoined(
    _ identity: HomeIdentity, _ folder: HomeFolder, _ keys: SealingKeys?, opensVault: Bool,
    isLocked: Bool, isNew: Bool, _ arguments: Arguments
  ) throws(CommandFailure) {
    let (credentials, scope) = (identity.credentials, identity.credentials.scope)
    if arguments[AgentCommand.json] {
      let json: JSONValue = [
        "accountID": .string(credentials.account.text),
        "deviceID": .string(credentials.device.text),
        "deviceName": .string(identity.deviceName), "home": .string(folder.path),
        "relay": .string(identity.relay),
        "scope": scope.json, "hasKeys": .bool(keys != nil), "isLocked": .bool(isLocked),
        "opensVault": .bool(opensVault),
      ]
      let words = keys?.current.map { JSONValue.string($0.checkWords) }
      _ = try TerminalOutput.printed(json.setting("words", to: words).text)
      return
    }
    let values = [
      "device": RowText.line(identity.deviceName), "account": credentials.account.text,
      "relay": identity.relay,
    ]
    var lines = [
      opensVault && keys?.keys(of: VaultApp.zone) == nil
        ? localized(
          "{device} is a device of account {account} on {relay}, and has the key of its vault",
          values)
        : localized("{device} is a device of account {account} on {relay}", values),
      localized("Its home is {home}", ["home": folder.path]),
    ]
    if scope != .everything {
      lines.append(localized("It may {abilities}.", ["abilities": RowText.line(scope.abilities)]))
    }
    if let keys { lines += [""] + sealedNote(keys, isNew: isNew) }
    if isLocked { lines += [""] + lockedNote }
    _ = try TerminalOutput.printed(lines.joined(separator: "\n"))
  }

  private static var lockedNote: [String] {
    [
      localized(
        "The account's records are sealed, and that code carries no keys: this device can read\n"
          + "and change nothing yet. Bring the keys with one of these:"),
      localized(
        "  lockstep agent join --code CODE   a code of lockstep agent pair, on a device with the "
          + "keys"),
      localized("  lockstep agent key restore        the phrase that was written down"),
    ]
  }

  private static func sealedNote(_ keys: SealingKeys, isNew: Bool) -> [String] {
    guard let words = keys.current?.checkWords else {
      return [localized("It has the keys of its sealed zones.")]
    }
    if isNew {
      return [
        localized(
          "Its records are sealed: the relay cannot read them. Devices with the same keys show:"),
        "  " + words,
        localized(
          "Write the keys down, in case that all devices are lost: lockstep agent key phrase"),
      ]
    }
    return [
      localized(
        "This device has the account's keys. The device that made the code shows the same six "
          + "words:"),
      "  " + words,
      localized("If it does not, leave the account (lockstep agent leave), and pair again."),
    ]
  }

  private static func join(
    again owner: HomeIdentity, code: String, _ deviceName: String, _ call: RelayCall,
    _ folder: HomeFolder
  ) throws(CommandFailure) -> JoinAnswer {
    let account = owner.credentials.account
    guard
      let joined = try call.join(again: account, code: code, deviceName: deviceName)
    else { throw belongsTo(owner, folder) }
    return joined
  }

  /// Returns true if the vault's key arrived. The device has joined in any case. `isRequired`: the
  /// second half of the code was typed for the vault's key alone.
  private static func openVault(
    _ code: JoinCode?, _ scope: DeviceScope, _ folder: HomeFolder, _ member: HomeAccess,
    isRequired: Bool
  ) -> Result<Bool, CommandFailure> {
    guard let code, scope.includes(VaultApp.zone) else { return .success(false) }
    do throws(CommandFailure) {
      let records = VaultRecords(member)
      let isGiven = isRequired ? true : try VaultKeys.isGiven(with: code, records)
      guard isGiven else { return .success(false) }
      _ = try VaultKeys.unlock(code, folder, records)
      return .success(true)
    } catch {
      return .failure(
        CommandFailure(
          localized(
            "the device has joined, but does not have the vault's key: {reason}; "
              + "then run lockstep vault unlock --home {home}",
            ["reason": error.message ?? "", "home": folder.path])))
    }
  }

  /// Returns the relay's address from the command or the link.
  private static func relay(
    _ arguments: Arguments, _ typed: TypedCode?
  ) throws(CommandFailure) -> RelayAddress {
    let named = arguments[relay]
    if let named, let link = typed?.relay, link != named {
      throw CommandFailure(
        localized(
          "--relay says {relay}, and the link {link}; give one of them",
          ["relay": named.url, "link": link.url]), exitCode: .usage)
    }
    guard let address = named ?? typed?.relay else {
      throw CommandFailure(
        localized(
          "--relay URL is missing (or LOCKSTEP_RELAY in the environment); a link "
            + "with a code has it too; see lockstep agent join --help"),
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
      localized(
        "the home {home} belongs to account {account} on {relay} already; leave "
          + "that first (lockstep agent leave --home {home}), name another home, or "
          + "give a code of that account",
        ["home": folder.path, "account": owner.credentials.account.text, "relay": owner.relay]))
  }

  private static var machineName: String {
    var buffer = [CChar](repeating: 0, count: 256)
    guard gethostname(&buffer, 255) == 0 else { return "device" }
    let name = String(
      decoding: buffer.map(UInt8.init(bitPattern:)).prefix { $0 != 0 }, as: UTF8.self)
    return name.isEmpty ? "device" : name
  }
}
