import Glibc
import Lockstep
import LockstepCommandLine
import LockstepModel
import LockstepStorageFiles

/// A file of settings on disk.
enum SettingsOnDisk {
  /// Returns the file's text; nil if there is none. A pipe is refused, because reading it may last
  /// for ever, and it could not be replaced.
  static func read(_ path: String) throws(CommandFailure) -> String? {
    let bytes = try CommandFailure.wrap { () throws(HomeFault) in
      try HomeFile.contents(of: path, atMost: Limits.configBytes)
    }
    guard let bytes else { return nil }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw CommandFailure("\(path) is no file of settings; name another one (--settings)")
    }
    return text
  }

  /// Replaces the file as a whole, if it still has the text `former`; a link stays, and the file to
  /// which it leads is replaced. Its owner, group and mode stay as they were. Makes its folder if
  /// there is none. Everybody may read what root makes new, as a service may run as another user,
  /// and a file of settings has no secrets.
  static func write(
    _ text: String, replacing former: String?, at place: String
  ) throws(CommandFailure) {
    let path = try target(of: place)
    try makeFolder(of: path)
    let draft = path + ".new"
    guard let descriptor = try openDraft(draft) else { throw busy(path) }
    defer { close(descriptor) }
    guard try read(path) == former else { throw busy(path) }
    do throws(CommandFailure) {
      guard ftruncate(descriptor, 0) == 0 else { throw failure(draft) }
      try setMode(of: descriptor, asOf: path)
      try fill(descriptor, with: text, draft)
      guard fsync(descriptor) == 0, rename(draft, path) == 0 else { throw failure(path) }
    } catch {
      unlink(draft)
      throw error
    }
    try flushFolder(of: path)
  }

  /// Returns the path of the file to which a link leads. A link that another user has made could
  /// lead root to any file.
  private static func target(of path: String) throws(CommandFailure) -> String {
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK else { return path }
    guard status.st_uid == 0 || status.st_uid == geteuid() else {
      throw CommandFailure(
        "\(path) is a link of another user; name the file itself (--settings)")
    }
    guard let resolved = realpath(path, nil) else { throw failure(path) }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  /// Opens the draft and locks it; returns nil while another process has it. What is not a file of
  /// this user alone, such as the remains of an interruption, is removed.
  private static func openDraft(_ draft: String) throws(CommandFailure) -> Int32? {
    for _ in 0..<draftAttempts {
      let descriptor = open(
        draft, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
      if descriptor >= 0 {
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
          close(descriptor)
          return nil
        }
        if isOwn(descriptor) {
          if isFile(descriptor, at: draft) { return descriptor }
          // The other process has given it its name before the lock was free.
          close(descriptor)
          continue
        }
        close(descriptor)
      } else if errno != ELOOP, errno != ENXIO {
        throw failure(draft)
      }
      // A link, a pipe, or a file of others.
      guard unlink(draft) == 0 || errno == ENOENT else { throw failure(draft) }
    }
    return nil
  }

  /// True for a file that this user alone has under any name.
  private static func isOwn(_ descriptor: Int32) -> Bool {
    var status = stat()
    return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
      && status.st_uid == geteuid() && status.st_nlink <= 1
  }

  /// True if the path still names the open file.
  private static func isFile(_ descriptor: Int32, at path: String) -> Bool {
    var (opened, named) = (stat(), stat())
    return fstat(descriptor, &opened) == 0 && lstat(path, &named) == 0
      && opened.st_ino == named.st_ino && opened.st_dev == named.st_dev
  }

  private static let draftAttempts = 4

  private static func busy(_ path: String) -> CommandFailure {
    CommandFailure("another program changes \(path) at this moment; give the command again")
  }

  private static func setMode(
    of descriptor: Int32, asOf path: String
  ) throws(CommandFailure) {
    var former = stat()
    if stat(path, &former) == 0 {
      // Only root may give a file to another user; others own it already.
      _ = fchown(descriptor, former.st_uid, former.st_gid)
      guard fchmod(descriptor, former.st_mode & 0o7777) == 0 else { throw failure(path) }
      return
    }
    guard fchmod(descriptor, geteuid() == 0 ? 0o644 : 0o644 & ~mask) == 0 else {
      throw failure(path)
    }
  }

  /// The process's mask of modes, which can only be read by setting it.
  private static var mask: mode_t {
    let mask = umask(0o077)
    umask(mask)
    return mask
  }

  private static func fill(
    _ descriptor: Int32, with text: String, _ path: String
  ) throws(CommandFailure) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw failure(path) }
      rest = rest.dropFirst(count)
    }
  }

  private static func makeFolder(of path: String) throws(CommandFailure) {
    var folder = ""
    for part in path.split(separator: "/").dropLast() {
      folder += (folder.isEmpty && !path.hasPrefix("/") ? "" : "/") + part
      if mkdir(folder, 0o755) == 0 {
        guard geteuid() != 0 || chmod(folder, 0o755) == 0 else { throw failure(folder) }
      } else if errno != EEXIST {
        throw failure(folder)
      }
    }
  }

  /// Makes the file's name durable.
  private static func flushFolder(of path: String) throws(CommandFailure) {
    let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
    let folder = parts.joined(separator: "/")
    let named = folder.isEmpty ? (path.hasPrefix("/") ? "/" : ".") : folder
    guard FileSync.flush(path: named) else { throw failure(path) }
  }

  private static func failure(_ path: String) -> CommandFailure {
    CommandFailure(
      "\(path) cannot be written: \(String(cString: strerror(errno))); run as a user who may, or "
        + "name another file (--settings)")
  }
}
