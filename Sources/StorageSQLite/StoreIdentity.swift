import Glibc
import LockstepStorage

/// Tells whether the files of an open store still stand under their names. Where one was removed,
/// moved or replaced, whatever is written goes into a file that nobody will find again, and neither
/// SQLite nor the kernel says so.
package struct StoreIdentity: Sendable {
  /// The file itself, whatever it is called. It is open, so its number is not given again.
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

  /// The store in this directory; these files of it are open.
  init(directory: String, _ names: [String]) {
    self.directory = directory
    for name in names { watch(name) }
  }

  /// This one is open from now on; one that is not there is passed over.
  mutating func watch(_ name: String) {
    guard let identity = Identity(directory + "/" + name) else { return }
    files.append((name, identity))
  }

  /// What is wrong with them now. A system call a file.
  package func look() -> StorageError? {
    let lost = files.first { Identity(directory + "/" + $0.name) != $0.identity }
    return lost.map { .gone(path: directory, name: $0.name) }
  }
}
