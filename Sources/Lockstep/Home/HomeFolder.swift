import LockstepModel
import LockstepStorage
import LockstepStorageFiles
import LockstepStorageSQLite

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

#if os(Linux)
  import LockstepEventLoop
#endif

/// Folder that holds a device's data, used by one process at a time:
///
///     HOME/lock              locked by the process that holds the home
///     HOME/replica.sqlite    records, cursor, outbox, and the device's identity
///     HOME/chunks            chunks of files
///     HOME/files             copies of whole files, for apps that use the library
///     HOME/vault.key         key of the vault
///     HOME/vault.json        files that are kept as the account has them; their history beside it
///     HOME/relay-ca.pem      authorities trusted for the relay; if missing, the system's
///     HOME/app-wakes.json    keys of the app's own registrations for wakes
///     HOME/rules.json        merge rules of zones that no app of this program knows
///     HOME/wake.json         keys with which the device is woken by a distributor
///     HOME/agent.sock        socket on which that process takes the requests of others
package struct HomeFolder: Sendable {
  package let path: String

  package init(path: String) {
    self.path = path
  }

  package var exists: Bool { access(path + "/replica.sqlite", F_OK) == 0 }

  /// Folder of the chunks of files.
  package var chunks: String { path + "/chunks" }

  /// Folder of the copies of whole files.
  package var files: String { path + "/files" }

  /// File with the authorities that sign the relay's certificate.
  package var authorities: String { path + "/relay-ca.pem" }

  /// File that lists the files that are kept the same as the account's.
  package var vault: String { path + "/vault.json" }
  /// History of these files; older events are in the second file.
  package var vaultHistory: String { path + "/vault-history.jsonl" }
  package var olderVaultHistory: String { path + "/vault-history.1.jsonl" }

  /// File with the merge rules of further zones.
  package var rules: String { path + "/rules.json" }

  /// File with the keys of a device that is woken by a distributor.
  package var wakeKeys: String { path + "/wake.json" }

  /// File with the keys of the device's registrations for wakes.
  var appWakeKeys: String { path + "/app-wakes.json" }

  package var socket: String { SocketPath.of("agent.sock", in: path) }

  /// Locks the home, and creates its folder if needed. Returns nil if another process holds the
  /// home.
  package func lock() throws(HomeFault) -> DirectoryLock? {
    do throws(StorageError) {
      return try DirectoryLock(directory: path)
    } catch {
      if case .inUse = error { return nil }
      throw HomeFault("\(error)")
    }
  }

  /// Removes the data of a device that left its account; only the empty folder remains.
  package func removeData() throws(HomeFault) {
    do throws(StorageError) {
      try FileChunkStore.remove(directory: chunks)
    } catch {
      throw HomeFault("\(error)")
    }
    for folder in copyFolders { removeCopies(in: folder) { _ in true } }
    // Files of the person's own stay.
    rmdir(files)
    for name in HomeFile.names(in: path) where Self.isData(name) {
      guard unlink(path + "/" + name) == 0 || errno == ENOENT else {
        throw HomeFault(path + "/" + name, "be removed", errno)
      }
    }
  }

  /// Folders of copies: those whose names are hashes, and that are no links.
  private var copyFolders: [String] {
    HomeFile.names(in: files).filter { ChunkHash(text: $0) != nil }.map { files + "/" + $0 }
      .filter { HomeFile.isFolder($0) }
  }

  /// Removes the copies of whole files that were not used since a time, in seconds since the Unix
  /// epoch, and what a crash left.
  func removeCopies(unusedSince time: Int) {
    for folder in copyFolders {
      removeCopies(in: folder) { path in
        var status = stat()
        return lstat(path, &status) == 0 && status.modification.tv_sec < time
      }
    }
  }

  private func removeCopies(in folder: String, where isUnused: (String) -> Bool) {
    for name in HomeFile.names(in: folder) where isUnused(folder + "/" + name) {
      unlink(folder + "/" + name)
    }
    rmdir(folder)
  }

  private static let dataNames: Set<String> = [
    "replica.sqlite", "replica.sqlite-wal", "replica.sqlite-shm", "agent.sock", "vault.json",
    "rules.json", "rules.json.new", "relay-ca.pem", "relay-ca.pem.new", "vault.json.new",
    "vault-history.jsonl", "vault-history.1.jsonl", "wake.json", "wake.json.new",
    "app-wakes.json", "app-wakes.json.new",
  ]

  /// True for the files of a home. Those of keys may be incomplete after a crash, and then have a
  /// longer name.
  private static func isData(_ name: String) -> Bool {
    dataNames.contains(name) || name.hasPrefix("vault.key")
  }
}
