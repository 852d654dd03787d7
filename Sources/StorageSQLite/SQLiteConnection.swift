import CSQLite
import Glibc
import LockstepModel
import LockstepStorage

/// One connection to one database file, for one thread at a time. It knows nothing of what the
/// tables mean.
final class SQLiteConnection {
  enum Role {
    /// The only one that writes; creates the file if it is not there.
    case writer
    case reader
    /// Moves the log into the database beside the writer, and does nothing else.
    case mover
    /// Alone with a copy of a database, of whatever version: it is one file, without a log beside
    /// it, and its tables stay as they are.
    case copy
    /// A new database that stands in no file: the tables as they should be.
    case model
  }

  let path: String
  private(set) var handle: OpaquePointer?
  private(set) var statements: [SQLiteStatement] = []
  /// Pages in the write-ahead log that are not yet in the database, as of the last commit.
  private let pendingPages: UnsafeMutablePointer<Int32>
  private var transactions:
    (begin: SQLiteStatement, read: SQLiteStatement, commit: SQLiteStatement)?
  private var log: LogFile?

  /// Opens the file and checks, with `schema`, that it is what it should be.
  init(path: String, role: Role, schema: Schema) throws(StorageError) {
    self.path = path
    pendingPages = .allocate(capacity: 1)
    pendingPages.initialize(to: 0)
    if role == .writer || role == .copy { try SQLiteConnection.create(path) }
    _ = SQLiteConnection.isUncounted
    // One thread at a time has this connection, so SQLite need not lock it.
    let access =
      role == .reader ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE
    let code = sqlite3_open_v2(
      path, &handle, access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nil)
    do throws(StorageError) {
      guard code == SQLITE_OK else { throw fault(code, "open") }
      sqlite3_busy_timeout(handle, Int32(Limits.storeBusyMilliseconds))
      try schema.check(self)
      switch role {
      case .writer:
        try settleAsWriter()
        try schema.migrate(self)
        log = LogFile(of: handle)
      case .reader: try execute(SQLiteConnection.common)
      case .mover: try execute(SQLiteConnection.common + SQLiteConnection.durable)
      case .copy:
        try execute(SQLiteConnection.common)
        try execute("PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL;")
      case .model: try schema.migrate(self)
      }
      transactions = (
        // Immediately, so that no statement in the middle finds that it may not write.
        begin: try prepare("BEGIN IMMEDIATE"), read: try prepare("BEGIN"),
        commit: try prepare("COMMIT")
      )
    } catch {
      close()
      throw error
    }
  }

  deinit {
    close()
    pendingPages.deallocate()
  }

  /// Ends all statements and the connection. The last one of a file moves the write-ahead log into
  /// the database and removes it. Statements that are used afterwards fail.
  func close() {
    for statement in statements { statement.finalize() }
    statements = []
    sqlite3_close_v2(handle)
    handle = nil
    log = nil
  }

  /// Closing is to remove no file: another database may stand under its names.
  func leaveFiles() {
    var keeps: Int32 = 1
    _ = sqlite3_file_control(handle, nil, SQLITE_FCNTL_PERSIST_WAL, &keeps)
  }

  var isOpen: Bool { handle != nil }

