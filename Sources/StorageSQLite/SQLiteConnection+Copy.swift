import CSQLite
import LockstepModel
import LockstepStorage

/// Long work on a database that others have open: copying it, and looking whether it is whole.
/// Both can be ended early, and neither makes anybody wait.
extension SQLiteConnection {
  /// Copies the database, as it is at one moment, to the file at `path`, which is empty or not
  /// there yet. `goesOn` is asked after each portion, with how many pages are there and how many
  /// there will be. False where it said no; the file is of no use then.
  func copy(
    to path: String, goesOn: (_ pages: Int, _ of: Int) -> Bool
  ) throws(StorageError) -> Bool {
    let copy = try SQLiteConnection(
      path: path, role: .copy, schema: Schema(applicationID: 0, steps: []))
    defer { copy.close() }
    // Whoever writes meanwhile writes behind this view. Without it, every commit would have the
    // copy begin anew.
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
        // Little by little: one large sync at the end would hold up those of the relay.
        copy.syncFile()
      }
    }
  }

  /// What was written so far is on its way to the disk. Where that fails, the next commit tells.
  private func syncFile() {
    var file: UnsafeMutablePointer<sqlite3_file>?
    let code = sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &file)
    guard code == SQLITE_OK, let file, let methods = file.pointee.pMethods else { return }
    _ = methods.pointee.xSync(file, SQLITE_SYNC_NORMAL)
  }

  /// What SQLite itself finds wrong in the file, a line each; at most `limit`.
  func damages(limit: Int) throws(StorageError) -> [String] {
    let check = try prepare("PRAGMA integrity_check(\(limit))")
    return try check.all { $0.text(0) }.filter { $0 != "ok" }
  }

  /// Does `body`, whose statements end with a fault as soon as `goesOn` says no. Nil then.
  func interruptibly<Value>(
    _ goesOn: () -> Bool, _ body: () throws(StorageError) -> Value
  ) throws(StorageError) -> Value? {
    // SQLite keeps the closure no longer than this call; it asks on the thread that works.
    let result = withoutActuallyEscaping(goesOn) { goesOn -> Result<Value?, StorageError> in
      let question = Question(goesOn)
      let context = Unmanaged.passUnretained(question).toOpaque()
      sqlite3_progress_handler(
        handle, Int32(Limits.stepsAQuestion),
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
