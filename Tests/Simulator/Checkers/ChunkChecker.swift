import LockstepCrypto
import LockstepModel
import LockstepStorage

/// Whatever chunks of files a live record names, the relay has, with the bytes of their hash.
package struct ChunkChecker {
  private let ledger: WriteTransaction
  private let relay: RelayMachine

  package init(ledger: WriteTransaction, relay: RelayMachine) {
    self.ledger = ledger
    self.relay = relay
  }

  /// nil where all is as it must be.
  package func difference(of account: AccountID) -> String? {
    for record in ledger.newest(account) where !record.isDeleted {
      for hash in record.chunks {
        do throws(StorageError) {
          guard let bytes = try relay.chunk(hash, of: account) else {
            return "the relay lacks a piece that \(record.key.name) names"
          }
          if SHA256.hash(bytes) != hash.bytes {
            return "a piece that \(record.key.name) names has other bytes"
          }
        } catch {
          return "a piece that \(record.key.name) names cannot be read: \(error)"
        }
      }
    }
    return nil
  }

  /// How many chunks the live records name.
  package func count(of account: AccountID) -> Int {
    ledger.newest(account).reduce(0) { $0 + ($1.isDeleted ? 0 : $1.chunks.count) }
  }
}
