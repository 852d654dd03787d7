import CLinux
import Glibc
import LockstepModel

/// Replacement or removal of one file, such that nothing that another program writes meanwhile is
/// lost. The plan is stored first, so that `recover` can repair a crash in between.
///
///     NAME   temporary                NAME   temporary
///     old    incoming   exchange →    incoming   old       check: is it the expected content?
///                                                          yes: remove it.  no: it is new; keep it
struct FileSwap: Hashable, Sendable {
  let path: String
  /// Path of a file in the same folder that no other program uses.
  let temporary: String
  /// Hash of the new content; nil if the file is to be removed.
  let incoming: ChunkHash?
  /// Hash of the content to be replaced; nil if there was no file.
  let expected: ChunkHash?

  /// Result of a swap.
  enum End: Hashable {
    case done
    /// Nothing was changed: the path has other content by now.
    case changed
    /// Done. The replaced file had unknown content; it is at this path.
    case kept(at: String)
  }

  init(path: String, temporary: String, incoming: ChunkHash?, expected: ChunkHash?) {
    self.path = path
    self.temporary = temporary
    self.incoming = incoming
    self.expected = expected
  }

  init?(_ json: JSONValue?) {
    guard let path = json?["path"]?.string, let temporary = json?["temporary"]?.string else {
      return nil
    }
    self.init(
      path: path, temporary: temporary, incoming: VaultEntry.hash(json?["incoming"]),
      expected: VaultEntry.hash(json?["expected"]))
  }

  var json: JSONValue {
    let json: JSONValue = ["path": .string(path), "temporary": .string(temporary)]
    return json.setting("incoming", to: incoming.map { .string($0.text) })
      .setting("expected", to: expected.map { .string($0.text) })
  }

  /// Path of the old file on a file system that cannot exchange two files.
  private var aside: String { temporary + ".old" }

  // MARK: replacement

  /// Replaces the expected file with the temporary one. If it throws, the only change is that the
  /// temporary file is removed. `canExchange`: false for a file system that cannot exchange two
  /// files.
  func replace(canExchange: Bool = true) throws(VaultFault) -> End {
    do throws(VaultFault) {
      let end = try expected == nil ? place() : exchange(canExchange)
      if end == .changed { unlink(temporary) }
      FileSwap.syncFolder(FilePath.folder(of: path))
      return end
    } catch {
      unlink(temporary)
      throw error
    }
  }

  private func place() throws(VaultFault) -> End {
    if linux_rename_new(temporary, path) == 0 { return .done }
    if errno == EEXIST { return .changed }
    throw failure("written", errno)
  }

  private func exchange(_ canExchange: Bool) throws(VaultFault) -> End {
    guard case .file = FileInfo(path) else { return .changed }
    try refuseWriters()
    if canExchange {
      if linux_exchange(temporary, path) == 0 { return try settle(temporary) }
      let code = errno
      if code == ENOENT { return .changed }
      guard [EINVAL, ENOSYS, ENOTSUP].contains(code) else { throw failure("replaced", code) }
    }
    // For a moment no file exists: readers may miss it, but no writer's work is lost.
    guard rename(path, aside) == 0 else {
      if errno == ENOENT { return .changed }
      throw failure("replaced", errno)
    }
    if linux_rename_new(temporary, path) == 0 { return try settle(aside) }
    let code = errno
    if linux_rename_new(aside, path) == 0 { throw failure("replaced", code) }
    // Another program has created a file meanwhile.
    unlink(temporary)
    return isExpected(aside) ? removed(aside, .changed) : .kept(at: aside)
  }

  /// Completes a replacement, after which the old file is at `place`.
  private func settle(_ place: String) throws(VaultFault) -> End {
    if case .file = FileInfo(place) {
      return isExpected(place) ? removed(place, .done) : .kept(at: place)
    }
    // The path contained a folder, not the file to be replaced: undo the exchange.
    guard linux_exchange(place, path) == 0 else { throw failure("replaced", errno) }
    return .changed
  }

  /// Removes the file if it has the expected content.
  func remove() throws(VaultFault) -> End {
    guard case .file = FileInfo(path) else { return .changed }
    try refuseWriters()
    guard rename(path, temporary) == 0 else {
      if errno == ENOENT { return .changed }
      throw failure("removed", errno)
    }
    defer { FileSwap.syncFolder(FilePath.folder(of: path)) }
    if isExpected(temporary) { return removed(temporary, .done) }
    return linux_rename_new(temporary, path) == 0 ? .changed : .kept(at: temporary)
  }

  /// Repairs the state after a crash: the file, the temporary one, or both exist.
  func recover() -> End {
    defer { FileSwap.syncFolder(FilePath.folder(of: path)) }
    var end = End.done
    for place in [aside, temporary] {
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
      throw .waiting("another program has \(path) open to write; it is replaced once that is done")
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

  private func removed(_ place: String, _ end: End) -> End {
    unlink(place)
    return end
  }

  private func failure(_ what: String, _ code: Int32) -> VaultFault {
    .problem("\(path) cannot be \(what): \(FileInfo.text(code))")
  }

  /// Makes the names in a folder durable against a power failure, if the file system supports it.
  static func syncFolder(_ path: String) {
    let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    fsync(descriptor)
    close(descriptor)
  }
}
