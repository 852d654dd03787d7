import Glibc
import LockstepClient
import LockstepCommandLine
import LockstepEventLoop
import LockstepModel
import LockstepRelay
import LockstepRuntime
import LockstepStorage
import LockstepWebAssets
import LockstepWebPush
import LockstepWire

/// `lockstep relay`: stores records and pushes changes to devices.
package enum RelayCommand {
  package static let listen = CommandOption.defaulted(
    "listen", .listener, default: "127.0.0.1:5625",
    "Address and port for devices; port 0 selects a free one.")
  static let adminListen = CommandOption.optional(
    "admin-listen", ValueKind.listener,
    "Address and port for metrics, health and the owner's page; none if not given.")
  package static let hasAdminPage = CommandOption.flag(
    "admin-page",
    "Serve the owner's page at the public address, too; lockstep relay admin prints a link to it.")
  package static let certificate = CommandOption.optional(
    "tls-cert", ValueKind.file,
    "PEM file with the TLS certificate and its chain; plain HTTP if not given.")
  package static let key = CommandOption.optional(
    "tls-key", ValueKind.file, "PEM file with the certificate's private key.")
  static let strictTransport = CommandOption.optional(
    "hsts", ValueKind.duration(86_400_000...Limits.retentionMilliseconds),
    "With TLS: how long browsers must use TLS only (HSTS), such as 365d; not sent if not given.")
  package static let publicURL = CommandOption.optional(
    "public-url", ValueKind<RelayAddress>.relay,
    "URL by which devices reach the relay, for links and QR codes, such as "
      + "https://sync.example.org; its host name is allowed, as with --host.")
  package static let store = CommandOption.defaulted(
    "store", .storeLocation, default: usualStore,
    "Folder for everything that the relay writes; or postgres://USER@HOST/DATABASE, a database "
      + "that several relays may share.")
  static let bus = CommandOption.optional(
    "bus", ValueKind<BusAddress>.busAddress,
    "How the relays of a database notify each other: nats://HOST:PORT of NATS, or its direct "
      + "address, postgres://USER@HOST/DATABASE, if --store names a pooler (PgBouncer) in "
      + "transaction mode; the address of --store if not given.")
  static let busPasswordFile = CommandOption.optional(
    "bus-password-file", ValueKind.file,
    "File with the password of NATS, or its token if --bus names no user.")
  package static let isOpen = CommandOption.flag("open", "Allow anyone to create an account.")
  static let retention = CommandOption.defaulted(
    "retention", .duration(1_000...Limits.retentionMilliseconds),
    default: DurationArgument.text(Limits.historyMilliseconds),
    "How long a device may be offline and still read only changes. A longer time needs more disk "
      + "space, because deletions are kept for that time.")
  static let quota = CommandOption.defaulted(
    "quota", .bytes(0...1 << 50), default: "\(Limits.chunkBytesPerAccount >> 30)G",
    "Maximum bytes of an account's chunks of files, and of its records, each.")
  static let diskFloor = CommandOption.defaulted(
    "disk-floor", .bytes(0...1 << 50), default: "\(Limits.diskFloorBytes >> 20)M",
    "Free bytes of the store's disk below which no new data is accepted; reads, deletions and "
      + "pushes still work. 0: no limit. Not for a database.")
  package static let keepAlive = CommandOption.defaulted(
    "keep-alive",
    ValueKind.decimal(0.1...Double(Limits.keepAliveCeilingMilliseconds) / 1_000, "SECONDS"),
    default: "\(Limits.keepAliveMilliseconds / 1_000)",
    "Interval in seconds of pings on an idle connection.")
  static let compression = CommandOption.defaulted(
    "compression", ValueKind<Switch>.choice, default: "on",
    "Compress large messages on a WebSocket, for clients that request it.")
  package static let isRestored = CommandOption.flag(
    "restored",
    "Declare that the store was restored from an older copy. The relay detects most restores by "
      + "itself: of the database, and of the whole store or machine.")
  package static let loops = CommandOption.defaulted(
    "loops", .integer(1...64), default: String(processors),
    "Number of threads that serve connections; one per core if not given.")
  package static let limits = CommandOption.optional(
    "limits", ValueKind<RelayLimits>.limits,
    "Limits of the relay; docs/relay/limits.md lists them, GET /v1/limits shows those in force.")
  package static let exempt = CommandOption.defaulted(
    "exempt", .networks, default: "127.0.0.0/8,::1",
    "Addresses and networks without limits per address; none: no exemptions.")
  package static let origin = CommandOption.defaulted(
    "origin", .origins, default: "own",
    "Origins whose pages may use the relay from a browser, besides its own; * for any.")
  static let pages = CommandOption.optional(
    "pages", ValueKind<String>.folder,
    "Folder with pages of your own, served under /pages/ from the relay's origin; none if not "
      + "given.")
  package static let host = CommandOption.defaulted(
    "host", .hosts, default: "own",
    "Names by which clients may reach the relay, besides literal addresses, localhost, this "
      + "machine's own name, and the certificate's; * for any.")
  static let trustProxy = CommandOption.defaulted(
    "trust-proxy", .networks, default: "none",
    "Proxies whose X-Forwarded-For or Forwarded fields are trusted.")
  static let wake = CommandOption.defaulted(
    "wakes", ValueKind<Switch>.choice, default: "on",
    "Wake sleeping devices that ask for it, by Web Push; off: the relay opens no connections.")
  static let wakeAllow = CommandOption.defaulted(
    "wake-allow", .pushRules, default: "none",
    "Hosts in private networks, or HOST:PORT other than 443, to which wakes may be sent.")
  static let wakeContact = CommandOption.optional(
    "wake-contact", ValueKind<String>.pushContact,
    "mailto: or https: address that push services are given to reach you; some require one.")
  package static let logLevel = CommandOption.defaulted(
    "log-level", ValueKind<Log.Level>.choice, default: "info",
    "Minimum level of log messages on standard error.")

  package static let logFormat = CommandOption.defaulted(
    "log-format", ValueKind<LogLine.Format>.choice, default: "plain",
    "Format of the log: plain for people, logfmt or json for programs.")
  static let isChecked = CommandOption.flag(
    "check",
    "Do not start: show the settings in force and the source of each, and check whether a relay "
      + "could start with them. To check the contents of the store, use relay check.")
  package static let json = CommandOption.flag("json", "With --check: print one JSON object.")

  package static let command = Command(
    name: "relay",
    summary: "Runs a relay: stores each account's records and pushes changes to its devices.",
    discussion: """
      The relay runs until SIGTERM or SIGINT; then it refuses new requests, tells its devices to \
      reconnect later, answers the pending requests, and ends. A second signal ends it at once. On \
      SIGUSR1 it prints its state; on SIGHUP it reloads the certificate and the host names in it.

      With --tls-cert and --tls-key, devices connect by https:// only; SIGHUP reloads both files \
      and keeps existing connections. With --acme instead, the relay gets and renews its \
      certificate by itself. --admin-listen always serves plain HTTP.

      Without --open, the relay's owner creates the accounts: lockstep account create NAME.

      Every option can also be set in a file (--config), as key = value; docs/relay.conf shows \
      all. The command line takes precedence over the environment, the environment over the file.

      With a subcommand, no relay is started; the subcommand works on a relay's store.
      """,
    options: [
      listen.entry, adminListen.entry, hasAdminPage.entry, publicURL.entry, certificate.entry,
      key.entry, strictTransport.entry,
    ] + RelayACME.options + [
      store.entry, bus.entry, busPasswordFile.entry, isOpen.entry, retention.entry, quota.entry,
      diskFloor.entry, keepAlive.entry, compression.entry, isRestored.entry, loops.entry,
      limits.entry, exempt.entry, origin.entry, pages.entry, host.entry,
      trustProxy.entry, wake.entry, wakeAllow.entry, wakeContact.entry,
      logLevel.entry, logFormat.entry, ConfigFile.option.entry, isChecked.entry, json.entry,
    ],
    subcommands: [
      RelayAdminCommand.command, RelayBackupCommand.command, RelayRestoreCommand.command,
      RelayStoreCheckCommand.command, RelayMigrateCommand.command, RelayWakeKeyCommand.command,
    ]
  ) { arguments throws(CommandFailure) in
    if arguments[isChecked] {
      return try RelayCheck(
        arguments, store: arguments[store], bus: arguments[bus],
        certificate: arguments[certificate], key: arguments[key], pages: arguments[pages]
      ).report(isJSON: arguments[json])
    }
    let acme = try RelayACME(arguments, store: arguments[store])
    try checkCombinations(arguments)
    var configuration = RelayConfiguration()
    configuration.isOpen = arguments[isOpen]
    configuration.nodes = arguments[loops]
    configuration.version = LockstepVersion.current
    configuration.startedAt = SystemClock.moment().wall
    configuration.reportsRequests = arguments[logLevel] >= .debug
    configuration.keepAliveMilliseconds = Int64(arguments[keepAlive] * 1_000)
    configuration.compresses = arguments[compression] == .on
    configuration.rules.historyMilliseconds = arguments[retention]
    configuration.diskFloorBytes = arguments[diskFloor]
    configuration.rules.chunkBytesPerAccount = arguments[quota]
    configuration.rules.recordBytesPerAccount = arguments[quota]
    configuration.limits = arguments[limits] ?? RelayLimits()
    configuration.rules.devicesPerAccount = configuration.limits.devicesPerAccount
    configuration.exempt = arguments[exempt]
    configuration.origins = arguments[origin]
    configuration.publicURL = arguments[publicURL]?.link
    configuration.hasPublicOwnerPage = arguments[hasAdminPage]
    configuration.hosts = arguments[host].adding([arguments[publicURL]?.host].compactMap(\.self))
    configuration.strictTransportMilliseconds = arguments[strictTransport] ?? 0
    configuration.trustedProxies = arguments[trustProxy]
    if let fault = arguments[pages].flatMap({ OwnerPages.fault(of: $0) }) {
      throw CommandFailure(fault, exitCode: .usage)
    }
    configuration.pages = WebAssetCache(
      // The first of a path is served: the page as one script, not as its modules.
      (PageBundle.page + PageBundle.sources).map {
        // The names of the joined files change with their content, so no other page loads them.
        PageFile(
          path: $0.path, bytes: $0.bytes, isImmutable: $0.isImmutable,
          isForOwnPages: $0.isImmutable, isGzipped: $0.isGzipped)
      }
        + ClientModule.pages(PageBundle.module, version: LockstepVersion.current)
        + [PageFile(path: "openapi.json", bytes: PageBundle.document, isGzipped: true)],
      hasFolder: arguments[pages] != nil)
    let service = RelayService(
      listen: arguments[listen], adminListen: arguments[adminListen],
      certificate: try RelayCertificate.named(arguments[certificate], key: arguments[key]),
      store: arguments[store], bus: try BusSettings(arguments),
      configuration: configuration,
      isRestored: arguments[isRestored],
      log: Log(
        "lockstep relay", level: arguments[logLevel], format: arguments[logFormat]),
      pages: arguments[pages],
      wakes: arguments[wake] == .on
        ? RelayWakes(rules: arguments[wakeAllow], contact: arguments[wakeContact]) : nil,
      acme: acme)
    try service.run()
    return .success
  }

  /// Flags of `--acme`.
  package static let acme = RelayACME.isOn
  package static let acmeAgrees = RelayACME.agrees

  /// Throws unless the settings of a file fit together. Looks at none of the files that they name,
  /// but that of `--acme-root`.
  package static func check(settings text: String) throws(CommandFailure) {
    let parser = ArgumentsParser(
      root: command, environment: { _ in nil },
      readFile: { _ throws(CommandFailure) in Array(text.utf8) })
    let outcome = try CommandFailure.wrap { () throws(ArgumentsFault) in
      try parser.parse(["--\(ConfigFile.option.entry.name)", "-"])
    }
    guard case .run(_, _, let arguments) = outcome else { return }
    _ = try RelayACME(arguments, store: arguments[store])
    try checkCombinations(arguments)
  }

  /// Throws a usage error unless options fit together. Connects to nothing.
  private static func checkCombinations(_ arguments: Arguments) throws(CommandFailure) {
    let faults = [
      OwnerPageAccess.fault(of: arguments),
      BusAddress.fault(of: arguments[bus], for: arguments[store]),
    ]
    if let fault = faults.compactMap(\.self).first {
      throw CommandFailure(fault, exitCode: .usage)
    }
  }

  enum Switch: String, CaseIterable {
    case on, off
  }

  /// Default store folder: the folder that a service manager assigns (systemd.exec(5),
  /// StateDirectory); for root, the system's state folder; for other users, the state folder of the
  /// XDG base directory specification.
  package static var usualStore: String {
    if let folder = getenv("STATE_DIRECTORY").map({ String(cString: $0) }), folder.hasPrefix("/") {
      return String(folder.prefix { $0 != ":" })
    }
    if getuid() == 0 { return "/var/lib/lockstep" }
    if let folder = getenv("XDG_STATE_HOME") { return String(cString: folder) + "/lockstep" }
    let home = getenv("HOME").map { String(cString: $0) } ?? "."
    return home + "/.local/state/lockstep"
  }

  /// Number of online processors, 1 to 64.
  package static var processors: Int { max(1, min(64, sysconf(Int32(_SC_NPROCESSORS_ONLN)))) }
}

