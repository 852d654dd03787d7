import Glibc
import Lockstep
import LockstepApps
import LockstepClient
import LockstepCommandLine
import LockstepEventLoop
import LockstepHome
import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepRelayService
import LockstepSealing
import LockstepStorage
import LockstepStorageSQLite
import LockstepTerminal
import LockstepWire

/// `lockstep agent pair`: issues a pairing code for another device.
enum AgentPairCommand {
  static let command = Command(
    name: "pair",
    summary: "Prints a pairing code, with which another device joins the account.",
    discussion: """
      A code admits one device, within ten minutes. If this home has the account's keys or the \
      vault's, the code has a second half, which opens them there and is never sent to the \
      relay; a device that has joined already gets the vault's key with lockstep vault \
      unlock.

      With --zones or --read-only, the relay limits the new device: it neither shows it the other \
      zones nor takes changes of them. A device keeps what it was paired for; to change that, pair \
      it again. The apps' zones are \(appZones). A device without the zone Vault does not get the \
      vault's key. In a sealed account, the vault has the account's keys, and --no-vault is refused.

      The link for browsers contains only the first half, because the relay serves that page; the \
      page asks for the second half if the account's records are sealed.

      A terminal also shows the link with the whole code as a QR code, for the camera of a device \
      whose app reads it. Whoever sees it can join: keep it from cameras and shared screens, or \
      use --no-qr.
      """,
    options: [
      zones.entry, isReadOnly.entry, expires.entry, withoutVault.entry,
      TerminalOutput.withoutQRCode.entry,
    ]
      + AgentApp.options,
    action: run)

  private static var appZones: String {
    AppCatalog.all.map(\.zone.text).sorted().joined(separator: ", ")
  }

  static let zones = CommandOption.optional(
    "zones", ValueKind.zones(atMost: Limits.scopeZones),
    "Zones that the new device may use, such as Timer,Memos; those of this device if not given.")
  static let isReadOnly = CommandOption.flag(
    "read-only", "Let the new device change nothing.")
  static let expires = CommandOption.optional(
    "expires",
    ValueKind.integer(
      Int(Limits.pairingSecondsMin)...Int(Limits.pairingMilliseconds / 1_000), "SECONDS"),
    "Time for which the code is valid; \(Limits.pairingMilliseconds / 1_000) if not given.")
  static let withoutVault = CommandOption.flag(
    "no-vault", "Make a code that does not include the vault's key.")

