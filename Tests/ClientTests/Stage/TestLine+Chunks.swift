import LockstepModel
import LockstepStorage
import LockstepWire

/// HTTP requests about chunks of files.
extension TestConnection {
  func chunks(_ head: HTTPRequestHead) throws {
    let name = head.target.path[2]
    if name == "missing" {
      let hashes = try MissingChunksRequest.decoded(body: body).hashes
      relay.questions.append(hashes)
      let missing = try relay.missing(hashes)
      return respond(200, MissingChunks(missing: missing).encodedBody())
    }
    guard let hash = ChunkHash(text: name) else { throw TestFault("\(name) is no hash") }
    switch head.method {
    case "PUT":
      if let refusal = try relay.storeChunk(hash, body) { return refuse(refusal) }
      respond(201, [])
    case "GET":
      guard let bytes = try relay.chunk(hash) else {
        return refuse(Refusal(.notFound, "nothing"))
      }
      relay.ranges.append(head.headers["Range"])
      switch ByteRange(head.headers["Range"], of: bytes.count) {
      case .whole: respond(200, bytes)
      case .part(let range):
        let reported = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(bytes.count)"
        respond(206, headers: ["Content-Range": reported], Array(bytes[range]))
      case .unsatisfiable: refuse(Refusal(.rangeNotSatisfiable, ""))
      }
    default: throw TestFault("\(head.method) of a chunk")
    }
  }
}

extension TestRelay {
  func missing(_ hashes: [ChunkHash]) throws -> [ChunkHash] {
    let asked = CommitRequest.renewChunks(TestRelay.account, hashes)
    guard case .renewed(let bytes) = try store.commit([asked], wall: wall)[0] else {
      throw TestFault("no answer about chunks")
    }
    return zip(hashes, bytes).filter { $0.1 == nil }.map(\.0)
  }

  /// Returns nil if the chunk was stored.
  func storeChunk(_ hash: ChunkHash, _ bytes: [UInt8]) throws -> Refusal? {
    puts.append(hash)
    let file = ChunkFile(account: TestRelay.account, number: UInt64(puts.count))
    _ = try files.perform(.append(file, bytes))
    if case .refused(let refusal) = try files.perform(.finish(file, expecting: hash)) {
      return refusal
    }
    let added = try store.commit(
      [.addChunk(TestRelay.account, hash, file, bytes: bytes.count)], wall: wall)[0]
    if case .refused(let refusal) = added { return refusal }
    return nil
  }

  func chunk(_ hash: ChunkHash) throws -> [UInt8]? {
    guard case .chunk(let chunk) = try store.read(.chunk(TestRelay.account, hash)),
      case .bytes(let bytes) = try files.perform(
        .read(chunk.file, offset: 0, count: chunk.bytes))
    else { return nil }
    return bytes
  }

  /// Removes the chunk, as after a day without a request about it.
  func forget(_ hash: ChunkHash) throws {
    guard case .chunk = try store.read(.chunk(TestRelay.account, hash)) else {
      throw TestFault("there is no such chunk")
    }
    _ = try store.commit(
      [.collectChunks(atMost: 9)], wall: wall + 2 * Limits.chunkLeaseMilliseconds)
  }
}
