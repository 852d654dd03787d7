import LockstepModel
import LockstepStorage
import LockstepWire

/// Downloads of chunks of files from the relay into the home, for read orders.
extension Agent {
  mutating func download(_ hash: ChunkHash) {
    guard isNetworkOn, let file = newFile() else {
      return chunks.reader.downloaded(hash, .failure(.unreachable(reason: Agent.switchedOff)))
    }
    chunks.fetches.append(ChunkFetchRequest(download: DeviceChunkDownload(hash, file: file.number)))
  }

  static let switchedOff = "the network is switched off"

  /// Stops all downloads, and reports the failure to the orders that wait for them.
  mutating func stopDownloads(because failure: ChunkFailure) {
    for fetch in chunks.fetches {
      freeLine(of: fetch)
      removeFiles([fetch.download.file])
      chunks.reader.downloaded(fetch.download.hash, .failure(failure))
    }
    chunks.fetches = []
    deadlines.clear(.downloads)
  }

  mutating func advanceDownloads(at moment: Moment) {
    for file in chunks.fetches.map(\.download.file) { advanceDownload(file, at: moment) }
    for index in chunks.fetches.indices where chunks.fetches[index].ask != nil {
      guard let line = chunks.lines.indices.first(where: { isFree($0) }) else { break }
      askForChunk(index, on: line, at: moment)
    }
    let next = chunks.fetches.compactMap(\.resumeAt).min()
    if let next { deadlines.set(.downloads, next) } else { deadlines.clear(.downloads) }
  }

  private func isFree(_ line: Int) -> Bool {
    !chunks.lines[line].isBusy && !chunks.fetches.contains { $0.line == line }
  }

  private mutating func askForChunk(_ index: Int, on line: Int, at moment: Moment) {
    guard let first = chunks.fetches[index].ask, let token = credentials?.token else { return }
    chunks.fetches[index].ask = nil
    chunks.fetches[index].line = line
    let request = ChunkConnection.Request(
      method: "GET", hash: chunks.fetches[index].download.hash, token: token, first: first)
    let events = chunks.lines[line].ask(request, at: moment.instant, &chunks.output)
    downloadMoved(line, events, at: moment)
  }

  /// Performs the actions of the download into this file.
  private mutating func advanceDownload(_ number: UInt64, at moment: Moment) {
    guard let file = file(number) else { return }
    while let index = chunks.fetches.firstIndex(where: { $0.download.file == number }),
      let action = chunks.fetches[index].download.next()
    {
      let line = chunks.fetches[index].line
      let hash = chunks.fetches[index].download.hash
      switch action {
      case .ask(let first): chunks.fetches[index].ask = first
      case .append(let bytes):
        submitFile(.append(file, bytes), .downloadAppend(number, count: bytes.count))
      case .finish: submitFile(.finish(file, expecting: hash), .downloadFinish(number))
      case .pause: if let line { chunks.lines[line].pause(&chunks.output) }
      case .resume:
        if let line { chunks.lines[line].resume(at: moment.instant, &chunks.output) }
      case .wait(let retryAfter):
        freeLine(of: chunks.fetches[index])
        chunks.fetches[index].line = nil
        let delay = chunks.fetches[index].backoff.next(
          retryAfterMilliseconds: retryAfter, random: &random)
        chunks.fetches[index].resumeAt = moment.instant.advanced(milliseconds: delay)
      case .discard: removeFiles([number])
      case .end(let failure): downloadEnded(index, failure, at: moment)
      }
    }
  }

  /// Closes the connection of a fetch in the middle of an answer: it cannot carry another request.
  private mutating func freeLine(of fetch: ChunkFetchRequest) {
    guard let line = fetch.line, chunks.lines[line].isBusy else { return }
    chunks.lines[line].close(&chunks.output)
  }

  private mutating func downloadEnded(
    _ index: Int, _ failure: ChunkFailure?, at moment: Moment
  ) {
    let ended = chunks.fetches.remove(at: index)
    freeLine(of: ended)
    let hash = ended.download.hash
    if let failure { return chunks.reader.downloaded(hash, .failure(failure)) }
    let chunk = HeldChunk(
      hash: hash, file: ended.download.file, bytes: ended.download.received)
    submit(.chunks(.add(chunk)), .chunk(.downloaded(chunk)), at: moment)
  }

  /// Completes a download: the chunk is in the index, or its file is removed.
  mutating func downloadAdded(
    _ chunk: HeldChunk, _ result: Result<UInt64?, StorageError>
  ) {
    switch result {
    case .success(let replaced):
      removeFiles([replaced].compactMap { $0 })
      report(
        .chunkProgress(
          ChunkProgress(
            hash: chunk.hash, direction: .down, bytesDone: chunk.bytes, bytesInAll: chunk.bytes)))
      chunks.reader.downloaded(chunk.hash, .success(()))
    case .failure(let error):
      removeFiles([chunk.file])
      chunks.reader.downloaded(chunk.hash, .failure(.storage(error)))
    }
  }

  // MARK: events

  mutating func downloadMoved(_ line: Int, _ events: [ChunkConnection.Event], at moment: Moment) {
    for event in events {
      guard let index = chunks.fetches.firstIndex(where: { $0.line == line }) else { return }
      switch event {
      case .wants: break
      case .head(let head): chunks.fetches[index].download.head(head)
      case .body(let bytes):
        chunks.fetches[index].download.body(bytes)
        tellDownload(index, at: moment)
      case .end:
        chunks.fetches[index].line = nil
        chunks.fetches[index].download.end()
      case .broken(let reason, _):
        chunks.fetches[index].line = nil
        chunks.fetches[index].download.broken(reason)
      }
    }
  }

  mutating func downloadWrote(
    _ file: UInt64, _ count: Int, _ result: Result<ChunkResult, StorageError>
  ) {
    guard let index = chunks.fetches.firstIndex(where: { $0.download.file == file }) else {
      return
    }
    chunks.fetches[index].download.wrote(count, result)
  }

  mutating func downloadFinished(_ file: UInt64, _ result: Result<ChunkResult, StorageError>) {
    guard let index = chunks.fetches.firstIndex(where: { $0.download.file == file }) else {
      return
    }
    chunks.fetches[index].download.finished(result)
  }

  mutating func resumeDownloads(at moment: Moment) {
    for index in chunks.fetches.indices {
      guard let resumeAt = chunks.fetches[index].resumeAt, resumeAt <= moment.instant else {
        continue
      }
      chunks.fetches[index].resumeAt = nil
      chunks.fetches[index].download.tryAgain()
    }
  }

  private mutating func tellDownload(_ index: Int, at moment: Moment) {
    let fetch = chunks.fetches[index]
    guard let size = fetch.download.size,
      fetch.toldAt.map({
        $0.advanced(milliseconds: Limits.chunkProgressMilliseconds) <= moment.instant
      }) ?? true
    else { return }
    chunks.fetches[index].toldAt = moment.instant
    report(
      .chunkProgress(
        ChunkProgress(
          hash: fetch.download.hash, direction: .down, bytesDone: fetch.download.received,
          bytesInAll: size)))
  }
}
