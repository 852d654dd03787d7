import LockstepModel
import LockstepStorage

/// The relay's store in a PostgreSQL database, which several relays may share: the writer of one of
/// them. `makeReader` gives connections for other threads, which never wait for it.
///
/// All requests of a commit are one transaction (`CommitRun`), in two round trips for a batch of
/// saves. After a commit that throws nothing was done and the store goes on as soon as the server
/// allows it. One exception is in the nature of networks: where the connection is lost after COMMIT
/// was sent, nobody knows what became of it; a retry under the batch's id is then recognised.
package final class PostgresZoneStore: ZoneStore {
  private let connection: PostgresConnection
  private let queries: ZoneQueries
  private let rules: StoreRules
  private let greeting: PostgresConnection.Greeting
  /// By which this relay's notices are told from others'; drawn when the store was opened.
  package let relay: UInt64
  /// An older copy of the database was found when the store was opened, or its owner said so: every
  /// account is in a new generation, and its devices bring back what they hold of what was lost.
  package let wasRestored: Bool

  /// Opens the store, and makes or upgrades its tables where that is needed.
  ///
  /// `declareRestored`: the database was put back from an older copy in a way that nothing in it
  /// can show.
  ///
  /// `beginsRun`: each session begins another run (`TagGap`), as a relay's does.
  ///
  /// `restored` is told, on whichever thread, where an older copy is found later: a server fails
  /// over while relays run.
  ///
  /// Throws `unavailable` while the server is away, a standby, or has no connection left; `tooNew`,
  /// `readOnly`, `diskFull` or `failed` as their names say.
  package init(
    _ address: PostgresAddress, rules: StoreRules = StoreRules(), declareRestored: Bool = false,
    beginsRun: Bool = true, restored: (@Sendable () -> Void)? = nil
  ) throws(StorageError) {
    self.rules = rules
    greeting = StoreOpening.greeting(restored)
    let writing = StoreOpening.greeting(restored, beginsRun: beginsRun)
    let connection = PostgresConnection(address)
    let opened = try connection.perform("open") { () throws(PostgresFault) in
      try Schema.zones.migrate(connection)
      let wasRestored = try StoreOpening.meet(connection, isDeclared: declareRestored)
      if beginsRun { try StoreOpening.beginRun(connection) }
      return (wasRestored: wasRestored, relay: try StoreOpening.draw(connection).random)
    }
    wasRestored = opened.wasRestored
    relay = opened.relay
    self.connection = connection
    connection.greeting = writing
    queries = ZoneQueries(connection, relay: opened.relay)
  }

  /// Whether the database can be had, with nothing done to it. Throws why not.
  package static func reach(_ address: PostgresAddress) throws(StorageError) {
    let connection = PostgresConnection(address)
    try connection.perform("open") { () throws(PostgresFault) in }
    connection.close()
  }

  /// What is asked afterwards fails.
  package func close() { connection.close() }

  /// A view for another thread, on a connection of its own.
  package func makeReader() throws(StorageError) -> sending PostgresZoneReader {
    try PostgresZoneReader(connection.address, relay: relay, greeting: greeting)
  }

  /// Hears of other relays' commits, on a connection of its own, for another thread.
  package func makeBus() throws(StorageError) -> sending PostgresBus {
    try PostgresBus(connection.address, relay: relay)
  }

  package func commit(
    _ requests: [CommitRequest], wall: Int64
  ) throws(StorageError) -> [CommitResult] {
    if requests.isEmpty { return [] }
    return try connection.perform("save") { () throws(PostgresFault) in
      try CommitRun(requests, on: connection, rules: rules, wall: wall, relay: relay)
        .perform(requests)
    }
  }

  package func read(_ request: ReadRequest) throws(StorageError) -> ReadResult {
    try queries.read(request)
  }

  /// Round trips so far, those of opening too.
  package var roundTrips: Int { connection.roundTrips }
}
