import LockstepModel
import LockstepStorage

/// What must be at the relay before records can name it. Chosen by the worker, which knows the
/// records and the home.
struct ChunkNeed: Hashable, Sendable {
  var hash: ChunkHash
  /// Where it lies in the home; nil where it does not: then the relay must have it already.
  var source: HeldChunk?
}

/// What has become of chunks that records wait for, told to the worker.
struct ChunkStatus: Hashable, Sendable {
  /// The relay has them.
  var there: [ChunkHash] = []
  /// Neither the relay nor the home has them.
  var nowhere: [ChunkHash] = []
  /// The file in the home is not what it was, and the relay has no other.
  var damaged: [ChunkHash] = []
  /// The file was not there: the worker looks again.
  var unread: [HeldChunk] = []
  /// The relay does not take them until a person acts.
  var held: [ChunkHash] = []

  var isEmpty: Bool {
    there.isEmpty && nowhere.isEmpty && damaged.isEmpty && unread.isEmpty && held.isEmpty
  }

  var hashes: [ChunkHash] { there + nowhere + damaged + unread.map(\.hash) + held }
}

/// Brings to the relay the chunks of files that records are about to name. A pure machine: it is
/// told of needs and of what came of its questions and uploads, and `next` gives what to do, until
/// there is nothing. Knows no files, no sockets and no clock.
///
///     needed → asked → there, or: uploaded → there
///
/// Its rules: nothing is uploaded before the relay has said that it lacks it; one question at a
/// time, and `Limits.chunkUploads` uploads; what failed for now is asked about anew, after a pause.
/// It holds `Limits.chunkHashes` chunks at most, since the worker names no more before it has heard
/// of them.
struct ChunkTransfer {
  enum Action: Hashable {
    /// `POST /v1/chunks/missing`; answered by `told` or `failed`.
    case ask([ChunkHash])
    /// `PUT`; answered by `uploaded`.
    case upload(HeldChunk)
    /// Answered by `settled`.
    case settle(ChunkStatus)
    /// Nothing more is asked before `resume`.
    case pause(retryAfterMilliseconds: Int64?)
    /// The relay does not take more until a person acts, or enough time has passed: `retry`.
    case hold
    /// Nothing at all works until a person acts.
    case fail(Refusal)
  }

  enum Upload: Hashable {
    case stored
    case refused(Refusal)
    /// The bytes in the home have another hash by now.
    case damaged
    /// The file is not there.
    case unread
    /// The connection, or the disk, failed.
    case broken
  }

  /// Why chunks are held; nil while none are.
  private(set) var refusal: Refusal?
  private(set) var isPaused = false
  private var isOnline = false
  private var known: Set<ChunkHash> = []
  /// In the order in which they came, as all of these.
  private var unasked: [ChunkNeed] = []
  private var asked: [ChunkNeed] = []
  private var missing: [HeldChunk] = []
  private var uploading: [HeldChunk] = []
  private var tidings = ChunkStatus()
  private var settling: [ChunkHash] = []
  private var pending: [Action] = []

  /// Something is on its way, or will be.
  var isBusy: Bool { !known.isEmpty }

  /// The relay lacks something that lies here.
  var isBringing: Bool { !missing.isEmpty || !uploading.isEmpty }

  /// Chunks that the relay is known to lack, or may lack.
  var waitingCount: Int { unasked.count + asked.count + missing.count + uploading.count }

  // MARK: what happens

  mutating func need(_ needs: [ChunkNeed]) {
    for need in needs where known.insert(need.hash).inserted { unasked.append(need) }
  }

  mutating func online() { isOnline = true }

  /// What was under way is told by `failed` and `uploaded`, or never will be: all is asked anew.
  mutating func offline() {
    isOnline = false
    // Whoever connects anew has waited for that.
    isPaused = false
    askAnew()
  }

  mutating func resume() { isPaused = false }

  /// A person asks, or enough time has passed: what the relay did not take may be tried again.
  mutating func retry() {
    refusal = nil
    isPaused = false
  }

  /// The relay's answer.
  mutating func told(missing hashes: [ChunkHash]) {
    let lacking = Set(hashes)
    for need in asked {
      if !lacking.contains(need.hash) {
        tidings.there.append(need.hash)
      } else if let source = need.source {
        if refusal == nil { missing.append(source) } else { tidings.held.append(need.hash) }
      } else {
        tidings.nowhere.append(need.hash)
      }
    }
    asked = []
  }

  /// The question was not answered. nil: it got lost.
  mutating func failed(_ refusal: Refusal?) {
    unasked = asked + unasked
    asked = []
    refused(refusal)
    guard self.refusal != nil else { return }
    tidings.held += unasked.map(\.hash)
    unasked = []
  }

  mutating func uploaded(_ hash: ChunkHash, _ result: Upload) {
    guard let index = uploading.firstIndex(where: { $0.hash == hash }) else { return }
    let chunk = uploading.remove(at: index)
    switch result {
    case .stored: tidings.there.append(hash)
    case .damaged: tidings.damaged.append(hash)
    case .unread: tidings.unread.append(chunk)
    case .broken:
      returnToAsking(chunk)
      pause(nil)
    case .refused(let refusal):
      returnToAsking(chunk)
      refused(refusal)
    }
  }

  /// The worker has heard what it was told.
  mutating func settled() {
    known.subtract(settling)
    settling = []
  }

  /// The worker could not hear it, since its store failed: it names anew what it wants, and that
  /// waits for a while.
  mutating func unsettled() {
    settled()
    pause(nil)
  }

  // MARK: what to do

  mutating func next() -> Action? {
    if !pending.isEmpty { return pending.removeFirst() }
    if settling.isEmpty, !tidings.isEmpty {
      defer { tidings = ChunkStatus() }
      settling = tidings.hashes
      return .settle(tidings)
    }
    guard isOnline, !isPaused else { return nil }
    if asked.isEmpty, !unasked.isEmpty {
      asked = Array(unasked.prefix(Limits.chunkHashes))
      unasked.removeFirst(asked.count)
      return .ask(asked.map(\.hash))
    }
    guard uploading.count < Limits.chunkUploads, !missing.isEmpty else { return nil }
    let chunk = missing.removeFirst()
    uploading.append(chunk)
    return .upload(chunk)
  }

  /// Somebody else may have brought it meanwhile; and a question is cheap.
  private mutating func returnToAsking(_ chunk: HeldChunk) {
    unasked.append(ChunkNeed(hash: chunk.hash, source: chunk))
  }

  private mutating func askAnew() {
    let open = asked + (uploading + missing).map { ChunkNeed(hash: $0.hash, source: $0) }
    unasked = open + unasked
    asked = []
    uploading = []
    missing = []
  }

  private mutating func refused(_ refusal: Refusal?) {
    guard let refusal else { return pause(nil) }
    if refusal.code == .badToken { return pending.append(.fail(refusal)) }
    guard refusal.code.advice == .askPerson || refusal.code == .bodyTooLarge else {
      return pause(refusal.retryAfterMilliseconds)
    }
    hold(refusal)
  }

  /// What the relay lacks waits for a person; what it has may still be asked about.
  private mutating func hold(_ refusal: Refusal) {
    self.refusal = refusal
    pending.append(.hold)
    tidings.held += missing.map(\.hash)
    missing = []
  }

  private mutating func pause(_ milliseconds: Int64?) {
    guard isOnline, !isPaused else { return }
    isPaused = true
    pending.append(.pause(retryAfterMilliseconds: milliseconds))
  }
}
