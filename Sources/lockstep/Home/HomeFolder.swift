import Glibc
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
///     HOME/agent.sock        socket on which that process takes the requests of others
struct HomeFolder: Sendable {
  let path: String

  var exists: Bool { access(path + "/replica.sqlite", F_OK) == 0 }

  /// Folder of the chunks of files.
  var chunks: String { path + "/chunks" }

  /// File with the authorities that sign the relay's certificate.
  var authorities: String { path + "/relay-ca.pem" }

  /// File that lists the files that are kept the same as the account's.
  var vault: String { path + "/vault.json" }
  /// History of these files; older events are in the second file.
  var vaultHistory: String { path + "/vault-history.jsonl" }
  var olderVaultHistory: String { path + "/vault-history.1.jsonl" }

  var socket: String { SocketPath.of("agent.sock", in: path) }

  /// Locks the home, and creates its folder if needed. Returns nil if another process holds the
  /// home.
  func lock() throws(CommandFailure) -> DirectoryLock? {
    do throws(StorageError) {
      return try DirectoryLock(directory: path)
    } catch {
      if case .inUse = error { return nil }
      throw CommandFailure("\(error)")
    }
  }

  /// Removes the data of a device that left its account; only the empty folder remains.
  func removeData() throws(CommandFailure) {
    do throws(StorageError) {
      try FileChunkStore.remove(directory: chunks)
    } catch {
      throw CommandFailure("\(error)")
    }
    try VaultKeyFile(self).removeAll()
    for name in [
      "replica.sqlite", "replica.sqlite-wal", "replica.sqlite-shm", "agent.sock", "vault.json",
      "relay-ca.pem", "relay-ca.pem.new", "vault.json.new", "vault-history.jsonl",
      "vault-history.1.jsonl",
    ]
    where unlink(path + "/" + name) != 0 && errno != ENOENT {
      throw CommandFailure(
        "\(path)/\(name) cannot be removed: \(String(cString: strerror(errno)))")
    }
  }
}
