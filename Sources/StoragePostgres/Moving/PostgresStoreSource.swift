import LockstepModel
import LockstepStorage

/// Reads a whole store, to move it: one view of the database from beginning to end, table by table
/// through a cursor, so that neither side has more than one portion in memory.
package final class PostgresStoreSource: StoreSource {
  package let totals: StoreTotals
  package let isOlderCopy: Bool
  private let session: MovingSession
  private let account: AccountID?
  private var tables: ArraySlice<StoreTable>
  /// True if the first table's cursor is open.
  private var isReading = false
  /// Counters that change with each commit of a relay.
  private let commitCounters: [Int64]

  /// Throws `inUse` if a relay is connected. Throws `failed` if there is no store, or if another
  /// version of the program created its tables. `selection`: reads only these rows, and
  /// relays may be connected.
  package init(
    _ address: PostgresAddress, selection: AccountSelection? = nil
  ) throws(StorageError) {
    account = selection?.account
    tables = (selection?.tables ?? StoreTable.allCases)[...]
    session = try MovingSession(address)
    if selection == nil { try session.requireNoRelays() }
    let connection = session.connection
    let found = try session.run("open") { () throws(PostgresFault) in
      let found = try Schema.zones.find(connection)
      if let found { try Schema.zones.check(found) }
      return found
    }
    guard let found else {
      throw .failed(
        path: address.shown, operation: "be moved", detail: "no relay has created its tables there")
    }
    guard found.version == Schema.zones.version else {
      throw .failed(
        path: address.shown, operation: "be moved",
        detail: "its tables have version \(found.version) and not \(Schema.zones.version); "
          + "start a relay of this version on it once to upgrade them")
    }
    let (session, account) = (session, account)
    isOlderCopy = try session.run("open") { () throws(PostgresFault) in
      try StoreOpening.isOlderCopy(connection)
    }
    (totals, commitCounters) = try session.run("read") { () throws(PostgresFault) in
      var pipeline = PostgresPipeline()
      pipeline.add(.beginReading)
      pipeline.add(PostgresSession.long)
      pipeline.add(MovingSession.patient)
      _ = try connection.run(pipeline)
      return (
        try session.totals(of: account),
        account == nil ? try PostgresStoreSource.commitCounters(on: connection) : []
      )
    }
  }

  package func close() { session.connection.close() }

  /// Returns the chunk store of this store.
  package func makeFiles() throws(StorageError) -> PostgresChunkStore { try session.makeFiles() }

  package func confirm() throws(StorageError) {
    let now = try session.run("read") { () throws(PostgresFault) in
      // The read view does not change; ending it shows the present state.
      _ = try session.connection.run(.rollBack)
      return try PostgresStoreSource.commitCounters(on: session.connection)
    }
    try session.requireNoRelays()
    guard now == commitCounters else {
      throw .inUse(path: session.address.shown, by: "a relay, which has written to it meanwhile")
    }
  }

  package func retire() throws(StorageError) {
    try session.run("be marked as moved") { () throws(PostgresFault) in
      if session.connection.isInTransaction { _ = try session.connection.run(.rollBack) }
      var pipeline = PostgresPipeline()
      pipeline.add(.begin)
      pipeline.add(StoreOpening.markAsReplaced)
      let commit = pipeline.add(.commit)
      _ = try session.connection.run(pipeline, commit: commit)
    }
  }

  package func next() throws(StorageError) -> StoreRows? {
    try session.run("read") { () throws(PostgresFault) in
      while let table = tables.first {
        if !isReading {
          let query = query(of: table)
          _ = try session.connection.run(
            PostgresStatement("", "DECLARE moved NO SCROLL CURSOR FOR \(query)"))
          isReading = true
        }
        let portion = try portion(of: table)
        if portion.count > 0 { return portion }
        _ = try session.connection.run(PostgresStatement("", "CLOSE moved"))
        isReading = false
        tables.removeFirst()
      }
      return nil
    }
  }

  private static func commitCounters(
    on connection: PostgresConnection
  ) throws(PostgresFault) -> [Int64] {
    let statement = PostgresStatement(
      "",
      """
      SELECT count(*), coalesce(sum(newest), 0)::bigint, coalesce(sum(affairs), 0)::bigint,
        coalesce(sum(chunk_bytes), 0)::bigint
      FROM accounts
      """)
    return try connection.run(statement, within: Limits.removalMilliseconds)
      .first { row in (0..<4).map { row.integer($0) } } ?? []
  }

  // MARK: Rows

  private func portion(of table: StoreTable) throws(PostgresFault) -> StoreRows {
    switch table {
    case .accounts: .accounts(try fetch(StoreRow.account))
    case .lineage: .lineage(try fetch(StoreRow.generation))
    case .gaps: .gaps(try fetch(StoreRow.gap))
    case .devices: .devices(try fetch(StoreRow.device))
    case .pairings: .pairings(try fetch(StoreRow.pairing))
    case .subscriptions: .subscriptions(try fetch(StoreRow.subscription))
    case .wakes: .wakes(try fetch(StoreRow.wakes))
    case .wakeKeys: .wakeKeys(try fetch(StoreRow.wakeKey))
    case .zones: .zones(try fetch(StoreRow.count))
    case .records: .records(try fetchRecords())
    case .batches: .batches(try fetch(StoreRow.batch))
    case .chunks: .chunks(try fetch(StoreRow.chunk))
    case .departed: .departed(try fetch(StoreRow.departure))
    case .departedDevices: .departedDevices(try fetch(StoreRow.departedDevice))
    case .departedPairings: .departedPairings(try fetch(StoreRow.departedPairing))
    }
  }

  private func fetch<Row>(
    atMost limit: Int = Limits.movedRows, _ read: (PostgresRow) throws(PostgresFault) -> Row
  ) throws(PostgresFault) -> [Row] {
    let statement = PostgresStatement("", "FETCH \(limit) FROM moved")
    return try session.connection.run(statement, within: Limits.removalMilliseconds).all(read)
  }

  /// Fetches several small results per portion: each result is in memory as a whole, and a record
  /// may be large.
  private func fetchRecords() throws(PostgresFault) -> [ExportedRecord] {
    var portion: [ExportedRecord] = []
    var size = 0
    while portion.count < Limits.movedRows, size < Limits.movedBytes {
      let records = try fetch(atMost: Limits.movedRecords, StoreRow.record)
      if records.isEmpty { break }
      size += records.reduce(0) { $0 + ($1.record.fields?.count ?? 0) }
      portion += records
    }
    return portion
  }

  /// Returns the query of a table. Rows come in the order of insertion if it is stored; records
  /// come in the order of their accounts, so that an account's records are contiguous in the new
  /// store.
  private func query(of table: StoreTable) -> String {
    let columns = StoreRow.columns(of: table)
    let order =
      switch table {
      case .accounts: "account"
      case .lineage: "account, generation"
      case .gaps: "account, through_tag"
      case .devices, .pairings, .batches: "number"
      case .subscriptions: "account, device, id"
      case .wakes: "account, device"
      case .wakeKeys: "made_at"
      case .zones: "account, zone"
      case .records: "account, tag"
      case .chunks: "account, hash"
      case .departed: "account"
      case .departedDevices: "account, token_hash"
      case .departedPairings: "account, code_hash"
      }
    let condition = account.map { " WHERE account = \(Int64(bitPattern: $0.rawValue))" } ?? ""
    return "SELECT \(columns) FROM \(table.rawValue)\(condition) ORDER BY \(order)"
  }
}

