import LockstepModel
import LockstepStorage
import LockstepWire

/// Downloads of chunks. A part is read and sent, and the next one is read as the connection takes
/// bytes, so that a slow client uses little memory.
extension RelayNode {
  /// Starts a download. Throws if there is no memory for it, or the chunk store cannot be asked.
  mutating func beginDownload(
    _ slot: Hub.Slot, _ fetch: ChunkFetch, _ chunk: StoredChunk
  ) throws(Refusal) {
    switch fetch.selection(of: chunk.bytes) {
    case .held: answer(slot, .held(fetch))
    case .unsatisfiable: answer(slot, .noSuchRange(of: chunk.bytes))
    case .bytes(let range, let isPart):
      let head = Answer.chunk(fetch, range, isPart: isPart, size: chunk.bytes)
      if range.isEmpty {
        answer(slot, head)
        return
      }
      let holder = holder(of: slot)
      guard admission.hasRoom(for: holder) else { throw admission.refusal(of: holder) }
      downloads[connections[slot].id] = ChunkDownload(chunk.file, range, head: head)
      connections[slot].http.exchange?.value.stage = .sending
      guard readChunk(slot) else {
        downloads[connections[slot].id] = nil
        throw CommitQueue.overloaded
      }
    }
  }

  /// Reads the next part. Returns false if the chunk store cannot be asked.
  private mutating func readChunk(_ slot: Hub.Slot) -> Bool {
    let id = connections[slot].id
    guard let file = downloads[id]?.file, let range = downloads[id]?.nextRead() else {
      return true
    }
    return ask(
      .chunk(.read(file, offset: range.lowerBound, count: range.count)), for: .download(id, file))
  }

  /// Reads the next part as soon as the connection has room for it. If the node has no memory for
  /// it, continues when all that was sent has left.
  mutating func continueDownload(_ slot: Hub.Slot) {
    let queue = connections[slot].queue
    let hasRoom = admission.hasRoom(for: holder(of: slot))
    if isClogged(slot) || (!hasRoom && queue.unsent > 0) { return }
    if !readChunk(slot) { close(slot, .afterSending) }
  }

  mutating func chunkRead(
    _ id: ConnectionID, _ file: ChunkFile, _ result: Result<ChunkResult, Refusal>
  ) {
    guard let slot = connections.slot(of: id), downloads[id]?.file == file else { return }
    switch result {
    case .success(.bytes(let bytes)) where !bytes.isEmpty: sendPart(slot, bytes)
    // The file has fewer bytes than recorded.
    case .success(.bytes):
      doubt(file)
      refuseDownload(slot, StoreRefusals.unknownChunk)
    case .success: refuseDownload(slot, ResponseBuilder.mismatch)
    case .failure(let refusal):
      if refusal.code == .notFound { doubt(file) }
      refuseDownload(slot, refusal)
    }
    read(slot)
  }

  /// Marks the chunk as missing, so that devices that have it upload it again. If the commit cannot
  /// be queued or fails, the next reader of the chunk finds the same.
  private mutating func doubt(_ file: ChunkFile) {
    _ = askCommit(.markChunksMissing([file]), for: .doubting)
  }

  /// True if the answer's head was sent, and not all of its body.
  func isSending(_ slot: Hub.Slot) -> Bool {
    guard let download = downloads[connections[slot].id] else { return false }
    return download.head == nil
  }

  private mutating func sendPart(_ slot: Hub.Slot, _ bytes: [UInt8]) {
    let id = connections[slot].id
    guard connections[slot].http.exchange != nil else { return }
    if var head = downloads[id]?.take(bytes.count) {
      head.body = bytes
      connections[slot].http.exchange?.value.status = head.status
      let bytes = response(
        head, head: connections[slot].http.exchange?.value.head,
        opening: connections[slot].opening,
        crossOrigin: connections[slot].crossOrigin, closes: closesAfterAnswer(slot))
      send(slot, bytes)
    } else {
      send(slot, bytes)
    }
    if downloads[id]?.isOver == true {
      downloads[id] = nil
      endExchange(slot, closes: closesAfterAnswer(slot))
    } else {
      continueDownload(slot)
    }
  }

  /// Refuses an unreadable download. If the answer has begun, only closing early can signal the
  /// error.
  private mutating func refuseDownload(_ slot: Hub.Slot, _ refusal: Refusal) {
    if isSending(slot) {
      count(refusal.code)
      close(slot, .afterSending)
    } else {
      downloads[connections[slot].id] = nil
      answer(slot, Answer(refusal))
    }
  }
}
