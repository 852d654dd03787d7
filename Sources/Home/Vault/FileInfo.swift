import CLinux
import Glibc
import LockstepCrypto
import LockstepJSON
import LockstepLanguage
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
  case unsupported(LocalizedText)

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
      let isAbsent = code == ENOENT || code == ENOTDIR
      self = isAbsent ? .absent : .unsupported(FileInfo.unexamined(path, code))
      return
    }
    switch status.st_mode & S_IFMT {
    case S_IFREG:
      self = .file(
        FileSignature(status),
        FileRights(mode: status.st_mode & 0o7777, owner: status.st_uid, group: status.st_gid))
    case S_IFDIR: self = .folder(FolderMark(FileSignature(status)))
    default:
      self = .unsupported(
        LocalizedText(
          localized(
            "{path} is not a regular file; replace it with one, or forget it", ["path": path])))
    }
  }

  private static func unexamined(_ path: String, _ code: Int32) -> LocalizedText {
    LocalizedText(
      localized("{path} cannot be examined: {error}", ["path": path, "error": text(code)]))
  }

  /// Returns the system's text about an error, with the next step if there is one.
  static func text(_ code: Int32) -> String {
    let error = systemReason(String(cString: strerror(code)))
    guard code == ENOSPC || code == EDQUOT || code == EFBIG else { return error }
    return localized("{error}; free disk space, then the device retries", ["error": error])
  }
}

/// Operations on paths.
package enum FilePath {
  package static func folder(of path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  package static func name(of path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return path }
    return String(path[path.index(after: slash)...])
  }

  package static func joined(_ folder: String, _ name: String) -> String {
    folder == "/" ? "/" + name : folder + "/" + name
  }

  /// Returns the absolute path without links and dots, or nil if it does not exist.
  package static func real(_ path: String) -> String? {
    guard let found = realpath(path, nil) else { return nil }
    defer { free(found) }
    return String(validatingCString: found)
  }

  /// Returns the absolute path of a file that may not exist yet, in a folder that must exist.
  package static func absolute(_ path: String) -> String? {
    if let real = real(path) { return real }
    guard let folder = real(folder(of: path)) else { return nil }
    return joined(folder, name(of: path))
  }
}

/// A file that is read once from its beginning to its end.
final class FileContent {
  private let path: String
  private let descriptor: Int32

  /// Throws if there is no file, or if it may not be read.
  init(_ path: String) throws(VaultFault) {
    // Non-blocking: opening a pipe in the file's place would otherwise never return.
    let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    if descriptor < 0 {
      let code = errno
      if code == ENOENT { throw .changed }
      throw FileContent.failure(path, code)
    }
    self.path = path
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  var signature: FileSignature {
    get throws(VaultFault) {
      var status = stat()
      guard fstat(descriptor, &status) == 0 else { throw failure }
      guard status.st_mode & S_IFMT == S_IFREG else { throw .changed }
      return FileSignature(status)
    }
  }

  /// True if another program may write into the file.
  var hasWriters: Bool { linux_has_writers(descriptor) == 1 }

  /// Returns the next bytes, at most `count`; none at the end.
  func read(_ count: Int) throws(VaultFault) -> [UInt8] {
    while true {
      var code: Int32 = 0
      let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
        let result = Glibc.read(descriptor, buffer.baseAddress, count)
        code = result < 0 ? errno : 0
        filled = max(0, result)
      }
      if code == 0 { return bytes }
      errno = code
      if code != EINTR { throw failure }
    }
  }

  private var failure: VaultFault { FileContent.failure(path, errno) }

  private static func failure(_ path: String, _ code: Int32) -> VaultFault {
    .problem(
      LocalizedText(
        localized("{path} cannot be read: {error}", ["path": path, "error": FileInfo.text(code)])))
  }

  /// Returns the hash of the whole file, and its signature. Throws `changed` if it was written
  /// meanwhile. `pause`: called between reads; an error from it ends the reading.
  static func hash(
    _ path: String, pause: () throws(VaultFault) -> Void = {}
  ) throws(VaultFault) -> (ChunkHash, FileSignature) {
    let file = try FileContent(path)
    let before = try file.signature
    let digest = SHA256()
    var count: Int64 = 0
    while true {
      let bytes = try file.read(readBytes)
      if bytes.isEmpty { break }
      count += Int64(bytes.count)
      // A file that grows all the time would never end.
      if count > before.bytes { throw .changed }
      digest.update(bytes)
      try pause()
    }
    guard let hash = ChunkHash(bytes: digest.finish()), try file.signature == before else {
      throw .changed
    }
    return (hash, before)
  }

  /// Bytes per read.
  static let readBytes = 1 << 20
}
