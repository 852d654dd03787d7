import LockstepModel
import LockstepStorage
import LockstepWire

/// Uploads of chunks. Bytes are written as they arrive. The account gets the chunk only when all
/// bytes are durable and match the hash.
///
///     bytes → append … append → finish → commit → answer
///
/// If an upload ends before the commit, its file is removed.
extension RelayNode {
  /// Starts an upload after the head of a request that has no error so far.
  mutating func beginUpload(_ slot: Hub.Slot, _ hash: ChunkHash) {
    guard uploads.count < configuration.limits.uploads else {
      connections[slot].http.exchange?.value.verdict = Answer(StoreRefusals.tooManyUploads)
      return
    }
    guard !isDiskLow() else {
      connections[slot].http.exchange?.value.verdict = Answer(StoreHealth.diskLow)
      return
    }
    uploads[connections[slot].id] = ChunkUpload(hash)
  }

  mutating func addToUpload(_ slot: Hub.Slot, _ bytes: [UInt8]) {
    uploads[connections[slot].id]?.take(bytes)
    advanceUpload(slot)
  }

  /// Passes on received bytes, once the account is known and the step before is done.
  mutating func advanceUpload(_ slot: Hub.Slot) {
    let id = connections[slot].id
    if connections[slot].http.exchange?.value.stage == .whole { uploads[id]?.end() }
    if let session = connections[slot].session,
      connections[slot].http.exchange?.value.isSigningIn == false
    {
      passOn(id, by: session)
    }
    settleUpload(slot)
  }

  private mutating func passOn(_ id: ConnectionID, by session: Session) {
    if let upload = uploads[id], upload.file == nil {
      let others = uploads.values.count { $0.file?.account == session.account }
      guard others < configuration.limits.uploadsPerAccount else {
        if let slot = connections.slot(of: id) { refuseUpload(slot, StoreRefusals.tooManyUploads) }
        return
      }
      uploads[id]?.file = ChunkFile(account: session.account, number: secrets.word())
    }
    guard let file = uploads[id]?.file, let hash = uploads[id]?.hash,
      let step = uploads[id]?.nextStep()
    else { return }
    let request: ChunkRequest =
      switch step {
      case .append(let bytes): .append(file, bytes)
      case .finish: .finish(file, expecting: hash)
      }
    if !ask(.chunk(request), for: .upload(id, file)), let slot = connections.slot(of: id) {
      refuseUpload(slot, CommitQueue.overloaded)
    }
  }

  /// Counts the bytes held for the upload, and stops or resumes reading of its body.
  private mutating func settleUpload(_ slot: Hub.Slot) {
    guard let upload = uploads[connections[slot].id] else { return }
    connections[slot].http.exchange?.value.bodyBytes = upload.heldBytes
    switch connections[slot].http.exchange?.value.stage {
    case .reading where upload.isFull: connections[slot].http.exchange?.value.stage = .full
    case .full where !upload.isFull: connections[slot].http.exchange?.value.stage = .reading
    default: break
    }
  }

  /// Stops reading an upload with a step under way, because there is no memory for more bytes.
  mutating func holdUpload(_ slot: Hub.Slot) {
    guard connections[slot].http.exchange?.value.stage == .reading,
      let upload = uploads[connections[slot].id], upload.isBegun, upload.heldBytes > 0
    else { return }
    connections[slot].http.exchange?.value.stage = .full
  }

  /// Handles the result of a step from the chunk store.
  mutating func uploadStepDone(
    _ id: ConnectionID, _ file: ChunkFile, _ result: Result<ChunkResult, Refusal>
  ) {
    // The end of an upload has already handled its file.
    guard let slot = connections.slot(of: id), uploads[id]?.file == file else { return }
    switch result {
    case .success(.done):
      uploads[id]?.stepDone()
      if uploads[id]?.isFinished == true {
        if health.filesWorked() { actions.append(.report(.storeRecovered)) }
        addChunk(slot)
      } else {
        advanceUpload(slot)
      }
    case .success: refuseUpload(slot, ResponseBuilder.mismatch)
    case .failure(let refusal): refuseUpload(slot, refusal)
    }
    read(slot)
  }

  /// Refuses the upload; the rest of its body is discarded.
  private mutating func refuseUpload(_ slot: Hub.Slot, _ refusal: Refusal) {
    connections[slot].http.exchange?.value.verdict = Answer(refusal)
    endUpload(slot)
    proceed(slot)
  }

  /// Ends an upload that was refused before its chunk was added.
  mutating func endUpload(_ slot: Hub.Slot) {
    guard uploads[connections[slot].id] != nil else { return }
    dropUpload(connections[slot].id)
    connections[slot].http.exchange?.value.bodyBytes = 0
    if connections[slot].http.exchange?.value.stage == .full {
      connections[slot].http.exchange?.value.stage = .reading
    }
  }

  /// Discards an upload that ends before its chunk was added. Its steps are done in order, so its
  /// file is removed after the step under way.
  mutating func dropUpload(_ id: ConnectionID) {
    guard let upload = uploads.removeValue(forKey: id), upload.isBegun, let file = upload.file
    else { return }
    removeFiles([file])
  }

  // MARK: commit

  /// Adds the chunk to the account; its file is complete and durable. From here on the commit owns
  /// the file, whatever happens to the connection.
  private mutating func addChunk(_ slot: Hub.Slot) {
    let id = connections[slot].id
    guard let upload = uploads.removeValue(forKey: id), let file = upload.file else { return }
    connections[slot].http.exchange?.value.stage = .asking
    connections[slot].http.exchange?.value.bodyBytes = 0
    let request = CommitRequest.addChunk(file.account, upload.hash, file, bytes: upload.received)
    if !askCommit(request, for: .addChunk(id, file)) {
      removeFiles([file])
      answer(slot, Answer(CommitQueue.overloaded))
    }
  }

  mutating func chunkAdded(
    _ id: ConnectionID, _ file: ChunkFile, _ result: Result<CommitResult, Refusal>
  ) {
    var isNew = false
    switch result {
    case .success(.chunkAdded): isNew = true
    case .success(.chunkReplaced(let old, let wasLacking)):
      isNew = wasLacking
      removeFiles([old])
    case .failure(let refusal) where refusal.code == .storeUnavailable:
      // A failed commit may still become durable after a crash, until another one has followed it.
      keepLeftover([file])
    case .success, .failure: removeFiles([file])
    }
    guard let slot = connections.slot(of: id) else { return }
    switch result {
    case .success(.chunkAdded), .success(.chunkReplaced):
      answer(slot, Answer(status: isNew ? 201 : 200))
    case .success: answer(slot, Answer(ResponseBuilder.mismatch))
    case .failure(let refusal): answer(slot, Answer(refusal))
    }
    read(slot)
  }
}
