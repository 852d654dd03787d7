import LockstepModel
import LockstepRuntime
import LockstepStorage

/// The purpose of a commit, kept until its result is back.
enum PendingCommit: Sendable {
  /// An HTTP request that waits for its answer.
  case call(ConnectionID, CommitResponse)
  /// `bytes`: of the message, which count as held until the answer. `receivedAt`: time of its
  /// arrival, if the answer reports times.
  case socketSave(ConnectionID, AccountID, BatchID, bytes: Int, receivedAt: Instant?)
  /// Last-seen times of devices; no connection waits for it.
  case sightings([DeviceSighting])
  /// Test of a store that failed; no connection waits for it.
  case storeProbe
  /// A complete upload: its account gets the chunk.
  case addChunk(ConnectionID, ChunkFile)
  /// Confirmation of files that were doubted.
  case confirmation(through: ChunkFile?)
  /// Report of a file that is gone or incomplete; no connection waits for it.
  case missingReport
  /// Chunks that no record references.
  case collection
  /// Wakes to be begun.
  case wakeClaim
  /// Results of wakes; no connection waits for it.
  case wakeReport

  /// The connection that waits for the result.
  var connection: ConnectionID? {
    switch self {
    case .call(let id, _), .socketSave(let id, _, _, _, _), .addChunk(let id, _): id
    case .sightings, .storeProbe, .confirmation, .missingReport, .collection, .wakeClaim,
      .wakeReport:
      nil
    }
  }
}

/// The purpose of a read of anything but a page of changes, kept until its result is back.
enum PendingRead: Sendable {
  /// An HTTP request that waits for its answer.
  case call(ConnectionID, ReadResponse)
  /// Lookup of the device with a token of this hash. `membershipChanges`, `commits`: the counts of
  /// both logs when the request was sent.
  case signIn(ConnectionID, tokenHash: [UInt8], membershipChanges: Int, commits: Int)
  case welcome(ConnectionID)
  /// Check which of the files hold chunks of an account.
  case sweepCheck([ChunkFile])
  /// Changes saved by another relay on the same store, after a token that is known here.
  case remoteCommit(AccountID, since: ChangeToken)
  /// Tokens of accounts that other relays may have moved.
  case accountVersions([AccountID], leaving: [AccountID])
  /// Tokens of accounts whose commits by other relays are announced from now on.
  case followAccounts([AccountID], leaving: [AccountID])
  /// The store's data about a device that is already connected.
  case membership(AccountID, DeviceID)
  /// Devices that are to be woken.
  case dueWakes(SleeperQuery)
  /// The label of an account, to report the event with it.
  case eventLabel(AccountID, AccountEvent)

  /// The connection that waits for the result.
  var connection: ConnectionID? {
    switch self {
    case .call(let id, _), .signIn(let id, _, _, _), .welcome(let id): id
    case .sweepCheck, .remoteCommit, .accountVersions, .followAccounts, .membership, .dueWakes,
      .eventLabel:
      nil
    }
  }
}

/// The purpose of a page of changes, kept until it is read.
enum PendingPage: Sendable {
  /// An HTTP request that waits for its answer.
  case call(ConnectionID, PageResponse)
  /// Changes that a socket missed after its cursor.
  case catchUp(ConnectionID, since: ChangeToken)
  /// Changes that a stream missed after its cursor.
  case backlog(ConnectionID, since: ChangeToken)
  case socketFetch(ConnectionID, request: String, ofWholeAccount: Bool)

  /// The connection that waits for the page.
  var connection: ConnectionID {
    switch self {
    case .call(let id, _), .catchUp(let id, _), .backlog(let id, _), .socketFetch(let id, _, _): id
    }
  }
}

/// The purpose of a request to the chunk store, kept until its result is back.
enum PendingFileRequest: Sendable {
  /// A step of an upload.
  case upload(ConnectionID, ChunkFile)
  /// A part of a download.
  case download(ConnectionID, ChunkFile)
  /// Removal of unneeded files; no connection waits for it.
  case removal([ChunkFile])
  /// List of the files.
  case sweep
}