/// A session that moves a store from or to this database. It is not reconnected: its open
/// transaction would be lost with the connection, so nothing is repeated in another session.
final class MovingSession {
  let connection: PostgresConnection
  let address: PostgresAddress
  /// Application names of relays' sessions.
  let relays: [String]

  /// Application name that distinguishes its sessions from those of relays.
  private static let name = "lockstep migrate"

  init(_ address: PostgresAddress) throws(StorageError) {
    relays = ["lockstep", address["application_name"] ?? "lockstep"]
    self.address = address.setting("application_name", to: MovingSession.name)
    connection = PostgresConnection(self.address)
    let isPooled = try connection.perform("open") { () throws(PostgresFault) in
      connection.isPooled
    }
    // Its lock, and long transactions, need a session of their own.
    guard !isPooled else {
      throw .failed(
        path: address.shown, operation: "be moved",
        detail: "it is the address of a pooler; name the database's direct address")
    }
  }

  /// `operation`: the text for the error, as in "failed to read".
  func run<Value>(
    _ operation: String, _ body: () throws(PostgresFault) -> Value
  ) throws(StorageError) -> Value {
    do throws(PostgresFault) {
      return try body()
    } catch {
      throw StorageError(error, path: address.shown, operation: operation)
    }
  }

  /// Throws `inUse` if relays, or `lockstep account`, are connected to the database and stay so.
  /// Waits a moment, because the server needs time to end the session of a relay that has just
  /// stopped.
  func requireNoRelays() throws(StorageError) {
    var found = try relaySessions()
    for _ in 0..<Limits.disconnectChecks where !found.isEmpty {
      _ = try run("wait for relays to leave") { () throws(PostgresFault) in
        try connection.run(MovingSession.pause)
      }
      found = try relaySessions()
    }
    guard let first = found.first else { return }
    let others = found.count > 1 ? ", and \(found.count - 1) more" : ""
    throw .inUse(path: address.shown, by: "a relay (\(first)\(others))")
  }

