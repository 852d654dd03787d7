import LockstepModel
import LockstepStorage

/// Performs, in the database of a store that is not open, the saves of its commit log that the
/// database lacks: those that were acknowledged before a crash.
enum CommitLogRecovery {
  /// Result of a recovery.
  struct Outcome {
    /// Last sequence that the database contains now.
    var sequence: Int64
    /// True if the database is an older copy, because the log continues a newer one.
    var hasGap: Bool
  }

  static let setLogged = "UPDATE opening SET logged = ?"

  /// Does this for the store in a directory that is locked. Leaves tables of another version alone.
  /// Returns true if the database is an older copy than the log.
  static func run(in directory: String) throws(StorageError) -> Bool {
    let content = try CommitLogFile.content(in: directory)
    let path = SQLiteZoneStore.path(in: directory)
    guard !content.isEmpty else { return false }
    let reader = try SQLiteConnection(path: path, role: .reader, schema: .zones)
    let version = try reader.firstInteger(of: "PRAGMA user_version")
    reader.close()
    guard version == Schema.zones.version else { return false }
    let writer = try SQLiteConnection(path: path, role: .writer, schema: .zones)
    defer { writer.close() }
    return try run(content, on: writer).hasGap
  }

  /// `content`: the log's bytes (`CommitLogFile.content`). `connection`: to the database, which
  /// nothing else writes meanwhile.
  static func run(
    _ content: [UInt8], on connection: SQLiteConnection
  ) throws(StorageError) -> Outcome {
    let missing = try missingBlocks(of: content, connection)
    if !missing.saves.isEmpty {
      let queries = try ZoneQueries(connection, run: 0)
      let chunks = try ChunkWriter(connection, queries: queries.chunks, rules: StoreRules())
      let records = try RecordWriter(
        connection, queries: queries, chunks: chunks, rules: StoreRules())
      let setLogged = try connection.prepare(setLogged)
      try connection.write { () throws(StorageError) in
        try records.apply(MergedSaves(missing.saves), missing.saves)
        try setLogged.bind(missing.sequence).run()
      }
    }
    return Outcome(sequence: missing.sequence, hasGap: missing.hasGap)
  }

  /// Returns the blocks of a log that the database lacks.
  static func missingBlocks(
    of content: [UInt8], _ connection: SQLiteConnection
  ) throws(StorageError) -> CommitLogFile.MissingBlocks {
    let select = try connection.prepare("SELECT number, logged FROM opening")
    let found = try select.first { (number: $0.bits(0), logged: $0.integer(1)) }
    return try CommitLogFile.missingBlocks(
      of: content, epoch: found?.number ?? 0, after: found?.logged ?? 0,
      path: connection.path)
  }
}
