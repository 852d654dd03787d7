import LockstepCrypto
import LockstepModel
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
    guard let hash = ChunkHash(bytes: SHA256.hash(bytes)), let file = newFile() else {
      return report(.chunkAdded(order, .failure(.notJoined)))
    }
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
    guard credentials != nil else { return report(.chunkRead(order, .failure(.notJoined))) }
    chunks.reader.order(order, hash, offset: offset, count: count)
  }

  /// Starts the work on chunks after the home was read.
  mutating func startChunks(at moment: Moment) {
    let first = min(Limits.chunkCareFirstMilliseconds, configuration.chunkCareMilliseconds)
    deadlines.set(.chunkCare, moment.instant.advanced(milliseconds: first))
    deadlines.set(
      .chunkCheck, moment.instant.advanced(milliseconds: Limits.chunkCareFirstMilliseconds))
    if let relay = credentials?.relay { makeLines(to: relay) }
    let early = chunks.early
    chunks.early = []
    for order in early { ordered(order, at: moment) }
  }

  mutating func stopChunks() {
    stopUploads()
    stopDownloads(because: .stopping)
    for index in chunks.lines.indices { chunks.lines[index].close(&chunks.output) }
    let early = chunks.early
    chunks.early = []
    for order in early {
      switch order {
      case .addChunk(let id, _): report(.chunkAdded(id, .failure(.stopping)))
      case .readChunk(let id, _, _, _): report(.chunkRead(id, .failure(.stopping)))
      case .edit, .perform, .show, .nameDevices, .readRecord, .readRecords, .readAll, .readStatus,
        .decide, .setSyncing, .answerRestore, .syncNow, .goOffline, .goOnline, .stop:
        preconditionFailure("only orders about chunks wait for the home")
      }
    }
    chunks.reader.stop()
  }

  // MARK: jobs on the files

  /// Returns the chunk file with this number; nil in a home that has not joined.
  func file(_ number: UInt64) -> ChunkFile? {
    credentials.map { ChunkFile(account: $0.account, number: number) }
  }

  mutating func newFile() -> ChunkFile? { file(random.next()) }

  mutating func submitFile(
    _ request: ChunkRequest, _ pendingRequest: ChunkCoordinator.FileJobPurpose
  ) {
    let id = JobID(rawValue: nextJob)
    nextJob += 1
    chunks.jobs.append((id, pendingRequest))
    actions.append(.run(id, .files, .file(request)))
  }

  mutating func removeFiles(_ numbers: [UInt64]) {
    let files = numbers.compactMap { file($0) }
    // A file that cannot be removed is removed by the sweep when the home is next opened.
    if !files.isEmpty { submitFile(.remove(files), .remove) }
  }

  mutating func fileDone(
    _ id: JobID, _ result: Result<ChunkResult, StorageError>, at moment: Moment
  ) {
    guard let index = chunks.jobs.firstIndex(where: { $0.id == id }) else { return }
    switch chunks.jobs.remove(at: index).pendingRequest {
    case .append(let order): appended(order, result)
    case .finish(let order): finishedWriting(order, result, at: moment)
    case .read(let order): chunks.reader.read(order, result)
    case .upload(let number): uploadRead(number, result, at: moment)
    case .downloadAppend(let file, let count): downloadWrote(file, count, result)
    case .downloadFinish(let file): downloadFinished(file, result)
    case .remove: break
    case .list: listed(result, at: moment)
    }
  }

  private mutating func appended(_ order: OrderID, _ result: Result<ChunkResult, StorageError>) {
    guard let index = chunks.additions.firstIndex(where: { $0.order == order }) else { return }
    chunks.additions[index].failure = ChunkFailure(result)
  }

  private mutating func finishedWriting(
    _ order: OrderID, _ result: Result<ChunkResult, StorageError>, at moment: Moment
  ) {
    guard let index = chunks.additions.firstIndex(where: { $0.order == order }) else { return }
    let addition = chunks.additions[index]
    if let failure = addition.failure ?? ChunkFailure(result) {
      chunks.additions.remove(at: index)
      return report(.chunkAdded(order, .failure(failure)))
    }
    submit(.chunks(.add(addition.chunk)), .chunk(.add(order)), at: moment)
  }

  // MARK: jobs of the replica

  mutating func chunkJobDone(
    _ pendingRequest: PendingChunkRequest, _ result: ChunkTransferResult, at moment: Moment
  ) {
    switch (pendingRequest, result) {
    case (.add(let order), .added(let replaced)):
      guard let index = chunks.additions.firstIndex(where: { $0.order == order }) else { return }
      let added = chunks.additions.remove(at: index)
      if let replaced { removeFiles([replaced]) }
      report(.chunkAdded(order, .success(added.chunk.hash)))
    case (.downloaded(let chunk), .added(let replaced)):
      downloadAdded(chunk, .success(replaced))
    case (.settle, _): chunks.transfer.settled()
    case (.find(let order), .found(let chunk)): chunks.reader.found(order, .success(chunk))
    case (.collect, .collected(let files, let next)):
      removeFiles(files)
      chunks.care = .collecting(after: next)
      careLater(isOver: next == nil, at: moment)
    case (.sweep(let last), .unknown(let files)):
      removeFiles(files)
      chunks.care = .sweeping(after: last)
      careLater(isOver: false, at: moment)
    default: break
    }
  }

  mutating func chunkJobFailed(
    _ pendingRequest: PendingChunkRequest, _ error: StorageError, at moment: Moment
  ) {
    switch pendingRequest {
    case .add(let order):
      guard let index = chunks.additions.firstIndex(where: { $0.order == order }) else { return }
      removeFiles([chunks.additions.remove(at: index).chunk.file])
      report(.chunkAdded(order, .failure(.storage(error))))
    case .downloaded(let chunk): downloadAdded(chunk, .failure(error))
    case .find(let order): chunks.reader.found(order, .failure(.storage(error)))
    case .settle: chunks.transfer.unsettled()
    case .drop, .retry, .askForLacking, .check: break
    case .collect, .sweep: careLater(isOver: true, at: moment)
    }
  }

  mutating func advanceChunks(at moment: Moment) {
    guard !isStopping else { return tellStopped() }
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
        guard let file = file(chunk.file) else { continue }
        submitFile(.read(file, offset: offset, count: count), .read(order))
      case .download(let hash): download(hash)
      case .drop(let chunk):
        submit(.chunks(.drop(chunk)), .chunk(.drop), at: moment)
        removeFiles([chunk.file])
      case .report(let order, let result): report(.chunkRead(order, result))
      }
    }
  }

  /// Reports the failures of the orders that were not finished.
  private mutating func tellStopped() {
    while let action = chunks.reader.next() {
      if case .report(let order, let result) = action { report(.chunkRead(order, result)) }
    }
  }

  // MARK: cleanup

  /// Runs one step of the search for files without a chunk, and for chunks that no record names.
  mutating func careChunks(at moment: Moment) {
    guard !isStopping else { return }
    switch chunks.care {
    case .sweeping(let last):
      submitFile(.list(after: last, limit: Limits.collectedChunks), .list)
    case .collecting(let hash):
      submit(
        .chunks(.collect(after: hash, keepMilliseconds: configuration.chunkKeepMilliseconds)),
        .chunk(.collect), at: moment)
    }
  }

  private mutating func listed(
    _ result: Result<ChunkResult, StorageError>, at moment: Moment
  ) {
    guard !isStopping, let account = credentials?.account else { return }
    guard case .success(.files(let files)) = result, let last = files.last else {
      chunks.care = .collecting(after: nil)
      return careLater(isOver: false, at: moment)
    }
    let numbers = files.filter { $0.account == account }.map(\.number)
    submit(.chunks(.sweep(numbers)), .chunk(.sweep(last: last)), at: moment)
  }

  private mutating func careLater(isOver: Bool, at moment: Moment) {
    guard !isStopping else { return }
    let pause = isOver ? configuration.chunkCareMilliseconds : Limits.collectPauseMilliseconds
    deadlines.set(.chunkCare, moment.instant.advanced(milliseconds: pause))
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
