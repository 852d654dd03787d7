import Glibc
import LockstepStorage

extension StorageError {
  /// Converts an errno of the system to an error for the operator of the store.
  init(errno reason: Int32, path: String, operation: String) {
    switch reason {
    case EACCES, EPERM, EROFS: self = .readOnly(path: path)
    case ENOSPC, EDQUOT: self = .diskFull(path: path)
    default:
      self = .failed(path: path, operation: operation, detail: String(cString: strerror(reason)))
    }
  }
}
