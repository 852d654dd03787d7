import CLinux
import Glibc

/// Identity change of root to the owner of a store's folder, for work in that folder.
///
/// The user who runs the relay may put anything into that folder, so root works there as that user:
/// it writes nothing that the user could not write, and the user owns all files that it creates.
/// Root keeps its right to read, because the path to the folder, or a backup, may be closed to the
/// user.
final class StoreOwner {
  private let groups: [gid_t]
  private let group: gid_t
  private var isOver = false

  /// Becomes the owner until `end`. Returns nil if the process is not root, the folder belongs to
  /// root, or there is none yet. For one thread at a time; no other thread may need root meanwhile.
  static func become(ofFolder folder: String?) throws(CommandFailure) -> StoreOwner? {
    var status = stat()
    guard let folder, geteuid() == 0, stat(folder, &status) == 0, status.st_uid != 0 else {
      return nil
    }
    return try StoreOwner(status, of: folder)
  }

  private init(_ owner: stat, of folder: String) throws(CommandFailure) {
    let count = getgroups(0, nil)
    groups = [gid_t](unsafeUninitializedCapacity: Int(max(0, count))) { buffer, filled in
      filled = Int(max(0, getgroups(count, buffer.baseAddress)))
    }
    group = getegid()
    var own = owner.st_gid
    guard setgroups(1, &own) == 0, setegid(own) == 0, seteuid(owner.st_uid) == 0 else {
      let reason = String(cString: strerror(errno))
      isOver = true
      _ = restore()
      throw CommandFailure(
        "\(folder) belongs to another user, whom root cannot become here (\(reason)); run the "
          + "command as that user")
    }
    // If this fails, the process is an ordinary user, who may not reach all that root does.
    _ = linux_keep_reading()
  }

  /// Becomes root again.
  func end() {
    if isOver { return }
    isOver = true
    let isBack = restore()
    precondition(isBack, "root could not be root again")
  }

  private func restore() -> Bool {
    seteuid(0) == 0 && setegid(group) == 0 && setgroups(groups.count, groups) == 0
  }

  deinit { end() }
}
