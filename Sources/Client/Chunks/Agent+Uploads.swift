import LockstepCrypto
import LockstepModel
import LockstepStorage
import LockstepWire

/// Pieces of files on their way to the relay, on connections of their own.
extension Agent {
  mutating func advanceUploads(at moment: Moment) {
    let isOnline = engine.transport != nil
    if isOnline != pieces.isOnline {
      pieces.isOnline = isOnline
      if isOnline {
        pieces.transfer.online()
        pieces.lackingMilliseconds = Limits.lackingFirstMilliseconds
        askForLacking(at: moment)
      } else {
        stopUploads()
      }
    }
    while let action = pieces.transfer.next() {
      switch action {
      case .ask(let hashes): askMissing(hashes, at: moment)
      case .upload(let piece): upload(piece, at: moment)
      case .settle(let tidings):
        submit(
          .pieces(.settle(tidings)), .piece(.settle), offer: engine.takeOffer(), at: moment)
      case .pause(let retryAfter):
        let delay = pieces.backoff.next(retryAfterMilliseconds: retryAfter, random: &random)
        deadlines.set(.pieces, moment.instant.advanced(milliseconds: delay))
      case .hold:
        deadlines.set(
          .plan, moment.instant.advanced(milliseconds: Limits.planRetryMilliseconds))
      case .fail(let refusal): fail(refusal, at: moment)
      }
    }
    // A check that nothing waits for is no work until it finds that something is lacking.
    let isOnlyChecking =
      pieces.isChecking && !pieces.transfer.isBringing && engine.outbox.unsent == 0
    engine.awaitsPieces = pieces.transfer.isBusy && !isOnlyChecking
    planAskForLacking(at: moment)
    checkPieces(at: moment)
  }

  /// The connections are for the relay that the home names.
  mutating func makeLines(to relay: RelayAddress) {
    stopUploads()
    stopDownloads(because: .unreachable(reason: "the home was read anew"))
    for index in pieces.lines.indices { pieces.lines[index].close(&pieces.output) }
    pieces.isOnline = false
    pieces.questions = HTTPExchange(to: relay)
    pieces.uploads = (0..<Limits.pieceUploads).map { _ in DeviceChunkUpload(to: relay) }
    pieces.lines = (0..<Limits.pieceDownloads).map { _ in ChunkConnection(to: relay) }
  }

  mutating func stopUploads() {
    pieces.isChecking = false
    pieces.transfer.offline()
    pieces.questions?.close(&pieces.output)
    for index in pieces.uploads.indices { pieces.uploads[index].stop(&pieces.output) }
    deadlines.clear(.pieces)
    deadlines.clear(.lacking)
  }

  /// Another device may have brought by now what changes lack that wait for a person.
  mutating func askForLacking(at moment: Moment) {
    guard pieces.isOnline, engine.outbox.parkedCount > 0 else { return }
    submit(
      .pieces(.askForLacking), .piece(.askForLacking), offer: engine.takeOffer(), at: moment)
  }

  /// The relay is asked whether it has the pieces that records name and that lie here: it may have
  /// found that a file is gone from its disk, and who lacks the piece cannot bring it.
  /// Where it is not in reach, it is asked once it is.
  private mutating func checkPieces(at moment: Moment) {
    guard pieces.isOnline, pieces.isCheckDue else { return }
    pieces.isCheckDue = false
    pieces.checkedAt = moment.instant
    deadlines.set(
      .pieceCheck, moment.instant.advanced(milliseconds: Limits.pieceCareMilliseconds))
    pieces.isChecking = true
    submit(.pieces(.check), .piece(.check), offer: nil, at: moment)
  }

  /// A person asks for a sync, and may do so often.
  mutating func planPieceCheck(at moment: Moment) {
    let pause = Limits.pieceCareFirstMilliseconds
    if pieces.checkedAt.map({ moment.instant.milliseconds(since: $0) >= pause }) ?? true {
      pieces.isCheckDue = true
    }
  }

  private mutating func planAskForLacking(at moment: Moment) {
    guard pieces.isOnline, engine.outbox.parkedCount > 0, deadlines[.lacking] == nil else { return }
    deadlines.set(.lacking, moment.instant.advanced(milliseconds: pieces.lackingMilliseconds))
    pieces.lackingMilliseconds = min(2 * pieces.lackingMilliseconds, Limits.lackingMilliseconds)
  }

