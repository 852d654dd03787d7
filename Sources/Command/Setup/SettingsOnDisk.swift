import Glibc
import LockstepCommandLine
import LockstepModel

/// A file of settings on disk.
enum SettingsOnDisk {
  /// Returns the file's text; nil if there is none.
  static func read(_ path: String) throws(CommandFailure) -> String? {
    if access(path, F_OK) != 0, errno == ENOENT { return nil }
    let bytes = try ConfigFile.bytes(of: path)
    guard let text = String(validating: bytes, as: UTF8.self), bytes.count <= Limits.configBytes
    else {
      throw CommandFailure("\(path) is no file of settings; name another one (--settings)")
    }
    return text
  }

  /// Replaces the file as a whole. Its owner, group and mode stay as they were; everybody may read
  /// a new one, as it has no secrets. Makes its folder if there is none.
  static func write(_ text: String, to path: String) throws(CommandFailure) {
    try makeFolder(of: path)
    let draft = path + ".new"
    guard unlink(draft) == 0 || errno == ENOENT else { throw failure(draft) }
    let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw failure(draft) }
    defer { close(descriptor) }
    var former = stat()
    if stat(path, &former) == 0 {
      // Only root may give a file to another user; others own it already.
      _ = fchown(descriptor, former.st_uid, former.st_gid)
      guard fchmod(descriptor, former.st_mode & 0o7777) == 0 else { throw failure(draft) }
    }
    try TerminalOutput(descriptor: descriptor).write(text)
    guard fsync(descriptor) == 0, rename(draft, path) == 0 else { throw failure(path) }
  }

  private static func makeFolder(of path: String) throws(CommandFailure) {
    var folder = ""
    for part in path.split(separator: "/").dropLast() {
      folder += (folder.isEmpty && !path.hasPrefix("/") ? "" : "/") + part
      guard mkdir(folder, 0o755) == 0 || errno == EEXIST else { throw failure(folder) }
    }
  }

  private static func failure(_ path: String) -> CommandFailure {
    CommandFailure(
      "\(path) cannot be written: \(String(cString: strerror(errno))); run as a user who may, or "
        + "name another file (--settings)")
  }
}
