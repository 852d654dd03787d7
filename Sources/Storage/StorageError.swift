/// Error of a store. Each case carries what a person needs to act.
public enum StorageError: Error, Hashable, Sendable {
  /// Another process has the store open.
  case inUse(path: String, by: String)
  /// The file is not a store, or is damaged.
  case corrupt(path: String, detail: String)
  /// Written by a newer version of this program.
  case tooNew(path: String, found: Int, known: Int)
  case readOnly(path: String)
  /// The file or folder of this name was removed, moved or replaced while the store was open.
  case gone(path: String, name: String)
  case diskFull(path: String)
  case failed(path: String, operation: String, detail: String)
  /// A store on another machine is temporarily unreachable. Its content is not damaged.
  case unavailable(path: String, detail: String)
}

extension StorageError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .inUse(let path, let holder):
      "the store \(path) is in use by \(holder); stop that one first, or name another store"
    case .corrupt(let path, let detail):
      "the store \(path) is damaged (\(detail)); restore it from a backup, or name another store"
    case .tooNew(let path, let found, let known):
      "the store \(path) has schema \(found), and this program knows up to \(known); "
        + "run the newer lockstep that wrote it"
    case .readOnly(let path):
      "the store \(path) cannot be written; check its owner and permissions"
    case .gone(let path, let name):
      "\(name) of the store \(path) was removed, moved or replaced while the store is open, and "
        + "nothing is saved any more; put back the very same file, or stop the relay and restore a "
        + "backup (lockstep relay restore)"
    case .diskFull(let path):
      "no space is left for the store \(path); free some, then try again"
    case .failed(let path, let operation, let detail):
      "the store \(path) failed to \(operation): \(detail); check that place, or name another"
    case .unavailable(let path, let detail):
      "the store \(path) is not available: \(detail); "
        + "check its server and the way to it; it is tried again with each request"
    }
  }
}
