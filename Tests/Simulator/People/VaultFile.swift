import LockstepApps
import LockstepCrypto
import LockstepJSON
import LockstepModel

/// A file of the vault as simulated users save it: not encrypted.
enum VaultFile {
  static func key(_ file: String) -> RecordKey {
    RecordKey(zone: VaultApp.zone, name: Name(trusted: file))
  }

  static func fields(_ file: String, _ bytes: [UInt8], _ chunks: [ChunkHash]) -> JSONValue? {
    guard let hash = ChunkHash(bytes: SHA256.hash(bytes)) else { return nil }
    let manifest = VaultManifest(file: file, size: bytes.count, sha256: hash, chunks: chunks)
    return VaultSeal.plain.fields(of: manifest, chunks: chunks)
  }
}
