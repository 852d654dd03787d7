import LockstepModel
import LockstepStorage
import LockstepWire

/// What a store request was for, kept until its outcome is back.
enum PendingRequest: Sendable {
  /// The request that an HTTP connection is being answered.
  case call(ConnectionID, ResponseBuilder)
  /// Who is it that presents a token of this hash?
  /// `standings`, `commits`: how many of them had been heard of when it was asked.
  case signIn(ConnectionID, tokenHash: [UInt8], standings: Int, commits: Int)
  case welcome(ConnectionID)
  /// What a socket missed after its cursor.
  case catchUp(ConnectionID, since: ChangeToken)
  /// What a stream missed after its cursor.
  case backlog(ConnectionID, since: ChangeToken)
  case socketFetch(ConnectionID, request: String, ofWholeAccount: Bool)
  /// `bytes`: of the message, which count as held until the answer. `timedFrom`: when it came,
  /// where the answer is to tell.
  case socketSave(ConnectionID, BatchID, bytes: Int, timedFrom: Instant?)
  /// When devices were last heard of; nobody waits for it.
  case sightings
  /// Whether a store that failed works again; nobody waits for it.
  case storeTrial
  /// A step of an upload, by the files.
  case upload(ConnectionID, ChunkFile)
  /// An upload is whole: its account gets the chunk.
  case addChunk(ConnectionID, ChunkFile)
  /// A part of a file that goes out.
  case download(ConnectionID, ChunkFile)
  /// Files that nobody needs; nobody waits for it.
  case removal([ChunkFile])
  /// What files there are, and which of them hold what an account has.
  case sweep
  case sweepCheck([ChunkFile])
  /// Files stand that were doubted.
  case vouching(through: ChunkFile?)
  /// A file is gone or not whole; nobody waits for it.
  case doubting
  /// Chunks that no record names.
  case collection
  /// What another relay on the same store saved, after a token that is known here.
  case movedElsewhere(AccountID, since: ChangeToken)
  /// Where accounts stand that other relays may have moved.
  case movements([AccountID])
  /// What the store says of a device that is connected already.
  case standing(AccountID, DeviceID)

  /// Who waits for the outcome.
  var connection: ConnectionID? {
    switch self {
    case .call(let id, _), .signIn(let id, _, _, _), .welcome(let id), .catchUp(let id, _),
      .backlog(let id, _), .socketFetch(let id, _, _), .socketSave(let id, _, _, _),
      .upload(let id, _), .addChunk(let id, _), .download(let id, _):
      id
    case .sightings, .storeTrial, .removal, .sweep, .sweepCheck, .vouching, .doubting, .collection,
      .movedElsewhere, .movements, .standing:
      nil
    }
  }
}

/// The node's requests to the store that have no outcome yet, bounded: what cannot be queued is
/// refused, and the client comes back later.
struct CommitQueue: Sendable {
  private let limit: Int
  private var errands: [JobID: PendingRequest] = [:]
  /// Commits that may have to be gone on with, by a job of its own each time.
  private var portions: [JobID: CommitRequest] = [:]
  private var lastID: UInt64 = 0

  init(limit: Int) { self.limit = limit }

  var count: Int { errands.count }

  /// The name for a request that is now under way; nil where too many are.
  mutating func add(_ errand: PendingRequest) -> JobID? {
    guard errands.count < limit else { return nil }
    lastID += 1
    let id = JobID(rawValue: lastID)
    errands[id] = errand
    return id
  }

  /// The request's result may say that some of it is left undone.
  mutating func note(_ request: CommitRequest, as id: JobID) { portions[id] = request }

  /// What is to be asked next; nil where the request is done.
  mutating func rest(of id: JobID, after result: CommitResult) -> CommitRequest? {
    // Mostly there are none, and nothing is looked up.
    portions.isEmpty ? nil : portions.removeValue(forKey: id)?.rest(after: result)
  }

  /// Who waits for the outcome of a request; nil where nobody does.
  func connection(of id: JobID) -> ConnectionID? { errands[id]?.connection }

  mutating func take(_ id: JobID) -> PendingRequest? {
    if !portions.isEmpty { portions[id] = nil }
    return errands.removeValue(forKey: id)
  }

  static let overloaded = Refusal(
    .overloaded, "The relay has too much to do; try again in a moment.",
    retryAfterMilliseconds: 1_000)
}
