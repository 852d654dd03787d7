import LockstepApps
import LockstepClient
import LockstepCrypto
import LockstepModel

/// Upload of a file: it is read once and split, and its new chunks are stored in the home before
/// the record that names them is changed.
extension VaultEngine {
  /// A split file, as its record will describe it.
  struct Cut {
    var manifest: VaultManifest
    /// Names of its chunks at the relay.
    var chunks: [ChunkHash]
    var signature: FileSignature
    /// Bytes of the chunks that were not known before, by their names at the relay.
    var new: [ChunkHash: Int]
  }

  /// `contents`: description of the file in its record; nil if there is none.
  func push(
    _ entry: VaultEntry, _ seal: VaultSeal, over base: Record?, _ contents: VaultSeal.Contents?
  ) throws(VaultFault) {
    let name = entry.name
    var known: [ChunkHash: ChunkHash] = [:]
    if entry.isHeld, let contents, contents.manifest.sha256 == entry.agreed {
      known = Dictionary(zip(contents.manifest.chunks, contents.chunks)) { first, _ in first }
    }
    tracks[name]?.state = .syncing
    tracks[name]?.reason = nil
    let cut = try cut(entry, as: name, seal, known: known)
    let fields = seal.fields(of: cut.manifest, chunks: cut.chunks)
    guard let recordName = seal.recordName(of: name) else { throw .changed }
    let key = RecordKey(zone: VaultApp.zone, name: recordName)
    // Before the edit, because the agent begins to send the chunks at once.
    let bytes = cut.new.values.reduce(0, +)
    tracks[name]?.upload = cut.new.mapValues { VaultTrack.Part(bytes: $0) }
    tracks[name]?.bytesDone = 0
    tracks[name]?.bytesInAll = bytes
    try edit(
      EditRequest(key: key, type: VaultApp.fileType) { context throws(EditRefusal) in
        try VaultEngine.require(context.current, is: base)
        return fields
      })
    tracks[name]?.state = .uploading
    tracks[name]?.isUnsent = true
    guard var entry = registry?[name] else { return }
    (entry.agreed, entry.isHeld) = (cut.manifest.sha256, true)
    entry.seen = entry.seen?.signature == cut.signature ? entry.seen : nil
    try put(entry)
    var event = VaultHistory.Event(.sent, name, at: wall)
    (event.bytes, event.chunks) = (bytes, cut.new.count)
    history.add(event)
    log.info("\(name): \(cut.new.count) new chunks of \(bytes) bytes")
  }

  /// Reads the file, and stores the chunks in the home that are not `known` (names at the relay by
  /// the hash of the content).
  func cut(
    _ entry: VaultEntry, as name: String, _ seal: VaultSeal, known: [ChunkHash: ChunkHash]
  ) throws(VaultFault) -> Cut {
    guard case .file(let signature, _) = FileInfo(entry.path) else { throw .changed }
    var place = ContentChunker.Sizes.place(forBytes: Int(signature.bytes))
    while place < ContentChunker.Sizes.classes.count {
      let sizes = ContentChunker.Sizes.classes[place]
      if let cut = try cut(entry, as: name, seal, sizes, known) {
        guard case .file(cut.signature, _) = FileInfo(entry.path) else { throw .changed }
        return cut
      }
      place += 1
    }
    throw .problem("it has more chunks than a record names; split it, or forget it")
  }

