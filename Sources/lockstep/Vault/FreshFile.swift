import Glibc
import LockstepCrypto
import LockstepModel

/// A file that is written beside the one it replaces. It is removed with this object unless it is
/// finished.
final class FreshFile {
  let path: String
  private var descriptor: Int32
  private let digest = SHA256()
  private(set) var bytes = 0

  /// Removes the remains of a killed process: they are not needed, because the home has the chunks.
  init(_ path: String) throws(VaultFault) {
    unlink(path)
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    descriptor = open(path, flags, 0o600)
    self.path = path
    guard descriptor >= 0 else { throw failure }
  }

  deinit {
    guard descriptor >= 0 else { return }
    close(descriptor)
    unlink(path)
  }

  private var failure: VaultFault {
    .problem("\(FilePath.folder(of: path)) cannot be written to: \(FileInfo.text(errno))")
  }

  func add(_ more: [UInt8]) throws(VaultFault) {
    var rest = more[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if errno != EINTR {
        throw failure
      }
    }
    digest.update(more)
    bytes += more.count
  }

  /// Makes the file durable, sets its rights, and returns the hash of all bytes. Must be called
  /// once. Never sets the bits set-user-ID and set-group-ID, because other devices chose the
  /// content.
  func finish(_ rights: FileInfo.FileRights) throws(VaultFault) -> ChunkHash? {
    // A user who may not give files away keeps it; its group and rights are set all the same.
    if fchown(descriptor, rights.owner, rights.group) != 0 {
      _ = fchown(descriptor, uid_t.max, rights.group)
    }
    guard fchmod(descriptor, rights.mode & 0o777) == 0, fsync(descriptor) == 0 else {
      throw failure
    }
    // From here on no descriptor is open to write it.
    close(descriptor)
    descriptor = -1
    return ChunkHash(bytes: digest.finish())
  }

  /// Removes a finished file that is not needed.
  func discard() { unlink(path) }
}
