public import LockstepClient
import LockstepModel

/// Parameters of a simulation of people on real connections.
public struct PeoplePlan: Sendable, Hashable {
  public var accounts = 5
  /// Apps that people use.
  public var apps = [KnownApp.timer]
  /// Number of devices per account, 2 to 16.
  public var devices = 3
  /// Length of the active phase in seconds. After it all devices go online and synchronise.
  public var seconds = 10
  /// Seed for people's actions and their times; the network's behaviour does not depend on it.
  public var seed: UInt64 = 1
  /// Transport of changes; nil: the best one that works.
  public var transport: Transport?

  public init() {}

  /// Maximum number of checks, with all devices online, until the state is final: one every tenth
  /// of a second, for half a minute.
  static let settleLooks = 300
  /// Number of accounts per check; each takes some milliseconds.
  static let judgedALook = 20
  /// Maximum time between two presses on a device.
  static let pauseMilliseconds: Int64 = 1_500
  /// Maximum time for which a device stays offline.
  static let offlineMilliseconds: Int64 = 4_000

  /// Returns all faults; empty if the plan is valid.
  public func validate() -> [String] {
    var faults: [String] = []
    if accounts < 1 || accounts > 1_000 { faults.append("--accounts takes 1 to 1000") }
    if devices < 2 || devices > 16 { faults.append("--devices takes 2 to 16") }
    if seconds < 1 || seconds > 3_600 { faults.append("--seconds takes 1 to 3600") }
    if apps.isEmpty { faults.append("name an app") }
    return faults
  }
}

/// Result of a simulation of people.
public struct PeopleResult: Sendable, Hashable {
  public var edits = 0
  /// Orders refused in the current state, such as pause while nothing ran.
  public var refused = 0
  public var conflicts = 0
  public var timesOffline = 0
  public var accounts = 0
  /// Number of accounts in which all devices show the same.
  public var equal = 0
  /// Number of accounts that show the state that the rules require after the edits.
  public var asDemanded = 0
  /// Faults, one sentence each.
  public var faults: [String] = []
  /// Number of checks of an account against its rules.
  var judgements = 0

  public var isGood: Bool { faults.isEmpty && equal == accounts && asDemanded == accounts }
}
