import CLinux
import Glibc
import LockstepCrypto
import LockstepModel

/// A file that is read from its beginning to its end, once.
final class FileContent {
  private let path: String
  private let descriptor: Int32

  /// Throws where there is none, or where it may not be read.
  init(_ path: String) throws(VaultFault) {
    // A pipe that stands in the file's place would never open.
    let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    if descriptor < 0 {
      if errno == ENOENT { throw .changed }
      throw .problem("\(path) cannot be read: \(FileInfo.text(errno))")
    }
    self.path = path
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  var signature: FileSignature {
    get throws(VaultFault) {
      var status = stat()
      guard fstat(descriptor, &status) == 0 else { throw failure }
      guard status.st_mode & S_IFMT == S_IFREG else { throw .changed }
      return FileSignature(status)
    }
  }

  /// Whether another program may write into it.
  var hasWriters: Bool { linux_has_writers(descriptor) == 1 }

  /// The next bytes, at most `count`; none at the end.
  func read(_ count: Int) throws(VaultFault) -> [UInt8] {
    while true {
      var code: Int32 = 0
      let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
        let result = Glibc.read(descriptor, buffer.baseAddress, count)
        code = result < 0 ? errno : 0
        filled = max(0, result)
      }
      if code == 0 { return bytes }
      errno = code
      if code != EINTR { throw failure }
    }
  }

  private var failure: VaultFault { .problem("\(path) cannot be read: \(FileInfo.text(errno))") }

  /// Of all of it, and of what it was while it was read. Throws `changed` where somebody wrote
  /// meanwhile. `pause`: called now and then; what it throws ends the reading.
  static func hash(
    _ path: String, pause: () throws(VaultFault) -> Void = {}
  ) throws(VaultFault) -> (ChunkHash, FileSignature) {
    let file = try FileContent(path)
    let before = try file.signature
    let digest = SHA256()
    var count: Int64 = 0
    while true {
      let bytes = try file.read(portion)
      if bytes.isEmpty { break }
      count += Int64(bytes.count)
      // One that grows all the while would never end.
      if count > before.bytes { throw .changed }
      digest.update(bytes)
      try pause()
    }
    guard let hash = ChunkHash(bytes: digest.finish()), try file.signature == before else {
      throw .changed
    }
    return (hash, before)
  }

  /// Bytes that are read at once.
  static let portion = 1 << 20
}