  /// Returns nil if there are more chunks than a record may name.
  private func cut(
    _ entry: VaultEntry, as name: String, _ seal: VaultSeal, _ sizes: ContentChunker.Sizes,
    _ known: [ChunkHash: ChunkHash]
  ) throws(VaultFault) -> Cut? {
    let file = try FileContent(entry.path)
    let signature = try file.signature
    let digest = SHA256()
    var count: Int64 = 0
    var chunker = ContentChunker(seed: seal.chunkSeed, sizes: sizes)
    var basket = ChunkBuffer(self, seal, known)
    do throws(VaultFault) {
      while true {
        let bytes = try file.read(FileContent.portion)
        if bytes.isEmpty { break }
        count += Int64(bytes.count)
        if count > signature.bytes { throw .changed }
        digest.update(bytes)
        chunker.add(bytes)
        while let chunk = chunker.next() { try basket.add(chunk) }
        guard basket.contents.count < Limits.chunksPerRecord else {
          basket.abandon()
          return nil
        }
        try breathe()
      }
      if let last = chunker.finish() { try basket.add(last) }
      let chunks = try basket.finish()
      guard try file.signature == signature, let sha256 = ChunkHash(bytes: digest.finish()),
        basket.contents.count <= Limits.chunksPerRecord
      else { throw .changed }
      return Cut(
        manifest: VaultManifest(
          file: name, size: Int(signature.bytes), sha256: sha256, chunks: basket.contents),
        chunks: chunks, signature: signature, new: basket.new)
    } catch {
      basket.abandon()
      throw error
    }
  }
}

/// Chunks of one file that are being stored in the home, a few at a time.
struct ChunkBuffer {
  /// Hashes of the chunks' contents, in order.
  private(set) var contents: [ChunkHash] = []
  private(set) var new: [ChunkHash: Int] = [:]
  private let engine: VaultEngine
  private let seal: VaultSeal
  /// Names at the relay, by the hash of the content.
  private var names: [ChunkHash: ChunkHash]
  /// Chunks that were given to the agent and are not reported yet.
  private var waiting: [(order: OrderID, content: ChunkHash, bytes: Int)] = []
  /// Content hashes of the waiting chunks.
  private var under: Set<ChunkHash> = []

  init(_ engine: VaultEngine, _ seal: VaultSeal, _ known: [ChunkHash: ChunkHash]) {
    self.engine = engine
    self.seal = seal
    names = known
  }

  mutating func add(_ chunk: [UInt8]) throws(VaultFault) {
    guard let content = ChunkHash(bytes: SHA256.hash(chunk)) else { return }
    contents.append(content)
    if names[content] != nil || under.contains(content) { return }
    // The agent accepts one more than this.
    while waiting.count >= Limits.chunkAdds - 1 { try collect() }
    let sealed = seal.sealed(chunk)
    waiting.append((engine.order { .addChunk($0, sealed) }, content, sealed.count))
    under.insert(content)
  }

  /// Waits until the home has all chunks. Returns their names at the relay, in order.
  mutating func finish() throws(VaultFault) -> [ChunkHash] {
    while !waiting.isEmpty { try collect() }
    return contents.compactMap { names[$0] }
  }

  mutating func abandon() {
    engine.abandon(waiting.map(\.order))
    waiting = []
  }

  private mutating func collect() throws(VaultFault) {
    let first = waiting[0]
    guard case .chunkAdded(_, let result) = try engine.report(first.order) else { return }
    waiting.removeFirst()
    under.remove(first.content)
    switch result {
    case .success(let name):
      names[first.content] = name
      new[name] = first.bytes
    case .failure(let failure): throw failure.fault
    }
  }
}

extension ChunkFailure {
  /// Fault of the file that contains the chunk.
  var fault: VaultFault {
    switch self {
    case .tooLarge(let bytes): .problem("a chunk has \(bytes) bytes, which is too large")
    case .busy: .waiting("the home is busy with other chunks")
    case .notJoined: .problem("this home has not joined an account; join one first")
    case .nowhere: .waiting("some of it is not at the relay yet")
    case .damaged: .waiting("some of it is damaged in this home, and is fetched anew")
    case .refused(let refusal): .problem(refusal.detail)
    case .unreachable(let reason): .waiting("the relay cannot be reached (\(reason))")
    case .storage(let error): .problem("\(error)")
    case .stopping: .stopping
    }
  }
}
