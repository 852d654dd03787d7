import LockstepCrypto
import LockstepModel

/// Secret that an account's devices share and the relay never learns. All other keys of a sealed
/// vault are derived from it.
///
///     HKDF-SHA-256(key, salt "lockstep vault", info PURPOSE)
///       "id"        8 bytes    identifies the key; not secret
///       "piece"     64 bytes   seals chunks of files
///       "manifest"  64 bytes   seals manifests
///       "name"      32 bytes   makes record names from file names
///       "chunk"     8 bytes    seed for cut points
package struct VaultKey: Hashable, Sendable {
  /// Number of bytes of a key: 128 random bits.
  package static let count = 16

  package let bytes: [UInt8]

  /// Returns nil if there are not exactly `count` bytes.
  package init?(bytes: [UInt8]) {
    guard bytes.count == VaultKey.count else { return nil }
    self.bytes = bytes
  }

  /// Identifier of this key, sixteen hexadecimal digits; not secret.
  package var id: String { HexText.text(of: derived("id", 8)) }

  func derived(_ purpose: String, _ count: Int) -> [UInt8] {
    HKDF.derive(
      bytes, salt: Array("lockstep vault".utf8), info: Array(purpose.utf8), count: count)
  }
}

extension VaultKey: CustomStringConvertible, CustomReflectable {
  /// Hides the key in logs.
  package var description: String { "vault key \(id)" }

  package var customMirror: Mirror { Mirror(self, children: ["id": id]) }
}