/// The node's requests to the store that have no outcome yet, by kind, so that each result is of
/// the kind that was requested. Their number is limited: further ones are refused, and the client
/// retries later.
struct StoreQueue: Sendable {
  private let limit: Int
  private(set) var count = 0
  private var commits: [JobID: PendingCommit] = [:]
  private var reads: [JobID: PendingRead] = [:]
  private var pages: [JobID: PendingPage] = [:]
  private var fileRequests: [JobID: PendingFileRequest] = [:]
  /// Connections that wait for a file of the owner's folder of pages.
  private var ownPages: [JobID: ConnectionID] = [:]
  /// Commits that may have to be continued, each time by a job of its own.
  private var portions: [JobID: CommitRequest] = [:]
  private var lastID: UInt64 = 0

  init(limit: Int) { self.limit = limit }

  /// Returns the id of a commit that is now under way; nil if there are too many requests. Keeps a
  /// request whose result may leave a part of it undone.
  mutating func add(_ pending: PendingCommit, _ request: CommitRequest) -> JobID? {
    guard let id = nextID() else { return nil }
    commits[id] = pending
    if request.hasPortions { portions[id] = request }
    return id
  }

  mutating func add(_ pending: PendingRead) -> JobID? {
    guard let id = nextID() else { return nil }
    reads[id] = pending
    return id
  }

  mutating func add(_ pending: PendingPage) -> JobID? {
    guard let id = nextID() else { return nil }
    pages[id] = pending
    return id
  }

  mutating func add(_ pending: PendingFileRequest) -> JobID? {
    guard let id = nextID() else { return nil }
    fileRequests[id] = pending
    return id
  }

  mutating func addOwnPage(for connection: ConnectionID) -> JobID? {
    guard let id = nextID() else { return nil }
    ownPages[id] = connection
    return id
  }

  private mutating func nextID() -> JobID? {
    guard count < limit else { return nil }
    count += 1
    lastID += 1
    return JobID(rawValue: lastID)
  }

  /// Returns the next part of a commit; nil if it is done.
  mutating func nextPortion(of id: JobID, after result: CommitResult) -> CommitRequest? {
    // Usually there are none, and nothing is looked up.
    portions.isEmpty ? nil : portions.removeValue(forKey: id)?.rest(after: result)
  }

  /// Returns the connection that waits for a page or another read; nil if there is none.
  func connection(ofRead id: JobID) -> ConnectionID? {
    pages[id]?.connection ?? reads[id]?.connection
  }

  /// True if the read or the page was requested and has no result.
  func isReading(_ id: JobID) -> Bool {
    reads[id] != nil || (!pages.isEmpty && pages[id] != nil)
  }

  /// Forgets a page or another read that will not be read.
  mutating func cancelRead(_ id: JobID) {
    if removePage(id) == nil { _ = removeRead(id) }
  }

  mutating func removeCommit(_ id: JobID) -> PendingCommit? {
    if !portions.isEmpty { portions[id] = nil }
    return counted(commits.removeValue(forKey: id))
  }

  mutating func removeRead(_ id: JobID) -> PendingRead? { counted(reads.removeValue(forKey: id)) }

  mutating func removePage(_ id: JobID) -> PendingPage? {
    // Often there are none, and nothing is looked up.
    pages.isEmpty ? nil : counted(pages.removeValue(forKey: id))
  }

  mutating func removeFileRequest(_ id: JobID) -> PendingFileRequest? {
    counted(fileRequests.removeValue(forKey: id))
  }

  mutating func removeOwnPage(_ id: JobID) -> ConnectionID? {
    counted(ownPages.removeValue(forKey: id))
  }

  private mutating func counted<Pending>(_ removed: consuming Pending?) -> Pending? {
    if removed != nil { count -= 1 }
    return removed
  }

  static let overloaded = Refusal(
    .overloaded, "The relay is overloaded; try again in a moment.",
    retryAfterMilliseconds: 1_000)
}
