import Glibc
import LockstepStorage

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
    guard fsync(descriptor) == 0 else {
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
      throw StorageError(errno: errno, path: path, operation: "look at the file")
    }
    return status
  }

  /// Returns at most `count` bytes from `offset`; fewer only at the end of the file.
  func read(at offset: Int, count: Int) throws(StorageError) -> [UInt8] {
    var fault: Int32 = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      while filled < count {
        let place = buffer.baseAddress.map { $0 + filled }
        let got = pread(descriptor, place, count - filled, offset + filled)
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
