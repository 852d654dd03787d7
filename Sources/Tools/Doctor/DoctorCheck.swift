public import LockstepModel

/// One check of `lockstep doctor`.
public struct DoctorCheck: Hashable, Sendable {
  public enum Verdict: String, Hashable, Sendable, CaseIterable {
    case ok
    /// The check could not be made.
    case skipped
    /// Sync works, but not as well as it could, or will stop soon.
    case warning
    /// Sync does not work.
    case problem
  }

  /// Subject of a check; checks of one area are shown together.
  public enum Area: String, Hashable, Sendable {
    case relay, ladder, home, machine, database
  }

  public var area: Area
  /// Stable identifier, unique in its area.
  public var name: String
  public var verdict: Verdict
  /// Observation, with figures and their units.
  public var seen: String
  /// Advice in one or two sentences; nil only if the verdict is ok.
  public var nextStep: String?
  /// The same figures for programs; each name ends with its unit.
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

  /// Reports a check that could not be made.
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

/// Thresholds of all checks.
public enum DoctorThresholds {
  /// Maximum difference between this machine's clock and the relay's, in milliseconds. Devices use
  /// relay time, so a wrong clock harms no edit, but it misleads people.
  public static let clockWarningMilliseconds: Int64 = 30_000
  /// A day: with such a clock certificates seem not yet valid or expired.
  public static let clockProblemMilliseconds: Int64 = 86_400_000
  /// Days before a certificate's end: the lead time that automatic renewal needs.
  public static let certificateDays: Int64 = 14
  /// Slower connections are slow for a person.
  public static let connectMilliseconds: Int64 = 1_000
  /// Later answers do not count as immediate.
  public static let promptMilliseconds: Int64 = 2_000
  /// Minimum free space of a home or a store; below it, it will stop soon. A write-ahead log grows
  /// to some tens of megabytes.
  public static let diskWarningBytes: Int64 = 256 << 20
  public static let diskProblemBytes: Int64 = 16 << 20
  /// If a change waits longer while a process syncs the home, it is stuck.
  public static let waitingMilliseconds: Int64 = 60_000
  /// Database sessions that a relay uses.
  public static let databaseConnections = 4
  /// Minimum number of open files; with fewer any program has problems.
  public static let openFiles = 256
  /// Time for which `--long` leaves a socket idle: longer than the usual timeout of proxies.
  public static let idleMilliseconds: Int64 = 75_000
}
