import Glibc
import LockstepStorage

/// Opens the small files of a store. If another user may write to the store's folder, that user
/// could replace a file with a symbolic link, a hard link to a file that only that user may write,
/// or a pipe. So only regular files that belong to the store alone are accepted.
enum StoreFile {
  /// Flags: symbolic links are not followed, and opening a pipe does not block.
  private static let careful = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC

  /// Returns an open descriptor; nil if the file does not exist and `flags` does not create it. A
  /// created file belongs to the folder's owner, even if root creates it.
  static func open(
    _ name: String, in directory: String, _ flags: Int32, _ operation: String
  ) throws(StorageError) -> Int32? {
    let path = directory + "/" + name
    let descriptor = Glibc.open(path, flags | careful, 0o600)
    guard descriptor >= 0 else {
      if errno == ENOENT, flags & O_CREAT == 0 { return nil }
      if errno == ELOOP { throw foreign(path, operation, "it is a symbolic link") }
      throw StorageError(errno: errno, path: path, operation: operation)
    }
    do throws(StorageError) {
      try check(descriptor, path, in: directory, operation)
      return descriptor
    } catch {
      close(descriptor)
      throw error
    }
  }

  /// Creates a file with this name, after the removal of an existing one.
  static func make(
    _ name: String, in directory: String, _ operation: String
  ) throws(StorageError) -> Int32 {
    let path = directory + "/" + name
    guard unlink(path) == 0 || errno == ENOENT else {
      throw StorageError(errno: errno, path: path, operation: operation)
    }
    let made = try open(name, in: directory, O_WRONLY | O_CREAT | O_EXCL, operation)
    guard let made else { throw StorageError(errno: ENOENT, path: path, operation: operation) }
    return made
  }

  private static func check(
    _ descriptor: Int32, _ path: String, in directory: String, _ operation: String
  ) throws(StorageError) {
    var (file, folder) = (stat(), stat())
    guard fstat(descriptor, &file) == 0, stat(directory, &folder) == 0 else {
      throw StorageError(errno: errno, path: path, operation: operation)
    }
    guard file.st_mode & S_IFMT == S_IFREG else { throw foreign(path, operation, "it is no file") }
    guard file.st_nlink == 1 else {
      throw foreign(path, operation, "the file has another name elsewhere")
    }
    if geteuid() == 0, file.st_uid == 0, folder.st_uid != 0 {
      guard fchown(descriptor, folder.st_uid, folder.st_gid) == 0 else {
        throw StorageError(errno: errno, path: path, operation: operation)
      }
    } else if file.st_uid != folder.st_uid, file.st_uid != geteuid() {
      throw foreign(path, operation, "it belongs to another user than the store's folder")
    }
  }

  private static func foreign(_ path: String, _ operation: String, _ what: String) -> StorageError {
    .failed(
      path: path, operation: operation,
      detail: what + ", which no store makes; see who put it there, and remove it")
  }
}
