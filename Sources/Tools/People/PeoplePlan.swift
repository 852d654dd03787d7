public import LockstepClient
import LockstepModel

/// A simulation of people on real connections: how many, with how many devices, for how long.
public struct PeoplePlan: Sendable, Hashable {
  public var accounts = 5
  /// What people use.
  public var apps = [KnownApp.timer]
  /// Devices an account, 2 to 16.
  public var devices = 3
  /// How long they press buttons, before everybody comes online and things settle.
  public var seconds = 10
  /// What they do, and when, follows from this; what the network does not.
  public var seed: UInt64 = 1
  /// How changes reach all devices; nil: the best way that works.
  public var transport: Transport?

  public init() {}

  /// Looks that it may take, with everybody online, until all is settled: one every tenth of a
  /// second, for half a minute.
  static let settleLooks = 300
  /// Accounts that are judged with one look, some milliseconds each.
  static let judgedALook = 20
  /// From one press of a device to the next, at most.
  static let pauseMilliseconds: Int64 = 1_500
  /// How long a device stays offline, at most.
  static let offlineMilliseconds: Int64 = 4_000

  /// All faults at once; empty where the plan is good.
  public func validate() -> [String] {
    var faults: [String] = []
    if accounts < 1 || accounts > 1_000 { faults.append("--accounts takes 1 to 1000") }
    if devices < 2 || devices > 16 { faults.append("--devices takes 2 to 16") }
    if seconds < 1 || seconds > 3_600 { faults.append("--seconds takes 1 to 3600") }
    if apps.isEmpty { faults.append("name an app") }
    return faults
  }
}

/// How a simulation of people ended.
public struct PeopleResult: Sendable, Hashable {
  public var edits = 0
  /// Presses that made no sense just then, such as pause while nothing ran.
  public var refused = 0
  public var conflicts = 0
  public var timesOffline = 0
  public var accounts = 0
  /// Accounts all of whose devices show the same.
  public var equal = 0
  /// Accounts that show what the rules demand of the edits that were made.
  public var asDemanded = 0
  /// What is wrong, a sentence each.
  public var faults: [String] = []
  /// How often an account was held against what its rules demand.
  var judgements = 0

  public var isGood: Bool { faults.isEmpty && equal == accounts && asDemanded == accounts }
}
