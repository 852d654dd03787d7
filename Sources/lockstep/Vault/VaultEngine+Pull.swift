import LockstepApps
import LockstepClient
import LockstepCrypto
import LockstepModel

/// Download of a file: its chunks are written to a file beside it, which then replaces it.
extension VaultEngine {
  /// Maximum number of chunks requested at a time; each may be in memory.
  private static let ahead = 4

  func pull(
    _ entry: VaultEntry, _ seal: VaultSeal, _ record: Record?, _ contents: VaultSeal.Contents?,
    over file: VaultFileState?
  ) throws(VaultFault) {
    guard let record, let contents else { throw .changed }
    let name = entry.name
    let manifest = contents.manifest
    if file != nil, try FileContent(entry.path).hasWriters {
      throw .waiting("another program has it open to write; it is replaced once that is done")
    }
    tracks[name]?.state = .downloading
    tracks[name]?.reason = nil
    tracks[name]?.bytesDone = 0
    tracks[name]?.bytesInAll = manifest.size
    let fresh = try FreshFile(temporary(entry))
    var reader = ChunkFetcher(self, seal, contents)
    do throws(VaultFault) {
      while let chunk = try reader.next(ahead: VaultEngine.ahead) {
        try fresh.add(chunk)
        tracks[name]?.bytesDone = fresh.bytes
        // A newer version has arrived meanwhile, or the file was forgotten.
        if moved.contains(record.name) || registry?[name] == nil { throw .changed }
        try breathe()
      }
    } catch {
      reader.abandon()
      throw error
    }
    guard fresh.bytes == manifest.size, try fresh.finish(file?.rights ?? .new) == manifest.sha256
    else {
      fresh.discard()
      throw .problem("what the account has of it is damaged; add it again where it is well")
    }
    try replace(entry, with: fresh, manifest, over: file)
    var event = VaultHistory.Event(.received, name, at: wall)
    (event.bytes, event.chunks) = (manifest.size, manifest.chunks.count)
    event.device = record.device.text
    history.add(event)
    log.info("\(name): \(manifest.size) bytes received")
  }

  private func replace(
    _ entry: VaultEntry, with fresh: FreshFile, _ manifest: VaultManifest,
    over file: VaultFileState?
  ) throws(VaultFault) {
    guard var entry = registry?[entry.name], isStill(file, at: entry.path) else {
      fresh.discard()
      throw .changed
    }
    let swap = FileSwap(
      path: entry.path, temporary: fresh.path, incoming: manifest.sha256,
      expected: file?.content)
    entry.swap = swap
    do throws(VaultFault) {
      try put(entry)
    } catch {
      fresh.discard()
      throw error
    }
    let result: Result<FileSwap.End, VaultFault> = captured { () throws(VaultFault) in
      try swap.replace()
    }
    // The swap stays in the registry until the replaced content is safe.
    if case .success(.kept(let place)) = result { try keepAside(place, of: entry) }
    entry.swap = nil
    if case .success(let end) = result, end != .changed {
      (entry.agreed, entry.isHeld, entry.seen) = (manifest.sha256, true, nil)
      if case .folder(let mark) = FileInfo(entry.folderPath) { entry.folder = mark }
    }
    try put(entry)
    if try result.get() == .changed { throw .changed }
  }

  private func isStill(_ file: VaultFileState?, at path: String) -> Bool {
    switch FileInfo(path) {
    case .absent: file == nil
    case .file(let signature, _): file?.signature == signature
    case .folder, .unfit: false
    }
  }
}

/// Chunks of one file, in order, from the home or the relay.
struct ChunkFetcher {
  private let engine: VaultEngine
  private let seal: VaultSeal
  private let contents: VaultSeal.Contents
  private var orders: [OrderID] = []
  /// Index of the next chunk to request, and of the next one to return.
  private var asked = 0
  private var given = 0

  init(_ engine: VaultEngine, _ seal: VaultSeal, _ contents: VaultSeal.Contents) {
    self.engine = engine
    self.seal = seal
    self.contents = contents
  }

  /// Returns the next chunk in the clear; nil after the last. `ahead`: chunks to request
  /// beforehand.
  mutating func next(ahead: Int) throws(VaultFault) -> [UInt8]? {
    while orders.count < ahead, asked < contents.chunks.count {
      let hash = contents.chunks[asked]
      orders.append(
        engine.order { .readChunk($0, hash, offset: 0, count: Limits.chunkBytes) })
      asked += 1
    }
    guard given < asked else { return nil }
    let sealed = try whole(orders[0])
    orders.removeFirst()
    guard let chunk = seal.opened(sealed),
      ChunkHash(bytes: SHA256.hash(chunk)) == contents.manifest.chunks[given]
    else {
      throw .problem("what the account has of it is damaged; add it again where it is well")
    }
    given += 1
    return chunk
  }

  mutating func abandon() {
    engine.abandon(orders)
    orders = []
  }

  private func whole(_ order: OrderID) throws(VaultFault) -> [UInt8] {
    var bytes: [UInt8] = []
    while true {
      let report = try engine.report(order) { report in
        if case .chunkRead(_, .success(let portion)) = report { return !portion.isLast }
        return false
      }
      guard case .chunkRead(_, let result) = report else { return bytes }
      switch result {
      case .success(let portion):
        bytes += portion.bytes
        if portion.isLast { return bytes }
      case .failure(let failure): throw failure.fault
      }
    }
  }
}
