import CSQLite
import LockstepModel
import LockstepStorage

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// One connection to one database file, for one thread at a time. Independent of the meaning of the
/// tables.
final class SQLiteConnection {
  enum Role {
    /// The only connection that writes. Creates the file if it does not exist.
    case writer
    case reader
    /// Only checkpoints the log, concurrently with the writer.
    case mover
    /// Exclusive access to a copy of a database of any version: a single file without a log, whose
    /// tables are not migrated.
    case copy
    /// A new database in memory: the tables as they should be.
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
  /// True while `keepReading` holds a view of the database.
  private var isReading = false

  /// Opens the file and validates it with `schema`.
  init(path: String, role: Role, schema: Schema) throws(StorageError) {
    self.path = path
    pendingPages = .allocate(capacity: 1)
    pendingPages.initialize(to: 0)
    if role == .writer || role == .copy { try SQLiteConnection.create(path) }
    // Only one thread at a time uses this connection, so SQLite need not lock it.
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
        try configureWriter()
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
        // Takes the write lock at once, so that no later statement fails because it may not write.
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

  /// Ends all statements and closes the connection. The last connection to a file moves the
  /// write-ahead log into the database and removes the log. Statements used afterwards fail.
  func close() {
    for statement in statements { statement.finalize() }
    statements = []
    sqlite3_close_v2(handle)
    handle = nil
    log = nil
  }

  /// Makes `close` remove no file: the file names may now belong to another database.
  func keepFilesOnClose() {
    var keeps: Int32 = 1
    _ = sqlite3_file_control(handle, nil, SQLITE_FCNTL_PERSIST_WAL, &keeps)
  }

  var isOpen: Bool { handle != nil }

  /// Prepares a statement that is kept and used often.
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
    stopReading()
    let code = sqlite3_exec(handle, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw fault(code, "run \"\(sql)\"") }
  }

  /// Returns the first column of the first row of a statement that is used once; nil if there is no
  /// row.
  func firstText(of sql: String) throws(StorageError) -> String? {
    var prepared: OpaquePointer?
    let code = sqlite3_prepare_v3(handle, sql, -1, 0, &prepared, nil)
    guard code == SQLITE_OK else { throw fault(code, "prepare \"\(sql)\"") }
    let statement = SQLiteStatement(prepared, sql: sql, of: self)
    defer { statement.finalize() }
    return try statement.first { $0.text(0) }
  }

  /// Returns the same as a number; 0 if there is no row.
  func firstInteger(of sql: String) throws(StorageError) -> Int64 {
    try firstText(of: sql).flatMap(Int64.init) ?? 0
  }

  /// Number of rows that the last INSERT, UPDATE or DELETE wrote.
  var changedRows: Int64 { handle == nil ? 0 : sqlite3_changes64(handle) }

  /// Number of rows that all INSERTs, UPDATEs and DELETEs wrote since the connection was opened.
  var totalChanges: Int64 { handle == nil ? 0 : sqlite3_total_changes64(handle) }

  // MARK: Transactions

  /// Runs `body` as one transaction that is durable when this returns. If `body` or the commit
  /// throws, nothing is changed.
  func write<Value>(
    _ body: () throws(StorageError) -> Value
  ) throws(StorageError) -> Value {
    try transaction(transactions?.begin, body)
  }

  /// Runs `body` on one view of the database. Uses the open transaction if there is one.
  func read<Value>(
    _ body: () throws(StorageError) -> Value
  ) throws(StorageError) -> Value {
    if handle != nil, sqlite3_get_autocommit(handle) == 0 { return try body() }
    return try transaction(transactions?.read, body)
  }

  /// Keeps a view of the database until it is next written or checkpointed, so that statements in
  /// between need no transaction of their own. Only for the connection that alone writes.
  func keepReading() throws(StorageError) {
    guard !isReading, handle != nil, sqlite3_get_autocommit(handle) != 0 else { return }
    try transactions?.read.run()
    isReading = true
  }

