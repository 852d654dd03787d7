import Glibc
import LockstepStorage

/// Checks that the files of an open store still have their names. If a file was removed, moved or
/// replaced, writes go into a file that cannot be opened by its name any more, and neither SQLite
/// nor the kernel reports that.
package struct StoreIdentity: Sendable {
  /// The file itself, independent of its name. It is open, so its inode number is not reused.
  private struct Identity: Hashable, Sendable {
    var device: UInt64
    var number: UInt64

    init?(_ path: String) {
      var status = stat()
      guard stat(path, &status) == 0 else { return nil }
      device = UInt64(status.st_dev)
      number = UInt64(status.st_ino)
    }
  }

  private let directory: String
  private var files: [(name: String, identity: Identity)] = []

  /// `names`: the open files of the store in this directory.
  init(directory: String, _ names: [String]) {
    self.directory = directory
    for name in names { watch(name) }
  }

  /// Adds an open file to the check; ignores a file that does not exist.
  mutating func watch(_ name: String) {
    guard let identity = Identity(directory + "/" + name) else { return }
    files.append((name, identity))
  }

  /// Returns an error if a file lost its name. Costs one system call per file.
  package func look() -> StorageError? {
    let lost = files.first { Identity(directory + "/" + $0.name) != $0.identity }
    return lost.map { .gone(path: directory, name: $0.name) }
  }
}
