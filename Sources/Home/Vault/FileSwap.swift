import CLinux
import Glibc
import LockstepCrypto
import LockstepJSON
import LockstepLanguage
import LockstepModel

/// Replacement or removal of one file, such that nothing that another program writes meanwhile is
/// lost. The plan is stored first, so that `recover` can repair a crash in between.
///
///     NAME   temporary                NAME   temporary
///     old    incoming   exchange →    incoming   old       check: is it the expected content?
///                                                          yes: remove it.  no: it is new; keep it
package struct FileSwap: Hashable, Sendable {
  package let path: String
  /// Path of a file in the same folder that no other program uses.
  package let temporary: String
  /// Hash of the new content; nil if the file is to be removed.
  package let incoming: ChunkHash?
  /// Hash of the content to be replaced; nil if there was no file.
  package let expected: ChunkHash?

  /// Result of a swap.
  package enum End: Hashable {
    case done
    /// Nothing was changed: the path has other content by now.
    case changed
    /// Done. The replaced file had unknown content; it is at this path.
    case kept(at: String)
  }

  package init(path: String, temporary: String, incoming: ChunkHash?, expected: ChunkHash?) {
    self.path = path
    self.temporary = temporary
    self.incoming = incoming
    self.expected = expected
  }

  package init?(_ json: JSONValue?) {
    guard let path = json?["path"]?.string, let temporary = json?["temporary"]?.string else {
      return nil
    }
    self.init(
      path: path, temporary: temporary, incoming: VaultEntry.hash(json?["incoming"]),
      expected: VaultEntry.hash(json?["expected"]))
  }

  package var json: JSONValue {
    let json: JSONValue = ["path": .string(path), "temporary": .string(temporary)]
    return json.setting("incoming", to: incoming.map { .string($0.text) })
      .setting("expected", to: expected.map { .string($0.text) })
  }

  /// Path of the old file on a file system that cannot exchange two files.
  private var oldPath: String { temporary + ".old" }

  // MARK: replacement

  /// Replaces the expected file with the temporary one. If it throws, the only change is that the
  /// temporary file is removed. `canExchange`: false for a file system that cannot exchange two
  /// files.
  package func replace(canExchange: Bool = true) throws(VaultFault) -> End {
    do throws(VaultFault) {
      let end = try expected == nil ? createFile() : exchange(canExchange)
      if end == .changed { unlink(temporary) }
      FileSwap.syncFolder(FilePath.folder(of: path))
      return end
    } catch {
      unlink(temporary)
      throw error
    }
  }

  private func createFile() throws(VaultFault) -> End {
    if linux_rename_new(temporary, path) == 0 { return .done }
    if errno == EEXIST { return .changed }
    throw failure(.write, errno)
  }

  private func exchange(_ canExchange: Bool) throws(VaultFault) -> End {
    guard case .file = FileInfo(path) else { return .changed }
    try refuseWriters()
    if canExchange {
      if linux_exchange(temporary, path) == 0 { return try finishExchange(temporary) }
      let code = errno
      if code == ENOENT { return .changed }
      guard [EINVAL, ENOSYS, ENOTSUP].contains(code) else { throw failure(.replace, code) }
    }
    // For a moment no file exists: readers may miss it, but no writer's work is lost.
    guard rename(path, oldPath) == 0 else {
      if errno == ENOENT { return .changed }
      throw failure(.replace, errno)
    }
    if linux_rename_new(temporary, path) == 0 { return try finishExchange(oldPath) }
    let code = errno
    if linux_rename_new(oldPath, path) == 0 { throw failure(.replace, code) }
    // Another program has created a file meanwhile.
    unlink(temporary)
    return isExpected(oldPath) ? removeFile(oldPath, .changed) : .kept(at: oldPath)
  }

  /// Completes a replacement, after which the old file is at `place`.
  private func finishExchange(_ place: String) throws(VaultFault) -> End {
    if case .file = FileInfo(place) {
      return isExpected(place) ? removeFile(place, .done) : .kept(at: place)
    }
    // The path contained a folder, not the file to be replaced: undo the exchange.
    guard linux_exchange(place, path) == 0 else { throw failure(.replace, errno) }
    return .changed
  }

  /// Removes the file if it has the expected content.
  package func remove() throws(VaultFault) -> End {
    guard case .file = FileInfo(path) else { return .changed }
    try refuseWriters()
    guard rename(path, temporary) == 0 else {
      if errno == ENOENT { return .changed }
      throw failure(.remove, errno)
    }
    defer { FileSwap.syncFolder(FilePath.folder(of: path)) }
    if isExpected(temporary) { return removeFile(temporary, .done) }
    return linux_rename_new(temporary, path) == 0 ? .changed : .kept(at: temporary)
  }

  /// Repairs the state after a crash: the file, the temporary one, or both exist.
  func recover() -> End {
    defer { FileSwap.syncFolder(FilePath.folder(of: path)) }
    var end = End.done
    for place in [oldPath, temporary] {
      guard case .file = FileInfo(place) else { continue }
      if place == temporary, incoming != nil, content(place) == incoming {
        unlink(place)
      } else if isExpected(place), incoming == nil || FileInfo(path) != .absent {
        unlink(place)
      } else if linux_rename_new(place, path) != 0 {
        end = .kept(at: place)
      }
    }
    return end
  }

  // MARK: checks

  /// Throws if a program has the file open to write: its further writes would be lost.
  private func refuseWriters() throws(VaultFault) {
    if try FileContent(path).hasWriters {
      throw .waiting(
        LocalizedText(
          localized(
            "another program has {path} open for writing; it is replaced once that program closes "
              + "it", ["path": path])))
    }
  }

  private func isExpected(_ place: String) -> Bool {
    do throws(VaultFault) {
      return try !FileContent(place).hasWriters && content(place) == expected
    } catch {
      return false
    }
  }

  /// Returns nil if the file cannot be read or is being written.
  private func content(_ place: String) -> ChunkHash? {
    do throws(VaultFault) {
      return try FileContent.hash(place).0
    } catch {
      return nil
    }
  }

  private func removeFile(_ place: String, _ end: End) -> End {
    unlink(place)
    return end
  }

  private enum Operation {
    case write, replace, remove
  }

  private func failure(_ operation: Operation, _ code: Int32) -> VaultFault {
    .problem(LocalizedText(text(operation, ["path": path, "error": FileInfo.text(code)])))
  }

  private func text(_ operation: Operation, _ values: [String: String]) -> String {
    switch operation {
    case .write: localized("{path} cannot be written: {error}", values)
    case .replace: localized("{path} cannot be replaced: {error}", values)
    case .remove: localized("{path} cannot be removed: {error}", values)
    }
  }

  /// Makes the names in a folder durable against a power failure, if the file system supports it.
  package static func syncFolder(_ path: String) {
    let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    fsync(descriptor)
    close(descriptor)
  }
}

