import LockstepCrypto
import LockstepModel
import LockstepRuntime
import LockstepStorage
import LockstepWire

/// Chunks of files in the home: writing, reading and cleanup.
extension Agent {
  // MARK: orders

  mutating func addChunk(_ order: OrderID, _ bytes: [UInt8], at moment: Moment) {
    guard !isStopping else { return report(.chunkAdded(order, .failure(.stopping))) }
    guard bytes.count <= Limits.chunkBytes else {
      return report(.chunkAdded(order, .failure(.tooLarge(bytes: bytes.count))))
    }
    guard chunks.additions.count + chunks.early.count < Limits.chunkAdds else {
      return report(.chunkAdded(order, .failure(.busy)))
    }
    guard home != nil else { return chunks.early.append(.addChunk(order, bytes)) }
    guard let hash = ChunkHash(bytes: SHA256.hash(bytes)) else {
      return report(.chunkAdded(order, .failure(.damaged)))
    }
    if credentials == nil { chunks.folder = ChunkFolder.home }
    let file = makeFile()
    let chunk = HeldChunk(hash: hash, file: file.number, bytes: bytes.count)
    chunks.additions.append(ChunkCoordinator.Addition(order: order, chunk: chunk))
    // The file worker runs both in this order; if the first fails, so does the second.
    submitFile(.append(file, bytes), .append(order))
    submitFile(.finish(file, expecting: hash), .finish(order))
  }

  mutating func readChunk(
    _ order: OrderID, _ hash: ChunkHash, offset: Int, count: Int, at moment: Moment
  ) {
    guard !isStopping else { return report(.chunkRead(order, .failure(.stopping))) }
    guard home != nil else {
      guard chunks.early.count < Limits.chunkReads else {
        return report(.chunkRead(order, .failure(.busy)))
      }
      return chunks.early.append(.readChunk(order, hash, offset: offset, count: count))
    }
    chunks.reader.addOrder(order, hash, offset: offset, count: count)
  }

  /// Handles the orders that arrived before the home was read.
  mutating func handleEarlyChunkOrders(at moment: Moment) {
    let early = chunks.early
    chunks.early = []
    for order in early { handleOrder(order, at: moment) }
  }

  /// Starts the work on chunks after the home was read, or has joined an account.
  mutating func startChunks(at moment: Moment) {
    let first = min(Limits.chunkCleanupFirstMilliseconds, configuration.chunkCleanupMilliseconds)
    deadlines.set(.chunkCleanup, moment.instant.advanced(milliseconds: first))
    deadlines.set(
      .chunkCheck, moment.instant.advanced(milliseconds: Limits.chunkCleanupFirstMilliseconds))
    if let relay = credentials?.relay { makeChunkConnections(to: relay) }
  }

  mutating func stopChunks() {
    stopUploads()
    stopDownloads(because: .stopping)
    for index in chunks.downloadConnections.indices {
      chunks.downloadConnections[index].close(&chunks.output)
    }
    let early = chunks.early
    chunks.early = []
    for order in early {
      switch order {
      case .addChunk(let id, _): report(.chunkAdded(id, .failure(.stopping)))
      case .readChunk(let id, _, _, _): report(.chunkRead(id, .failure(.stopping)))
      case .edit, .transact, .join, .perform, .show, .nameDevices, .readRecord, .readState,
        .readRecords, .readAll, .readStatus, .decide, .setSyncing, .seal, .answerRestore,
        .syncNow, .goOffline, .goOnline, .sleep, .wake, .stop:
        preconditionFailure("only chunk orders may be queued before the home is loaded")
      }
    }
    chunks.reader.stop()
  }

  // MARK: jobs on the files

  /// Returns the chunk file with this number.
  func file(_ number: UInt64) -> ChunkFile { ChunkFile(account: folder, number: number) }

  private var folder: AccountID { chunks.folder ?? credentials?.account ?? ChunkFolder.home }

  mutating func makeFile() -> ChunkFile { file(random.next()) }

  mutating func submitFile(
    _ request: ChunkRequest, _ purpose: ChunkCoordinator.FileJobPurpose
  ) {
    let id = JobID(rawValue: nextJob)
    nextJob += 1
    chunks.jobs.append((id, purpose))
    actions.append(.run(id, .file(request)))
  }

