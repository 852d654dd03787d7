import Glibc
import LockstepEventLoop
import LockstepModel
import LockstepRelay
import LockstepStorage
import LockstepWebAssets
import LockstepWire

/// `lockstep relay`: stores records and pushes changes to devices.
enum RelayCommand {
  static let listen = CommandOption.defaulted(
    "listen", .listener, default: "127.0.0.1:5625",
    "Where devices connect; port 0 picks a free one.")
  static let adminListen = CommandOption.optional(
    "admin-listen", ValueKind.listener,
    "Where metrics and health are served; nowhere if not given.")
  static let certificate = CommandOption.optional(
    "tls-cert", ValueKind.file,
    "Speak TLS, with the certificate and its chain in this PEM file; plain HTTP if not given.")
  static let key = CommandOption.optional(
    "tls-key", ValueKind.file, "The PEM file with the certificate's private key.")
  static let strictTransport = CommandOption.optional(
    "hsts", ValueKind.lapse(86_400_000...Limits.retentionMilliseconds),
    "With TLS: for how long browsers are to come by TLS alone (HSTS), such as 365d; not said if not "
      + "given.")
  static let store = CommandOption.defaulted(
    "store", .storePlace, default: usualStore,
    "The folder of everything that the relay writes; or postgres://USER@HOST/DATABASE, a database "
      + "that several relays may share.")
  static let isOpen = CommandOption.flag("open", "Let anybody make an account.")
  static let retention = CommandOption.defaulted(
    "retention", .lapse(1_000...Limits.retentionMilliseconds),
    default: DurationArgument.text(Limits.historyMilliseconds),
    "How long a device may be away and still read only what changed. A longer one costs room: what "
      + "was deleted is remembered for as long.")
  static let quota = CommandOption.defaulted(
    "quota", .bytes(0...1 << 50), default: "\(Limits.chunkBytesPerAccount >> 30)G",
    "How many bytes of chunks of files an account may keep, and how many of records, each.")
  static let diskFloor = CommandOption.defaulted(
    "disk-floor", .bytes(0...1 << 50), default: "\(Limits.diskFloorBytes >> 20)M",
    "Free bytes of the store's disk below which nothing new is taken; reads, deletions and pushes go "
      + "on. 0: no floor. Not for a database.")
  static let keepAlive = CommandOption.defaulted(
    "keep-alive",
    ValueKind.decimal(0.1...Double(Limits.keepAliveCeilingMilliseconds) / 1_000, "SECONDS"),
    default: "\(Limits.keepAliveMilliseconds / 1_000)",
    "How often a connection on which nothing happens is tried.")
  static let compression = CommandOption.defaulted(
    "compression", ValueKind<Compression>.choice, default: "on",
    "Whether large messages on a WebSocket are compressed, for clients that ask for it.")
  static let isRestored = CommandOption.flag(
    "restored",
    "The store was put back from an older copy in a way that it cannot see. Copies of the database, "
      + "and of the whole store or machine, it sees by itself.")
  static let loops = CommandOption.defaulted(
    "loops", .integer(1...64), default: String(processors),
    "Threads that serve connections; one a core if not given.")
  static let limits = CommandOption.optional(
    "limits", ValueKind<RelayLimits>.limits,
    "How much the relay takes on; docs/operations.md names all limits, GET /v1/limits tells those in "
      + "force.")
  static let exempt = CommandOption.defaulted(
    "exempt", .networks, default: "127.0.0.0/8,::1",
    "Addresses and networks that are not limited by address; none for nobody.")
  static let origin = CommandOption.defaulted(
    "origin", .origins, default: "own",
    "The origins whose pages may use the relay from a browser, besides its own; * for any.")
  static let host = CommandOption.defaulted(
    "host", .hosts, default: "own",
    "Names by which clients may reach the relay, besides literal addresses, localhost, this "
      + "machine's own name, and the certificate's; * for any.")
  static let trustProxy = CommandOption.defaulted(
    "trust-proxy", .networks, default: "none",
    "Proxies that say truly whom they pass on, by X-Forwarded-For or Forwarded.")
  static let logLevel = CommandOption.defaulted(
    "log-level", ValueKind<Log.Level>.choice, default: "info", "How much to say on standard error.")

