import Glibc
import LockstepModel

/// Identity, size and times of a file. If they are unchanged, the file was not written since, and
/// its content is known without reading it.
struct FileSignature: Hashable, Sendable {
  var device: UInt64
  var inode: UInt64
  var bytes: Int64
  /// Time of the last change of the content, and of any change, in nanoseconds since the Unix
  /// epoch.
  var modified: Int64
  var changed: Int64

  init(_ status: stat) {
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
    bytes = Int64(status.st_size)
    modified = FileSignature.nanoseconds(status.st_mtim)
    changed = FileSignature.nanoseconds(status.st_ctim)
  }

  private static func nanoseconds(_ time: timespec) -> Int64 {
    Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
  }

  /// Wall-clock time of the last change of the content, in milliseconds.
  var modifiedAt: Int64 { modified / 1_000_000 }

  init?(_ json: JSONValue?) {
    guard let parts = json?.array?.compactMap(\.int64), parts.count == 5 else { return nil }
    device = UInt64(bitPattern: parts[0])
    inode = UInt64(bitPattern: parts[1])
    (bytes, modified, changed) = (parts[2], parts[3], parts[4])
  }

  var json: JSONValue {
    let parts = [Int64(bitPattern: device), Int64(bitPattern: inode), bytes, modified, changed]
    return .array(parts.map { .number(JSONNumber($0)) })
  }
}

/// Identity of the folder that contains a file. If a disk is not mounted, another folder is in its
/// place, and files that this one lacks were not deleted.
struct FolderMark: Hashable, Sendable {
  var device: UInt64
  var inode: UInt64

  init(_ signature: FileSignature) { (device, inode) = (signature.device, signature.inode) }

  init?(_ json: JSONValue?) {
    guard let parts = json?.array?.compactMap(\.int64), parts.count == 2 else { return nil }
    (device, inode) = (UInt64(bitPattern: parts[0]), UInt64(bitPattern: parts[1]))
  }

  var json: JSONValue {
    .array([device, inode].map { .number(JSONNumber(Int64(bitPattern: $0))) })
  }
}

/// State of a path.
enum FileInfo: Hashable, Sendable {
  case absent
  case file(FileSignature, FileRights)
  case folder(FolderMark)
  /// Another kind of file, or the system returns an error; a sentence for a person.
  case unfit(String)

  /// Mode and owner of a file.
  struct FileRights: Hashable, Sendable {
    var mode: UInt32
    var owner: UInt32
    var group: UInt32

    /// Rights of a file that did not exist: only its owner can read it.
    static let new = FileRights(mode: 0o600, owner: UInt32.max, group: UInt32.max)
  }

  init(_ path: String) {
    var status = stat()
    guard lstat(path, &status) == 0 else {
      let code = errno
      self =
        code == ENOENT || code == ENOTDIR
        ? .absent : .unfit("\(path) cannot be looked at: \(FileInfo.text(code))")
      return
    }
    switch status.st_mode & S_IFMT {
    case S_IFREG:
      self = .file(
        FileSignature(status),
        FileRights(mode: status.st_mode & 0o7777, owner: status.st_uid, group: status.st_gid))
    case S_IFDIR: self = .folder(FolderMark(FileSignature(status)))
    default: self = .unfit("\(path) is no plain file; put one there, or forget it")
    }
  }

  static func text(_ code: Int32) -> String {
    code == ENOSPC || code == EDQUOT || code == EFBIG
      ? "\(String(cString: strerror(code))); make room, then it is tried again"
      : String(cString: strerror(code))
  }
}

/// Operations on paths.
enum FilePath {
  static func folder(of path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  static func name(of path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return path }
    return String(path[path.index(after: slash)...])
  }

  static func joined(_ folder: String, _ name: String) -> String {
    folder == "/" ? "/" + name : folder + "/" + name
  }

  /// Returns the absolute path without links and dots, or nil if it does not exist.
  static func real(_ path: String) -> String? {
    guard let found = realpath(path, nil) else { return nil }
    defer { free(found) }
    return String(validatingCString: found)
  }

  /// Returns the absolute path of a file that may not exist yet, in a folder that must exist.
  static func absolute(_ path: String) -> String? {
    if let real = real(path) { return real }
    guard let folder = real(folder(of: path)) else { return nil }
    return joined(folder, name(of: path))
  }
}
