import LockstepModel
import LockstepRuntime
import LockstepStorage

/// The purpose of a store request, kept until its outcome is back.
enum PendingRequest: Sendable {
  /// An HTTP request that waits for its answer.
  case call(ConnectionID, ResponseBuilder)
  /// Lookup of the device with a token of this hash. `membershipChanges`, `commits`: the counts of
  /// both logs when the request was sent.
  case signIn(ConnectionID, tokenHash: [UInt8], membershipChanges: Int, commits: Int)
  case welcome(ConnectionID)
  /// Changes that a socket missed after its cursor.
  case catchUp(ConnectionID, since: ChangeToken)
  /// Changes that a stream missed after its cursor.
  case backlog(ConnectionID, since: ChangeToken)
  case socketFetch(ConnectionID, request: String, ofWholeAccount: Bool)
  /// `bytes`: of the message, which count as held until the answer. `receivedAt`: time of its
  /// arrival, if the answer reports times.
  case socketSave(ConnectionID, BatchID, bytes: Int, receivedAt: Instant?)
  /// Last-seen times of devices; no connection waits for it.
  case sightings
  /// Test of a store that failed; no connection waits for it.
  case storeProbe
  /// A step of an upload, in the chunk store.
  case upload(ConnectionID, ChunkFile)
  /// A complete upload: its account gets the chunk.
  case addChunk(ConnectionID, ChunkFile)
  /// A part of a download.
  case download(ConnectionID, ChunkFile)
  /// Removal of unneeded files; no connection waits for it.
  case removal([ChunkFile])
  /// List of the files, and check which of them hold chunks of an account.
  case sweep
  case sweepCheck([ChunkFile])
  /// Confirmation of files that were doubted.
  case confirmation(through: ChunkFile?)
  /// Report of a file that is gone or incomplete; no connection waits for it.
  case missingReport
  /// Chunks that no record references.
  case collection
  /// Changes saved by another relay on the same store, after a token that is known here.
  case remoteCommit(AccountID, since: ChangeToken)
  /// Tokens of accounts that other relays may have moved.
  case accountVersions([AccountID])
  /// The store's data about a device that is already connected.
  case membership(AccountID, DeviceID)

  /// The connection that waits for the outcome.
  var connection: ConnectionID? {
    switch self {
    case .call(let id, _), .signIn(let id, _, _, _), .welcome(let id), .catchUp(let id, _),
      .backlog(let id, _), .socketFetch(let id, _, _), .socketSave(let id, _, _, _),
      .upload(let id, _), .addChunk(let id, _), .download(let id, _):
      id
    case .sightings, .storeProbe, .removal, .sweep, .sweepCheck, .confirmation, .missingReport,
      .collection, .remoteCommit, .accountVersions, .membership:
      nil
    }
  }
}

/// The node's requests to the store that have no outcome yet. Their number is limited: further ones
/// are refused, and the client retries later.
struct CommitQueue: Sendable {
  private let limit: Int
  private var pendingRequests: [JobID: PendingRequest] = [:]
  /// Commits that may have to be continued, each time by a job of its own.
  private var portions: [JobID: CommitRequest] = [:]
  private var lastID: UInt64 = 0

  init(limit: Int) { self.limit = limit }

  var count: Int { pendingRequests.count }

  /// Returns the id of a request that is now under way; nil if there are too many.
  mutating func add(_ pendingRequest: PendingRequest) -> JobID? {
    guard pendingRequests.count < limit else { return nil }
    lastID += 1
    let id = JobID(rawValue: lastID)
    pendingRequests[id] = pendingRequest
    return id
  }

  /// Keeps a request whose result may leave a part of it undone.
  mutating func keepRequest(_ request: CommitRequest, as id: JobID) { portions[id] = request }

  /// Returns the next request; nil if the request is done.
  mutating func nextRequest(of id: JobID, after result: CommitResult) -> CommitRequest? {
    // Usually there are none, and nothing is looked up.
    portions.isEmpty ? nil : portions.removeValue(forKey: id)?.rest(after: result)
  }

  /// Returns the connection that waits for the outcome of a request; nil if there is none.
  func connection(of id: JobID) -> ConnectionID? { pendingRequests[id]?.connection }

  mutating func remove(_ id: JobID) -> PendingRequest? {
    if !portions.isEmpty { portions[id] = nil }
    return pendingRequests.removeValue(forKey: id)
  }

  static let overloaded = Refusal(
    .overloaded, "The relay is overloaded; try again in a moment.",
    retryAfterMilliseconds: 1_000)
}