  @Sendable private static func run(_ arguments: Arguments) throws(CommandFailure) -> ExitCode {
    try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      let member = try HomeAccess(of: session)
      let issued = try issue(arguments, session, member)
      if arguments[AgentCommand.json] { return try TerminalOutput.printed(issued.json.text) }
      let ca = access(session.folder.authorities, F_OK) == 0 ? " --ca FILE" : ""
      let now = HomeStatus(json: try session.send(.status))
        .relayTime(atWall: SystemClock.moment().wall)
      let time = timeText(issued.offer.expiresAt - now)
      let lines = [
        issued.text, "", issued.scopeNote + issued.keysNote, "",
        localized("On the other device, within {time}:", ["time": time]),
        "  lockstep agent join --relay \(issued.relay.link)\(ca) --code -",
        localized("and enter the code there, or this link, which contains relay and code:"),
        "  " + issued.deviceLink, issued.pageNote, "  " + issued.pageLink,
      ]
      _ = try TerminalOutput.printed(lines.joined(separator: "\n"))
      if !arguments[TerminalOutput.withoutQRCode] {
        try TerminalOutput.standard.drawQRCode(of: issued.deviceLink)
      }
      return .success
    }
  }

  /// A code, and what it opens.
  private struct Issued {
    let relay: RelayAddress
    let offer: PairingOffer
    /// Nil if the code has one half alone.
    let code: JoinCode?
    let opensVault: Bool
    /// Keys that the code carries; nil: none.
    let keys: SealingKeys?

    var text: String { code?.text ?? offer.code }
    var pageLink: String {
      TypedCode.pageLink(to: relay, offer.code, carriesKeys: keys != nil)
    }
    var deviceLink: String { TypedCode.deviceLink(to: relay, text) }

    var json: JSONValue {
      let json: JSONValue = [
        "code": .string(text), "expiresAt": .number(JSONNumber(offer.expiresAt)),
        "link": .string(pageLink), "deviceLink": .string(deviceLink),
        "opensVault": .bool(opensVault), "scope": offer.scope.json,
      ]
      return json.setting("carriesKeys", to: .bool(keys != nil))
        .setting("words", to: keys?.current.map { .string($0.checkWords) })
    }

    var scopeNote: String {
      localized(
        "The new device may {abilities}.", ["abilities": RowText.line(offer.scope.abilities)])
    }

    var keysNote: String {
      guard let keys else { return "" }
      guard let current = keys.current else {
        return "\n" + localized("The code carries the keys of its sealed zones.")
      }
      let note = localized(
        "The code carries the account's keys. The new device shows these six words if it has the\n"
          + "same keys:")
      return "\n\n\(note)\n  \(current.checkWords)"
    }

    var pageNote: String {
      if keys != nil {
        return localized(
          "In a browser, open this link, and type the second half of the code there:")
      }
      return opensVault
        ? localized("In a browser, open this link, which does not open the vault:")
        : localized("In a browser, open this link:")
    }
  }

  private static func issue(
    _ arguments: Arguments, _ session: HomeSession, _ member: HomeAccess
  ) throws(CommandFailure) -> Issued {
    let own = try session.scope()
    let secret = JoinSecret(word: Entropy.secrets.word())
    var request = try request(arguments, own)
    let limit = request.scope(within: own)
    if let zones = limit.zones, zones.contains(KeyRing.zone) {
      throw CommandFailure(
        localized(
          "the zone {zone} is for the account's keys alone; leave it out",
          ["zone": "\(KeyRing.zone)"]))
    }
    if try HomeKeys.isLocked(session.folder) {
      throw CommandFailure(
        localized(
          "the account's records are sealed, and this device does not have the "
            + "keys, so its code would not carry them: pair from a device that has "
            + "them, or restore them first (lockstep agent key restore)"))
    }
    let keys = try HomeKeys.keys(in: session.folder)?.limited(to: limit)
    let isVaultSealed = keys?.keys(of: VaultApp.zone) != nil
    guard !isVaultSealed || !arguments[withoutVault] else {
      throw CommandFailure(
        localized(
          "the account's keys open its vault, so a code cannot do without; to "
            + "leave the vault out, name the other zones (--zones)"), exitCode: .usage)
    }
    request.wrapped = try HomeKeys.wrapped(keys, of: session.account(), secret)
    let offer = try member.call.pairingOffer(request, token: member.token)
    let code = JoinCode(offer: offer.code, secret: secret)
    // The wrapped key is a record of the vault, which this device saves.
    let givesVault =
      !arguments[withoutVault] && !isVaultSealed && offer.scope.includes(VaultApp.zone)
      && own.includesWrites(to: VaultApp.zone)
    var opensVault = isVaultSealed
    if let code, givesVault {
      opensVault = try VaultKeys.give(
        with: code, expiresAt: offer.expiresAt, session, VaultRecords(member))
    }
    // A relay must not lead the next device of a person who uses TLS to an address without.
    let named = offer.relay.flatMap { RelayAddress(url: $0) }
    let relay = named.flatMap { $0.isSecure || !member.relay.isSecure ? $0 : nil } ?? member.relay
    return Issued(
      relay: relay, offer: offer, code: opensVault || keys != nil ? code : nil,
      opensVault: opensVault, keys: keys)
  }

  private static func request(
    _ arguments: Arguments, _ own: DeviceScope
  ) throws(CommandFailure) -> PairingRequest {
    let request = PairingRequest(
      zones: arguments[zones], isReadOnly: arguments[isReadOnly] ? true : nil,
      expiresIn: arguments[expires].map { Int64($0) })
    guard own.contains(request.scope(within: own)) else {
      throw CommandFailure(
        localized(
          "this device was paired for {scope}, and can give other devices no "
            + "more than that; run lockstep agent pair on a device that has those "
            + "zones", ["scope": own.summary]))
    }
    return request
  }

  private static func timeText(_ milliseconds: Int64) -> String {
    let seconds = max(0, (milliseconds + 500) / 1_000)
    return seconds < 120
      ? localized(count: seconds, one: "{count} seconds", many: "{count} seconds")
      : localized(count: (seconds + 30) / 60, one: "{count} minutes", many: "{count} minutes")
  }
}

