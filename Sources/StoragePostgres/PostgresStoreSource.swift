import LockstepModel
import LockstepStorage

/// Reads a whole store, to be moved: one view of the database from beginning to end, table by table
/// through a cursor, so that neither side ever has more of it in memory than a portion.
package final class PostgresStoreSource: StoreSource {
  package let totals: StoreTotals
  package let isOlderCopy: Bool
  private let session: MovingSession
  private var tables = StoreTable.allCases[...]
  /// Whether the first table's cursor is open.
  private var isReading = false
  /// Moves with each commit of a relay.
  private let movement: [Int64]

  /// Throws `inUse` where a relay is connected, and `failed` where there is no store, or one whose
  /// tables another version of the program made.
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

  /// The chunks of files of this store.
  package func makeFiles() throws(StorageError) -> PostgresChunkStore { try session.makeFiles() }

  package func confirm() throws(StorageError) {
    let now = try session.work("read") { () throws(PostgresFault) in
      // The view that was read does not move; what stands now is behind its end.
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

  /// What comes of one question is in memory as a whole, and a record may be large: several small
  /// questions a portion.
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

  /// In the order in which they came where that is told; records in that of their accounts, so that
  /// those of one lie together in the new store.
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
