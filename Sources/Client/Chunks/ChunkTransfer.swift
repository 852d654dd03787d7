import LockstepModel
import LockstepStorage

/// A chunk that must be at the relay before records can name it. Chosen by the worker, which has
/// the records and the home.
struct ChunkNeed: Hashable, Sendable {
  var hash: ChunkHash
  /// The chunk in the home; nil if it is not there: then the relay must have it already.
  var source: HeldChunk?
}

/// Status of chunks that records wait for, for the worker.
struct ChunkStatus: Hashable, Sendable {
  /// Chunks that the relay has.
  var atRelay: [ChunkHash] = []
  /// Chunks that neither the relay nor the home has.
  var unavailable: [ChunkHash] = []
  /// Chunks whose file in the home is damaged, and that the relay lacks.
  var damaged: [ChunkHash] = []
  /// Chunks whose file was missing: the worker searches again.
  var fileMissing: [HeldChunk] = []
  /// Chunks that the relay does not accept until a user acts.
  var held: [ChunkHash] = []

  var isEmpty: Bool {
    atRelay.isEmpty && unavailable.isEmpty && damaged.isEmpty && fileMissing.isEmpty && held.isEmpty
  }

  var hashes: [ChunkHash] { atRelay + unavailable + damaged + fileMissing.map(\.hash) + held }
}

/// Uploads the chunks of files that records are about to name. A pure state machine: its methods
/// take needs and the results of queries and uploads, and `next` returns actions until there are
/// none. Uses no files, no sockets and no clock.
///
///     needed → queried → at relay, or: uploaded → at relay
///
/// Rules: nothing is uploaded before the relay has reported it as missing; one query at a time, and
/// `Limits.chunkUploads` uploads; after a temporary failure a chunk is queried again, after a
/// pause. Holds at most `Limits.chunkHashes` chunks, because the worker names no more before it has
/// their status.
struct ChunkTransfer {
  enum Action: Hashable {
    /// `POST /v1/chunks/missing`; answered by `queryAnswered` or `queryFailed`.
    case query([ChunkHash])
    /// `PUT`; answered by `uploaded`.
    case upload(HeldChunk)
    /// Answered by `statusApplied` or `statusUpdateFailed`.
    case applyStatus(ChunkStatus)
    /// Sends no more queries before `resume`.
    case pause(retryAfterMilliseconds: Int64?)
    /// The relay accepts no more until a user acts, or enough time has passed: `retry`.
    case hold
    /// Sync is stopped until a user acts.
    case fail(Refusal)
    /// The account has moved to the relay that the refusal names.
    case follow(Refusal)
  }

  enum Upload: Hashable {
    case stored
    case refused(Refusal)
    /// The bytes in the home no longer match the hash.
    case damaged
    /// The file is missing.
    case fileMissing
    /// The connection, or the disk, failed.
    case broken
  }

  /// Refusal because of which chunks are held; nil if none are.
  private(set) var refusal: Refusal?
  private(set) var isPaused = false
  private var isOnline = false
  private var known: Set<ChunkHash> = []
  /// In the order of arrival, as are all of these lists.
  private var unqueried: [ChunkNeed] = []
  private var queried: [ChunkNeed] = []
  private var missing: [HeldChunk] = []
  private var uploading: [HeldChunk] = []
  private var chunkStatus = ChunkStatus()
  private var applying: [ChunkHash] = []
  private var pending: [Action] = []

  /// True if chunks are being transferred, or will be.
  var isBusy: Bool { !known.isEmpty }

  /// True if the relay lacks a chunk that is in the home.
  var isUploading: Bool { !missing.isEmpty || !uploading.isEmpty }

  /// Number of chunks that the relay lacks, or may lack.
  var waitingCount: Int { unqueried.count + queried.count + missing.count + uploading.count }

  // MARK: events

  mutating func addNeeds(_ needs: [ChunkNeed]) {
    for need in needs where known.insert(need.hash).inserted { unqueried.append(need) }
  }

  mutating func online() { isOnline = true }

  /// Handles the loss of the connection. Pending requests end with `queryFailed` or `uploaded`, or
  /// without a result: all chunks are queried again.
  mutating func offline() {
    isOnline = false
    // A new connection was already delayed by its backoff.
    isPaused = false
    requeueAll()
  }

