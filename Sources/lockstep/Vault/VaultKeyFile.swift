import Glibc
import LockstepApps
import LockstepEventLoop
import LockstepModel

/// The vault's key in a device's home: 32 hexadecimal digits and a line feed, for its owner alone.
///
///     HOME/vault.key        the key
///     HOME/vault.key.new    a key that this device made, until the relay knows that the account
///                           has one; what became of it is found out by the next who asks
///
/// Both are written under a name of their own, made durable, and only then called so: nobody ever
/// reads half a key.
struct VaultKeyFile {
  private let folder: String

  init(_ folder: HomeFolder) { self.folder = folder.path }

  private var path: String { folder + "/vault.key" }
  private var newPath: String { path + ".new" }

  /// The most that is read of a file that should have 33 bytes.
  private static let bytesMax = 256

  /// nil where this device has no key.
  func key() throws(CommandFailure) -> VaultKey? { try read(path) }

  /// The key that this device made and has not announced yet, as far as it knows.
  func newKey() throws(CommandFailure) -> VaultKey? { try read(newPath) }

  /// Keeps a key that this device has just made; where another process did so at the same moment,
  /// gives that one's.
  func keepNew(_ key: VaultKey) throws(CommandFailure) -> VaultKey {
    let written = try write(key)
    // A link, unlike a rename, never takes the place of another.
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

  /// The key that was made is the account's.
  func adoptNew() throws(CommandFailure) {
    // Another process may have done it a moment ago.
    guard rename(newPath, path) == 0 || errno == ENOENT else {
      throw PlainFile.failure(newPath, "become \(path)", errno)
    }
    try syncFolder()
  }

  /// The key that was made is not the account's, and nothing was sealed with it.
  func dropNew() throws(CommandFailure) { try remove(newPath) }

  /// The account's key came from a person.
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

  /// A durable file with the key, under a name that nobody else has.
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

  /// Nothing of a key is left, also not what a crash left half written.
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
