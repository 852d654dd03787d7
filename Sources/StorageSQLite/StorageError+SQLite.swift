import CSQLite
import Glibc
import LockstepStorage

extension StorageError {
  /// What a result code of SQLite means for the person who runs the store.
  /// Source: sqlite.org/rescode.html. `handle` is where the code came from, as it was left.
  init(code: Int32, handle: OpaquePointer?, path: String, operation: String) {
    let detail = handle.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory"
    // Behind an I/O error stands the system's own reason, which says more.
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

  /// What an error number of the system means; `detail` instead of the system's own words.
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
