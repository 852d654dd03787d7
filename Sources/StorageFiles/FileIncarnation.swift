import LockstepCrypto
import LockstepModel

#if canImport(Darwin)
  import Darwin
#else
  import CLinux
  import Glibc
#endif

/// Identity of a file that no backup of it contains.
package enum FileIncarnation {
  /// Returns a text that stays the same while the system runs and the file is in its place, and
  /// differs once the file was restored from a backup, copied, or set back with its file system,
  /// after which a system is started anew. Returns nil if the system does not tell. A system that
  /// goes on from an image of its memory, and a file that is rewritten in place, are not noticed.
  package static func text(of path: String) -> String? {
    guard let boot = bootID, let birth = birth(of: path) else { return nil }
    let hash = SHA256.hash(Array("\(boot) \(birth)".utf8))
    return Base64.encodeURL(Array(hash.prefix(9)))
  }

  #if canImport(Darwin)
    private static var bootID: String? {
      var bytes = [UInt8](repeating: 0, count: 64)
      var count = bytes.count
      guard sysctlbyname("kern.bootsessionuuid", &bytes, &count, nil, 0) == 0 else { return nil }
      return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }

    private static func birth(of path: String) -> String? {
      var status = stat()
      guard lstat(path, &status) == 0 else { return nil }
      let made = status.st_birthtimespec
      return "\(status.st_ino) \(made.tv_sec) \(made.tv_nsec)"
    }
  #else
    private static var bootID: String? {
      let descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else { return nil }
      defer { close(descriptor) }
      var bytes = [UInt8](repeating: 0, count: 64)
      let count = read(descriptor, &bytes, bytes.count)
      return count > 0 ? String(decoding: bytes.prefix(count), as: UTF8.self) : nil
    }

    private static func birth(of path: String) -> String? {
      var number: UInt64 = 0
      var seconds: Int64 = 0
      var nanoseconds: UInt32 = 0
      guard linux_file_birth(path, &number, &seconds, &nanoseconds) == 0 else { return nil }
      return "\(number) \(seconds) \(nanoseconds)"
    }
  #endif
}
