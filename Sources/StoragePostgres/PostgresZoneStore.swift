import LockstepModel
import LockstepStorage

/// One relay's writer to the store in a PostgreSQL database, which several relays may share.
/// `makeReader` creates connections for other threads, which never wait for the writer.
///
/// All requests of a commit are one transaction (`CommitRun`), in two round trips for a batch of
/// saves. A commit that throws changes nothing, and the store continues as soon as the server
/// allows it. There is one exception: if the connection is lost after COMMIT was sent, its outcome
/// is unknown; a retry with the batch's id is then recognised.
package final class PostgresZoneStore: ZoneStore {
  private let connection: PostgresConnection
  private let queries: ZoneQueries
  private let rules: StoreRules
  private let sessionSetup: PostgresConnection.SessionSetup
  /// Number that identifies this relay's notices; drawn when the store was opened.
  package let relay: UInt64
  /// True if a bus announces the commits.
  private var hasBus = false
  /// Announcements since the last call of `takeAnnouncements`.
  private var announcements = CommitAnnouncements()
  /// Number of sessions of which the other relays know.
  private var knownOpenings = 0
  /// True if the database knew this relay as a listener at its last commit.
  private var isRegistered = false
  /// True if an older copy of the database was found when the store was opened, or its owner
  /// declared so: every account is in a new generation, and its devices save again what they hold
  /// of the lost data.
  package let wasRestored: Bool

  /// Opens the store, and creates or upgrades its tables if needed.
  ///
  /// `declareRestored`: the database was put back from an older copy in a way that cannot be
  /// detected from its content.
  ///
  /// `beginsRun`: each session begins another run (`TagGap`), as a relay's does.
  ///
  /// `restored` is called, on any thread, if an older copy is found later: a server may fail over
  /// while relays run.
  ///
  /// Throws `unavailable` while the server is down, a standby, or has no free connection; `tooNew`,
  /// `readOnly`, `diskFull` or `failed` as their names say.
  package init(
    _ address: PostgresAddress, rules: StoreRules = StoreRules(), declareRestored: Bool = false,
    beginsRun: Bool = true, restored: (@Sendable () -> Void)? = nil
  ) throws(StorageError) {
    self.rules = rules
    sessionSetup = StoreOpening.sessionSetup(restored)
    let writing = StoreOpening.sessionSetup(restored, beginsRun: beginsRun)
    let connection = PostgresConnection(address)
    let opened = try connection.perform("open") { () throws(PostgresFault) in
      try Schema.zones.migrate(connection)
      let wasRestored = try StoreOpening.detectRestore(connection, isDeclared: declareRestored)
      if beginsRun { try StoreOpening.beginRun(connection) }
      return (wasRestored: wasRestored, relay: try StoreOpening.drawNumber(connection).random)
    }
    wasRestored = opened.wasRestored
    relay = opened.relay
    self.connection = connection
    connection.sessionSetup = writing
    queries = ZoneQueries(connection, relay: opened.relay)
  }

  /// Checks that the database is reachable, without changes. Throws the reason if it is not.
  package static func checkReachable(_ address: PostgresAddress) throws(StorageError) {
    let connection = PostgresConnection(address)
    try connection.perform("open") { () throws(PostgresFault) in }
    connection.close()
  }

  /// Closes the connection. Later requests fail.
  package func close() { connection.close() }

  /// Returns a view for another thread, on a connection of its own.
  package func makeReader() throws(StorageError) -> sending PostgresZoneReader {
    try PostgresZoneReader(connection.address, relay: relay, sessionSetup: sessionSetup)
  }

  /// Returns a receiver of other relays' notices for another thread, on a connection of its own.
  /// From now on this store does not announce its commits itself (`takeAnnouncements`).
  /// `address`: another address of the same database, without a pooler. Throws `failed` if it is
  /// that of another database.
  package func makeBus(
    at address: PostgresAddress? = nil
  ) throws(StorageError) -> sending PostgresBus {
    if let address { try PostgresBus.checkSameDatabase(address, as: connection.address) }
    let bus = try PostgresBus(address ?? connection.address, relay: relay)
    let probe = try bus.beginProbe()
    _ = try connection.perform("notify") { () throws(PostgresFault) in
      try connection.run(probe.statement, probe.parameters).count
    }
    try bus.endProbe()
    announceByBus()
    return bus
  }

  /// Returns a name that only relays on this database and schema have, of letters and digits.
  package func busName() throws(StorageError) -> String {
    try connection.perform("open") { () throws(PostgresFault) in
      try PostgresSession.busName(connection)
    }
  }

  /// Lets a bus announce the commits from now on (`takeAnnouncements`), instead of this store.
  package func announceByBus() {
    hasBus = true
    knownOpenings = connection.openings
  }

  /// Lets all relays check their accounts within a minute, for a command that could not announce
  /// what it did.
  package func recordCommand() throws(StorageError) {
    _ = try connection.perform("notify") { () throws(PostgresFault) in
      try connection.run(ListenerQueries.recordCommand).count
    }
  }

  /// Returns what the bus is to announce of the commits since the last call.
  package func takeAnnouncements() -> CommitAnnouncements {
    defer { announcements = CommitAnnouncements() }
    return announcements
  }

  package func commit(
    _ requests: [CommitRequest], wall: Int64
  ) throws(StorageError) -> [CommitResult] {
    if requests.isEmpty { return [] }
    return try connection.perform("save") { () throws(PostgresFault) in
      let run = CommitRun(
        requests, on: connection, rules: rules, wall: wall, relay: relay, hasBus: hasBus)
      do throws(PostgresFault) {
        let results = try run.perform(requests)
        record(run)
        return results
      } catch {
        // It may have been committed, and its changes are not known.
        if error.isUnknown { announcements.mayLackListeners = hasBus }
        throw error
      }
    }
  }

  private func record(_ run: CommitRun) {
    guard hasBus else { return }
    if connection.openings != knownOpenings {
      // A crash or a failover of the server may have forgotten the listeners.
      knownOpenings = connection.openings
      announcements.mayLackListeners = true
    }
    if let isRegistered = run.isRegistered {
      // Behind a pooler, a session outlives the server's.
      if self.isRegistered, !isRegistered { announcements.mayLackListeners = true }
      self.isRegistered = isRegistered
    }
    announcements.notices += run.notices
    announcements.sleeping += run.sleeping
  }

  package func read(_ request: ReadRequest) throws(StorageError) -> ReadResult {
    try queries.read(request)
  }

  /// Number of round trips so far, including those of opening.
  package var roundTrips: Int { connection.roundTrips }
}

/// A read-only view of a relay's store for another thread than the writer's. Each `read` returns
/// all that any relay committed before it, and never waits for a commit.
package final class PostgresZoneReader: ZoneReader {
  let connection: PostgresConnection
  private let queries: ZoneQueries

  /// `relay`: the relay that reads.
  init(
    _ address: PostgresAddress, relay: UInt64,
    sessionSetup: @escaping PostgresConnection.SessionSetup
  ) throws(StorageError) {
    let connection = PostgresConnection(address)
    connection.sessionSetup = sessionSetup
    try connection.perform("open") { () throws(PostgresFault) in }
    self.connection = connection
    queries = ZoneQueries(connection, relay: relay)
  }

  package func close() { connection.close() }

  package func read(_ request: ReadRequest) throws(StorageError) -> ReadResult {
    try queries.read(request)
  }
}
