import CLinux
import Glibc
import LockstepLanguage
import LockstepModel

/// Output folder of an export. It has a temporary name until all of it is written and durable, so
/// that a partial export is never mistaken for a complete one. Readable by its owner only.
package struct ExportFolder {
  /// Final path of the folder.
  package let path: String
  /// Names of its subfolders.
  private let folders: [String]
  private var partial: String { path + ".partial" }

  /// Throws if `path` exists and is not an empty folder.
  package init(path: String, folders: [String] = [chunks]) throws(CommandFailure) {
    self.path = try Self.checked(path)
    self.folders = folders
    for folder in [partial] + folders.map({ partial + "/" + $0 }) where mkdir(folder, 0o700) != 0 {
      let reason = errno
      guard reason != EEXIST else {
        throw CommandFailure(
          localized(
            "{folder} is there already, left by an export that did not finish; "
              + "remove it, then try again", ["folder": folder]))
      }
      throw PlainFile.failure(folder, "be made", reason)
    }
  }

  /// Creates a file in the folder and removes an older one of that name.
  package func create(_ name: String) throws(CommandFailure) -> PlainFile {
    let path = partial + "/" + name
    guard unlink(path) == 0 || errno == ENOENT else {
      throw PlainFile.failure(path, "be replaced", errno)
    }
    let descriptor = Glibc.open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw PlainFile.failure(path, "be made", errno) }
    return PlainFile(path: path, descriptor: descriptor)
  }

  /// Opens a written file for reading.
  package func open(_ name: String) throws(CommandFailure) -> PlainFile {
    let path = partial + "/" + name
    let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw PlainFile.failure(path, "be read", errno) }
    return PlainFile(path: path, descriptor: descriptor)
  }

  package func remove(_ name: String) throws(CommandFailure) {
    try Self.remove(partial + "/" + name)
  }

  package func has(_ chunk: ChunkHash) -> Bool {
    access(partial + "/" + Self.name(of: chunk), F_OK) == 0
  }

  package func add(_ chunk: ChunkHash, _ bytes: [UInt8]) throws(CommandFailure) {
    try create(Self.name(of: chunk)).write(bytes)
  }

  /// Makes all files durable and gives the folder its final name.
  package func finish() throws(CommandFailure) {
    let descriptor = Glibc.open(partial, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw PlainFile.failure(partial, "be opened", errno) }
    defer { close(descriptor) }
    // One call for possibly many thousand files.
    guard linux_sync_filesystem(descriptor) == 0 else {
      throw PlainFile.failure(partial, "be made durable", errno)
    }
    guard rename(partial, path) == 0 else {
      throw PlainFile.failure(partial, "become \(path)", errno)
    }
    guard linux_sync_filesystem(descriptor) == 0 else {
      throw PlainFile.failure(path, "be made durable", errno)
    }
  }

  /// Removes the unfinished folder and its contents.
  package func discard() throws(CommandFailure) {
    for folder in folders.map({ partial + "/" + $0 }) + [partial] {
      for name in try Self.names(in: folder) ?? [] { try Self.remove(folder + "/" + name) }
      guard rmdir(folder) == 0 || errno == ENOENT else {
        throw PlainFile.failure(folder, "be removed", errno)
      }
    }
  }

  package static let chunks = "chunks"

  private static func name(of chunk: ChunkHash) -> String { chunks + "/" + chunk.text }

  private static func checked(_ path: String) throws(CommandFailure) -> String {
    guard let names = try names(in: path) else {
      // The folder does not exist yet. With a trailing slash, the temporary name would be inside
      // it.
      let trimmed = String(path.reversed().drop { $0 == "/" }.reversed())
      guard !trimmed.isEmpty else {
        throw CommandFailure(localized("an export needs a folder's name"))
      }
      return trimmed
    }
    guard names.isEmpty else {
      throw CommandFailure(
        localized(
          "{path} is not empty; name a folder that is empty or not there yet", ["path": path]))
    }
    guard let real = realpath(path, nil) else { throw PlainFile.failure(path, "be found", errno) }
    defer { free(real) }
    return String(cString: real)
  }

  /// Returns nil if the folder does not exist.
  package static func names(in folder: String) throws(CommandFailure) -> [String]? {
    guard let stream = opendir(folder) else {
      if errno == ENOENT { return nil }
      throw PlainFile.failure(folder, "be read", errno)
    }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != "." && name != ".." { names.append(name) }
    }
    return names
  }

  private static func remove(_ path: String) throws(CommandFailure) {
    guard unlink(path) == 0 || errno == ENOENT || errno == EISDIR else {
      throw PlainFile.failure(path, "be removed", errno)
    }
  }
}
