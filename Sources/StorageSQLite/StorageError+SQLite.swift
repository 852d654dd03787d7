import CSQLite
import Glibc
import LockstepStorage

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