  private func relaySessions() throws(StorageError) -> [String] {
    try run("list its sessions") { () throws(PostgresFault) in
      try connection.run(MovingSession.others, PostgresParameters().bind(relays)).all { row in
        "process \(row.integer(0)) of the server" + (row.isNull(1) ? "" : ", from \(row.text(1))")
      }
    }
  }

  /// Returns the chunk store of the store that is moved.
  func makeFiles() throws(StorageError) -> PostgresChunkStore {
    try PostgresChunkStore(address, sessionSetup: nil)
  }

  /// Counts the rows of all tables, or those of one account.
  func totals(of account: AccountID? = nil) throws(PostgresFault) -> StoreTotals {
    var pipeline = PostgresPipeline()
    let condition = account.map { "account = \(Int64(bitPattern: $0.rawValue))" } ?? "true"
    let tables = account == nil ? StoreTable.allCases : StoreTable.ofAccount
    for table in tables {
      pipeline.add(
        PostgresStatement("", "SELECT count(*) FROM \(table.rawValue) WHERE \(condition)"))
    }
    let tombstones = pipeline.add(
      PostgresStatement(
        "", "SELECT count(*) FROM records WHERE deleted_at IS NOT NULL AND \(condition)"))
    let bytes = pipeline.add(
      PostgresStatement(
        "", "SELECT coalesce(sum(bytes), 0)::bigint FROM chunks WHERE \(condition)"))
    let rows = try connection.run(pipeline, within: Limits.removalMilliseconds)
    var totals = StoreTotals()
    for (place, table) in tables.enumerated() {
      totals[table] = rows[place].first { $0.integer(0) } ?? 0
    }
    totals.tombstones = rows[tombstones].first { $0.integer(0) } ?? 0
    totals.chunkBytes = rows[bytes].first { $0.integer(0) } ?? 0
    return totals
  }

  /// For a transaction that waits as long as the other store takes.
  static let patient = PostgresStatement(
    "patient", "SELECT set_config('idle_in_transaction_session_timeout', '0', true)")
  static let pause = PostgresStatement("pause", "SELECT pg_sleep(0.1)")
  private static let others = PostgresStatement(
    "other sessions",
    """
    SELECT pid::bigint, host(client_addr) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
      AND application_name = ANY($1::text[])
    ORDER BY pid
    """)
}
