import LockstepModel

/// State of a device's home.
public struct HomeFindings: Hashable, Sendable {
  /// State of the process that has the home open.
  public enum Holder: Hashable, Sendable {
    case nobody
    /// A process that answers.
    case process
    /// A process that does not answer.
    case silent
  }

  public var folder: String
  public var holder = Holder.nobody
  /// Process id, if known.
  public var process: Int?
  public var relay = ""
  public var deviceName = ""
  public var schema = 0
  /// Changes that wait for the relay, and the relay time since which the oldest one waits.
  public var waiting = 0
  public var waitingSince: Int64?
  /// Number of records that need a person's decision.
  public var undecided = 0
  /// Relay time of the last sync; nil: never.
  public var lastSync: Int64?
  /// Current relay time as estimated from the home, milliseconds.
  public var relayTime: Int64
  /// Sync problem as reported by the holder; nil if there is none.
  public var fault: String?
  /// True if sync has stopped until a person acts.
  public var isFailed = false
  /// Errors that SQLite finds in the database.
  public var damages: [String] = []
  /// Files that others than the owner may read, or that have another owner.
  public var exposed: [String] = []

  public init(folder: String, relayTime: Int64) {
    self.folder = folder
    self.relayTime = relayTime
  }
}

extension DoctorCheck {
  /// Reports a home that cannot be read, with the reason.
  public static func noHome(_ reason: String) -> DoctorCheck {
    DoctorCheck(
      .home, "store", .problem, reason,
      nextStep: "Without its home the device cannot sync; \"What is in a home\" in docs/devices.md "
        + "tells what belongs there.")
  }

  public static func checks(of home: HomeFindings) -> [DoctorCheck] {
    [store(home), holder(home), waiting(home), sync(home), secrets(home)]
  }

  private static func store(_ home: HomeFindings) -> DoctorCheck {
    let figures = [JSONMember("schema", .whole(Int64(home.schema)))]
    guard let first = home.damages.first else {
      return DoctorCheck(
        .home, "store", .ok,
        "\(home.deviceName)'s, at \(home.relay); schema \(home.schema); its database is whole",
        figures: figures)
    }
    return DoctorCheck(
      .home, "store", .problem, "its database is damaged: \(first)",
      nextStep: "Save what can be read (lockstep agent export --home \(home.folder) DIR), then put "
        + "a backup back, or join the account anew in another home.", figures: figures)
  }

  private static func holder(_ home: HomeFindings) -> DoctorCheck {
    let process = home.process.map { "process \($0)" } ?? "a process"
    switch home.holder {
    case .process:
      return DoctorCheck(
        .home, "holder", .ok, "\(process) keeps it in sync",
        figures: [JSONMember("process", .whole(home.process.map(Int64.init)))])
    case .nobody:
      return DoctorCheck(
        .home, "holder", .ok, "no process keeps it in sync; each command syncs while it runs")
    case .silent:
      return DoctorCheck(
        .home, "holder", .problem, "\(process) holds it and does not answer",
        nextStep: "Stop that process (where it is stopped by Ctrl-Z, fg lets it go on), then try "
          + "again.")
    }
  }

  private static func waiting(_ home: HomeFindings) -> DoctorCheck {
    let age = home.waitingSince.map { max(0, home.relayTime - $0) }
    let figures = [
      JSONMember("waiting", .whole(Int64(home.waiting))),
      JSONMember("oldestMilliseconds", .whole(age)),
      JSONMember("undecided", .whole(Int64(home.undecided))),
    ]
    let count = "\(home.waiting) \(home.waiting == 1 ? "change waits" : "changes wait")"
    let since = age.map { ", the oldest for \($0 / 1_000) s" } ?? ""
    if home.waiting > 0,
      home.holder != .process || (age ?? 0) > DoctorThresholds.waitingMilliseconds
    {
      return DoctorCheck(
        .home, "waiting", .warning, "\(count) for the relay\(since)",
        nextStep: home.holder == .process
          ? "See what is said of sync and of the relay; what waits is safe in the home."
          : "Sync with lockstep agent sync --home \(home.folder), or keep the home in sync with "
            + "lockstep agent run.",
        figures: figures)
    }
    if home.undecided > 0 {
      return DoctorCheck(
        .home, "waiting", .warning,
        "\(home.undecided) \(home.undecided == 1 ? "record waits" : "records wait") for you",
        nextStep: "lockstep agent status --home \(home.folder) names them.", figures: figures)
    }
    let seen = home.waiting == 0 ? "nothing waits to be sent" : count + since
    return DoctorCheck(.home, "waiting", .ok, seen, figures: figures)
  }

  private static func sync(_ home: HomeFindings) -> DoctorCheck {
    let age = home.lastSync.map { max(0, home.relayTime - $0) }
    let figures = [JSONMember("lastSyncMilliseconds", .whole(age))]
    let last = age.map { "last in sync \($0 / 1_000) s ago" } ?? "it was never in sync"
    if let fault = home.fault {
      return DoctorCheck(
        .home, "sync", home.isFailed ? .problem : .warning, "\(last); \(fault)",
        nextStep: home.isFailed
          ? "It does not go on by itself: do what that says, then lockstep agent sync --home "
            + "\(home.folder)."
          : "It tries again by itself; lockstep agent sync --home \(home.folder) tries at once.",
        figures: figures)
    }
    guard age != nil else {
      return DoctorCheck(
        .home, "sync", .warning, last,
        nextStep: "Sync with lockstep agent sync --home \(home.folder).", figures: figures)
    }
    return DoctorCheck(.home, "sync", .ok, last, figures: figures)
  }

  private static func secrets(_ home: HomeFindings) -> DoctorCheck {
    guard !home.exposed.isEmpty else {
      return DoctorCheck(.home, "secrets", .ok, "token and key are readable by their owner alone")
    }
    return DoctorCheck(
      .home, "secrets", .warning,
      "others than you own or may read \(home.exposed.joined(separator: ", "))",
      nextStep: "Take it from them: chown and chmod go-rwx; then have the device revoked where "
        + "somebody may have read its token.",
      figures: [JSONMember("exposed", .array(home.exposed.map { .string($0) }))])
  }
}