  private func stopReading() {
    guard isReading else { return }
    isReading = false
    rollBack()
  }

  private func transaction<Value>(
    _ begin: SQLiteStatement?, _ body: () throws(StorageError) -> Value
  ) throws(StorageError) -> Value {
    stopReading()
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

  /// Rolls back the open transaction. A full disk or a failed write may have rolled it back already
  /// (sqlite.org/lang_transaction.html, section 3.1). If the rollback fails, the next BEGIN reports
  /// it.
  func rollBack() {
    guard handle != nil, sqlite3_get_autocommit(handle) == 0 else { return }
    sqlite3_exec(handle, "ROLLBACK", nil, nil, nil)
  }

  // MARK: The write-ahead log

  /// Number of log pages that are not yet moved into the database.
  var waitingPages: Int { Int(pendingPages.pointee) }

  /// Moves the log into the database, as far as readers allow. With `waits`, waits for readers for
  /// a short time, so that the log restarts and stays bounded. Returns the number of pages moved.
  @discardableResult
  func checkpoint(waits: Bool) throws(StorageError) -> Int {
    // SQLite does not check for a null connection, here and in `rollBack`.
    guard handle != nil else { throw fault(SQLITE_MISUSE, "move its log into the database") }
    stopReading()
    var logged: Int32 = 0
    var moved: Int32 = 0
    let mode = waits ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE
    // A backup keeps one read view for its whole duration; no commit waits that long.
    sqlite3_busy_timeout(handle, Int32(Limits.logReaderMilliseconds))
    defer { sqlite3_busy_timeout(handle, Int32(Limits.storeBusyMilliseconds)) }
    let code = sqlite3_wal_checkpoint_v2(handle, nil, mode, &logged, &moved)
    // A remaining reader is not an error: the rest is moved the next time.
    guard code == SQLITE_OK || code & 0xFF == SQLITE_BUSY else {
      throw fault(code, "move its log into the database")
    }
    pendingPages.pointee = max(0, logged - moved)
    return max(0, Int(moved))
  }

  /// Calls `observer` after each sync of the log, on the thread that commits, with its duration in
  /// nanoseconds. Returns false if there is no log.
  func observeSyncs(_ observer: @escaping (_ nanoseconds: Int64) -> Void) -> Bool {
    log?.observeSyncs(observer)
    return log != nil
  }

  /// Makes the log's file longer than its content, by this many bytes at least. Does nothing on a
  /// disk that is small or almost full, since commits need the space, and if the writing fails.
  func reserveLog(bytes: Int) {
    guard let log, freeBytes >= UInt64(clamping: bytes) << 6 else { return }
    log.reserve(bytes, of: handle)
  }

  /// Free bytes of the file system; 0 if they are not known.
  private var freeBytes: UInt64 {
    var space = statvfs()
    guard statvfs(path, &space) == 0 else { return 0 }
    let (bytes, overflows) = UInt64(space.f_bavail).multipliedReportingOverflow(
      by: UInt64(space.f_frsize))
    return overflows ? .max : bytes
  }

  // MARK: Faults

  func fault(_ code: Int32, _ operation: String) -> StorageError {
    if handle == nil {
      return .failed(path: path, operation: operation, detail: "the store is closed")
    }
    return StorageError(code: code, handle: handle, path: path, operation: operation)
  }

  func corruption(_ detail: String) -> StorageError { .corrupt(path: path, detail: detail) }

  // MARK: Settings

  /// Makes SQLite keep no statistics of its memory, which cost a lock for each allocation. It is a
  /// setting of the whole process, and has no effect after the first connection: only for a process
  /// of this program, not for an app that opens a home and may use SQLite itself.
  static func omitMemoryStatistics() {
    #if os(Linux)
      _ = isUncounted
    #endif
  }

  #if os(Linux)
    private static let isUncounted = lockstep_sqlite_uncounted()
  #endif

  /// Creates a new database file, accessible to its owner only, whatever the directory allows;
  /// SQLite gives the log the same rights. An empty file is an empty database.
  private static func create(_ path: String) throws(StorageError) {
    let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    if descriptor >= 0 {
      closeDescriptor(descriptor)
    } else if errno != EEXIST {
      throw StorageError(errno: errno, path: path, operation: "create its file")
    }
  }

  /// Settings for every connection.
  private static let common = """
    -- Structures that a damaged or forged file may hold are noticed, and not trusted.
    PRAGMA cell_size_check = ON;
    PRAGMA trusted_schema = OFF;
    -- Sorting needs no file.
    PRAGMA temp_store = MEMORY;
    -- In KiB: the pages of the accounts that are active now.
    PRAGMA cache_size = -16384;

    """

  /// Settings for connections that write.
  private static let durable = """
    -- The log is synced with every commit: what was answered survives a power failure.
    PRAGMA synchronous = FULL;
    -- SQLite would move the log into the database at the end of some commit, with the answer
    -- waiting for it. The store does it in its pauses instead; see `checkpoint`.
    PRAGMA wal_autocheckpoint = 0;

    """ + flushing

  /// Darwin's `fsync` leaves the data in the drive's cache; `fullfsync` flushes that too.
  private static var flushing: String {
    #if canImport(Darwin)
      "PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON;\n"
    #else
      ""
    #endif
  }

  private func configureWriter() throws(StorageError) {
    try execute(SQLiteConnection.common)
    // Readers continue while the writer commits, and a commit is one append and one fsync. The mode
    // is stored in the file. If WAL is not possible, SQLite returns the name of the mode that
    // remains.
    guard try firstText(of: "PRAGMA journal_mode = WAL") == "wal" else {
      throw .failed(
        path: path, operation: "use a write-ahead log", detail: "the file system does not allow it"
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

/// `close(2)`: the name is taken within the connection.
private func closeDescriptor(_ descriptor: Int32) { close(descriptor) }

/// The SQLite library that the program uses. A release links it statically, so only the program can
/// report its version.
package enum LinkedSQLite {
  /// Version number, for example `3.40.1`.
  package static var version: String { String(cString: sqlite3_libversion()) }
}

extension StorageError {
  /// Converts a result code of SQLite into an error for the owner of the store. Source:
  /// sqlite.org/rescode.html. `handle` is the connection that returned the code, not used since.
  init(code: Int32, handle: OpaquePointer?, path: String, operation: String) {
    let detail = handle.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory"
    // An I/O error carries the system's error number, which is more precise.
    let reason = handle.map { sqlite3_system_errno($0) } ?? 0
    switch code & 0xFF {
    case SQLITE_FULL: self = .diskFull(path: path)
    case SQLITE_READONLY, SQLITE_PERM: self = .readOnly(path: path)
    case SQLITE_CORRUPT, SQLITE_NOTADB: self = .corrupt(path: path, detail: detail)
    case SQLITE_BUSY, SQLITE_LOCKED: self = .inUse(path: path, by: "another process")
    case SQLITE_IOERR, SQLITE_CANTOPEN:
      self = StorageError(
        errno: reason, path: path, operation: operation, detail: reason == 0 ? detail : nil)
    default: self = .failed(path: path, operation: operation, detail: detail)
    }
  }

  /// Converts an error number of the system. `detail` replaces the system's error text.
  init(errno reason: Int32, path: String, operation: String, detail: String? = nil) {
    switch reason {
    case EACCES, EPERM, EROFS: self = .readOnly(path: path)
    case ENOSPC, EDQUOT: self = .diskFull(path: path)
    default:
      self = .failed(
        path: path, operation: operation, detail: detail ?? String(cString: strerror(reason)))
    }
  }
}

/// Long operations on a database that other connections have open: copying and integrity checks.
/// Both can be cancelled, and neither blocks other connections.
extension SQLiteConnection {
  /// Copies a consistent state of the database to the file at `path`, which is empty or does not
  /// exist yet. After each portion, `shouldContinue` is called with the number of pages copied and
  /// the total. Returns false if it returned false; the file is unusable then.
  func copy(
    to path: String, shouldContinue: (_ pages: Int, _ of: Int) -> Bool
  ) throws(StorageError) -> Bool {
    let copy = try SQLiteConnection(
      path: path, role: .copy, schema: Schema(applicationID: 0, steps: []))
    defer { copy.close() }
    // Writes of other connections come after this read view. Without the view, every commit would
    // restart the copy.
    return try read { () throws(StorageError) in
      _ = try firstInteger(of: "SELECT count(*) FROM sqlite_schema")
      guard let backup = sqlite3_backup_init(copy.handle, "main", handle, "main") else {
        throw copy.fault(sqlite3_extended_errcode(copy.handle), "copy \"\(self.path)\"")
      }
      defer { sqlite3_backup_finish(backup) }
      while true {
        let code = sqlite3_backup_step(backup, Int32(Limits.copiedPages))
        guard code == SQLITE_OK || code == SQLITE_DONE else {
          throw copy.fault(code, "copy \"\(self.path)\"")
        }
        let total = Int(sqlite3_backup_pagecount(backup))
        let rest = Int(sqlite3_backup_remaining(backup))
        if code == SQLITE_DONE { return true }
        guard shouldContinue(total - rest, total) else { return false }
        // Syncs in small steps: one large sync at the end would delay those of the relay.
        copy.syncFile()
      }
    }
  }

  /// Starts to flush the data written so far. If that fails, the next commit reports it.
  private func syncFile() {
    var file: UnsafeMutablePointer<sqlite3_file>?
    let code = sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &file)
    guard code == SQLITE_OK, let file, let methods = file.pointee.pMethods else { return }
    _ = methods.pointee.xSync(file, SQLITE_SYNC_NORMAL)
  }

  /// Returns the errors that SQLite's integrity check finds, one per line; at most `limit`.
  func integrityErrors(limit: Int) throws(StorageError) -> [String] {
    let check = try prepare("PRAGMA integrity_check(\(limit))")
    return try check.all { $0.text(0) }.filter { $0 != "ok" }
  }

  /// Runs `body`. Its statements are interrupted as soon as `shouldContinue` returns false; the
  /// result is nil then.
  func interruptibly<Value>(
    _ shouldContinue: () -> Bool, _ body: () throws(StorageError) -> Value
  ) throws(StorageError) -> Value? {
    // SQLite keeps the closure only during this call, and calls it on the same thread.
    let result = withoutActuallyEscaping(shouldContinue) {
      escaping -> Result<Value?, StorageError> in
      let check = CancellationCheck(escaping)
      let context = Unmanaged.passUnretained(check).toOpaque()
      sqlite3_progress_handler(
        handle, Int32(Limits.stepsPerCheck),
        { context in
          guard let context else { return 0 }
          let check = Unmanaged<CancellationCheck>.fromOpaque(context).takeUnretainedValue()
          return check.isCancelled() ? 1 : 0
        }, context)
      defer { sqlite3_progress_handler(handle, 0, nil, nil) }
      do throws(StorageError) {
        return .success(try body())
      } catch {
        return check.wasCancelled ? .success(nil) : .failure(error)
      }
    }
    return try result.get()
  }

  private final class CancellationCheck {
    private let shouldContinue: () -> Bool
    private(set) var wasCancelled = false

    init(_ shouldContinue: @escaping () -> Bool) { self.shouldContinue = shouldContinue }

    func isCancelled() -> Bool {
      wasCancelled = wasCancelled || !shouldContinue()
      return wasCancelled
    }
  }
}
