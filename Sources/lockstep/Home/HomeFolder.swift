import Glibc
import LockstepModel
import LockstepStorage
import LockstepStorageFiles
import LockstepStorageSQLite

/// The folder that holds a device's data, and who may use it: one process at a time.
///
///     HOME/lock              locked by the process that holds the home
///     HOME/replica.sqlite    records, cursor, outbox, and who this device is
///     HOME/chunks            chunks of files
///     HOME/vault.key         what opens the vault
///     HOME/vault.json        files that are kept as the account has them; their history beside it
///     HOME/relay-ca.pem      whom it believes to be its relay; not there: whom the system believes
///     HOME/agent.sock        where that process takes the orders of the others
struct HomeFolder: Sendable {
  let path: String

  var exists: Bool { access(path + "/replica.sqlite", F_OK) == 0 }

  /// Where the chunks of files lie.
  var chunks: String { path + "/chunks" }

  /// The authorities that sign its relay's certificate.
  var authorities: String { path + "/relay-ca.pem" }

  /// Which files are kept the same as the account's.
  var vault: String { path + "/vault.json" }
  /// What happened to them, and what happened before that.
  var vaultHistory: String { path + "/vault-history.jsonl" }
  var olderVaultHistory: String { path + "/vault-history.1.jsonl" }

  var socket: String { SocketPath.of("agent.sock", in: path) }

  /// Locks the home, and makes the folder where there is none; nil where another process holds it.
  func lock() throws(CommandFailure) -> DirectoryLock? {
    do throws(StorageError) {
      return try DirectoryLock(directory: path)
    } catch {
      if case .inUse = error { return nil }
      throw CommandFailure("\(error)")
    }
  }

  /// What a device that left its account leaves behind: nothing but the empty folder.
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