  mutating func resume() { isPaused = false }

  /// Retries chunks that the relay did not accept, at a user's request or after enough time.
  mutating func retry() {
    refusal = nil
    isPaused = false
  }

  /// Handles the relay's answer.
  mutating func queryAnswered(missing hashes: [ChunkHash]) {
    let lacking = Set(hashes)
    for need in queried {
      if !lacking.contains(need.hash) {
        chunkStatus.atRelay.append(need.hash)
      } else if let source = need.source {
        if refusal == nil { missing.append(source) } else { chunkStatus.held.append(need.hash) }
      } else {
        chunkStatus.unavailable.append(need.hash)
      }
    }
    queried = []
  }

  /// Handles a query without an answer. nil: it was lost.
  mutating func queryFailed(_ refusal: Refusal?) {
    unqueried = queried + unqueried
    queried = []
    handleRefusal(refusal)
    guard self.refusal != nil else { return }
    chunkStatus.held += unqueried.map(\.hash)
    unqueried = []
  }

  mutating func uploaded(_ hash: ChunkHash, _ result: Upload) {
    guard let index = uploading.firstIndex(where: { $0.hash == hash }) else { return }
    let chunk = uploading.remove(at: index)
    switch result {
    case .stored: chunkStatus.atRelay.append(hash)
    case .damaged: chunkStatus.damaged.append(hash)
    case .fileMissing: chunkStatus.fileMissing.append(chunk)
    case .broken:
      requeueForQuery(chunk)
      pause(nil)
    case .refused(let refusal):
      requeueForQuery(chunk)
      handleRefusal(refusal)
    }
  }

  /// Handles the end of the worker's update of the status.
  mutating func statusApplied() {
    known.subtract(applying)
    applying = []
  }

  /// Handles a failed update of the status, because the worker's store failed. The worker names its
  /// needs again, after a pause.
  mutating func statusUpdateFailed() {
    statusApplied()
    pause(nil)
  }

  // MARK: actions

  mutating func next() -> Action? {
    if !pending.isEmpty { return pending.removeFirst() }
    if applying.isEmpty, !chunkStatus.isEmpty {
      defer { chunkStatus = ChunkStatus() }
      applying = chunkStatus.hashes
      return .applyStatus(chunkStatus)
    }
    guard isOnline, !isPaused else { return nil }
    if queried.isEmpty, !unqueried.isEmpty {
      queried = Array(unqueried.prefix(Limits.chunkHashes))
      unqueried.removeFirst(queried.count)
      return .query(queried.map(\.hash))
    }
    guard uploading.count < Limits.chunkUploads, !missing.isEmpty else { return nil }
    let chunk = missing.removeFirst()
    uploading.append(chunk)
    return .upload(chunk)
  }

  /// Queries the chunk again: another device may have uploaded it meanwhile, and a query is cheap.
  private mutating func requeueForQuery(_ chunk: HeldChunk) {
    unqueried.append(ChunkNeed(hash: chunk.hash, source: chunk))
  }

  private mutating func requeueAll() {
    let open = queried + (uploading + missing).map { ChunkNeed(hash: $0.hash, source: $0) }
    unqueried = open + unqueried
    queried = []
    uploading = []
    missing = []
  }

  private mutating func handleRefusal(_ refusal: Refusal?) {
    guard let refusal else { return pause(nil) }
    if refusal.code == .badToken { return pending.append(.fail(refusal)) }
    if refusal.code == .accountMoved { pending.append(.follow(refusal)) }
    guard refusal.code.advice == .askPerson || refusal.code == .bodyTooLarge else {
      return pause(refusal.retryAfterMilliseconds)
    }
    holdMissing(refusal)
  }

  /// Holds the missing chunks until a user acts. Other chunks may still be queried.
  private mutating func holdMissing(_ refusal: Refusal) {
    self.refusal = refusal
    pending.append(.hold)
    chunkStatus.held += missing.map(\.hash)
    missing = []
  }

  private mutating func pause(_ milliseconds: Int64?) {
    guard isOnline, !isPaused else { return }
    isPaused = true
    pending.append(.pause(retryAfterMilliseconds: milliseconds))
  }
}
