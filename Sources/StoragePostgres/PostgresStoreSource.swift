import LockstepModel
import LockstepStorage

/// Reads a whole store, to move it: one view of the database from beginning to end, table by table
/// through a cursor, so that neither side has more than one portion in memory.
package final class PostgresStoreSource: StoreSource {
  package let totals: StoreTotals
  package let isOlderCopy: Bool
  private let session: MovingSession
  private var tables = StoreTable.allCases[...]
  /// True if the first table's cursor is open.
  private var isReading = false
  /// Counters that change with each commit of a relay.
  private let movement: [Int64]

  /// Throws `inUse` if a relay is connected. Throws `failed` if there is no store, or if another
  /// version of the program created its tables.
  package init(_ address: PostgresAddress) throws(StorageError) {
    session = try MovingSession(address)
    try session.refuseRelays()
    let connection = session.connection
    let found = try session.work("open") { () throws(PostgresFault) in
      let found = try Schema.zones.find(connection)
      if let found { try Schema.zones.check(found) }
      return found
    }
    guard let found else {
      throw .failed(
        path: address.shown, operation: "be moved", detail: "no relay has made its tables there")
    }
    guard found.version == Schema.zones.version else {
      throw .failed(
        path: address.shown, operation: "be moved",
        detail: "its tables have version \(found.version) and not \(Schema.zones.version); "
          + "a relay of this version that is started on it once leads them on")
    }
    let session = session
    isOlderCopy = try session.work("open") { () throws(PostgresFault) in
      try StoreOpening.isOlderCopy(connection)
    }
    (totals, movement) = try session.work("read") { () throws(PostgresFault) in
      var pipeline = PostgresPipeline()
      pipeline.add(.beginReading)
      pipeline.add(PostgresSession.long)
      pipeline.add(MovingSession.patient)
      _ = try connection.run(pipeline)
      return (try session.totals(), try PostgresStoreSource.movement(on: connection))
    }
  }

  package func close() { session.connection.close() }

  /// Returns the chunk store of this store.
  package func makeFiles() throws(StorageError) -> PostgresChunkStore { try session.makeFiles() }

  package func confirm() throws(StorageError) {
    let now = try session.work("read") { () throws(PostgresFault) in
      // The read view does not change; ending it shows the present state.
      _ = try session.connection.run(.rollBack)
      return try PostgresStoreSource.movement(on: session.connection)
    }
    try session.refuseRelays()
    guard now == movement else {
      throw .inUse(path: session.address.shown, by: "a relay, which has written to it meanwhile")
    }
  }

  package func retire() throws(StorageError) {
    try session.work("be marked as moved") { () throws(PostgresFault) in
      if session.connection.isInTransaction { _ = try session.connection.run(.rollBack) }
      var pipeline = PostgresPipeline()
      pipeline.add(.begin)
      pipeline.add(StoreOpening.disown)
      let commit = pipeline.add(.commit)
      _ = try session.connection.run(pipeline, commit: commit)
    }
  }

  package func next() throws(StorageError) -> StoreRows? {
    try session.work("read") { () throws(PostgresFault) in
      while let table = tables.first {
        if !isReading {
          let question = PostgresStoreSource.question(table)
          _ = try session.connection.run(
            PostgresStatement("", "DECLARE moved NO SCROLL CURSOR FOR \(question)"))
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

  private static func movement(
    on connection: PostgresConnection
  ) throws(PostgresFault) -> [Int64] {
    let question = PostgresStatement(
      "",
      """
      SELECT count(*), coalesce(sum(newest), 0)::bigint, coalesce(sum(affairs), 0)::bigint,
        coalesce(sum(chunk_bytes), 0)::bigint
      FROM accounts
      """)
    return try connection.run(question, within: Limits.removalMilliseconds)
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
    case .zones: .zones(try fetch(StoreRow.count))
    case .records: .records(try fetchRecords())
    case .batches: .batches(try fetch(StoreRow.batch))
    case .chunks: .chunks(try fetch(StoreRow.chunk))
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
  private static func question(_ table: StoreTable) -> String {
    let columns = StoreRow.columns(of: table)
    let order =
      switch table {
      case .accounts: "account"
      case .lineage: "account, generation"
      case .gaps: "account, through_tag"
      case .devices, .pairings, .batches: "number"
      case .subscriptions: "account, device, id"
      case .zones: "account, zone"
      case .records: "account, tag"
      case .chunks: "account, hash"
      }
    return "SELECT \(columns) FROM \(table.rawValue) ORDER BY \(order)"
  }
}
