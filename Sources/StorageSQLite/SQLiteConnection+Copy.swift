import CSQLite
import LockstepModel
import LockstepStorage

/// Long operations on a database that other connections have open: copying and integrity checks.
/// Both can be cancelled, and neither blocks other connections.
extension SQLiteConnection {
  /// Copies a consistent state of the database to the file at `path`, which is empty or does not
  /// exist yet. After each portion, `goesOn` is called with the number of pages copied and the
  /// total. Returns false if it returned false; the file is unusable then.
  func copy(
    to path: String, goesOn: (_ pages: Int, _ of: Int) -> Bool
  ) throws(StorageError) -> Bool {
    let copy = try SQLiteConnection(
      path: path, role: .copy, schema: Schema(applicationID: 0, steps: []))
    defer { copy.close() }
    // Writes of other connections come after this read view. Without the view, every commit would
    // restart the copy.
    return try read { () throws(StorageError) in
      _ = try number("SELECT count(*) FROM sqlite_schema")
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
        guard goesOn(total - rest, total) else { return false }
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
  func damages(limit: Int) throws(StorageError) -> [String] {
    let check = try prepare("PRAGMA integrity_check(\(limit))")
    return try check.all { $0.text(0) }.filter { $0 != "ok" }
  }

  /// Runs `body`. Its statements are interrupted as soon as `goesOn` returns false; the result is
  /// nil then.
  func interruptibly<Value>(
    _ goesOn: () -> Bool, _ body: () throws(StorageError) -> Value
  ) throws(StorageError) -> Value? {
    // SQLite keeps the closure only during this call, and calls it on the same thread.
    let result = withoutActuallyEscaping(goesOn) { goesOn -> Result<Value?, StorageError> in
      let question = Question(goesOn)
      let context = Unmanaged.passUnretained(question).toOpaque()
      sqlite3_progress_handler(
        handle, Int32(Limits.stepsPerCheck),
        { context in
          guard let context else { return 0 }
          return Unmanaged<Question>.fromOpaque(context).takeUnretainedValue().isToEnd() ? 1 : 0
        }, context)
      defer { sqlite3_progress_handler(handle, 0, nil, nil) }
      do throws(StorageError) {
        return .success(try body())
      } catch {
        return question.hasEnded ? .success(nil) : .failure(error)
      }
    }
    return try result.get()
  }

  private final class Question {
    private let goesOn: () -> Bool
    private(set) var hasEnded = false

    init(_ goesOn: @escaping () -> Bool) { self.goesOn = goesOn }

    func isToEnd() -> Bool {
      hasEnded = hasEnded || !goesOn()
      return hasEnded
    }
  }
}
