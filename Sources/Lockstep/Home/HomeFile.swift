import LockstepLanguage
import LockstepStorageFiles

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Failure of a home's files. `reason` is a sentence for a person.
package struct HomeFault: Error, Hashable, CustomStringConvertible {
  package let reason: String

  package init(_ reason: String) { self.reason = reason }

  /// - Parameter action: Continues "PATH cannot", such as "be read".
  package init(_ path: String, _ action: String, _ code: Int32) {
    reason = Self.text(path, action, systemReason(String(cString: strerror(code))))
  }

  private static func text(_ path: String, _ action: String, _ reason: String) -> String {
    let values = ["path": path, "reason": reason]
    return switch action {
    case "be read": localized("{path} cannot be read: {reason}", values)
    case "be written": localized("{path} cannot be written: {reason}", values)
    case "be removed": localized("{path} cannot be removed: {reason}", values)
    case "be replaced": localized("{path} cannot be replaced: {reason}", values)
    case "be made": localized("{path} cannot be made: {reason}", values)
    case "be made durable": localized("{path} cannot be made durable: {reason}", values)
    case "be opened": localized("{path} cannot be opened: {reason}", values)
    case "be found": localized("{path} cannot be found: {reason}", values)
    default: "\(path) cannot \(action): \(reason)"
    }
  }

  package var description: String { reason }
}

/// Small files of a home, which are read and replaced as a whole.
package enum HomeFile {
  private static let blockBytes = 64 << 10

  /// Returns the content; nil if there is no file. Throws if it has more than `limit` bytes, or is
  /// a folder, pipe or device.
  package static func contents(of path: String, atMost limit: Int) throws(HomeFault) -> [UInt8]? {
    // A pipe would be waited for.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      if errno == ENOENT { return nil }
      throw HomeFault(path, "be read", errno)
    }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw HomeFault(path, "be read", errno) }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw HomeFault(localized("{path} is no regular file; put one in its place", ["path": path]))
    }
    var bytes: [UInt8] = []
    var block = [UInt8](repeating: 0, count: blockBytes)
    while true {
      let count = block.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else { throw HomeFault(path, "be read", errno) }
      if count == 0 { return bytes }
      bytes += block.prefix(count)
      guard bytes.count <= limit else {
        throw HomeFault(
          localized(
            "{path} has over {limit} bytes; put a smaller file in its place",
            ["path": path, "limit": "\(limit)"]))
      }
    }
  }

  /// Replaces a file, durably. Removes the remains of an interruption, and does not follow a link.
  package static func replace(_ path: String, by content: [UInt8]) throws(HomeFault) {
    let draft = path + ".new"
    guard unlink(draft) == 0 || errno == ENOENT else { throw HomeFault(draft, "be written", errno) }
    let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw HomeFault(draft, "be written", errno) }
    defer { close(descriptor) }
    var rest = content[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else { throw HomeFault(draft, "be written", errno) }
      rest = rest.dropFirst(count)
    }
    guard FileSync.flush(descriptor), rename(draft, path) == 0 else {
      throw HomeFault(path, "be written", errno)
    }
  }

  /// True for a folder that is no link to one.
  static func isFolder(_ path: String) -> Bool { kind(of: path) == S_IFDIR }

  static func isRegular(_ path: String) -> Bool { kind(of: path) == S_IFREG }

  private static func kind(of path: String) -> mode_t? {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode & S_IFMT : nil
  }

  /// Returns the names in a folder, in no particular order; none if it cannot be read.
  static func names(in folder: String) -> [String] {
    guard let stream = opendir(folder) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: Int(NAME_MAX) + 1) {
          String(cString: $0)
        }
      }
      if name != "." && name != ".." { names.append(name) }
    }
    return names
  }
}