  mutating func removeFiles(_ numbers: [UInt64]) {
    let files = numbers.map { file($0) }
    // A file that cannot be removed is removed by the sweep when the home is next opened.
    if !files.isEmpty { submitFile(.remove(files), .remove) }
  }

  mutating func fileJobFinished(
    _ id: JobID, _ result: Result<ChunkResult, StorageError>, at moment: Moment
  ) {
    guard let index = chunks.jobs.firstIndex(where: { $0.id == id }) else { return }
    switch chunks.jobs.remove(at: index).purpose {
    case .append(let order): chunkAppended(order, result)
    case .finish(let order): chunkWritten(order, result, at: moment)
    case .read(let order): chunks.reader.read(order, result)
    case .upload(let number): uploadRead(number, result, at: moment)
    case .downloadAppend(let file, let count): downloadWrote(file, count, result)
    case .downloadFinish(let file): downloadFinished(file, result)
    case .remove: break
    case .list: filesListed(result, at: moment)
    }
  }

  private mutating func chunkAppended(_ order: OrderID, _ result: Result<ChunkResult, StorageError>)
  {
    guard let index = chunks.additions.firstIndex(where: { $0.order == order }) else { return }
    chunks.additions[index].failure = ChunkFailure(result)
  }

  private mutating func chunkWritten(
    _ order: OrderID, _ result: Result<ChunkResult, StorageError>, at moment: Moment
  ) {
    guard let index = chunks.additions.firstIndex(where: { $0.order == order }) else { return }
    let addition = chunks.additions[index]
    if let failure = addition.failure ?? ChunkFailure(result) {
      chunks.additions.remove(at: index)
      return report(.chunkAdded(order, .failure(failure)))
    }
    submit(
      .chunks(.add(addition.chunk, isInHomeFolder: chunks.folder != nil)), .chunk(.add(order)),
      at: moment)
  }

  // MARK: jobs of the replica

  mutating func chunkJobFinished(
    _ purpose: ChunkJobPurpose, _ result: ChunkTransferResult, at moment: Moment
  ) {
    switch (purpose, result) {
    case (.add(let order), .added(let replaced)):
      guard let index = chunks.additions.firstIndex(where: { $0.order == order }) else { return }
      let added = chunks.additions.remove(at: index)
      if let replaced { removeFiles([replaced]) }
      report(.chunkAdded(order, .success(added.chunk.hash)))
    case (.downloaded(let chunk), .added(let replaced)):
      downloadAdded(chunk, .success(replaced))
    case (.applyStatus, _): chunks.transfer.statusApplied()
    case (.find(let order), .found(let chunk)): chunks.reader.found(order, .success(chunk))
    case (.collect, .collected(let files, let next)):
      removeFiles(files)
      chunks.cleanup = .collecting(after: next)
      scheduleChunkCleanup(isOver: next == nil, at: moment)
    case (.sweep(let last), .unknown(let files)):
      removeFiles(files)
      chunks.cleanup = .sweeping(after: last)
      scheduleChunkCleanup(isOver: false, at: moment)
    default: break
    }
  }

  mutating func chunkJobFailed(
    _ purpose: ChunkJobPurpose, _ error: StorageError, at moment: Moment
  ) {
    switch purpose {
    case .add(let order):
      guard let index = chunks.additions.firstIndex(where: { $0.order == order }) else { return }
      removeFiles([chunks.additions.remove(at: index).chunk.file])
      report(.chunkAdded(order, .failure(.storage(error))))
    case .downloaded(let chunk): downloadAdded(chunk, .failure(error))
    case .find(let order): chunks.reader.found(order, .failure(.storage(error)))
    case .applyStatus: chunks.transfer.statusUpdateFailed()
    case .drop, .retry, .queryLackingChunks, .check: break
    case .collect, .sweep: scheduleChunkCleanup(isOver: true, at: moment)
    }
  }

  mutating func advanceChunks(at moment: Moment) {
    guard !isStopping else { return reportStoppedReads() }
    advanceUploads(at: moment)
    repeat {
      advanceDownloads(at: moment)
      advanceReader(at: moment)
    } while chunks.fetches.contains { $0.download.hasNext }
  }

