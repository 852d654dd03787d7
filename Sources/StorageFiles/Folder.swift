import Glibc
import LockstepStorage

/// A folder that is held open: what is in it is reached from here and not by its path, so that
/// nobody can put another in its place. Symbolic links are never followed.
final class Folder {
  /// For messages only.
  let path: String
  private let descriptor: Int32

  /// The folder at `path`, made for its owner alone if it is not there.
  convenience init(at path: String) throws(StorageError) {
    if mkdir(path, 0o700) == 0 {
      try Folder.sync(parentOf: path)
    } else if errno != EEXIST {
      throw StorageError(errno: errno, path: path, operation: "make the folder")
    }
    try self.init(path: path, descriptor: Glibc.open(path, Folder.flags))
  }

  private static let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC

  private init(path: String, descriptor: Int32) throws(StorageError) {
    guard descriptor >= 0 else {
      throw StorageError(errno: errno, path: path, operation: "open the folder")
    }
    self.path = path
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  private static func sync(parentOf path: String) throws(StorageError) {
    let parent = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    let descriptor = Glibc.open(parent.isEmpty ? "/" : parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw StorageError(errno: errno, path: parent, operation: "open the folder")
    }
    try Folder(path: parent, descriptor: descriptor).sync()
  }

  // MARK: folders in it

  /// The folder of that name; nil where there is none.
  func folder(_ name: String) throws(StorageError) -> Folder? {
    let descriptor = openat(self.descriptor, name, Folder.flags)
    if descriptor < 0, errno == ENOENT { return nil }
    return try Folder(path: path + "/" + name, descriptor: descriptor)
  }

  /// The folder of that name; where there is none it is made, durably.
  func madeFolder(_ name: String) throws(StorageError) -> Folder {
    if let folder = try folder(name) { return folder }
    guard mkdirat(descriptor, name, 0o700) == 0 else { throw fault("make a folder in") }
    try sync()
    return try Folder(
      path: path + "/" + name, descriptor: openat(descriptor, name, Folder.flags))
  }

  /// The empty folder of that name is gone.
  func removeFolder(_ name: String) throws(StorageError) {
    guard unlinkat(descriptor, name, AT_REMOVEDIR) == 0 || errno == ENOENT else {
      throw fault("remove a folder of")
    }
  }

  // MARK: files in it

  /// A new file, for its owner alone. Throws where one of that name is there.
  func makeFile(_ name: String) throws(StorageError) -> OpenFile {
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    return try OpenFile(
      path: path + "/" + name, descriptor: openat(descriptor, name, flags, 0o600))
  }

  /// The file of that name, to be read; nil where there is none.
  func file(_ name: String) throws(StorageError) -> OpenFile? {
    let descriptor = openat(self.descriptor, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    if descriptor < 0, errno == ENOENT { return nil }
    return try OpenFile(path: path + "/" + name, descriptor: descriptor)
  }

  func hasFile(_ name: String) -> Bool {
    faccessat(descriptor, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0
  }

  /// The file of that name is gone; one that is not there is passed over.
  func removeFile(_ name: String) throws(StorageError) {
    guard unlinkat(descriptor, name, 0) == 0 || errno == ENOENT else {
      throw fault("remove a file of")
    }
  }

  /// The file goes to the other folder.
  func move(_ name: String, to other: Folder, as newName: String) throws(StorageError) {
    guard renameat(descriptor, name, other.descriptor, newName) == 0 else {
      throw fault("move a file out of")
    }
  }

  /// The file gets a second name in the other folder. False where it can have none there, as on
  /// another file system; nil where there is no such file.
  func link(_ name: String, in other: Folder) throws(StorageError) -> Bool? {
    if linkat(descriptor, name, other.descriptor, name, 0) == 0 { return true }
    switch errno {
    case ENOENT: return nil
    case EXDEV, EPERM, EMLINK, EOPNOTSUPP, ENOSYS: return false
    default: throw fault("link a file of")
    }
  }

  /// The names of all that is in it, in no order.
  func names() throws(StorageError) -> [String] {
    // The stream gets a descriptor of its own, which it closes.
    let copy = openat(descriptor, ".", Folder.flags)
    guard copy >= 0 else { throw fault("list") }
    guard let stream = fdopendir(copy) else {
      let reason = errno
      close(copy)
      throw StorageError(errno: reason, path: path, operation: "list")
    }
    defer { closedir(stream) }
    var names: [String] = []
    while true {
      errno = 0
      guard let entry = readdir(stream) else { break }
      let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
        name.withMemoryRebound(to: CChar.self, capacity: Int(NAME_MAX) + 1) { String(cString: $0) }
      }
      if name != "." && name != ".." { names.append(name) }
    }
    guard errno == 0 else { throw fault("list") }
    return names
  }

  /// Returns when what was made, moved or removed in it would survive a power failure.
  func sync() throws(StorageError) {
    guard fsync(descriptor) == 0 else { throw fault("sync") }
  }

  private func fault(_ operation: String) -> StorageError {
    StorageError(errno: errno, path: path, operation: operation)
  }
}
