/// The ceilings of a store on PostgreSQL.
extension Limits {
  /// How long one host of it may take to let us in.
  public static let databaseConnectMilliseconds: Int64 = 5_000
  /// The longest statement. What goes through a whole account (its removal) or through all of them
  /// (a new schema, a restore) has `removalMilliseconds`.
  public static let databaseStatementMilliseconds: Int64 = 20_000
  /// How long a statement waits for what another relay holds: several of its commits.
  public static let databaseLockMilliseconds: Int64 = 3_000
  /// The answer to all that was asked at once, with the network's time.
  public static let databaseAnswerMilliseconds: Int64 = 30_000
  /// How long bytes may lie unacknowledged, or a silent server be asked in vain whether it is
  /// there, before its connection is given up.
  public static let databaseVanishedMilliseconds: Int64 = 15_000
  /// How often a commit or a read is tried where another relay, or a restart of the server, was in
  /// the way, and the pause before it is tried again.
  public static let databaseAttempts = 4
  public static let databasePauseMilliseconds: Int64 = 100
  /// What one commit writes in one go, in bytes: it is in memory three times meanwhile.
  public static let databaseWriteBytes = 16 << 20
  /// One notice to the other relays, in bytes: PostgreSQL takes less than 8,000.
  public static let noticeBytes = 7_900
  /// How long a device counts as connected to another relay that has said so and then nothing more.
  public static let connectedMilliseconds = 2 * sightingMilliseconds + 10_000
  /// How soon a store that failed, of whatever kind, is tried again, and when devices are asked to.
  public static let storeTrialMilliseconds: Int64 = 2_000
  /// How often a relay that shares its store looks whether others moved its devices' accounts, in
  /// case that what they told was lost; and of how many accounts it asks at once.
  public static let movementMilliseconds: Int64 = 3_000
  public static let movementAccounts = 1_000
  /// How long one wait for notices takes at most.
  public static let busWaitMilliseconds: Int64 = 5_000
  /// Notices that one wait gives at most; the rest wait in the connection.
  public static let noticesAtOnce = 10_000
  /// Accounts that are read and written at once where all of them begin a new generation.
  public static let restoredAccounts = 1_000
  /// How often, a tenth of a second apart, a move looks whether relays that were connected to its
  /// database have left.
  public static let leavingLooks = 10
  /// How old a whole file must be before one that no account has is told of for removal, in
  /// milliseconds: another relay may have received it, and be about to write down whose it is.
  public static let strayFileMilliseconds: Int64 = 3_600_000
}
