import CLinux
import Glibc
import LockstepModel

/// One file that takes another's place, or goes, so that nothing which another program writes
/// meanwhile is lost. What is to happen is written down first, so that a crash in between is
/// mended by `recover`.
///
///     NAME   temporary                NAME   temporary
///     old    incoming   exchange →    incoming   old       look at it: is it what was expected?
///                                                          yes: remove it.  no: it is new; keep it
struct FileSwap: Hashable, Sendable {
  let path: String
  /// A file beside it that nobody else uses.
  let temporary: String
  /// What comes; nil where the file is removed.
  let incoming: ChunkHash?
  /// What it takes the place of; nil where there was no file.
  let expected: ChunkHash?

  /// How it ended.
  enum End: Hashable {
    case done
    /// Nothing was changed: something else stands there by now.
    case changed
    /// It is done, and what came away is content that nobody had seen. It lies at this path.
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

  /// Where the old file goes on a file system that cannot exchange two.
  private var aside: String { temporary + ".old" }

  // MARK: what is done

  /// Puts the temporary file in the place of what is expected there. Where it throws, nothing was
  /// changed but that the temporary file is gone. `canExchange`: false where the file system is
  /// said to lack it.
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
    // For a moment there is no file: readers may miss it, but no writer's work is lost.
    guard rename(path, aside) == 0 else {
      if errno == ENOENT { return .changed }
      throw failure("replaced", errno)
    }
    if linux_rename_new(temporary, path) == 0 { return try settle(aside) }
    let code = errno
    if linux_rename_new(aside, path) == 0 { throw failure("replaced", code) }
    // Somebody has made another one meanwhile.
    unlink(temporary)
    return isExpected(aside) ? removed(aside, .changed) : .kept(at: aside)
  }

  /// What came away from `path` lies at `place` now.
  private func settle(_ place: String) throws(VaultFault) -> End {
    if case .file = FileInfo(place) {
      return isExpected(place) ? removed(place, .done) : .kept(at: place)
    }
    // A folder was put there: it was no file that we came to replace.
    guard linux_exchange(place, path) == 0 else { throw failure("replaced", errno) }
    return .changed
  }

  /// Removes the file where it is what is expected.
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

  /// After a crash: the file, the temporary one, or both are there.
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

  // MARK: looking

  /// A program that has it open would go on writing where nobody looks any more.
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

  /// nil where it cannot be read, or is being written.
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

  /// Names in it survive a power failure from here on, where the file system keeps such promises.
  static func syncFolder(_ path: String) {
    let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    fsync(descriptor)
    close(descriptor)
  }
}