  /// A statement to be kept and used often.
  func prepare(_ sql: String) throws(StorageError) -> SQLiteStatement {
    var prepared: OpaquePointer?
    let code = sqlite3_prepare_v3(
      handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
    guard code == SQLITE_OK else { throw fault(code, "prepare \"\(sql)\"") }
    let statement = SQLiteStatement(prepared, sql: sql, of: self)
    statements.append(statement)
    return statement
  }

  /// Runs one or several statements once.
  func execute(_ sql: String) throws(StorageError) {
    let code = sqlite3_exec(handle, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw fault(code, "run \"\(sql)\"") }
  }

  /// The first column of the first row of a statement that is needed once; nil where there is no
  /// row.
  func answer(to sql: String) throws(StorageError) -> String? {
    var prepared: OpaquePointer?
    let code = sqlite3_prepare_v3(handle, sql, -1, 0, &prepared, nil)
    guard code == SQLITE_OK else { throw fault(code, "prepare \"\(sql)\"") }
    let statement = SQLiteStatement(prepared, sql: sql, of: self)
    defer { statement.finalize() }
    return try statement.first { $0.text(0) }
  }

  /// The same for a number; 0 where there is no row.
  func number(_ sql: String) throws(StorageError) -> Int64 {
    try answer(to: sql).flatMap(Int64.init) ?? 0
  }

  /// Rows that the last INSERT, UPDATE or DELETE wrote.
  var changedRows: Int64 { handle == nil ? 0 : sqlite3_changes64(handle) }

  // MARK: Transactions

  /// Does `body` as one transaction that is durable when this returns. Whatever throws, in `body`
  /// or at the end, nothing of it is done.
  func write<Value>(
    _ body: () throws(StorageError) -> Value
  ) throws(StorageError) -> Value {
    try transaction(transactions?.begin, body)
  }

  /// Does `body` on one view of the database: where a transaction is open, on that one's.
  func read<Value>(
    _ body: () throws(StorageError) -> Value
  ) throws(StorageError) -> Value {
    if handle != nil, sqlite3_get_autocommit(handle) == 0 { return try body() }
    return try transaction(transactions?.read, body)
  }

  private func transaction<Value>(
    _ begin: SQLiteStatement?, _ body: () throws(StorageError) -> Value
  ) throws(StorageError) -> Value {
    guard handle != nil, let begin, let commit = transactions?.commit else {
      throw .failed(path: path, operation: "begin", detail: "the store is closed")
    }
    try begin.run()
    do throws(StorageError) {
      let value = try body()
      try commit.run()
      return value
    } catch {
      rollBack()
      throw error
    }
  }

  /// Undoes the transaction that is open. A full disk or a failed write may have undone it already
  /// (sqlite.org/lang_transaction.html, section 3.1). Should undoing fail, the next BEGIN tells.
  func rollBack() {
    guard handle != nil, sqlite3_get_autocommit(handle) == 0 else { return }
    sqlite3_exec(handle, "ROLLBACK", nil, nil, nil)
  }

  // MARK: The write-ahead log

  /// Pages of the log that wait to be moved into the database.
  var waitingPages: Int { Int(pendingPages.pointee) }

  /// Moves the log into the database, as far as readers allow. With `waits`, it waits for them a
  /// little, so that the log starts anew and stays bounded. Returns how many pages of it are moved.
  @discardableResult
  func checkpoint(waits: Bool) throws(StorageError) -> Int {
    // SQLite does not look whether there is a connection at all, here and in `rollBack`.
    guard handle != nil else { throw fault(SQLITE_MISUSE, "move its log into the database") }
    var logged: Int32 = 0
    var moved: Int32 = 0
    let mode = waits ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE
    // A backup reads one view for as long as it takes; no commit waits for all of that.
    sqlite3_busy_timeout(handle, Int32(Limits.logReaderMilliseconds))
    defer { sqlite3_busy_timeout(handle, Int32(Limits.storeBusyMilliseconds)) }
    let code = sqlite3_wal_checkpoint_v2(handle, nil, mode, &logged, &moved)
    // A reader that stays is no fault: the rest is moved the next time.
    guard code == SQLITE_OK || code & 0xFF == SQLITE_BUSY else {
      throw fault(code, "move its log into the database")
    }
    pendingPages.pointee = max(0, logged - moved)
    return max(0, Int(moved))
  }

  /// Tells `observer`, on the thread that commits, how many nanoseconds each sync of the log took.
  /// False where there is no log.
  func observeSyncs(_ observer: @escaping (_ nanoseconds: Int64) -> Void) -> Bool {
    log?.observeSyncs(observer)
    return log != nil
  }

  // MARK: Faults

  func fault(_ code: Int32, _ operation: String) -> StorageError {
    if handle == nil {
      return .failed(path: path, operation: operation, detail: "the store is closed")
    }
    return StorageError(code: code, handle: handle, path: path, operation: operation)
  }

  func damage(_ detail: String) -> StorageError { .corrupt(path: path, detail: detail) }

  // MARK: Settings

  /// Of the whole process, and settled before its first connection.
  private static let isUncounted = lockstep_sqlite_uncounted()

  /// A new database is for its owner alone, whatever the directory allows; SQLite gives the log the
  /// same rights. An empty file is an empty database.
  private static func create(_ path: String) throws(StorageError) {
    let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    if descriptor >= 0 {
      Glibc.close(descriptor)
    } else if errno != EEXIST {
      throw StorageError(errno: errno, path: path, operation: "create its file")
    }
  }

  /// For every connection.
  private static let common = """
    -- Structures that a damaged or forged file may hold are noticed, and not trusted.
    PRAGMA cell_size_check = ON;
    PRAGMA trusted_schema = OFF;
    -- Sorting needs no file.
    PRAGMA temp_store = MEMORY;
    -- In KiB: the pages of the accounts that are active now.
    PRAGMA cache_size = -16384;

    """

  /// For those that write.
  private static let durable = """
    -- The log is synced with every commit: what was answered survives a power failure.
    PRAGMA synchronous = FULL;
    -- SQLite would move the log into the database at the end of some commit, with the answer
    -- waiting for it. The store does it in its pauses instead; see `checkpoint`.
    PRAGMA wal_autocheckpoint = 0;

    """

  private func settleAsWriter() throws(StorageError) {
    try execute(SQLiteConnection.common)
    // Readers go on while the writer commits, and a commit is one append and one fsync. The mode is
    // kept in the file; where it cannot be had, SQLite says so with the mode it stays in.
    guard try answer(to: "PRAGMA journal_mode = WAL") == "wal" else {
      throw .failed(
        path: path, operation: "keep a write-ahead log", detail: "the file system does not allow it"
      )
    }
    try execute(SQLiteConnection.durable)
    try execute(
      """
      -- A log that grew in a storm gives its space back: 64 MiB, in bytes. It is not cut down to
      -- nothing, because writing over old space costs less than growing a file.
      PRAGMA journal_size_limit = 67108864;
      """)
    sqlite3_wal_hook(
      handle,
      { context, _, _, pages in
        context?.assumingMemoryBound(to: Int32.self).pointee = pages
        return SQLITE_OK
      }, pendingPages)
  }
}
