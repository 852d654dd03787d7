import Glibc
import LockstepCommandLine
import LockstepEventLoop
import LockstepModel
import LockstepStorage
import LockstepStorageFiles
import LockstepStorageSQLite

/// Folder that holds a device's data, used by one process at a time:
///
///     HOME/lock              locked by the process that holds the home
///     HOME/replica.sqlite    records, cursor, outbox, and the device's identity
///     HOME/chunks            chunks of files
///     HOME/vault.key         key of the vault
///     HOME/vault.json        files that are kept as the account has them; their history beside it
///     HOME/relay-ca.pem      authorities trusted for the relay; if missing, the system's
///     HOME/rules.json        merge rules of zones that no app of this program knows
///     HOME/agent.sock        socket on which that process takes the requests of others
package struct HomeFolder: Sendable {
  package let path: String

  package init(path: String) {
    self.path = path
  }

  package var exists: Bool { access(path + "/replica.sqlite", F_OK) == 0 }

  /// Folder of the chunks of files.
  package var chunks: String { path + "/chunks" }

  /// File with the authorities that sign the relay's certificate.
  package var authorities: String { path + "/relay-ca.pem" }

  /// File that lists the files that are kept the same as the account's.
  package var vault: String { path + "/vault.json" }
  /// History of these files; older events are in the second file.
  var vaultHistory: String { path + "/vault-history.jsonl" }
  var olderVaultHistory: String { path + "/vault-history.1.jsonl" }

  /// File with the merge rules of further zones.
  package var rules: String { path + "/rules.json" }

  package var socket: String { SocketPath.of("agent.sock", in: path) }

  /// Locks the home, and creates its folder if needed. Returns nil if another process holds the
  /// home.
  package func lock() throws(CommandFailure) -> DirectoryLock? {
    do throws(StorageError) {
      return try DirectoryLock(directory: path)
    } catch {
      if case .inUse = error { return nil }
      throw CommandFailure("\(error)")
    }
  }

  /// Replaces a file of the home, durably.
  static func replace(_ path: String, by content: [UInt8]) throws(CommandFailure) {
    let fresh = path + ".new"
    let descriptor = PlainFile.makeDraft(fresh)
    guard descriptor >= 0 else { throw PlainFile.failure(fresh, "be written", errno) }
    let file = PlainFile(path: fresh, descriptor: descriptor)
    try file.write(content)
    let isDurable = withExtendedLifetime(file) { fsync(descriptor) == 0 }
    guard isDurable, rename(fresh, path) == 0 else {
      throw PlainFile.failure(path, "be written", errno)
    }
  }

  /// Removes the data of a device that left its account; only the empty folder remains.
  package func removeData() throws(CommandFailure) {
    try CommandFailure.wrap { () throws(StorageError) in
      try FileChunkStore.remove(directory: chunks)
    }
    try VaultKeyFile(self).removeAll()
    for name in [
      "replica.sqlite", "replica.sqlite-wal", "replica.sqlite-shm", "agent.sock", "vault.json",
      "rules.json", "rules.json.new", "relay-ca.pem", "relay-ca.pem.new", "vault.json.new",
      "vault-history.jsonl",
      "vault-history.1.jsonl",
    ]
    where unlink(path + "/" + name) != 0 && errno != ENOENT {
      throw CommandFailure(
        "\(path)/\(name) cannot be removed: \(String(cString: strerror(errno)))")
    }
  }
}

/// Authorities that a command or a home trusts for a relay's certificate: those that the system
/// trusts, or only those in a file that a person names.
///
///     HOME/relay-ca.pem     copy of the file named when the home joined; if missing, the system's
///
/// The home has a copy, because the named file may move or change. An owner whose authority changes
/// replaces the copy.
package struct HomeTrust {
  package let trust: Trust
  /// Content of the file; nil for the system's authorities.
  private let text: [UInt8]?

  package static let option = CommandOption.optional(
    "ca", ValueKind.file,
    "Accept only certificates signed by an authority in this PEM file; if not given, by one "
      + "that the system trusts.")

  package static let system = HomeTrust(trust: .system, text: nil)

  /// Reads the file that a person names; returns the system's authorities if `path` is nil.
  package static func named(_ path: String?) throws(CommandFailure) -> HomeTrust {
    guard let path else { return .system }
    guard let found = try read(path) else { throw PlainFile.failure(path, "be read", ENOENT) }
    return found
  }

  /// Returns the authorities that the home keeps.
  package static func of(_ folder: HomeFolder) throws(CommandFailure) -> HomeTrust {
    try read(folder.authorities) ?? .system
  }

  private static func read(_ path: String) throws(CommandFailure) -> HomeTrust? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      if errno == ENOENT { return nil }
      throw PlainFile.failure(path, "be read", errno)
    }
    let file = PlainFile(path: path, descriptor: descriptor)
    let text = try file.contents(atMost: Limits.certificatesBytes, path)
    do throws(CertificateFault) {
      return HomeTrust(trust: try Trust(authorities: text), text: text)
    } catch {
      throw CommandFailure("\(path) cannot be used: \(error)")
    }
  }

  /// Stores the authorities in the home; the system's need no file.
  package func store(in folder: HomeFolder) throws(CommandFailure) {
    guard let text else { return }
    try HomeFolder.replace(folder.authorities, by: text)
  }
}
