import Glibc
import LockstepCommandLine
import LockstepRelay
import LockstepStorage

/// Reads the owner's pages from a folder. Each name is opened relative to the folder that contains
/// it, and no symbolic link below the folder is followed, so that nothing outside it is served. The
/// folder itself may be a link, which a new release of the pages replaces.
final class OwnerPages: PageFolder {
  private let path: String

  init(_ path: String) { self.path = path }

  /// Returns a fault, with its next step, unless the folder can be read.
  static func fault(of path: String) -> String? {
    let descriptor = open(path, OwnerPages.folderFlags)
    guard descriptor < 0 else {
      close(descriptor)
      return nil
    }
    let reason = String(cString: strerror(errno))
    return "the folder of pages \(path) cannot be read: \(reason); create it, or name another one "
      + "(--pages)"
  }

  func entry(at names: [String]) throws(StorageError) -> PageFolderEntry {
    var descriptor = open(path, OwnerPages.folderFlags)
    for name in names where descriptor >= 0 {
      let next = openat(descriptor, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
      let reason = errno
      close(descriptor)
      descriptor = next
      errno = reason
    }
    guard descriptor >= 0 else {
      switch errno {
      case ENOENT, ENOTDIR, ELOOP, EACCES, EPERM, ENAMETOOLONG, ENXIO: return .missing
      default: throw fault("open a file")
      }
    }
    defer { close(descriptor) }
    return try entry(of: descriptor, named: names.joined(separator: "/"))
  }

  private static let folderFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC

  private func entry(
    of descriptor: Int32, named name: String
  ) throws(StorageError) -> PageFolderEntry {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw fault("check a file") }
    switch status.st_mode & S_IFMT {
    case S_IFDIR: return .folder
    case S_IFREG: break
    default: return .missing
    }
    guard status.st_size <= PageFolderEntry.pageFileBytes else { return .tooLarge }
    // One byte more shows that the file has grown beyond the limit meanwhile.
    let limit = PageFolderEntry.pageFileBytes + 1
    var bytes: [UInt8] = []
    while bytes.count < limit {
      let part = try read(descriptor, atMost: min(limit - bytes.count, 256 << 10))
      if part.isEmpty { break }
      bytes += part
    }
    if bytes.count == limit { return .tooLarge }
    let page = PageFile(path: name, bytes: bytes)
    return .file(page, tag: page.tag)
  }

  private func read(_ descriptor: Int32, atMost count: Int) throws(StorageError) -> [UInt8] {
    while true {
      var received = 0
      let part = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
        received = Glibc.read(descriptor, buffer.baseAddress, count)
        filled = max(0, received)
      }
      if received >= 0 { return part }
      if errno != EINTR { throw fault("read a file") }
    }
  }

  private func fault(_ operation: String) -> StorageError {
    .failed(path: path, operation: operation, detail: String(cString: strerror(errno)))
  }
}
