import Glibc
import LockstepApps
import LockstepEventLoop
import LockstepModel

/// File of the vault's key in a device's home: 32 hexadecimal digits and a line feed, for its owner
/// only.
///
///     HOME/vault.key        the key
///     HOME/vault.key.new    a key that this device made, until the relay knows that the account
///                           has one; the next command that needs the key finds out the result
///
/// Both are written under a unique name, made durable, and only then get their final name, so that
/// no process reads a partial key.
struct VaultKeyFile {
  private let folder: String

  init(_ folder: HomeFolder) { self.folder = folder.path }

  private var path: String { folder + "/vault.key" }
  private var newPath: String { path + ".new" }

  /// Maximum bytes to read of a file that should have 33.
  private static let bytesMax = 256

  /// Returns nil if this device has no key.
  func key() throws(CommandFailure) -> VaultKey? { try read(path) }

  /// Returns the key that this device has made and, as far as it knows, not announced yet.
  func newKey() throws(CommandFailure) -> VaultKey? { try read(newPath) }

  /// Stores a key that this device has just made. If another process did so at the same moment,
  /// returns that key.
  func keepNew(_ key: VaultKey) throws(CommandFailure) -> VaultKey {
    let written = try write(key)
    // A link, unlike a rename, never replaces an existing file.
    let isLinked = link(written, newPath) == 0
    let reason = errno
    try remove(written)
    try syncFolder()
    if isLinked { return key }
    guard reason == EEXIST, let other = try newKey() else {
      throw PlainFile.failure(newPath, "be made", reason)
    }
    return other
  }

  /// Makes the new key the account's key on this device.
  func adoptNew() throws(CommandFailure) {
    // Another process may just have done it.
    guard rename(newPath, path) == 0 || errno == ENOENT else {
      throw PlainFile.failure(newPath, "become \(path)", errno)
    }
    try syncFolder()
  }

  /// Removes the new key, which is not the account's and has sealed nothing.
  func dropNew() throws(CommandFailure) { try remove(newPath) }

  /// Stores the account's key, which a person has supplied.
  func keep(_ key: VaultKey) throws(CommandFailure) {
    let written = try write(key)
    guard rename(written, path) == 0 else {
      throw PlainFile.failure(written, "become \(path)", errno)
    }
    try syncFolder()
  }

  private func read(_ path: String) throws(CommandFailure) -> VaultKey? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    if descriptor < 0 {
      if errno == ENOENT { return nil }
      throw PlainFile.failure(path, "be read", errno)
    }
    let file = PlainFile(path: path, descriptor: descriptor)
    let text = String(
      decoding: try file.contents(atMost: Self.bytesMax, path), as: UTF8.self)
    guard text.hasSuffix("\n"), let bytes = HexText.bytes(of: String(text.dropLast())),
      let key = VaultKey(bytes: bytes)
    else {
      throw CommandFailure(
        "\(path) does not hold a vault's key; move it away, then bring the key back with lockstep "
          + "agent vault restore or unlock")
    }
    return key
  }

  /// Writes the key durably to a file with a unique name. Returns its path.
  private func write(_ key: VaultKey) throws(CommandFailure) -> String {
    let path = path + "." + HexText.text(Entropy.secrets.word())
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw PlainFile.failure(path, "be made", errno) }
    let file = PlainFile(path: path, descriptor: descriptor)
    defer { withExtendedLifetime(file) {} }
    do throws(CommandFailure) {
      try file.write(Array((HexText.text(of: key.bytes) + "\n").utf8))
      guard fsync(descriptor) == 0 else {
        throw PlainFile.failure(path, "be made durable", errno)
      }
      return path
    } catch {
      try remove(path)
      throw error
    }
  }

  /// Removes all keys, including files that a crash left incomplete.
  func removeAll() throws(CommandFailure) {
    for name in try ExportFolder.names(in: folder) ?? [] where name.hasPrefix("vault.key") {
      try remove(folder + "/" + name)
    }
  }

  private func remove(_ path: String) throws(CommandFailure) {
    guard unlink(path) == 0 || errno == ENOENT else {
      throw PlainFile.failure(path, "be removed", errno)
    }
  }

  private func syncFolder() throws(CommandFailure) {
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw PlainFile.failure(folder, "be opened", errno) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else {
      throw PlainFile.failure(folder, "be made durable", errno)
    }
  }
}
