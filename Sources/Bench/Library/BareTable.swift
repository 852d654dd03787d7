import CSQLite
import LockstepCommandLine
import LockstepModel

/// A table in SQLite and nothing else: the least that an app's store costs. It has the settings of
/// a device's store, prepared statements and one transaction for each commit.
final class BareTable {
  private var handle: OpaquePointer?
  private var begin: OpaquePointer?
  private var commit: OpaquePointer?
  private var put: OpaquePointer?
  private var select: OpaquePointer?

  private static let settings = """
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA wal_autocheckpoint = \(Limits.replicaLogPages);
    PRAGMA temp_store = MEMORY;
    PRAGMA cache_size = -16384;
    CREATE TABLE IF NOT EXISTS todos (
      id TEXT PRIMARY KEY NOT NULL,
      title TEXT NOT NULL,
      done INTEGER NOT NULL,
      place REAL NOT NULL
    );
    """

  /// Opens the file, and creates it if it does not exist.
  init(path: String) throws(CommandFailure) {
    do throws(CommandFailure) {
      let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
      try check(sqlite3_open_v2(path, &handle, flags, nil))
      try check(sqlite3_exec(handle, Self.settings, nil, nil, nil))
      begin = try prepare("BEGIN IMMEDIATE")
      commit = try prepare("COMMIT")
      put = try prepare(
        """
        INSERT INTO todos VALUES (?, ?, ?, ?)
        ON CONFLICT (id) DO UPDATE
          SET title = excluded.title, done = excluded.done, place = excluded.place
        """)
      select = try prepare("SELECT id, title, done, place FROM todos ORDER BY place")
    } catch {
      close()
      throw error
    }
  }

  deinit { close() }

  func close() {
    for statement in [begin, commit, put, select] { sqlite3_finalize(statement) }
    (begin, commit, put, select) = (nil, nil, nil, nil)
    sqlite3_close_v2(handle)
    handle = nil
  }

  /// Saves the rows in one durable commit.
  func save(_ todos: ArraySlice<BenchTodo>) throws(CommandFailure) {
    try run(begin)
    for todo in todos {
      bind(todo.id, at: 1)
      bind(todo.title, at: 2)
      sqlite3_bind_int64(put, 3, todo.done ? 1 : 0)
      sqlite3_bind_double(put, 4, todo.place)
      try run(put)
    }
    try run(commit)
  }

  /// Reads all rows, in order.
  func todos() throws(CommandFailure) -> [BenchTodo] {
    defer { sqlite3_reset(select) }
    var todos: [BenchTodo] = []
    while true {
      let code = sqlite3_step(select)
      if code == SQLITE_DONE { return todos }
      guard code == SQLITE_ROW else { throw fault(code) }
      todos.append(
        BenchTodo(
          id: text(0), title: text(1), done: sqlite3_column_int64(select, 2) != 0,
          place: sqlite3_column_double(select, 3)))
    }
  }

  private func text(_ column: Int32) -> String {
    let start = sqlite3_column_text(select, column)
    let count = Int(sqlite3_column_bytes(select, column))
    return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
  }

  private func bind(_ text: String, at position: Int32) {
    var text = text
    _ = text.withUTF8 { bytes in
      sqlite3_bind_text64(
        put, position, UnsafeRawPointer(bytes.baseAddress)?.assumingMemoryBound(to: CChar.self),
        UInt64(bytes.count), Self.copied, UInt8(SQLITE_UTF8))
    }
  }

  /// SQLITE_TRANSIENT, a macro that Swift does not import: SQLite copies the bound value.
  private static var copied: sqlite3_destructor_type? {
    unsafeBitCast(-1, to: sqlite3_destructor_type?.self)
  }

  private func run(_ statement: OpaquePointer?) throws(CommandFailure) {
    let code = sqlite3_step(statement)
    sqlite3_reset(statement)
    guard code == SQLITE_DONE else { throw fault(code) }
  }

  private func prepare(_ sql: String) throws(CommandFailure) -> OpaquePointer? {
    var statement: OpaquePointer?
    try check(
      sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil))
    return statement
  }

  private func check(_ code: Int32) throws(CommandFailure) {
    guard code == SQLITE_OK else { throw fault(code) }
  }

  private func fault(_ code: Int32) -> CommandFailure {
    let detail = handle.map { String(cString: sqlite3_errmsg($0)) } ?? "code \(code)"
    return CommandFailure(
      "SQLite failed in the temporary folder: \(detail); set TMPDIR to a folder with more room")
  }
}