// Kinds of values for the options that control access to a relay's public listener.

extension ValueKind where Value == RelayLimits {
  /// `NAME=VALUE`, any number of them, separated by commas.
  package static var limits: ValueKind {
    let names = SettableLimit.all.map { $0.name + "=" }
    return ValueKind("NAME=VALUE,…", known: .list(names)) { text throws(ValueFault) in
      var limits = RelayLimits()
      var seen: Set<String> = []
      for part in text.split(separator: ",", omittingEmptySubsequences: false) {
        let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard sides.count == 2 else {
          throw ValueFault("\"\(part)\" is not NAME=VALUE, such as connections=10000")
        }
        let name = trimmed(sides[0])
        guard seen.insert(name).inserted else {
          throw ValueFault("\(name) is given twice")
        }
        try limits.set(name, text: trimmed(sides[1]))
      }
      return limits
    }
  }

  private static func trimmed(_ text: Substring) -> String {
    String(text.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
  }
}

extension RelayLimits {
  /// Sets one limit from a person's text. For an unknown name, the fault suggests a similar one.
  package mutating func set(_ name: String, text: String) throws(ValueFault) {
    do throws(LimitFault) {
      try set(name, to: text)
    } catch {
      guard case .unknown = error else { throw ValueFault("\(error)") }
      let names = SettableLimit.all.map(\.name)
      let nearest = Suggestion.nearest(to: name, among: names)
      let hint = nearest.map { "; did you mean \($0)?" } ?? "; docs/relay/limits.md lists them all"
      throw ValueFault("\(error)\(hint)")
    }
  }
}

extension ValueKind where Value == AllowedOrigins {
  /// Origins separated by commas, `*` for any page, or `own` for the relay's own only.
  package static var origins: ValueKind {
    ValueKind("LIST") { text throws(ValueFault) in
      if text == "*" { return .any }
      if text == "own" { return .own }
      var origins: Set<String> = []
      for part in text.split(separator: ",", omittingEmptySubsequences: false) {
        guard let origin = AllowedOrigins.normalized(part.filter { $0 != " " }) else {
          throw ValueFault(
            "\"\(part)\" is not an origin, such as https://app.example without a path, or * for any"
          )
        }
        origins.insert(origin)
      }
      return .listed(origins)
    }
  }
}

extension ValueKind where Value == AllowedHosts {
  /// Names separated by commas, `*` for any, or `own` for only those that the relay knows itself.
  package static var hosts: ValueKind {
    ValueKind("LIST") { text throws(ValueFault) in
      if text == "*" { return .any }
      if text == "own" { return AllowedHosts() }
      var names: [String] = []
      for part in text.split(separator: ",", omittingEmptySubsequences: false) {
        guard let name = AllowedHosts.normalized(part.filter { $0 != " " }) else {
          throw ValueFault(
            "\"\(part)\" is not a host name, such as relay.example without a port; "
              + "addresses need no --host"
          )
        }
        names.append(name)
      }
      return AllowedHosts(names)
    }
  }
}

extension ValueKind where Value == PushRules {
  /// `HOST` or `HOST:PORT`, separated by commas, or `none`.
  static var pushRules: ValueKind {
    ValueKind("LIST") { text throws(ValueFault) in
      if text == "none" { return PushRules() }
      let hosts = text.split(separator: ",", omittingEmptySubsequences: false).map { part in
        String(part.filter { $0 != " " })
      }
      do throws(PushRulesFault) {
        return try PushRules(allowing: hosts)
      } catch {
        throw ValueFault("\(error)")
      }
    }
  }
}

extension ValueKind where Value == String {
  /// An address by which push services reach the owner (RFC 8292 section 2.1).
  static var pushContact: ValueKind {
    ValueKind("URL") { text throws(ValueFault) in
      guard VAPIDTokens.isValid(subject: text) else {
        throw ValueFault(
          "\"\(text)\" is not a mailto: or https: URL of at most "
            + "\(Limits.vapidSubjectBytes) bytes, such as mailto:me@example.org")
      }
      return text
    }
  }
}

extension ValueKind where Value == [IPNetwork] {
  /// Networks separated by commas, or `none`.
  package static var networks: ValueKind {
    ValueKind("LIST") { text throws(ValueFault) in
      if text == "none" { return [] }
      var networks: [IPNetwork] = []
      for part in text.split(separator: ",", omittingEmptySubsequences: false) {
        guard let network = IPNetwork(part.filter { $0 != " " }) else {
          throw ValueFault(
            "\"\(part)\" is not an address or network, such as 10.0.0.0/8 or ::1, or none")
        }
        networks.append(network)
      }
      return networks
    }
  }
}

extension ValueKind where Value == String {
  /// A list of networks, as it stands in a file of settings.
  package static var networkList: ValueKind {
    ValueKind("LIST") { text throws(ValueFault) in
      let networks = try ValueKind<[IPNetwork]>.networks.parse(text)
      guard !networks.isEmpty else { throw ValueFault("no network is given") }
      return text
    }
  }
}