  static let logFormat = CommandOption.defaulted(
    "log-format", ValueKind<LogLine.Format>.choice, default: "plain",
    "How the log looks: plain for people, logfmt or json for programs.")
  static let isChecked = CommandOption.flag(
    "check",
    "Start nothing: show the settings in force and where each comes from, and whether a relay could "
      + "begin with them. What is in the store is looked through by relay check.")
  static let json = CommandOption.flag("json", "With --check: print one JSON object.")

  static let command = Command(
    name: "relay",
    summary: "Runs a relay: stores each account's records and pushes changes to its devices.",
    discussion: """
      The relay runs until SIGTERM or SIGINT; then it refuses new work, tells its devices to come \
      back later, answers what is begun, and ends. A second signal ends it at once. SIGUSR1 has it \
      show what it holds; SIGHUP has it read again what can change while it runs.

      With --tls-cert and --tls-key, devices connect by https:// alone; SIGHUP reads both files \
      anew, and leaves connections as they are. What --admin-listen serves stays plain HTTP.

      Without --open, accounts are made by the relay's owner: lockstep account create NAME.

      Every option can stand in a file too (--config), as key = value; docs/relay.conf shows all. \
      The line goes before the environment, the environment before the file.

      With a command, no relay is started: it does something with the store of one.
      """,
    options: [
      listen.entry, adminListen.entry, certificate.entry, key.entry, strictTransport.entry,
      store.entry, isOpen.entry, retention.entry, quota.entry, diskFloor.entry, keepAlive.entry,
      compression.entry,
      isRestored.entry,
      loops.entry, limits.entry, exempt.entry, origin.entry, host.entry, trustProxy.entry,
      logLevel.entry, logFormat.entry, ConfigFile.option.entry, isChecked.entry, json.entry,
    ],
    subcommands: [
      RelayBackupCommand.command, RelayRestoreCommand.command, RelayStoreCheckCommand.command,
      RelayMigrateCommand.command,
    ]
  ) { arguments throws(CommandFailure) in
    if arguments[isChecked] {
      return try RelayCheck(
        arguments, store: arguments[store], certificate: arguments[certificate],
        key: arguments[key]
      ).report(isJSON: arguments[json])
    }
    var configuration = RelayConfiguration()
    configuration.isOpen = arguments[isOpen]
    configuration.nodes = arguments[loops]
    configuration.version = Lockstep.version
    configuration.startedAt = SystemClock.moment().wall
    configuration.notesRequests = arguments[logLevel] >= .debug
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
    configuration.hosts = arguments[host]
    configuration.strictTransportMilliseconds = arguments[strictTransport] ?? 0
    configuration.trustedProxies = arguments[trustProxy]
    configuration.pages = WebAssetCache(
      PageBundle.all.map { PageFile(path: $0.path, bytes: $0.bytes) })
    let service = RelayService(
      listen: arguments[listen], adminListen: arguments[adminListen],
      certificate: try RelayCertificate.named(arguments[certificate], key: arguments[key]),
      store: arguments[store],
      configuration: configuration,
      isRestored: arguments[isRestored],
      log: Log(
        "lockstep relay", level: arguments[logLevel], format: arguments[logFormat]))
    try service.run()
    return .success
  }

  enum Compression: String, CaseIterable {
    case on, off
  }

  /// Default store folder: the folder that a service manager assigns (systemd.exec(5),
  /// StateDirectory); for root, the system's state folder; for other users, the state folder of the
  /// XDG base directory specification.
  static var usualStore: String {
    if let folder = getenv("STATE_DIRECTORY").map({ String(cString: $0) }), folder.hasPrefix("/") {
      return String(folder.prefix { $0 != ":" })
    }
    if getuid() == 0 { return "/var/lib/lockstep" }
    if let folder = getenv("XDG_STATE_HOME") { return String(cString: folder) + "/lockstep" }
    let home = getenv("HOME").map { String(cString: $0) } ?? "."
    return home + "/.local/state/lockstep"
  }

  /// Number of online processors, 1 to 64.
  static var processors: Int { max(1, min(64, sysconf(Int32(_SC_NPROCESSORS_ONLN)))) }
}