  private mutating func advanceReader(at moment: Moment) {
    while let action = chunks.reader.next() {
      switch action {
      case .find(let order, let hash):
        submit(.chunks(.find(hash)), .chunk(.find(order)), at: moment)
      case .read(let order, let chunk, let offset, let count):
        submitFile(.read(file(chunk.file), offset: offset, count: count), .read(order))
      case .download(let hash): download(hash)
      case .drop(let chunk):
        submit(.chunks(.drop(chunk)), .chunk(.drop), at: moment)
        removeFiles([chunk.file])
      case .report(let order, let result): report(.chunkRead(order, result))
      }
    }
  }

  /// Reports the failures of the orders that were not finished.
  private mutating func reportStoppedReads() {
    while let action = chunks.reader.next() {
      if case .report(let order, let result) = action { report(.chunkRead(order, result)) }
    }
  }

  // MARK: cleanup

  /// Runs one step of the search for files without a chunk, and for chunks that no record names.
  mutating func cleanUpChunks(at moment: Moment) {
    guard !isStopping else { return }
    switch chunks.cleanup {
    case .sweeping(let last):
      submitFile(.list(after: last, limit: Limits.collectedChunks), .list)
    case .collecting(let hash):
      submit(
        .chunks(.collect(after: hash, keepMilliseconds: configuration.chunkKeepMilliseconds)),
        .chunk(.collect), at: moment)
    }
  }

  private mutating func filesListed(
    _ result: Result<ChunkResult, StorageError>, at moment: Moment
  ) {
    guard !isStopping else { return }
    guard case .success(.files(let files)) = result, let last = files.last else {
      chunks.cleanup = .collecting(after: nil)
      return scheduleChunkCleanup(isOver: false, at: moment)
    }
    let numbers = files.filter { $0.account == folder }.map(\.number)
    submit(.chunks(.sweep(numbers)), .chunk(.sweep(last: last)), at: moment)
  }

  private mutating func scheduleChunkCleanup(isOver: Bool, at moment: Moment) {
    guard !isStopping else { return }
    let pause = isOver ? configuration.chunkCleanupMilliseconds : Limits.collectPauseMilliseconds
    deadlines.set(.chunkCleanup, moment.instant.advanced(milliseconds: pause))
  }
}

extension ChunkFailure {
  /// Returns nil if the file operation succeeded.
  init?(_ result: Result<ChunkResult, StorageError>) {
    switch result {
    case .success(.refused(let refusal)): self = .refused(refusal)
    case .success(.done), .success(.bytes), .success(.files): return nil
    case .failure(let error): self = .storage(error)
    }
  }
}

/// Downloads of chunks of files from the relay into the home, for read orders.
extension Agent {
  mutating func download(_ hash: ChunkHash) {
    guard credentials != nil else { return chunks.reader.downloaded(hash, .failure(.notJoined)) }
    guard isNetworkOn else {
      return chunks.reader.downloaded(hash, .failure(.unreachable(reason: Agent.switchedOff)))
    }
    let file = makeFile()
    chunks.fetches.append(ChunkFetchRequest(download: DeviceChunkDownload(hash, file: file.number)))
  }

  static let switchedOff = "the network is switched off"

  /// Stops all downloads, and reports the failure to the orders that wait for them.
  mutating func stopDownloads(because failure: ChunkFailure) {
    for fetch in chunks.fetches {
      closeBusyConnection(of: fetch)
      removeFiles([fetch.download.file])
      chunks.reader.downloaded(fetch.download.hash, .failure(failure))
    }
    chunks.fetches = []
    deadlines.clear(.downloads)
  }

  mutating func advanceDownloads(at moment: Moment) {
    for file in chunks.fetches.map(\.download.file) { advanceDownload(file, at: moment) }
    for index in chunks.fetches.indices where chunks.fetches[index].requestOffset != nil {
      guard let connection = chunks.downloadConnections.indices.first(where: { isFree($0) }) else {
        break
      }
      requestChunk(index, on: connection, at: moment)
    }
    let next = chunks.fetches.compactMap(\.resumeAt).min()
    if let next { deadlines.set(.downloads, next) } else { deadlines.clear(.downloads) }
  }

  private func isFree(_ connection: Int) -> Bool {
    !chunks.downloadConnections[connection].isBusy
      && !chunks.fetches.contains { $0.connection == connection }
  }

