import LockstepCrypto
import LockstepModel

/// Distinguishes a retry from another batch with the same id: a hash over the whole batch.
///
/// Each part is preceded by its length, so that two different batches never give the same bytes:
///
///     zone   atomic   count   ( name  type?  fields?  modifiedAt  baseTag?  refusal?
///                             chunk …  unlessDeleted  includes  isStampedByRelay
///                             onlyExisting ) …
///     unlessDeleted: one byte 1 if it is true, otherwise nothing
///     includes: one byte 2, the number and the fingerprints, or nothing
///     isStampedByRelay, onlyExisting: one byte 3, one byte 4, or nothing
///     refusal: the code of the decoder's error, which may be in a part that is not kept
///     text:   8 bytes of length, the bytes;   optional: one byte 0, or 1 and the part
enum BatchDigest {
  static func hash(of request: SaveRequest) -> [UInt8] {
    let size = request.mutations.reduce(64) {
      $0 + 320 + ($1.fields?.count ?? 0) + 32 * $1.chunks.count
    }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(size)
    bytes.add(request.zone.text)
    bytes.append(request.atomic ? 1 : 0)
    bytes.add(Int64(request.mutations.count))
    for mutation in request.mutations {
      bytes.add(mutation.name.text)
      bytes.add(mutation.type) { $0.add($1.text) }
      bytes.add(mutation.fields) { $0.add($1) }
      bytes.add(mutation.modifiedAt)
      bytes.add(mutation.baseTag) { $0.add($1) }
      bytes.add(mutation.refusal) { $0.add($1.code.rawValue) }
      bytes.add(Int64(mutation.chunks.count))
      for hash in mutation.chunks { hash.append(to: &bytes) }
      if mutation.unlessDeleted { bytes.append(1) }
      if !mutation.includes.isEmpty {
        bytes.append(2)
        bytes.add(mutation.includes.bytes)
      }
      if mutation.isStampedByRelay { bytes.append(3) }
      if mutation.onlyExisting { bytes.append(4) }
    }
    return SHA256.hash(bytes)
  }
}

extension [UInt8] {
  fileprivate mutating func add(_ number: Int64) {
    Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
  }

  fileprivate mutating func add(_ text: String) {
    add(Int64(text.utf8.count))
    append(contentsOf: text.utf8)
  }

  fileprivate mutating func add(_ bytes: [UInt8]) {
    add(Int64(bytes.count))
    append(contentsOf: bytes)
  }

  fileprivate mutating func add<Part>(_ part: Part?, _ write: (inout [UInt8], Part) -> Void) {
    append(part == nil ? 0 : 1)
    if let part { write(&self, part) }
  }
}
