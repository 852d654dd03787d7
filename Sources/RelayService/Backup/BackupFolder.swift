import CLinux
import Glibc
import LockstepCommandLine
import LockstepModel
import LockstepStorageFiles

/// Folder for backups. Each backup is a subfolder named by its time, so that names sort by time:
///
///     DIR/2026-03-01T12-00-00Z/             complete
///     DIR/2026-03-02T12-00-00Z.partial/     in progress
///
/// Only one backup at a time can be made in it; the lock is on the folder itself.
final class BackupFolder {
  let path: String
  private let descriptor: Int32
  /// True if this backup created the folder; the folder is removed if the backup does not complete.
  private let isNew: Bool

  /// Final path of the backup, and its path until it is complete.
  let finalPath: String
  var draft: String { finalPath + Self.partial }

  private static let partial = ".partial"

  /// Begins a backup. Removes the remains of earlier incomplete ones. `wall`: milliseconds since
  /// the Unix epoch.
  init(_ path: String, wall: Int64) throws(CommandFailure) {
    isNew = mkdir(path, 0o700) == 0
    if !isNew, errno != EEXIST { throw PlainFile.failure(path, "be created", errno) }
    descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw PlainFile.failure(path, "be opened", errno) }
    self.path = path
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      close(descriptor)
      throw CommandFailure("another backup into \(path) is in progress; wait for its end")
    }
    let stamp = Self.stamp(wall)
    var name = stamp
    // Several backups in one second; their names stay in order.
    for number in 2..<100 where FolderTree.exists(path + "/" + name) {
      name = stamp + (number < 10 ? "-0" : "-") + "\(number)"
    }
    finalPath = path + "/" + name
    for name in try ExportFolder.names(in: path) ?? [] where Self.isDraft(name) {
      try FolderTree.remove(path + "/" + name)
    }
    try FolderTree.make(draft)
  }

  deinit { close(descriptor) }

  /// Makes the backup durable and gives it its final name. `copied`: it has files that are not
  /// durable yet.
  func finish(copied: Bool) throws(CommandFailure) {
    try FolderTree.sync(draft, all: copied)
    guard linux_rename_new(draft, finalPath) == 0 else {
      throw PlainFile.failure(draft, "become \(finalPath)", errno)
    }
    try FolderTree.sync(path)
  }

  /// Removes the incomplete backup.
  func discard() throws(CommandFailure) {
    try FolderTree.remove(draft)
    // Fails if another process has put something there meanwhile.
    if isNew { rmdir(path) }
  }

  /// Removes the oldest backups, so that `count` stay. Returns the names of those removed.
  func removeOldest(keeping count: Int) throws(CommandFailure) -> [String] {
    let gone = try Self.backups(in: path).dropLast(count)
    for name in gone {
      // Renamed first, so that a backup whose removal is interrupted is no longer a backup.
      let leaving = path + "/" + name + Self.partial
      try FolderTree.move(path + "/" + name, to: leaving)
      try FolderTree.remove(leaving)
    }
    return Array(gone)
  }

  // MARK: names

  /// Returns the names of the complete backups in a folder, oldest first.
  static func backups(in path: String) throws(CommandFailure) -> [String] {
    (try ExportFolder.names(in: path) ?? []).filter {
      isName($0) && FolderTree.exists("\(path)/\($0)/\(BackupManifest.name)")
    }.sorted()
  }

  /// Returns the backup at `path`: the folder itself, or the newest backup in it.
  static func backup(_ path: String) throws(CommandFailure) -> String {
    if FolderTree.exists(path + "/" + BackupManifest.name) { return path }
    guard let newest = try backups(in: path).last else {
      throw CommandFailure("there is no backup in \(path); name a folder that relay backup made")
    }
    return path + "/" + newest
  }

  static func stamp(_ wall: Int64) -> String {
    let time = UniversalTime(wall)
    let clock = [time.hour, time.minute, time.second].map { ($0 < 10 ? "0" : "") + "\($0)" }
    return "\(time.date)T\(clock.joined(separator: "-"))Z"
  }

  private static func isDraft(_ name: String) -> Bool {
    name.hasSuffix(partial) && isName(String(name.dropLast(partial.count)))
  }

  /// True for `2026-03-01T12-00-00Z`, also with a number after it.
  private static func isName(_ name: String) -> Bool {
    let form = "0000-00-00T00-00-00Z"
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    let isStamp = zip(name.utf8, form.utf8).allSatisfy {
      $1 == UInt8(ascii: "0") ? digits.contains($0) : $0 == $1
    }
    let rest = name.utf8.dropFirst(form.utf8.count)
    return isStamp && name.utf8.count >= form.utf8.count
      && (rest.isEmpty
        || rest.first == UInt8(ascii: "-") && rest.count <= 3
          && rest.dropFirst().allSatisfy(digits.contains))
  }
}

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
  static func changeOwner(_ path: String, to owner: stat) throws(CommandFailure) {
    var status = stat()
    guard lstat(path, &status) == 0, lchown(path, owner.st_uid, owner.st_gid) == 0 else {
      throw PlainFile.failure(path, "be changed to the store's owner", errno)
    }
    guard status.st_mode & S_IFMT == S_IFDIR else { return }
    for name in try ExportFolder.names(in: path) ?? [] {
      try changeOwner(path + "/" + name, to: owner)
    }
  }

  static func make(_ path: String) throws(CommandFailure) {
    guard mkdir(path, 0o700) == 0 else { throw PlainFile.failure(path, "be created", errno) }
  }

  static func move(_ path: String, to place: String) throws(CommandFailure) {
    guard rename(path, place) == 0 else {
      throw PlainFile.failure(path, "be moved to \(place)", errno)
    }
  }

  /// Creates a file that is accessible to its owner only.
  static func makeFile(_ path: String) throws(CommandFailure) -> PlainFile {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw PlainFile.failure(path, "be created", errno) }
    return PlainFile(path: path, descriptor: descriptor)
  }

  static func openFile(_ path: String) throws(CommandFailure) -> PlainFile {
    let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else { throw PlainFile.failure(path, "be read", errno) }
    return PlainFile(path: path, descriptor: descriptor)
  }

  static func exists(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0
  }

  /// Makes the file, or the names in the folder, durable against a power failure; with `all`,
  /// everything that was written to its file system.
  static func sync(_ path: String, all: Bool = false) throws(CommandFailure) {
    guard all ? flushFileSystem(path) : FileSync.flush(path: path) else {
      throw PlainFile.failure(path, "be made durable", errno)
    }
  }

  private static func flushFileSystem(_ path: String) -> Bool {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    let isFlushed = linux_sync_filesystem(descriptor) == 0
    let reason = errno
    close(descriptor)
    errno = reason
    return isFlushed
  }
}