  private mutating func requestChunk(_ index: Int, on connection: Int, at moment: Moment) {
    guard let first = chunks.fetches[index].requestOffset, let token = credentials?.token else {
      return
    }
    chunks.fetches[index].requestOffset = nil
    chunks.fetches[index].connection = connection
    let request = ChunkConnection.Request(
      method: "GET", hash: chunks.fetches[index].download.hash, token: token, first: first)
    let events = chunks.downloadConnections[connection].sendRequest(
      request, at: moment.instant, &chunks.output)
    handleDownloadEvents(connection, events, at: moment)
  }

  /// Performs the actions of the download into this file.
  private mutating func advanceDownload(_ number: UInt64, at moment: Moment) {
    let file = file(number)
    while let index = chunks.fetches.firstIndex(where: { $0.download.file == number }),
      let action = chunks.fetches[index].download.next()
    {
      let connection = chunks.fetches[index].connection
      let hash = chunks.fetches[index].download.hash
      switch action {
      case .request(let first): chunks.fetches[index].requestOffset = first
      case .append(let bytes):
        submitFile(.append(file, bytes), .downloadAppend(number, count: bytes.count))
      case .finish: submitFile(.finish(file, expecting: hash), .downloadFinish(number))
      case .pause:
        if let connection { chunks.downloadConnections[connection].pause(&chunks.output) }
      case .resume:
        if let connection {
          chunks.downloadConnections[connection].resume(at: moment.instant, &chunks.output)
        }
      case .wait(let retryAfter):
        closeBusyConnection(of: chunks.fetches[index])
        chunks.fetches[index].connection = nil
        let delay = chunks.fetches[index].backoff.next(
          retryAfterMilliseconds: retryAfter, random: &random)
        chunks.fetches[index].resumeAt = moment.instant.advanced(milliseconds: delay)
      case .follow(let refusal): follow(refusal, at: moment)
      case .discard: removeFiles([number])
      case .end(let failure): downloadEnded(index, failure, at: moment)
      }
    }
  }

  /// Closes the connection of a fetch in the middle of an answer: it cannot carry another request.
  private mutating func closeBusyConnection(of fetch: ChunkFetchRequest) {
    guard let connection = fetch.connection, chunks.downloadConnections[connection].isBusy else {
      return
    }
    chunks.downloadConnections[connection].close(&chunks.output)
  }

