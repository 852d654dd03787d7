import LockstepCrypto
import LockstepModel

/// What an account's devices know of its vault and the relay never learns. All else that a sealed
/// vault needs follows from it.
///
///     HKDF-SHA-256(key, salt "lockstep vault", info PURPOSE)
///       "id"        8 bytes    which key this is; no secret
///       "piece"     64 bytes   seals chunks of files
///       "manifest"  64 bytes   seals what a file is made of
///       "name"      32 bytes   of file names makes names of records
///       "chunk"     8 bytes    where files are cut
package struct VaultKey: Hashable, Sendable {
  /// Bytes of a key: 128 random bits.
  package static let count = 16

  package let bytes: [UInt8]

  /// nil where there are not `count` bytes.
  package init?(bytes: [UInt8]) {
    guard bytes.count == VaultKey.count else { return nil }
    self.bytes = bytes
  }

  /// Which key this is, sixteen hexadecimal digits: anybody may know it.
  package var id: String { HexText.text(of: derived("id", 8)) }

  func derived(_ purpose: String, _ count: Int) -> [UInt8] {
    HKDF.derive(
      bytes, salt: Array("lockstep vault".utf8), info: Array(purpose.utf8), count: count)
  }
}

extension VaultKey: CustomStringConvertible, CustomReflectable {
  /// So that no log tells the key, whoever writes it there.
  package var description: String { "vault key \(id)" }

  package var customMirror: Mirror { Mirror(self, children: ["id": id]) }
}