/// A file that is written beside the one it replaces. It is removed with this object unless it is
/// finished.
final class FreshFile {
  let path: String
  private var descriptor: Int32
  private let digest = SHA256()
  private(set) var bytes = 0

  /// Removes the remains of a killed process: they are not needed, because the home has the chunks.
  init(_ path: String) throws(VaultFault) {
    unlink(path)
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    descriptor = open(path, flags, 0o600)
    self.path = path
    guard descriptor >= 0 else { throw failure }
  }

  deinit {
    guard descriptor >= 0 else { return }
    close(descriptor)
    unlink(path)
  }

  private var failure: VaultFault {
    let code = errno
    return .problem(
      LocalizedText(
        localized(
          "{folder} cannot be written to: {error}",
          ["folder": FilePath.folder(of: path), "error": FileInfo.text(code)])))
  }

  func add(_ more: [UInt8]) throws(VaultFault) {
    var rest = more[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if errno != EINTR {
        throw failure
      }
    }
    digest.update(more)
    bytes += more.count
  }

  /// Makes the file durable, sets its rights, and returns the hash of all bytes. Must be called
  /// once. Never sets the bits set-user-ID and set-group-ID, because other devices chose the
  /// content.
  func finish(_ rights: FileInfo.FileRights) throws(VaultFault) -> ChunkHash? {
    // A user who may not give files away keeps it; its group and rights are set all the same.
    if fchown(descriptor, rights.owner, rights.group) != 0 {
      _ = fchown(descriptor, uid_t.max, rights.group)
    }
    guard fchmod(descriptor, rights.mode & 0o777) == 0, fsync(descriptor) == 0 else {
      throw failure
    }
    // From here on no descriptor is open to write it.
    close(descriptor)
    descriptor = -1
    return ChunkHash(bytes: digest.finish())
  }

  /// Removes a finished file that is not needed.
  func discard() { unlink(path) }
}
