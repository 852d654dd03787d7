import CLinux
import Glibc
import LockstepCrypto
import LockstepModel

/// A file that is read once from its beginning to its end.
final class FileContent {
  private let path: String
  private let descriptor: Int32

  /// Throws if there is no file, or if it may not be read.
  init(_ path: String) throws(VaultFault) {
    // Non-blocking: opening a pipe in the file's place would otherwise never return.
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

  /// True if another program may write into the file.
  var hasWriters: Bool { linux_has_writers(descriptor) == 1 }

  /// Returns the next bytes, at most `count`; none at the end.
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

  /// Returns the hash of the whole file, and its signature. Throws `changed` if it was written
  /// meanwhile. `pause`: called between reads; an error from it ends the reading.
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
      // A file that grows all the time would never end.
      if count > before.bytes { throw .changed }
      digest.update(bytes)
      try pause()
    }
    guard let hash = ChunkHash(bytes: digest.finish()), try file.signature == before else {
      throw .changed
    }
    return (hash, before)
  }

  /// Bytes per read.
  static let portion = 1 << 20
}
