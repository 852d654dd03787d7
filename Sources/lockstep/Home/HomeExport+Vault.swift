import Glibc
import LockstepApps
import LockstepModel
import LockstepStorage

/// Export of the vault's files, with the content that they have on the devices.
extension HomeExport {
  /// Writes the files. Returns their number and the chunks that they consist of. Skips a file if
  /// this home lacks the key or a chunk of it; its chunks are exported with the others. If the home
  /// has a key, unsealed files go to a folder of their own: anyone who can write to the account may
  /// have made them, and they must not be mistaken for sealed ones.
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

  /// Returns a record's contents and the seal that opens its chunks, or nil if this home cannot
  /// read it.
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

  /// Returns false and removes the file if a chunk is gone meanwhile or cannot be opened.
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

  /// Returns nil if the chunk is gone meanwhile.
  func bytes(of chunk: HeldChunk, _ account: AccountID) throws(CommandFailure) -> [UInt8]? {
    let path = "\(home.chunks)/\(account.text)/\(HexText.text(chunk.file))"
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    if descriptor < 0, errno == ENOENT { return nil }
    guard descriptor >= 0 else { throw PlainFile.failure(path, "be read", errno) }
    return try PlainFile(path: path, descriptor: descriptor)
      .contents(atMost: Limits.chunkBytes, "the chunk")
  }
}