/// `lockstep agent status`: shows the device's identity and sync status.
enum AgentStatusCommand {
  static let command = Command(
    name: "status",
    summary: "Shows the device's identity, and whether it is in sync.",
    options: AgentApp.options, action: run)

  /// Also implements `status` of apps that have nothing to add.
  @Sendable static func run(_ arguments: Arguments) throws(CommandFailure) -> ExitCode {
    try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      // A home that no process held has only just begun to connect.
      if session.isHolder {
        _ = try session.send(.sync(milliseconds: HomeSession.patienceMilliseconds))
      }
      let status = HomeStatus(json: try session.send(.status))
      let sealing = try HomeKeys.sealingState(of: session.folder)
      if arguments[AgentCommand.json] {
        return try TerminalOutput.printed(json(status, sealing).text)
      }
      return try TerminalOutput.printed(
        status.text(wall: SystemClock.moment().wall) + keysLine(sealing))
    }
  }
}

extension AgentStatusCommand {
  fileprivate static func json(_ status: HomeStatus, _ sealing: SealingState) -> JSONValue {
    let words = sealing.held?.current.map { JSONValue.string($0.checkWords) }
    let json = status.json.setting("hasKeys", to: .bool(sealing.held != nil))
      .setting("words", to: words)
    guard sealing.isLocked else { return json }
    let zones = sealing.lockedZones.map { JSONValue.string($0.text) }
    return json.setting("lockedZones", to: sealing.isAccountLocked ? "all" : .array(zones))
  }

  /// Returns a line about the home's keys; empty if it has none, and knows of no sealed records.
  fileprivate static func keysLine(_ sealing: SealingState) -> String {
    var parts: [String] = []
    if let keys = sealing.held {
      parts.append(keys.current?.checkWords ?? localized("of its zones alone"))
    }
    if sealing.isAccountLocked {
      parts.append(
        localized("none, although the account's records are sealed; see lockstep doctor"))
    } else if sealing.isLocked {
      let locked = sealing.lockedZones.map(\.text).joined(separator: ", ")
      parts.append(
        localized(
          "none of {zones}, whose records are sealed; see lockstep doctor", ["zones": locked]))
    }
    guard !parts.isEmpty else { return "" }
    return "\n" + HomeStatus.row(localized("keys"), parts.joined(separator: localized("; ")))
  }
}

/// `lockstep agent sync`: syncs now and reports the result.
enum AgentSyncCommand {
  private static let patienceMilliseconds: Int64 = 20_000

