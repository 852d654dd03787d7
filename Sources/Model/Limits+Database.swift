/// Limits of a store on PostgreSQL.
extension Limits {
  /// Timeout for a connection to one database host.
  public static let databaseConnectMilliseconds: Int64 = 5_000
  /// Timeout of a statement. Statements over a whole account (its removal) or over all accounts (a
  /// new schema, a restore) have `removalMilliseconds`.
  public static let databaseStatementMilliseconds: Int64 = 20_000
  /// Timeout for a lock that another relay holds: several of its commits.
  public static let databaseLockMilliseconds: Int64 = 3_000
  /// Timeout for the answer to one pipeline of statements, network time included.
  public static let databaseAnswerMilliseconds: Int64 = 30_000
  /// Time for which bytes may be unacknowledged, or keep-alive probes to a silent server
  /// unanswered, before its connection is closed.
  public static let databaseVanishedMilliseconds: Int64 = 15_000
  /// Attempts at a commit or a read that fails because of another relay or a restart of the server,
  /// and the pause before the next attempt.
  public static let databaseAttempts = 4
  public static let databasePauseMilliseconds: Int64 = 100
  /// Bytes that one commit writes at once: they are in memory three times during the write.
  public static let databaseWriteBytes = 16 << 20
  /// Bytes of one notice to the other relays: PostgreSQL accepts less than 8,000.
  public static let noticeBytes = 7_900
  /// Time for which a device counts as connected to another relay after the last report of that.
  public static let connectedMilliseconds = 2 * sightingMilliseconds + 10_000
  /// Delay after which a failed store, of whatever kind, is tried again, and the retry delay given
  /// to devices.
  public static let storeTrialMilliseconds: Int64 = 2_000
  /// Interval at which a relay that shares its store checks for changes that other relays made to
  /// its devices' accounts, in case a notice was lost; and the number of accounts in one query.
  public static let movementMilliseconds: Int64 = 3_000
  public static let movementAccounts = 1_000
  /// Longest single wait for notices.
  public static let busWaitMilliseconds: Int64 = 5_000
  /// Notices that one wait returns at most; the rest stay in the connection.
  public static let noticesAtOnce = 10_000
  /// Accounts that are read and written at once when all of them begin a new generation.
  public static let restoredAccounts = 1_000
  /// Number of checks, a tenth of a second apart, in which a move waits for relays to disconnect
  /// from its database.
  public static let leavingLooks = 10
  /// Age in milliseconds from which a complete file that no account owns is listed for removal.
  /// Another relay may have just received a younger file and not yet recorded its owner.
  public static let strayFileMilliseconds: Int64 = 3_600_000
}
