import LockstepModel
import LockstepStorage
import LockstepWire

/// How a chunk of a file comes in: its bytes are written as they come, and only when all of them
/// are durable, and are what their hash says, does the account get the chunk.
///
///     bytes → append … append → finish → commit → answer
///
/// Whatever ends it before the commit removes the file.
extension RelayNode {
  /// The head of the request has come, and nothing is wrong with it so far.
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

  /// Hands on what has come, once it is known whose it is and the step before is done.
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

  /// Counts what lies here for the upload, and says whether more of it is read.
  private mutating func settleUpload(_ slot: Hub.Slot) {
    guard let upload = uploads[connections[slot].id] else { return }
    connections[slot].http.exchange?.value.bodyBytes = upload.heldBytes
    switch connections[slot].http.exchange?.value.stage {
    case .reading where upload.isFull: connections[slot].http.exchange?.value.stage = .full
    case .full where !upload.isFull: connections[slot].http.exchange?.value.stage = .reading
    default: break
    }
  }

  /// There is no room for more bytes of anybody: an upload with a step under way waits for its end.
  mutating func holdUpload(_ slot: Hub.Slot) {
    guard connections[slot].http.exchange?.value.stage == .reading,
      let upload = uploads[connections[slot].id], upload.isBegun, upload.heldBytes > 0
    else { return }
    connections[slot].http.exchange?.value.stage = .full
  }

  /// The files have done a step.
  mutating func uploadStepDone(
    _ id: ConnectionID, _ file: ChunkFile, _ result: Result<ChunkResult, Refusal>
  ) {
    // An upload that has ended has taken care of its file.
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

  /// The upload is refused; what still comes of it is passed over.
  private mutating func refuseUpload(_ slot: Hub.Slot, _ refusal: Refusal) {
    connections[slot].http.exchange?.value.verdict = Answer(refusal)
    endUpload(slot)
    proceed(slot)
  }

  /// The request has its verdict before its upload was added.
  mutating func endUpload(_ slot: Hub.Slot) {
    guard uploads[connections[slot].id] != nil else { return }
    dropUpload(connections[slot].id)
    connections[slot].http.exchange?.value.bodyBytes = 0
    if connections[slot].http.exchange?.value.stage == .full {
      connections[slot].http.exchange?.value.stage = .reading
    }
  }

  /// The upload has come to an end before it was added. Its steps are done in order, so its file
  /// is removed after what is under way.
  mutating func dropUpload(_ id: ConnectionID) {
    guard let upload = uploads.removeValue(forKey: id), upload.isBegun, let file = upload.file
    else { return }
    removeFiles([file])
  }

  // MARK: the commit

  /// The file is whole and durable: the account gets the chunk. From here on the file is the
  /// commit's, whatever becomes of the connection.
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
      // A commit that failed may yet come back with a crash, until another one has followed it.
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