  private mutating func downloadEnded(
    _ index: Int, _ failure: ChunkFailure?, at moment: Moment
  ) {
    let ended = chunks.fetches.remove(at: index)
    closeBusyConnection(of: ended)
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

  mutating func handleDownloadEvents(
    _ connection: Int, _ events: [ChunkConnection.Event], at moment: Moment
  ) {
    for event in events {
      guard let index = chunks.fetches.firstIndex(where: { $0.connection == connection }) else {
        return
      }
      switch event {
      case .wantsBody: break
      case .head(let head): chunks.fetches[index].download.receiveHead(head)
      case .body(let bytes):
        chunks.fetches[index].download.receiveBody(bytes)
        reportDownloadProgress(index, at: moment)
      case .end:
        chunks.fetches[index].connection = nil
        chunks.fetches[index].download.endAnswer()
      case .broken(let reason, _):
        chunks.fetches[index].connection = nil
        chunks.fetches[index].download.connectionBroken(reason)
      }
    }
  }

  mutating func downloadWrote(
    _ file: UInt64, _ count: Int, _ result: Result<ChunkResult, StorageError>
  ) {
    guard let index = chunks.fetches.firstIndex(where: { $0.download.file == file }) else {
      return
    }
    chunks.fetches[index].download.bytesWritten(count, result)
  }

  mutating func downloadFinished(_ file: UInt64, _ result: Result<ChunkResult, StorageError>) {
    guard let index = chunks.fetches.firstIndex(where: { $0.download.file == file }) else {
      return
    }
    chunks.fetches[index].download.fileFinished(result)
  }

  mutating func resumeDownloads(at moment: Moment) {
    for index in chunks.fetches.indices {
      guard let resumeAt = chunks.fetches[index].resumeAt, resumeAt <= moment.instant else {
        continue
      }
      chunks.fetches[index].resumeAt = nil
      chunks.fetches[index].download.retry()
    }
  }

  private mutating func reportDownloadProgress(_ index: Int, at moment: Moment) {
    let fetch = chunks.fetches[index]
    guard let size = fetch.download.size,
      fetch.progressReportedAt.map({
        $0.advanced(milliseconds: Limits.chunkProgressMilliseconds) <= moment.instant
      }) ?? true
    else { return }
    chunks.fetches[index].progressReportedAt = moment.instant
    report(
      .chunkProgress(
        ChunkProgress(
          hash: fetch.download.hash, direction: .down, bytesDone: fetch.download.received,
          bytesInAll: size)))
  }
}

/// Uploads of chunks of files to the relay, on connections of their own.
extension Agent {
  mutating func advanceUploads(at moment: Moment) {
    let isOnline = engine.transport != nil
    if isOnline != chunks.isOnline {
      chunks.isOnline = isOnline
      if isOnline {
        chunks.transfer.online()
        chunks.lackingMilliseconds = Limits.lackingFirstMilliseconds
        queryLackingChunks(at: moment)
      } else {
        stopUploads()
      }
    }
    while let action = chunks.transfer.next() {
      switch action {
      case .query(let hashes): sendMissingQuery(hashes, at: moment)
      case .upload(let chunk): upload(chunk, at: moment)
      case .applyStatus(let chunkStatus):
        submit(
          .chunks(.applyStatus(chunkStatus)), .chunk(.applyStatus), offer: engine.beginOffer(),
          at: moment)
      case .pause(let retryAfter):
        let delay = chunks.backoff.next(retryAfterMilliseconds: retryAfter, random: &random)
        deadlines.set(.chunks, moment.instant.advanced(milliseconds: delay))
      case .hold:
        deadlines.set(
          .plan, moment.instant.advanced(milliseconds: Limits.planRetryMilliseconds))
      case .fail(let refusal): fail(refusal, at: moment)
      case .follow(let refusal): follow(refusal, at: moment)
      }
    }
    // A check that no change waits for does not count as work until it finds a missing chunk.
    let isOnlyChecking =
      chunks.isChecking && !chunks.transfer.isUploading && engine.outbox.unsent == 0
    engine.awaitsChunks = chunks.transfer.isBusy && !isOnlyChecking
    scheduleLackingQuery(at: moment)
    checkChunks(at: moment)
  }

  /// Creates the connections to the relay that the home names. Downloads continue on them.
  mutating func makeChunkConnections(to relay: RelayAddress) {
    stopUploads()
    for index in chunks.fetches.indices where chunks.fetches[index].connection != nil {
      chunks.fetches[index].connection = nil
      chunks.fetches[index].download.connectionBroken("the home was reloaded")
    }
    for index in chunks.downloadConnections.indices {
      chunks.downloadConnections[index].close(&chunks.output)
    }
    chunks.isOnline = false
    chunks.queryConnection = HTTPExchange(to: relay)
    chunks.uploads = (0..<Limits.chunkUploads).map { _ in DeviceChunkUpload(to: relay) }
    chunks.downloadConnections = (0..<Limits.chunkDownloads).map { _ in ChunkConnection(to: relay) }
  }

  mutating func stopUploads() {
    chunks.isChecking = false
    chunks.transfer.offline()
    chunks.queryConnection?.close(&chunks.output)
    for index in chunks.uploads.indices { chunks.uploads[index].stop(&chunks.output) }
    deadlines.clear(.chunks)
    deadlines.clear(.lacking)
  }

  /// Asks about the chunks that parked changes lack: another device may have uploaded them.
  mutating func queryLackingChunks(at moment: Moment) {
    guard chunks.isOnline, engine.outbox.parkedCount > 0 else { return }
    submit(
      .chunks(.queryLackingChunks), .chunk(.queryLackingChunks), offer: engine.beginOffer(),
      at: moment)
  }

  /// Asks the relay whether it has the chunks that records name and that this home holds. The relay
  /// may have found that a file is missing on its disk, and devices that lack the chunk cannot
  /// upload it. If the relay is unreachable, the check waits for the next connection.
  private mutating func checkChunks(at moment: Moment) {
    guard chunks.isOnline, chunks.isCheckDue else { return }
    chunks.isCheckDue = false
    chunks.checkedAt = moment.instant
    deadlines.set(
      .chunkCheck, moment.instant.advanced(milliseconds: Limits.chunkCleanupMilliseconds))
    chunks.isChecking = true
    submit(.chunks(.check), .chunk(.check), offer: nil, at: moment)
  }

