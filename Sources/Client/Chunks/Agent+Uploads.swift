import LockstepCrypto
import LockstepModel
import LockstepStorage
import LockstepWire

/// Uploads of chunks of files to the relay, on connections of their own.
extension Agent {
  mutating func advanceUploads(at moment: Moment) {
    let isOnline = engine.transport != nil
    if isOnline != chunks.isOnline {
      chunks.isOnline = isOnline
      if isOnline {
        chunks.transfer.online()
        chunks.lackingMilliseconds = Limits.lackingFirstMilliseconds
        askForLacking(at: moment)
      } else {
        stopUploads()
      }
    }
    while let action = chunks.transfer.next() {
      switch action {
      case .ask(let hashes): askMissing(hashes, at: moment)
      case .upload(let chunk): upload(chunk, at: moment)
      case .settle(let chunkStatus):
        submit(
          .chunks(.settle(chunkStatus)), .chunk(.settle), offer: engine.takeOffer(), at: moment)
      case .pause(let retryAfter):
        let delay = chunks.backoff.next(retryAfterMilliseconds: retryAfter, random: &random)
        deadlines.set(.chunks, moment.instant.advanced(milliseconds: delay))
      case .hold:
        deadlines.set(
          .plan, moment.instant.advanced(milliseconds: Limits.planRetryMilliseconds))
      case .fail(let refusal): fail(refusal, at: moment)
      }
    }
    // A check that no change waits for does not count as work until it finds a missing chunk.
    let isOnlyChecking =
      chunks.isChecking && !chunks.transfer.isBringing && engine.outbox.unsent == 0
    engine.awaitsChunks = chunks.transfer.isBusy && !isOnlyChecking
    planAskForLacking(at: moment)
    checkChunks(at: moment)
  }

  /// Creates the connections to the relay that the home names.
  mutating func makeLines(to relay: RelayAddress) {
    stopUploads()
    stopDownloads(because: .unreachable(reason: "the home was read anew"))
    for index in chunks.lines.indices { chunks.lines[index].close(&chunks.output) }
    chunks.isOnline = false
    chunks.questions = HTTPExchange(to: relay)
    chunks.uploads = (0..<Limits.chunkUploads).map { _ in DeviceChunkUpload(to: relay) }
    chunks.lines = (0..<Limits.chunkDownloads).map { _ in ChunkConnection(to: relay) }
  }

  mutating func stopUploads() {
    chunks.isChecking = false
    chunks.transfer.offline()
    chunks.questions?.close(&chunks.output)
    for index in chunks.uploads.indices { chunks.uploads[index].stop(&chunks.output) }
    deadlines.clear(.chunks)
    deadlines.clear(.lacking)
  }

  /// Asks about the chunks that parked changes lack: another device may have uploaded them.
  mutating func askForLacking(at moment: Moment) {
    guard chunks.isOnline, engine.outbox.parkedCount > 0 else { return }
    submit(
      .chunks(.askForLacking), .chunk(.askForLacking), offer: engine.takeOffer(), at: moment)
  }

  /// Asks the relay whether it has the chunks that records name and that this home holds. The relay
  /// may have found that a file is missing on its disk, and devices that lack the chunk cannot
  /// upload it. If the relay is unreachable, the check waits for the next connection.
  private mutating func checkChunks(at moment: Moment) {
    guard chunks.isOnline, chunks.isCheckDue else { return }
    chunks.isCheckDue = false
    chunks.checkedAt = moment.instant
    deadlines.set(
      .chunkCheck, moment.instant.advanced(milliseconds: Limits.chunkCareMilliseconds))
    chunks.isChecking = true
    submit(.chunks(.check), .chunk(.check), offer: nil, at: moment)
  }

  /// Plans a check for a manual sync, at most one per `chunkCareFirstMilliseconds`, because users
  /// may sync often.
  mutating func planChunkCheck(at moment: Moment) {
    let pause = Limits.chunkCareFirstMilliseconds
    if chunks.checkedAt.map({ moment.instant.milliseconds(since: $0) >= pause }) ?? true {
      chunks.isCheckDue = true
    }
  }

  private mutating func planAskForLacking(at moment: Moment) {
    guard chunks.isOnline, engine.outbox.parkedCount > 0, deadlines[.lacking] == nil else { return }
    deadlines.set(.lacking, moment.instant.advanced(milliseconds: chunks.lackingMilliseconds))
    chunks.lackingMilliseconds = min(2 * chunks.lackingMilliseconds, Limits.lackingMilliseconds)
  }

