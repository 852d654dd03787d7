import Glibc
import LockstepStorage

extension StorageError {
  /// What an error number of the system means for the person who runs the store.
  init(errno reason: Int32, path: String, operation: String) {
    switch reason {
    case EACCES, EPERM, EROFS: self = .readOnly(path: path)
    case ENOSPC, EDQUOT: self = .diskFull(path: path)
    default:
      self = .failed(path: path, operation: operation, detail: String(cString: strerror(reason)))
    }
  }
}
