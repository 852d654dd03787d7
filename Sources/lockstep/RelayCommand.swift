import Glibc
import Link

/// `lockstep relay`: stores records and tells devices.
enum RelayCommand {
  static let listen = CommandOption.defaulted(
    "listen", .listener, default: "127.0.0.1:5625",
    "Where devices connect; port 0 picks a free one.")
  static let adminListen = CommandOption.optional(
    "admin-listen", ValueKind.listener,
    "Where metrics and health are served; nowhere if not given.")
  static let store = CommandOption.defaulted(
    "store", .folder, default: usualStore,
    "The folder of everything that the relay writes.")
  static let isOpen = CommandOption.flag("open", "Let anybody make an account.")
  static let loops = CommandOption.defaulted(
    "loops", .integer(1...64), default: String(processors),
    "Threads that serve connections; one a core if not given.")
  static let logLevel = CommandOption.defaulted(
    "log-level", ValueKind<Log.Level>.choice, default: "info", "How much to say on standard error.")

  static let command = Command(
    name: "relay",
    summary: "Runs a relay: stores each account's records and pushes changes to its devices.",
    discussion: """
      The relay runs until SIGTERM or SIGINT; then it refuses new work, tells its devices to come \
      back later, answers what is begun, and ends. A second signal ends it at once.

      Without --open, accounts are made by the relay's owner: lockstep account create NAME.
      """,
    options: [
      listen.entry, adminListen.entry, store.entry, isOpen.entry, loops.entry, logLevel.entry,
    ]
  ) { arguments throws(CommandFailure) in
    let service = RelayService(
      listen: arguments[listen], adminListen: arguments[adminListen], store: arguments[store],
      isOpen: arguments[isOpen], loops: arguments[loops],
      log: Log("lockstep relay", level: arguments[logLevel]))
    try service.run()
    return .success
  }

  /// For root, where services keep their state; for others, where the XDG base directory
  /// specification puts it.
  static var usualStore: String {
    if getuid() == 0 { return "/var/lib/lockstep" }
    if let folder = getenv("XDG_STATE_HOME") { return String(cString: folder) + "/lockstep" }
    let home = getenv("HOME").map { String(cString: $0) } ?? "."
    return home + "/.local/state/lockstep"
  }

  /// Those that this process may use.
  private static var processors: Int { max(1, min(64, sysconf(Int32(_SC_NPROCESSORS_ONLN)))) }
}