  /// Schedules a check for a manual sync, at most one per `chunkCleanupFirstMilliseconds`, because
  /// users may sync often.
  mutating func scheduleChunkCheck(at moment: Moment) {
    let pause = Limits.chunkCleanupFirstMilliseconds
    if chunks.checkedAt.map({ moment.instant.milliseconds(since: $0) >= pause }) ?? true {
      chunks.isCheckDue = true
    }
  }

  private mutating func scheduleLackingQuery(at moment: Moment) {
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
    queryLackingChunks(at: moment)
    if wasRefused {
      submit(.chunks(.retry), .chunk(.retry), offer: engine.beginOffer(), at: moment)
    }
  }

  // MARK: the query for missing chunks

  private mutating func sendMissingQuery(_ hashes: [ChunkHash], at moment: Moment) {
    guard let token = credentials?.token else { return }
    chunks.queryConnection?.sendRequest(
      HTTPExchange.Request(
        method: "POST", target: RequestTarget(path: ["v1", "chunks", "missing"]), token: token,
        body: MissingChunksRequest(hashes: hashes).encodedBody(),
        milliseconds: Limits.answerMilliseconds),
      at: moment.instant, &chunks.output)
  }

  mutating func missingQueryAnswered(_ result: HTTPExchange.Result?) {
    switch result {
    case nil: break
    case .unreachable, .unanswered: chunks.transfer.queryFailed(nil)
    case .answered(let status, let headers, let body, _):
      guard status == 200 else {
        return chunks.transfer.queryFailed(
          Refusal.fromRelay(status: status, headers: headers, body: body)
            ?? .intercepted(status: status, headers: headers))
      }
      do {
        chunks.transfer.queryAnswered(missing: try MissingChunks.decoded(body: body).missing)
      } catch {
        chunks.transfer.queryFailed(nil)
      }
    }
  }

  // MARK: one upload

  private mutating func upload(_ chunk: HeldChunk, at moment: Moment) {
    guard let token = credentials?.token,
      let index = chunks.uploads.firstIndex(where: { !$0.isBusy })
    else { return chunks.transfer.uploaded(chunk.hash, .broken) }
    chunks.nextUpload += 1
    let events = chunks.uploads[index].beginUpload(
      chunk, number: chunks.nextUpload, token: token, at: moment.instant, &chunks.output)
    handleUploadEvents(index, events, at: moment)
  }

  mutating func handleUploadEvents(
    _ index: Int, _ events: [ChunkConnection.Event], at moment: Moment
  ) {
    for event in events {
      guard let chunk = chunks.uploads[index].chunk else { return }
      switch event {
      case .wantsBody:
        let part = chunks.uploads[index].nextPart
        submitFile(
          .read(file(chunk.file), offset: part.lowerBound, count: part.count),
          .upload(chunks.uploads[index].number))
      case .head, .body: chunks.uploads[index].handleEvent(event)
      case .end: uploadEnded(index, chunks.uploads[index].result)
      case .broken: uploadEnded(index, .broken)
      }
    }
    reportUploadProgress(index, at: moment)
  }

  mutating func uploadRead(
    _ number: UInt64, _ result: Result<ChunkResult, StorageError>, at moment: Moment
  ) {
    guard let index = chunks.uploads.firstIndex(where: { $0.number == number && $0.isBusy })
    else { return }
    switch result {
    case .success(.bytes(let bytes)):
      if let events = chunks.uploads[index].supplyBody(bytes, at: moment.instant, &chunks.output) {
        handleUploadEvents(index, events, at: moment)
      } else {
        uploadEnded(index, .damaged)
      }
    case .success: uploadEnded(index, .fileMissing)
    case .failure: uploadEnded(index, .broken)
    }
  }