  /// A person asks, or enough time has passed.
  mutating func retryPieces(at moment: Moment) {
    let wasRefused = pieces.transfer.refusal != nil
    pieces.transfer.retry()
    pieces.backoff.reset()
    deadlines.clear(.pieces)
    askForLacking(at: moment)
    if wasRefused {
      submit(.pieces(.retry), .piece(.retry), offer: engine.takeOffer(), at: moment)
    }
  }

  // MARK: the question

  private mutating func askMissing(_ hashes: [ChunkHash], at moment: Moment) {
    guard let token = credentials?.token else { return }
    pieces.questions?.ask(
      HTTPExchange.Request(
        method: "POST", target: RequestTarget(path: ["v1", "chunks", "missing"]), token: token,
        body: ChunkQuestion(hashes: hashes).encodedBody(),
        milliseconds: Limits.answerMilliseconds),
      at: moment.instant, &pieces.output)
  }

  mutating func answered(_ result: HTTPExchange.Result?) {
    switch result {
    case nil: break
    case .unreachable, .unanswered: pieces.transfer.failed(nil)
    case .answered(let status, let headers, let body, _):
      guard status == 200 else {
        return pieces.transfer.failed(
          Refusal.told(status: status, headers: headers, body: body)
            ?? .intercepted(status: status, headers: headers))
      }
      do {
        pieces.transfer.told(missing: try MissingChunks.decoded(body: body).missing)
      } catch {
        pieces.transfer.failed(nil)
      }
    }
  }

  // MARK: one upload

  private mutating func upload(_ piece: HeldChunk, at moment: Moment) {
    guard let token = credentials?.token,
      let index = pieces.uploads.firstIndex(where: { !$0.isBusy })
    else { return pieces.transfer.uploaded(piece.hash, .broken) }
    pieces.nextUpload += 1
    let events = pieces.uploads[index].begin(
      piece, number: pieces.nextUpload, token: token, at: moment.instant, &pieces.output)
    uploadMoved(index, events, at: moment)
  }

  mutating func uploadMoved(_ index: Int, _ events: [ChunkConnection.Event], at moment: Moment) {
    for event in events {
      guard let piece = pieces.uploads[index].piece else { return }
      switch event {
      case .wants:
        guard let file = file(piece.file) else { return }
        let part = pieces.uploads[index].nextPart
        submitFile(
          .read(file, offset: part.lowerBound, count: part.count),
          .upload(pieces.uploads[index].number))
      case .head, .body: pieces.uploads[index].take(event)
      case .end: uploadEnded(index, pieces.uploads[index].result)
      case .broken: uploadEnded(index, .broken)
      }
    }
    tellUpload(index, at: moment)
  }

  mutating func uploadRead(
    _ number: UInt64, _ result: Result<ChunkResult, StorageError>, at moment: Moment
  ) {
    guard let index = pieces.uploads.firstIndex(where: { $0.number == number && $0.isBusy })
    else { return }
    switch result {
    case .success(.bytes(let bytes)):
      if let events = pieces.uploads[index].supply(bytes, at: moment.instant, &pieces.output) {
        uploadMoved(index, events, at: moment)
      } else {
        uploadEnded(index, .damaged)
      }
    case .success: uploadEnded(index, .unread)
    case .failure: uploadEnded(index, .broken)
    }
  }

  private mutating func uploadEnded(_ index: Int, _ result: ChunkTransfer.Upload) {
    guard let piece = pieces.uploads[index].piece else { return }
    pieces.uploads[index].end(&pieces.output)
    if result == .stored {
      pieces.backoff.reset()
      report(
        .pieceProgress(
          ChunkProgress(
            hash: piece.hash, direction: .up, bytesDone: piece.bytes, bytesInAll: piece.bytes)))
    }
    pieces.transfer.uploaded(piece.hash, result)
  }

  private mutating func tellUpload(_ index: Int, at moment: Moment) {
    guard let piece = pieces.uploads[index].piece,
      let done = pieces.uploads[index].progress(at: moment.instant)
    else { return }
    report(
      .pieceProgress(
        ChunkProgress(
          hash: piece.hash, direction: .up, bytesDone: done, bytesInAll: piece.bytes)))
  }
}
