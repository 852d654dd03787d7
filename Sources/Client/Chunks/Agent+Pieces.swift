import LockstepCrypto
import LockstepModel
import LockstepStorage
import LockstepWire

/// Pieces of files in the home: they are written, read, and looked after.
extension Agent {
  // MARK: orders

  mutating func addPiece(_ order: OrderID, _ bytes: [UInt8], at moment: Moment) {
    guard !isStopping else { return report(.pieceAdded(order, .failure(.stopping))) }
    guard bytes.count <= Limits.chunkBytes else {
      return report(.pieceAdded(order, .failure(.tooLarge(bytes: bytes.count))))
    }
    guard pieces.additions.count + pieces.early.count < Limits.pieceAdds else {
      return report(.pieceAdded(order, .failure(.busy)))
    }
    guard home != nil else { return pieces.early.append(.addPiece(order, bytes)) }
    guard let hash = ChunkHash(bytes: SHA256.hash(bytes)), let file = newFile() else {
      return report(.pieceAdded(order, .failure(.notJoined)))
    }
    let piece = HeldChunk(hash: hash, file: file.number, bytes: bytes.count)
    pieces.additions.append(ChunkCoordinator.Addition(order: order, piece: piece))
    // The files do both in this order; what fails the first fails the second.
    submitFile(.append(file, bytes), .append(order))
    submitFile(.finish(file, expecting: hash), .finish(order))
  }

  mutating func readPiece(
    _ order: OrderID, _ hash: ChunkHash, offset: Int, count: Int, at moment: Moment
  ) {
    guard !isStopping else { return report(.pieceRead(order, .failure(.stopping))) }
    guard home != nil else {
      guard pieces.early.count < Limits.pieceReads else {
        return report(.pieceRead(order, .failure(.busy)))
      }
      return pieces.early.append(.readPiece(order, hash, offset: offset, count: count))
    }
    guard credentials != nil else { return report(.pieceRead(order, .failure(.notJoined))) }
    pieces.reader.order(order, hash, offset: offset, count: count)
  }

  /// The home was read.
  mutating func startPieces(at moment: Moment) {
    let first = min(Limits.pieceCareFirstMilliseconds, configuration.pieceCareMilliseconds)
    deadlines.set(.pieceCare, moment.instant.advanced(milliseconds: first))
    deadlines.set(
      .pieceCheck, moment.instant.advanced(milliseconds: Limits.pieceCareFirstMilliseconds))
    if let relay = credentials?.relay { makeLines(to: relay) }
    let early = pieces.early
    pieces.early = []
    for order in early { ordered(order, at: moment) }
  }

  mutating func stopPieces() {
    stopUploads()
    stopDownloads(because: .stopping)
    for index in pieces.lines.indices { pieces.lines[index].close(&pieces.output) }
    let early = pieces.early
    pieces.early = []
    for order in early {
      switch order {
      case .addPiece(let id, _): report(.pieceAdded(id, .failure(.stopping)))
      case .readPiece(let id, _, _, _): report(.pieceRead(id, .failure(.stopping)))
      case .edit, .perform, .show, .nameDevices, .readRecord, .readRecords, .readAll, .readStatus,
        .decide, .setSyncing, .answerRestore, .syncNow, .goOffline, .goOnline, .stop:
        preconditionFailure("only orders about pieces wait for the home")
      }
    }
    pieces.reader.stop()
  }

  // MARK: jobs on the files

  /// A name for a new file; nil in a home that has not joined.
  func file(_ number: UInt64) -> ChunkFile? {
    credentials.map { ChunkFile(account: $0.account, number: number) }
  }

  mutating func newFile() -> ChunkFile? { file(random.next()) }

  mutating func submitFile(_ request: ChunkRequest, _ errand: ChunkCoordinator.FileJobPurpose) {
    let id = JobID(rawValue: nextJob)
    nextJob += 1
    pieces.jobs.append((id, errand))
    actions.append(.run(id, .files, .file(request)))
  }

  mutating func removeFiles(_ numbers: [UInt64]) {
    let files = numbers.compactMap { file($0) }
    // A file that cannot be removed is swept when the home is next opened.
    if !files.isEmpty { submitFile(.remove(files), .remove) }
  }

  mutating func fileDone(
    _ id: JobID, _ result: Result<ChunkResult, StorageError>, at moment: Moment
  ) {
    guard let index = pieces.jobs.firstIndex(where: { $0.id == id }) else { return }
    switch pieces.jobs.remove(at: index).errand {
    case .append(let order): appended(order, result)
    case .finish(let order): finishedWriting(order, result, at: moment)
    case .read(let order): pieces.reader.read(order, result)
    case .upload(let number): uploadRead(number, result, at: moment)
    case .downloadAppend(let file, let count): downloadWrote(file, count, result)
    case .downloadFinish(let file): downloadFinished(file, result)
    case .remove: break
    case .list: listed(result, at: moment)
    }
  }

  private mutating func appended(_ order: OrderID, _ result: Result<ChunkResult, StorageError>) {
    guard let index = pieces.additions.firstIndex(where: { $0.order == order }) else { return }
    pieces.additions[index].failure = ChunkFailure(result)
  }

