import LockstepStorage
import LockstepStorageFiles

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Locks a store's directory for one process, from `init` to `release`.
///
/// The kernel releases the lock when the process ends, however it ends, so no cleanup is needed.
/// The file holds the process id, for the message that the store is in use. It is never removed,
/// because a lock on a removed file protects nothing.
package final class DirectoryLock {
  /// File descriptor, or -1 after `release`.
  private var descriptor: Int32

  /// Creates the directory if it does not exist, accessible to its owner only.
  package init(directory: String) throws(StorageError) {
    try DirectoryLock.create(directory)
    descriptor =
      try StoreFile.open("lock", in: directory, O_RDWR | O_CREAT, "open its lock file") ?? -1
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      let reason = errno
      let holder = DirectoryLock.holder(descriptor)
      release()
      throw reason == EWOULDBLOCK
        ? .inUse(path: directory, by: holder)
        : StorageError(errno: reason, path: directory, operation: "lock it")
    }
    let text = Array("\(getpid())\n".utf8)
    let isWritten =
      ftruncate(descriptor, 0) == 0
      && text.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) } == text.count
    guard isWritten else {
      let reason = errno
      release()
      throw StorageError(errno: reason, path: directory, operation: "write its lock file")
    }
  }

  package func release() {
    guard descriptor >= 0 else { return }
    close(descriptor)
    descriptor = -1
  }

  deinit { release() }

  private static func holder(_ descriptor: Int32) -> String {
    let digits = [UInt8](unsafeUninitializedCapacity: 20) { buffer, count in
      count = max(0, pread(descriptor, buffer.baseAddress, buffer.count, 0))
    }.prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
    return digits.isEmpty
      ? "another process" : "process \(String(decoding: digits, as: UTF8.self))"
  }

  /// Creates the directory and its missing parents. Each new entry is synced in its parent: if a
  /// power failure lost the directory, the store in it would be lost.
  private static func create(_ directory: String) throws(StorageError) {
    if mkdir(directory, 0o700) == 0 { return try sync(parent(of: directory)) }
    switch errno {
    case EEXIST: return
    case ENOENT where parent(of: directory) != directory:
      try create(parent(of: directory))
      guard mkdir(directory, 0o700) == 0 else {
        throw StorageError(errno: errno, path: directory, operation: "create its directory")
      }
      try sync(parent(of: directory))
    case let reason:
      throw StorageError(errno: reason, path: directory, operation: "create its directory")
    }
  }

  private static func parent(of path: String) -> String {
    let trimmed = path.utf8.last == UInt8(ascii: "/") ? String(path.dropLast()) : path
    guard let slash = trimmed.lastIndex(of: "/") else { return "." }
    return slash == trimmed.startIndex ? "/" : String(trimmed[..<slash])
  }

  /// Syncs a directory, so that the names in it are durable.
  static func sync(_ directory: String) throws(StorageError) {
    guard FileSync.flush(path: directory) else {
      throw StorageError(errno: errno, path: directory, operation: "sync the directory")
    }
  }
}