  private mutating func uploadEnded(_ index: Int, _ result: ChunkTransfer.Upload) {
    guard let chunk = chunks.uploads[index].chunk else { return }
    chunks.uploads[index].endUpload(&chunks.output)
    if result == .stored {
      chunks.backoff.reset()
      report(
        .chunkProgress(
          ChunkProgress(
            hash: chunk.hash, direction: .up, bytesDone: chunk.bytes, bytesInAll: chunk.bytes)))
    }
    chunks.transfer.uploaded(chunk.hash, result)
  }

  private mutating func reportUploadProgress(_ index: Int, at moment: Moment) {
    guard let chunk = chunks.uploads[index].chunk,
      let done = chunks.uploads[index].progress(at: moment.instant)
    else { return }
    report(
      .chunkProgress(
        ChunkProgress(
          hash: chunk.hash, direction: .up, bytesDone: done, bytesInAll: chunk.bytes)))
  }
}

/// Driver events of the connections that carry chunks of files.
extension Agent {
  /// True if the connection carries chunks of files.
  func ownsChunkConnection(_ id: ConnectionID) -> Bool {
    chunks.queryConnection?.id == id || chunks.uploads.contains { $0.id == id }
      || chunks.downloadConnections.contains { $0.id == id }
  }

  mutating func chunkConnectionOpened(_ id: ConnectionID, at moment: Moment) {
    let now = moment.instant
    if chunks.queryConnection?.id == id { chunks.queryConnection?.opened(at: now, &chunks.output) }
    for index in chunks.uploads.indices where chunks.uploads[index].id == id {
      handleUploadEvents(
        index, chunks.uploads[index].opened(at: now, &chunks.output), at: moment)
    }
    for index in chunks.downloadConnections.indices where chunks.downloadConnections[index].id == id
    {
      handleDownloadEvents(
        index, chunks.downloadConnections[index].opened(at: now, &chunks.output), at: moment)
    }
  }

  mutating func chunkConnectionReceived(_ id: ConnectionID, _ bytes: RawSpan, at moment: Moment) {
    let now = moment.instant
    if chunks.queryConnection?.id == id {
      chunks.output.countReceived(bytes.byteCount)
      missingQueryAnswered(chunks.queryConnection?.received(bytes, at: now, &chunks.output))
    }
    for index in chunks.uploads.indices where chunks.uploads[index].id == id {
      handleUploadEvents(
        index, chunks.uploads[index].received(bytes, at: now, &chunks.output), at: moment)
    }
    for index in chunks.downloadConnections.indices where chunks.downloadConnections[index].id == id
    {
      handleDownloadEvents(
        index, chunks.downloadConnections[index].received(bytes, at: now, &chunks.output),
        at: moment)
    }
  }

  mutating func chunkConnectionDrained(_ id: ConnectionID, unsent: Int, at moment: Moment) {
    for index in chunks.uploads.indices where chunks.uploads[index].id == id {
      handleUploadEvents(
        index, chunks.uploads[index].drained(unsent, at: moment.instant), at: moment)
    }
  }

  mutating func chunkConnectionClosed(_ id: ConnectionID, _ cause: CloseCause, at moment: Moment) {
    let now = moment.instant
    if chunks.queryConnection?.id == id {
      missingQueryAnswered(chunks.queryConnection?.closed(cause, at: now, &chunks.output))
    }
    for index in chunks.uploads.indices where chunks.uploads[index].id == id {
      handleUploadEvents(index, chunks.uploads[index].closed(cause), at: moment)
    }
    for index in chunks.downloadConnections.indices where chunks.downloadConnections[index].id == id
    {
      handleDownloadEvents(index, chunks.downloadConnections[index].closed(cause), at: moment)
    }
  }

  mutating func expireChunkConnections(at moment: Moment) {
    let now = moment.instant
    missingQueryAnswered(chunks.queryConnection?.expired(at: now, &chunks.output))
    for index in chunks.uploads.indices {
      handleUploadEvents(
        index, chunks.uploads[index].expired(at: now, &chunks.output), at: moment)
    }
    for index in chunks.downloadConnections.indices {
      handleDownloadEvents(
        index, chunks.downloadConnections[index].expired(at: now, &chunks.output), at: moment)
    }
  }

  var chunkConnectionDeadline: Instant? {
    let deadlines =
      [chunks.queryConnection?.deadline] + chunks.uploads.map(\.deadline)
      + chunks.downloadConnections.map(\.deadline)
    return deadlines.compactMap { $0 }.min()
  }
}
