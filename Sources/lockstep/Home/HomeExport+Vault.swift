import Glibc
import LockstepApps
import LockstepModel
import LockstepStorage

/// The vault's files, as they are on the devices that keep them.
extension HomeExport {
  /// How many there are, and the chunks that they are made of. A file of which this home lacks the
  /// key or a chunk is left as it lies: its chunks are among the others. Where the home has a key,
  /// files that are not sealed stand in a folder of their own: anybody who can write into the
  /// account may have made them, and they must not pass for the sealed ones.
  func writeFiles(
    _ records: [Record], _ seal: VaultSeal?, _ held: [HeldChunk], of account: AccountID
  ) throws(CommandFailure) -> (count: Int, chunks: Set<ChunkHash>) {
    var count = 0
    var used: Set<ChunkHash> = []
    for record in records where record.type == VaultApp.fileType {
      guard let (reader, contents) = HomeExport.contents(of: record, seal) else { continue }
      let chunks = contents.chunks.compactMap { HomeExport.chunk($0, among: held) }
      let isForeign = seal != nil && !VaultSeal.isSealed(record.value)
      let folder = isForeign ? HomeExport.unsealedFiles : HomeExport.files
      guard chunks.count == contents.chunks.count,
        try writeFile(folder + "/" + contents.manifest.file, chunks, reader, of: account)
      else { continue }
      count += 1
      used.formUnion(contents.chunks)
    }
    return (count, used)
  }

  static let files = "vault"
  static let unsealedFiles = "vault-unsealed"

  /// What a record says, and what reads its chunks, where this home can.
  static func contents(
    of record: Record, _ seal: VaultSeal?
  ) -> (VaultSeal, VaultSeal.Contents)? {
    guard let fields = record.value, let reader = VaultSeal.reader(of: fields, seal),
      let contents = reader.contents(of: fields, record: record.name)
    else { return nil }
    return (reader, contents)
  }

  private static func chunk(_ hash: ChunkHash, among held: [HeldChunk]) -> HeldChunk? {
    let place = held.lowerBound { $0.hash < hash }
    return place < held.count && held[place].hash == hash ? held[place] : nil
  }

  /// False, and nothing is left of it, where a chunk has gone meanwhile or is not what it was.
  private func writeFile(
    _ name: String, _ chunks: [HeldChunk], _ seal: VaultSeal, of account: AccountID
  ) throws(CommandFailure) -> Bool {
    let file = try folder.create(name)
    for chunk in chunks {
      try goOn()
      guard let bytes = try bytes(of: chunk, account), let opened = seal.opened(bytes) else {
        try folder.remove(name)
        return false
      }
      try file.write(opened)
    }
    return true
  }

  /// nil where it has gone meanwhile.
  func bytes(of chunk: HeldChunk, _ account: AccountID) throws(CommandFailure) -> [UInt8]? {
    let path = "\(home.chunks)/\(account.text)/\(HexText.text(chunk.file))"
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    if descriptor < 0, errno == ENOENT { return nil }
    guard descriptor >= 0 else { throw PlainFile.failure(path, "be read", errno) }
    return try PlainFile(path: path, descriptor: descriptor)
      .contents(atMost: Limits.chunkBytes, "the piece")
  }
}
