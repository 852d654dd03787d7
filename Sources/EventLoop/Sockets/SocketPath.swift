import Glibc
import Synchronization

/// Paths of Unix sockets, which are limited to 107 bytes, in folders with paths of any length.
package enum SocketPath {
  /// Descriptors of folders with too long names, by name. They stay open until the process ends,
  /// because a listener needs its path until then.
  private static let folders = Mutex<[String: Int32]>([:])

  /// Longest path that is used as it is, in bytes. Less than the kernel's limit, so that a name is
  /// reached in the same way everywhere.
  private static let plainBytesMax = 100

  /// Returns the path of a socket. Uses a descriptor of the folder if the plain path is too long.
  /// If the folder cannot be opened, returns the plain path; the call that uses it reports the
  /// error.
  package static func of(_ name: String, in folder: String) -> String {
    let plain = folder + "/" + name
    guard plain.utf8.count > plainBytesMax else { return plain }
    let descriptor = folders.withLock { folders -> Int32 in
      if let descriptor = folders[folder] { return descriptor }
      let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      if descriptor >= 0 { folders[folder] = descriptor }
      return descriptor
    }
    return descriptor < 0 ? plain : "/proc/self/fd/\(descriptor)/\(name)"
  }
}
