public import LockstepModel

/// One thing that `lockstep doctor` looked at.
public struct DoctorCheck: Hashable, Sendable {
  public enum Verdict: String, Hashable, Sendable, CaseIterable {
    case ok
    /// It could not be looked at.
    case skipped
    /// Sync works, but not as well as it could, or not for long.
    case warning
    /// Sync does not work.
    case problem
  }

  /// What it is about; checks of one area stand together.
  public enum Area: String, Hashable, Sendable {
    case relay, ladder, home, machine, database
  }

  public var area: Area
  /// A stable word, of its area alone.
  public var name: String
  public var verdict: Verdict
  /// What was seen, with figures and their units.
  public var seen: String
  /// What a person does about it, in one or two sentences; nil only where it is ok.
  public var nextStep: String?
  /// The same figures for programs; names end in their unit.
  public var figures: [JSONMember]

  init(
    _ area: Area, _ name: String, _ verdict: Verdict, _ seen: String, nextStep: String? = nil,
    figures: [JSONMember] = []
  ) {
    self.area = area
    self.name = name
    self.verdict = verdict
    self.seen = seen
    self.nextStep = nextStep
    self.figures = figures
  }

  /// For what could not be looked at.
  public static func skipped(
    _ area: Area, _ name: String, _ why: String, nextStep: String
  ) -> DoctorCheck {
    DoctorCheck(area, name, .skipped, why, nextStep: nextStep)
  }

  var json: JSONValue {
    .object([
      JSONMember("area", .string(area.rawValue)), JSONMember("name", .string(name)),
      JSONMember("verdict", .string(verdict.rawValue)), JSONMember("seen", .string(seen)),
      JSONMember("nextStep", nextStep.map { .string($0) } ?? .null),
      JSONMember("figures", .object(figures)),
    ])
  }
}

/// From where on something is worth a word, once for all checks.
public enum DoctorThresholds {
  /// This machine's clock against the relay's, in milliseconds. Devices reckon in the relay's time,
  /// so that a wrong clock harms no edit; but whoever looks at it is misled.
  public static let clockWarningMilliseconds: Int64 = 30_000
  /// A day: certificates then seem to begin late or to have ended.
  public static let clockProblemMilliseconds: Int64 = 86_400_000
  /// Days before a certificate's end: as long as those who renew by themselves need.
  public static let certificateDays: Int64 = 14
  /// A connection that takes longer is slow for a person.
  public static let connectMilliseconds: Int64 = 1_000
  /// What comes later than this did not come at once.
  public static let promptMilliseconds: Int64 = 2_000
  /// Free space below which a home, or a store, comes to a stop soon: a write-ahead log grows to
  /// some tens of megabytes.
  public static let diskWarningBytes: Int64 = 256 << 20
  public static let diskProblemBytes: Int64 = 16 << 20
  /// A change that waits longer, while a process keeps the home in sync, is stuck.
  public static let waitingMilliseconds: Int64 = 60_000
  /// Sessions that a relay holds with its database.
  public static let databaseConnections = 4
  /// Open files below which any program is in trouble.
  public static let openFiles = 256
  /// How long `--long` lets a socket be idle: longer than proxies usually do.
  public static let idleMilliseconds: Int64 = 75_000
}
