import CLinux
import Glibc

/// Operations on a folder with all its contents. Symbolic links are treated as links.
enum FolderTree {
  /// Removes a file or a folder with its contents. Does nothing if it does not exist.
  static func remove(_ path: String) throws(CommandFailure) {
    if unlink(path) == 0 || errno == ENOENT { return }
    guard errno == EISDIR else { throw PlainFile.failure(path, "be removed", errno) }
    for name in try ExportFolder.names(in: path) ?? [] { try remove(path + "/" + name) }
    guard rmdir(path) == 0 else { throw PlainFile.failure(path, "be removed", errno) }
  }

  /// Changes the owner and group of the whole tree.
  static func give(_ path: String, to owner: stat) throws(CommandFailure) {
    var status = stat()
    guard lstat(path, &status) == 0, lchown(path, owner.st_uid, owner.st_gid) == 0 else {
      throw PlainFile.failure(path, "be given to the store's owner", errno)
    }
    guard status.st_mode & S_IFMT == S_IFDIR else { return }
    for name in try ExportFolder.names(in: path) ?? [] { try give(path + "/" + name, to: owner) }
  }

  static func make(_ path: String) throws(CommandFailure) {
    guard mkdir(path, 0o700) == 0 else { throw PlainFile.failure(path, "be made", errno) }
  }

  static func move(_ path: String, to place: String) throws(CommandFailure) {
    guard rename(path, place) == 0 else {
      throw PlainFile.failure(path, "be moved to \(place)", errno)
    }
  }

  /// Creates a file that is accessible to its owner only.
  static func makeFile(_ path: String) throws(CommandFailure) -> PlainFile {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw PlainFile.failure(path, "be made", errno) }
    return PlainFile(path: path, descriptor: descriptor)
  }

  static func openFile(_ path: String) throws(CommandFailure) -> PlainFile {
    let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else { throw PlainFile.failure(path, "be read", errno) }
    return PlainFile(path: path, descriptor: descriptor)
  }

  static func has(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0
  }

  /// Makes the file, or the names in the folder, durable against a power failure; with `all`,
  /// everything that was written to its file system.
  static func sync(_ path: String, all: Bool = false) throws(CommandFailure) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw PlainFile.failure(path, "be opened", errno) }
    defer { close(descriptor) }
    guard (all ? linux_sync_filesystem(descriptor) : fsync(descriptor)) == 0 else {
      throw PlainFile.failure(path, "be made durable", errno)
    }
  }
}
