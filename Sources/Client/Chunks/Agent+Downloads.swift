import LockstepModel
import LockstepStorage
import LockstepWire

/// Pieces of files on their way from the relay into the home, for those who read them.
extension Agent {
  mutating func download(_ hash: ChunkHash) {
    guard isNetworkOn, let file = newFile() else {
      return pieces.reader.downloaded(hash, .failure(.unreachable(reason: Agent.switchedOff)))
    }
    pieces.fetches.append(ChunkFetchRequest(download: DeviceChunkDownload(hash, file: file.number)))
  }

  static let switchedOff = "the network is switched off"

  /// Whoever waits is told.
  mutating func stopDownloads(because failure: ChunkFailure) {
    for fetch in pieces.fetches {
      freeLine(of: fetch)
      removeFiles([fetch.download.file])
      pieces.reader.downloaded(fetch.download.hash, .failure(failure))
    }
    pieces.fetches = []
    deadlines.clear(.downloads)
  }

  mutating func advanceDownloads(at moment: Moment) {
    for file in pieces.fetches.map(\.download.file) { advanceDownload(file, at: moment) }
    for index in pieces.fetches.indices where pieces.fetches[index].ask != nil {
      guard let line = pieces.lines.indices.first(where: { isFree($0) }) else { break }
      askForPiece(index, on: line, at: moment)
    }
    let next = pieces.fetches.compactMap(\.resumeAt).min()
    if let next { deadlines.set(.downloads, next) } else { deadlines.clear(.downloads) }
  }

  private func isFree(_ line: Int) -> Bool {
    !pieces.lines[line].isBusy && !pieces.fetches.contains { $0.line == line }
  }

  private mutating func askForPiece(_ index: Int, on line: Int, at moment: Moment) {
    guard let first = pieces.fetches[index].ask, let token = credentials?.token else { return }
    pieces.fetches[index].ask = nil
    pieces.fetches[index].line = line
    let request = ChunkConnection.Request(
      method: "GET", hash: pieces.fetches[index].download.hash, token: token, first: first)
    let events = pieces.lines[line].ask(request, at: moment.instant, &pieces.output)
    downloadMoved(line, events, at: moment)
  }

  /// Does what the download of this file asks.
  private mutating func advanceDownload(_ number: UInt64, at moment: Moment) {
    guard let file = file(number) else { return }
    while let index = pieces.fetches.firstIndex(where: { $0.download.file == number }),
      let action = pieces.fetches[index].download.next()
    {
      let line = pieces.fetches[index].line
      let hash = pieces.fetches[index].download.hash
      switch action {
      case .ask(let first): pieces.fetches[index].ask = first
      case .append(let bytes):
        submitFile(.append(file, bytes), .downloadAppend(number, count: bytes.count))
      case .finish: submitFile(.finish(file, expecting: hash), .downloadFinish(number))
      case .pause: if let line { pieces.lines[line].pause(&pieces.output) }
      case .resume:
        if let line { pieces.lines[line].resume(at: moment.instant, &pieces.output) }
      case .wait(let retryAfter):
        freeLine(of: pieces.fetches[index])
        pieces.fetches[index].line = nil
        let delay = pieces.fetches[index].backoff.next(
          retryAfterMilliseconds: retryAfter, random: &random)
        pieces.fetches[index].resumeAt = moment.instant.advanced(milliseconds: delay)
      case .discard: removeFiles([number])
      case .end(let failure): downloadEnded(index, failure, at: moment)
      }
    }
  }

  /// In the middle of an answer a connection is of no use for another question.
  private mutating func freeLine(of fetch: ChunkFetchRequest) {
    guard let line = fetch.line, pieces.lines[line].isBusy else { return }
    pieces.lines[line].close(&pieces.output)
  }

  private mutating func downloadEnded(
    _ index: Int, _ failure: ChunkFailure?, at moment: Moment
  ) {
    let ended = pieces.fetches.remove(at: index)
    freeLine(of: ended)
    let hash = ended.download.hash
    if let failure { return pieces.reader.downloaded(hash, .failure(failure)) }
    let piece = HeldChunk(
      hash: hash, file: ended.download.file, bytes: ended.download.received)
    submit(.pieces(.add(piece)), .piece(.downloaded(piece)), at: moment)
  }

  /// The piece stands in the index; or its file is of no use.
  mutating func downloadAdded(
    _ piece: HeldChunk, _ result: Result<UInt64?, StorageError>
  ) {
    switch result {
    case .success(let replaced):
      removeFiles([replaced].compactMap { $0 })
      report(
        .pieceProgress(
          ChunkProgress(
            hash: piece.hash, direction: .down, bytesDone: piece.bytes, bytesInAll: piece.bytes)))
      pieces.reader.downloaded(piece.hash, .success(()))
    case .failure(let error):
      removeFiles([piece.file])
      pieces.reader.downloaded(piece.hash, .failure(.storage(error)))
    }
  }

  // MARK: what happens

  mutating func downloadMoved(_ line: Int, _ events: [ChunkConnection.Event], at moment: Moment) {
    for event in events {
      guard let index = pieces.fetches.firstIndex(where: { $0.line == line }) else { return }
      switch event {
      case .wants: break
      case .head(let head): pieces.fetches[index].download.head(head)
      case .body(let bytes):
        pieces.fetches[index].download.body(bytes)
        tellDownload(index, at: moment)
      case .end:
        pieces.fetches[index].line = nil
        pieces.fetches[index].download.end()
      case .broken(let reason, _):
        pieces.fetches[index].line = nil
        pieces.fetches[index].download.broken(reason)
      }
    }
  }

  mutating func downloadWrote(
    _ file: UInt64, _ count: Int, _ result: Result<ChunkResult, StorageError>
  ) {
    guard let index = pieces.fetches.firstIndex(where: { $0.download.file == file }) else {
      return
    }
    pieces.fetches[index].download.wrote(count, result)
  }

  mutating func downloadFinished(_ file: UInt64, _ result: Result<ChunkResult, StorageError>) {
    guard let index = pieces.fetches.firstIndex(where: { $0.download.file == file }) else {
      return
    }
    pieces.fetches[index].download.finished(result)
  }

  mutating func resumeDownloads(at moment: Moment) {
    for index in pieces.fetches.indices {
      guard let resumeAt = pieces.fetches[index].resumeAt, resumeAt <= moment.instant else {
        continue
      }
      pieces.fetches[index].resumeAt = nil
      pieces.fetches[index].download.tryAgain()
    }
  }

  private mutating func tellDownload(_ index: Int, at moment: Moment) {
    let fetch = pieces.fetches[index]
    guard let size = fetch.download.size,
      fetch.toldAt.map({
        $0.advanced(milliseconds: Limits.pieceProgressMilliseconds) <= moment.instant
      }) ?? true
    else { return }
    pieces.fetches[index].toldAt = moment.instant
    report(
      .pieceProgress(
        ChunkProgress(
          hash: fetch.download.hash, direction: .down, bytesDone: fetch.download.received,
          bytesInAll: size)))
  }
}
