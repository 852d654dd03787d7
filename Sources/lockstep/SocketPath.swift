import Glibc
import Synchronization

/// The paths of Unix sockets, which may have 107 bytes at most, whatever the length of their
/// folder's.
enum SocketPath {
  /// Descriptors of folders whose names are too long, by name. They stay open as long as the
  /// process lives: a listener needs its path to the end.
  private static let folders = Mutex<[String: Int32]>([:])

  /// Less than the kernel's limit, so that a name is reached in the same way everywhere.
  private static let plainBytesMax = 100

  /// A folder with a long name is reached through a descriptor of it. Where it cannot be opened,
  /// the plain path comes back, and whoever uses it is told what is wrong.
  static func of(_ name: String, in folder: String) -> String {
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
