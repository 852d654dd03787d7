import Glibc

/// A user of this machine that is not root, such as the one of a relay's service.
struct SystemUser {
  let name: String
  let groupName: String
  private let user: uid_t
  private let group: gid_t

  /// Returns the owner of a folder; nil if that is root, or there is no folder or no such user.
  init?(ofFolder folder: String) {
    var status = stat()
    guard stat(folder, &status) == 0, status.st_uid != 0, let entry = getpwuid(status.st_uid) else {
      return nil
    }
    name = String(cString: entry.pointee.pw_name)
    user = status.st_uid
    group = status.st_gid
    groupName = getgrgid(group).map { String(cString: $0.pointee.gr_name) } ?? "\(group)"
  }

  /// True if the user can read the file. Root asks, in the only thread of this process; who cannot
  /// ask expects the best.
  func canRead(_ path: String) -> Bool {
    var own = group
    let count = getgroups(0, nil)
    let groups = [gid_t](unsafeUninitializedCapacity: Int(max(0, count))) { buffer, filled in
      filled = Int(max(0, getgroups(count, buffer.baseAddress)))
    }
    let rootGroup = getegid()
    // Each step may be denied alone, and only what was done is undone.
    let hasGroups = setgroups(1, &own) == 0
    let hasGroup = hasGroups && setegid(own) == 0
    let isUser = hasGroup && seteuid(user) == 0
    let isReadable = !isUser || faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0
    let isBack =
      (!isUser || seteuid(0) == 0) && (!hasGroup || setegid(rootGroup) == 0)
      && (!hasGroups || setgroups(groups.count, groups) == 0)
    precondition(isBack, "the process could not become root again")
    return isReadable
  }
}
