import LockstepStorage

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Open folder. Its content is accessed relative to the descriptor and not by path, so that no
/// other folder can be put in its place. Symbolic links are never followed.
final class Folder {
  /// For messages only.
  let path: String
  private let descriptor: Int32

  /// Opens the folder at `path`. If it is missing, creates it, accessible to its owner only.
  convenience init(at path: String) throws(StorageError) {
    if mkdir(path, 0o700) == 0 {
      try Folder.sync(parentOf: path)
    } else if errno != EEXIST {
      throw StorageError(errno: errno, path: path, operation: "create the folder")
    }
    try self.init(path: path, descriptor: open(path, Folder.flags))
  }

  /// Error of `unlink` for a folder: POSIX names EPERM, and Linux has another.
  private static var notAFile: Int32 {
    #if canImport(Darwin)
      EPERM
    #else
      EISDIR
    #endif
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
    let descriptor = open(parent.isEmpty ? "/" : parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw StorageError(errno: errno, path: parent, operation: "open the folder")
    }
    try Folder(path: parent, descriptor: descriptor).sync()
  }

  // MARK: Subfolders

  /// Returns the folder of that name, or nil if there is none.
  func folder(_ name: String) throws(StorageError) -> Folder? {
    let descriptor = openat(self.descriptor, name, Folder.flags)
    if descriptor < 0, errno == ENOENT { return nil }
    return try Folder(path: path + "/" + name, descriptor: descriptor)
  }

  /// Returns the folder of that name. If it is missing, creates it durably.
  func makeFolder(_ name: String) throws(StorageError) -> Folder {
    if let folder = try folder(name) { return folder }
    guard mkdirat(descriptor, name, 0o700) == 0 else { throw fault("create a folder in") }
    try sync()
    return try Folder(
      path: path + "/" + name, descriptor: openat(descriptor, name, Folder.flags))
  }

  /// Removes the empty folder of that name, if it exists.
  func removeFolder(_ name: String) throws(StorageError) {
    guard unlinkat(descriptor, name, AT_REMOVEDIR) == 0 || errno == ENOENT else {
      throw fault("remove a folder of")
    }
  }

  // MARK: Files

  /// Creates a file, accessible to its owner only. Throws if one of that name exists.
  func makeFile(_ name: String) throws(StorageError) -> OpenFile {
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    return try OpenFile(
      path: path + "/" + name, descriptor: openat(descriptor, name, flags, 0o600))
  }

  /// Opens the file of that name for reading. Returns nil if there is none, or if something else
  /// than a regular file has the name: a pipe would make the reader wait for ever.
  func file(_ name: String) throws(StorageError) -> OpenFile? {
    guard try hasFile(name) else { return nil }
    // Another program may replace the file after the check.
    let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
    let descriptor = openat(self.descriptor, name, flags)
    if descriptor < 0, errno == ENOENT || errno == ELOOP || errno == ENXIO { return nil }
    let file = try OpenFile(path: path + "/" + name, descriptor: descriptor)
    return try file.isRegular ? file : nil
  }

  /// True if a regular file has that name.
  func hasFile(_ name: String) throws(StorageError) -> Bool {
    var status = stat()
    if fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 {
      return status.st_mode & S_IFMT == S_IFREG
    }
    guard errno == ENOENT else { throw fault("check a file of") }
    return false
  }

  /// Removes the file of that name, if it exists. Also removes an empty folder that has its place.
  func removeFile(_ name: String) throws(StorageError) {
    if unlinkat(descriptor, name, 0) == 0 || errno == ENOENT { return }
    guard errno == Folder.notAFile else { throw fault("remove a file of") }
    try removeFolder(name)
  }

  /// Moves the file to the other folder.
  func move(_ name: String, to other: Folder, as newName: String) throws(StorageError) {
    guard renameat(descriptor, name, other.descriptor, newName) == 0 else {
      throw fault("move a file out of")
    }
  }

  /// Adds a hard link to the file in the other folder. Returns false if that is not possible, for
  /// example on another file system; nil if there is no such file.
  func link(_ name: String, in other: Folder) throws(StorageError) -> Bool? {
    if linkat(descriptor, name, other.descriptor, name, 0) == 0 { return true }
    switch errno {
    case ENOENT: return nil
    case EXDEV, EPERM, EMLINK, EOPNOTSUPP, ENOSYS: return false
    default: throw fault("link a file of")
    }
  }

  /// Returns the names of all entries, in no order.
  func names() throws(StorageError) -> [String] {
    // The stream needs a descriptor of its own, because it closes it.
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

  /// Makes all entries created, moved or removed in the folder durable: the changes survive a power
  /// failure.
  func sync() throws(StorageError) {
    guard FileSync.flush(descriptor) else { throw fault("sync") }
  }

  private func fault(_ operation: String) -> StorageError {
    StorageError(errno: errno, path: path, operation: operation)
  }
}

/// Open file.
final class OpenFile {
  /// For messages only.
  let path: String
  private let descriptor: Int32

  init(path: String, descriptor: Int32) throws(StorageError) {
    guard descriptor >= 0 else {
      throw StorageError(errno: errno, path: path, operation: "open the file")
    }
    self.path = path
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  /// Appends all bytes.
  func append(_ bytes: [UInt8]) throws(StorageError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if errno != EINTR {
        throw StorageError(errno: errno, path: path, operation: "write the file")
      }
    }
  }

  /// Makes all bytes durable: they survive a power failure.
  func sync() throws(StorageError) {
    guard FileSync.flush(descriptor) else {
      throw StorageError(errno: errno, path: path, operation: "sync the file")
    }
  }

  /// Returns the length in bytes.
  func count() throws(StorageError) -> Int { Int(try status().st_size) }

  /// True if it is a regular file, and not a pipe, a device or a folder.
  var isRegular: Bool {
    get throws(StorageError) { try status().st_mode & S_IFMT == S_IFREG }
  }

  private func status() throws(StorageError) -> stat {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else {
      throw StorageError(errno: errno, path: path, operation: "check the file")
    }
    return status
  }

  /// Returns at most `count` bytes from `offset`; fewer only at the end of the file.
  func read(at offset: Int, count: Int) throws(StorageError) -> [UInt8] {
    var fault: Int32 = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      while filled < count {
        let place = buffer.baseAddress.map { $0 + filled }
        let got = pread(descriptor, place, count - filled, off_t(offset + filled))
        if got > 0 {
          filled += got
        } else if got == 0 {
          break
        } else if errno != EINTR {
          fault = errno
          break
        }
      }
    }
    guard fault == 0 else {
      throw StorageError(errno: fault, path: path, operation: "read the file")
    }
    return bytes
  }
}

extension StorageError {
  /// Converts an errno of the system to an error for the operator of the store.
  init(errno reason: Int32, path: String, operation: String) {
    switch reason {
    case EACCES, EPERM, EROFS: self = .readOnly(path: path)
    case ENOSPC, EDQUOT: self = .diskFull(path: path)
    default:
      self = .failed(path: path, operation: operation, detail: String(cString: strerror(reason)))
    }
  }
}