  static let command = Command(
    name: "sync",
    summary: "Syncs now, without waiting for a retry.",
    discussion: """
      Changes that the relay has refused, or that were too large for the connection, are sent \
      again, and a better transport is tried. The exit code is 1 if the device is not in sync \
      afterwards.
      """,
    options: AgentApp.options
  ) { arguments throws(CommandFailure) in
    try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      var status = try sync(session)
      // No process has scanned the vault's files yet: upload local writes, apply downloads, and
      // sync the records that result.
      if session.isHolder, checkFiles(session) {
        _ = try VaultWait(
          AgentCommand.folder(arguments), names: nil, milliseconds: patienceMilliseconds)
        status = try sync(session)
      }
      _ = try TerminalOutput.printed(
        arguments[AgentCommand.json]
          ? status.json.text : status.line(wall: SystemClock.moment().wall))
      return status.isInSync ? .success : .failure
    }
  }

  /// Starts a check of the vault's files. Returns false if the home keeps none. The mirror answers
  /// once it has read which files it keeps: its state says nothing before.
  private static func checkFiles(_ session: HomeSession) -> Bool {
    do throws(CommandFailure) {
      return (try session.send(.mirror(["do": "look"]))["files"]?.int64 ?? 0) > 0
    } catch {
      // A device without the vault, or a vault that cannot be used, which its own commands tell.
      return false
    }
  }

  private static func sync(_ session: HomeSession) throws(CommandFailure) -> HomeStatus {
    HomeStatus(
      json: try session.send(
        .sync(milliseconds: patienceMilliseconds),
        milliseconds: Int32(patienceMilliseconds) + 5_000))
  }
}

/// `lockstep agent run`: keeps a home in sync until it is stopped.
enum AgentRunCommand {
  static let isWoken = CommandOption.flag(
    "wake",
    "Register for wakes at a UnifiedPush distributor, and end the connection while nothing happens."
  )
  static let wakeIdle = CommandOption.defaulted(
    "wake-idle", ValueKind.duration(0...86_400_000), default: "5m",
    "With --wake: time without use after which the connection ends; 0s: once all is synced.")
  static let wakeDistributor = CommandOption.optional(
    "wake-distributor", ValueKind.text("NAME"),
    "With --wake: the distributor's name on the session bus; the first one if not given.")

  static let command = Command(
    name: "run",
    summary: "Keeps a home in sync until it is stopped.",
    discussion: """
      Meanwhile programs in any language save, read and watch records of their own through the \
      home's socket; see docs/sidecar.md. --rules has the merge rules of their zone. The home \
      keeps them: later runs, and commands without a run, merge by the same rules.

      With --wake the device needs no connection while nothing happens: it ends its own, and the \
      relay wakes it by a push when another device changes something. It also connects when \
      something is changed or shown here, and once an hour. It sleeps only while pushes are proved \
      to arrive. This needs a UnifiedPush distributor on the session bus; see docs/wake.md.
      """,
    options: [
      AgentCommand.home.entry, RulesFile.option.entry, isWoken.entry, wakeIdle.entry,
      wakeDistributor.entry, AgentCommand.transport.entry,
      AgentCommand.logLevel.entry,
      AgentCommand.logFormat.entry, ConfigFile.option.entry,
    ]
  ) { arguments throws(CommandFailure) in
    let folder = AgentCommand.folder(arguments)
    guard folder.exists else { throw HomeSession.noHome(folder) }
    // Before any thread starts: threads inherit the blocked signals.
    let signals = try Interruption.signals()
    let log = Log(
      "lockstep agent", level: arguments[AgentCommand.logLevel],
      format: arguments[AgentCommand.logFormat])
    let configuration = AgentCommand.configuration(arguments)
    let rules = try arguments[RulesFile.option].map { path throws(CommandFailure) in
      try RulesFile.read(path)
    }
    let held = try HomeHolder.hold(
      folder, configuration, log: log, rules: rules, warnsOfPlainHTTP: true,
      wakes: arguments[isWoken] ? wakes(arguments) : nil)
    guard let holder = held else {
      throw CommandFailure(
        localized("another process holds the home {home} already", ["home": folder.path]))
    }
    log.announce(
      "keeping a home in sync", [LogLine.Field("home", folder.path)],
      block: "lockstep agent: keeping \(folder.path) in sync; stop with Ctrl-C")
    try holder.run(until: signals)
    return .success
  }

  private static func wakes(_ arguments: Arguments) -> WakeOptions {
    var options = WakeOptions()
    options.idleMilliseconds = arguments[wakeIdle]
    options.distributor = arguments[wakeDistributor]
    return options
  }
}