  /// Retries chunks at a user's request, or after enough time has passed.
  mutating func retryChunks(at moment: Moment) {
    let wasRefused = chunks.transfer.refusal != nil
    chunks.transfer.retry()
    chunks.backoff.reset()
    deadlines.clear(.chunks)
    askForLacking(at: moment)
    if wasRefused {
      submit(.chunks(.retry), .chunk(.retry), offer: engine.takeOffer(), at: moment)
    }
  }

  // MARK: the query for missing chunks

  private mutating func askMissing(_ hashes: [ChunkHash], at moment: Moment) {
    guard let token = credentials?.token else { return }
    chunks.questions?.ask(
      HTTPExchange.Request(
        method: "POST", target: RequestTarget(path: ["v1", "chunks", "missing"]), token: token,
        body: ChunkQuestion(hashes: hashes).encodedBody(),
        milliseconds: Limits.answerMilliseconds),
      at: moment.instant, &chunks.output)
  }

  mutating func answered(_ result: HTTPExchange.Result?) {
    switch result {
    case nil: break
    case .unreachable, .unanswered: chunks.transfer.failed(nil)
    case .answered(let status, let headers, let body, _):
      guard status == 200 else {
        return chunks.transfer.failed(
          Refusal.told(status: status, headers: headers, body: body)
            ?? .intercepted(status: status, headers: headers))
      }
      do {
        chunks.transfer.told(missing: try MissingChunks.decoded(body: body).missing)
      } catch {
        chunks.transfer.failed(nil)
      }
    }
  }

  // MARK: one upload

  private mutating func upload(_ chunk: HeldChunk, at moment: Moment) {
    guard let token = credentials?.token,
      let index = chunks.uploads.firstIndex(where: { !$0.isBusy })
    else { return chunks.transfer.uploaded(chunk.hash, .broken) }
    chunks.nextUpload += 1
    let events = chunks.uploads[index].begin(
      chunk, number: chunks.nextUpload, token: token, at: moment.instant, &chunks.output)
    uploadMoved(index, events, at: moment)
  }

  mutating func uploadMoved(_ index: Int, _ events: [ChunkConnection.Event], at moment: Moment) {
    for event in events {
      guard let chunk = chunks.uploads[index].chunk else { return }
      switch event {
      case .wants:
        guard let file = file(chunk.file) else { return }
        let part = chunks.uploads[index].nextPart
        submitFile(
          .read(file, offset: part.lowerBound, count: part.count),
          .upload(chunks.uploads[index].number))
      case .head, .body: chunks.uploads[index].take(event)
      case .end: uploadEnded(index, chunks.uploads[index].result)
      case .broken: uploadEnded(index, .broken)
      }
    }
    tellUpload(index, at: moment)
  }

  mutating func uploadRead(
    _ number: UInt64, _ result: Result<ChunkResult, StorageError>, at moment: Moment
  ) {
    guard let index = chunks.uploads.firstIndex(where: { $0.number == number && $0.isBusy })
    else { return }
    switch result {
    case .success(.bytes(let bytes)):
      if let events = chunks.uploads[index].supply(bytes, at: moment.instant, &chunks.output) {
        uploadMoved(index, events, at: moment)
      } else {
        uploadEnded(index, .damaged)
      }
    case .success: uploadEnded(index, .unread)
    case .failure: uploadEnded(index, .broken)
    }
  }

  private mutating func uploadEnded(_ index: Int, _ result: ChunkTransfer.Upload) {
    guard let chunk = chunks.uploads[index].chunk else { return }
    chunks.uploads[index].end(&chunks.output)
    if result == .stored {
      chunks.backoff.reset()
      report(
        .chunkProgress(
          ChunkProgress(
            hash: chunk.hash, direction: .up, bytesDone: chunk.bytes, bytesInAll: chunk.bytes)))
    }
    chunks.transfer.uploaded(chunk.hash, result)
  }

  private mutating func tellUpload(_ index: Int, at moment: Moment) {
    guard let chunk = chunks.uploads[index].chunk,
      let done = chunks.uploads[index].progress(at: moment.instant)
    else { return }
    report(
      .chunkProgress(
        ChunkProgress(
          hash: chunk.hash, direction: .up, bytesDone: done, bytesInAll: chunk.bytes)))
  }
}
