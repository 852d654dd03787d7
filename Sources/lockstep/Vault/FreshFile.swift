import Glibc
import LockstepCrypto
import LockstepModel

/// A file that is being written beside the one whose place it takes. Gone with its owner, unless it
/// is finished.
final class FreshFile {
  let path: String
  private var descriptor: Int32
  private let digest = SHA256()
  private(set) var bytes = 0

  /// What a killed process left there is of no use: its chunks lie in the home.
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

  /// Of all bytes; once. The file is durable then, and has these rights, but never those of its
  /// owner for whoever runs it (set-user-ID, set-group-ID): other devices chose its content.
  func finish(_ rights: FileInfo.FileRights) throws(VaultFault) -> ChunkHash? {
    // Who may not give files away keeps it; its group and rights are tried all the same.
    if fchown(descriptor, rights.owner, rights.group) != 0 {
      _ = fchown(descriptor, uid_t.max, rights.group)
    }
    guard fchmod(descriptor, rights.mode & 0o777) == 0, fsync(descriptor) == 0 else {
      throw failure
    }
    // From here on nobody has it open to write.
    close(descriptor)
    descriptor = -1
    return ChunkHash(bytes: digest.finish())
  }

  /// After `finish`, where it is of no use.
  func discard() { unlink(path) }
}