/// `lockstep agent leave`: removes the device from its account.
enum AgentLeaveCommand {
  static let isForced = CommandOption.flag(
    "force", "Leave even if changes were not synced, or the relay is unreachable.")

  static let command = Command(
    name: "leave",
    summary: "Removes the device from its account and its data from the home.",
    discussion: """
      Synced data stays in the account; its other devices are not affected. The account's keys \
      and the vault's are deleted with the home; on the account's last device, write down their \
      phrases first.
      """,
    options: [AgentCommand.home.entry, isForced.entry]
  ) { arguments throws(CommandFailure) in
    let folder = AgentCommand.folder(arguments)
    guard folder.exists else { throw HomeSession.noHome(folder) }
    guard let lock = try CommandFailure.wrap({ () throws(HomeFault) in try folder.lock() }) else {
      throw CommandFailure(
        localized(
          "another process holds the home {home}; stop that one first", ["home": folder.path]))
    }
    defer { withExtendedLifetime(lock) {} }
    let (identity, unsynced) = try readHome(folder)
    let isForced = arguments[isForced]
    if unsynced > 0 && !isForced {
      throw CommandFailure(
        localized(
          count: unsynced,
          one: "{count} change was not synced and would be lost; sync first (lockstep agent sync "
            + "--home {home}), or leave with --force",
          many:
            "{count} changes were not synced and would be lost; sync first (lockstep agent sync "
            + "--home {home}), or leave with --force", ["home": folder.path]))
    }
    if let identity { try revokeDevice(identity, folder, isForced: isForced) }
    try CommandFailure.wrap { () throws(HomeFault) in try folder.removeData() }
    return try TerminalOutput.printed(
      localized("{home} has left its account", ["home": folder.path]))
  }

  /// Throws if the home has keys without which nobody can read what it leaves behind.
  private static func requireNoKeys(_ folder: HomeFolder) throws(CommandFailure) {
    var phrases: [String] = []
    if try HomeKeys.keys(in: folder)?.current != nil { phrases.append("agent key phrase") }
    if try !VaultKeys.areOfAccount(folder), try VaultKeyFile(folder).key() != nil {
      phrases.append("vault phrase")
    }
    guard !phrases.isEmpty else { return }
    let commands = phrases.map { "lockstep \($0) --home \(folder.path)" }
    let all = commands.dropFirst().reduce(commands.first ?? "") {
      localized("{first} and of {second}", ["first": $0, "second": $1])
    }
    throw CommandFailure(
      localized(
        "this is the account's last device, and nobody can read its sealed records without its "
          + "keys: write down the output of {commands}", ["commands": all]))
  }

  private static func readHome(
    _ folder: HomeFolder
  ) throws(CommandFailure) -> (HomeIdentity?, Int) {
    return try CommandFailure.wrap { () throws(StorageError) in
      let store = try SQLiteReplicaStore(home: folder.path)
      // Nobody has made the records of the account's keys.
      let changes = try store.outbox().filter { $0.key.zone != KeyRing.zone }
      return (try store.identity(), changes.count)
    }
  }

  private static func revokeDevice(
    _ identity: HomeIdentity, _ folder: HomeFolder, isForced: Bool
  ) throws(CommandFailure) {
    guard let relay = RelayAddress(url: identity.relay) else { return }
    let call = RelayCall(relay: relay, trust: try HomeTrust.of(folder).trust)
    let token = identity.credentials.token
    do throws(CommandFailure) {
      // To a device with a part of the account, the relay shows no other.
      if !isForced, identity.credentials.scope == .everything,
        try call.devices(token: token).devices.count == 1
      {
        try requireNoKeys(folder)
      }
      try call.revoke(identity.credentials.device, token: token)
    } catch {
      if !isForced {
        throw CommandFailure(
          localized("{reason}; or leave with --force", ["reason": error.message ?? ""]))
      }
    }
  }
}
