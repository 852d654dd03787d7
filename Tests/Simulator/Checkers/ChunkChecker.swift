import LockstepCrypto
import LockstepModel
import LockstepStorage

/// Checks that the relay has all chunks that live records name, with the bytes of their hash.
package struct ChunkChecker {
  private let ledger: CommitLedger
  private let relay: RelayMachine

  package init(ledger: CommitLedger, relay: RelayMachine) {
    self.ledger = ledger
    self.relay = relay
  }

  /// Returns nil if all chunks are correct.
  package func difference(of account: AccountID) -> String? {
    for record in ledger.newest(account) where !record.isDeleted {
      for hash in record.chunks {
        do throws(StorageError) {
          guard let bytes = try relay.chunk(hash, of: account) else {
            return "the relay lacks a chunk that \(record.key.name) names"
          }
          if SHA256.hash(bytes) != hash.bytes {
            return "a chunk that \(record.key.name) names has other bytes"
          }
        } catch {
          return "a chunk that \(record.key.name) names cannot be read: \(error)"
        }
      }
    }
    return nil
  }

  /// Returns the number of chunks that the live records name.
  package func count(of account: AccountID) -> Int {
    ledger.newest(account).reduce(0) { $0 + ($1.isDeleted ? 0 : $1.chunks.count) }
  }
}