  private mutating func finishedWriting(
    _ order: OrderID, _ result: Result<ChunkResult, StorageError>, at moment: Moment
  ) {
    guard let index = pieces.additions.firstIndex(where: { $0.order == order }) else { return }
    let addition = pieces.additions[index]
    if let failure = addition.failure ?? ChunkFailure(result) {
      pieces.additions.remove(at: index)
      return report(.pieceAdded(order, .failure(failure)))
    }
    submit(.pieces(.add(addition.piece)), .piece(.add(order)), at: moment)
  }

  // MARK: jobs of the replica

  mutating func pieceJobDone(
    _ errand: PendingChunkRequest, _ result: ChunkTransferResult, at moment: Moment
  ) {
    switch (errand, result) {
    case (.add(let order), .added(let replaced)):
      guard let index = pieces.additions.firstIndex(where: { $0.order == order }) else { return }
      let added = pieces.additions.remove(at: index)
      if let replaced { removeFiles([replaced]) }
      report(.pieceAdded(order, .success(added.piece.hash)))
    case (.downloaded(let piece), .added(let replaced)):
      downloadAdded(piece, .success(replaced))
    case (.settle, _): pieces.transfer.settled()
    case (.find(let order), .found(let piece)): pieces.reader.found(order, .success(piece))
    case (.collect, .collected(let files, let next)):
      removeFiles(files)
      pieces.care = .collecting(after: next)
      careLater(isOver: next == nil, at: moment)
    case (.sweep(let last), .unknown(let files)):
      removeFiles(files)
      pieces.care = .sweeping(after: last)
      careLater(isOver: false, at: moment)
    default: break
    }
  }

  mutating func pieceJobFailed(
    _ errand: PendingChunkRequest, _ error: StorageError, at moment: Moment
  ) {
    switch errand {
    case .add(let order):
      guard let index = pieces.additions.firstIndex(where: { $0.order == order }) else { return }
      removeFiles([pieces.additions.remove(at: index).piece.file])
      report(.pieceAdded(order, .failure(.storage(error))))
    case .downloaded(let piece): downloadAdded(piece, .failure(error))
    case .find(let order): pieces.reader.found(order, .failure(.storage(error)))
    case .settle: pieces.transfer.unsettled()
    case .drop, .retry, .askForLacking, .check: break
    case .collect, .sweep: careLater(isOver: true, at: moment)
    }
  }

  mutating func advancePieces(at moment: Moment) {
    guard !isStopping else { return tellStopped() }
    advanceUploads(at: moment)
    repeat {
      advanceDownloads(at: moment)
      advanceReader(at: moment)
    } while pieces.fetches.contains { $0.download.hasNext }
  }

  private mutating func advanceReader(at moment: Moment) {
    while let action = pieces.reader.next() {
      switch action {
      case .find(let order, let hash):
        submit(.pieces(.find(hash)), .piece(.find(order)), at: moment)
      case .read(let order, let piece, let offset, let count):
        guard let file = file(piece.file) else { continue }
        submitFile(.read(file, offset: offset, count: count), .read(order))
      case .download(let hash): download(hash)
      case .drop(let piece):
        submit(.pieces(.drop(piece)), .piece(.drop), at: moment)
        removeFiles([piece.file])
      case .report(let order, let result): report(.pieceRead(order, result))
      }
    }
  }

  /// What was asked and not done is told.
  private mutating func tellStopped() {
    while let action = pieces.reader.next() {
      if case .report(let order, let result) = action { report(.pieceRead(order, result)) }
    }
  }

  // MARK: care

  /// One portion of the look for files without a piece, and pieces without a name.
  mutating func carePieces(at moment: Moment) {
    guard !isStopping else { return }
    switch pieces.care {
    case .sweeping(let last):
      submitFile(.list(after: last, limit: Limits.collectedChunks), .list)
    case .collecting(let hash):
      submit(
        .pieces(.collect(after: hash, keepMilliseconds: configuration.pieceKeepMilliseconds)),
        .piece(.collect), at: moment)
    }
  }

  private mutating func listed(
    _ result: Result<ChunkResult, StorageError>, at moment: Moment
  ) {
    guard !isStopping, let account = credentials?.account else { return }
    guard case .success(.files(let files)) = result, let last = files.last else {
      pieces.care = .collecting(after: nil)
      return careLater(isOver: false, at: moment)
    }
    let numbers = files.filter { $0.account == account }.map(\.number)
    submit(.pieces(.sweep(numbers)), .piece(.sweep(last: last)), at: moment)
  }

  private mutating func careLater(isOver: Bool, at moment: Moment) {
    guard !isStopping else { return }
    let pause = isOver ? configuration.pieceCareMilliseconds : Limits.collectPauseMilliseconds
    deadlines.set(.pieceCare, moment.instant.advanced(milliseconds: pause))
  }
}

extension ChunkFailure {
  /// nil where the files did what they were asked.
  init?(_ result: Result<ChunkResult, StorageError>) {
    switch result {
    case .success(.refused(let refusal)): self = .refused(refusal)
    case .success(.done), .success(.bytes), .success(.files): return nil
    case .failure(let error): self = .storage(error)
    }
  }
}
