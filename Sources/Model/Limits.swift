/// Every ceiling of the program, once, with its unit and its reason.
public enum Limits {
  // Names and records (docs/protocol.md).
  /// Zone, record and type names, in bytes of UTF-8.
  public static let nameBytes = 255
  /// One record's `fields`, in bytes: as large as CloudKit's records.
  public static let recordBytes = 1 << 20
  /// Records in one batch.
  public static let batchRecords = 400
  /// One batch as JSON; a body or socket message may not be longer.
  public static let batchBytes = 2 << 20
  /// How far in the future a record's stamp may lie, in milliseconds.
  public static let clockAheadMilliseconds: Int64 = 5_000
  /// Tags and sequences stay exact in a JSON number (2⁵³).
  public static let sequenceLimit: Int64 = 1 << 53
  public static let changeTokenBytes = 96
  /// Device names, platforms and versions, in bytes of UTF-8.
  public static let descriptionBytes = 255
  /// Ids that a socket client chooses for its own requests, in bytes.
  public static let requestIDBytes = 128
  /// By how much the relay raises an account's sequence when an older copy of its store was put
  /// back, and its clock cannot tell by how much. At least: more than were given since that copy
  /// was made. At most, drawn at random: one copy may be put back twice, and the tags given after
  /// it, twice as well, must not meet.
  public static let restoredTags: ClosedRange<Int64> = 1 << 32...1 << 43
  /// The same where an account is saved to first in another run of the store: less, since that
  /// happens more often.
  public static let runTags: ClosedRange<Int64> = 1 << 24...1 << 36
  /// Gaps between runs that are remembered of an account, the newest ones: of as many restarts of
  /// the relay with a save in between.
  public static let tagGaps = 1_000
  /// After a restore an account's tags go on from the time, by so many a millisecond: more than are
  /// ever given in one, and below the tags' limit until 2109.
  public static let tagsPerMillisecond: Int64 = 1 << 10
  /// Nesting of JSON: deeper input is refused before it can exhaust a stack.
  public static let jsonDepth = 64

  // Chunks of files.
  /// One chunk, in bytes.
  public static let chunkBytes = 4 << 20
  /// Chunks that one record names: with the largest ones a file of 16 GiB.
  public static let chunksPerRecord = 4_096
  /// Hashes that one call asks about; as many as a record may name.
  public static let chunkHashes = 4_096
  /// A body of `chunkHashes` hashes as JSON, spelt generously.
  public static let chunkHashesBytes = 512 << 10
  /// How long a chunk that no record names is kept after it was last asked about: a day.
  public static let chunkLeaseMilliseconds: Int64 = 24 * 3_600_000
  /// Bytes of chunks that one account keeps, where the relay's owner says nothing else: 10 GiB.
  public static let chunkBytesPerAccount: Int64 = 10 << 30
  /// Read from or written to a file at once, and what may wait to be written for one upload.
  public static let chunkPortionBytes = 128 << 10
  public static let chunkWaitingBytes = 512 << 10
  /// Uploads under way on one node: each holds a file open.
  public static let uploads = 256
  /// Of these, those of one account: a few devices with many files leave room for everybody else's.
  public static let uploadsPerAccount = 64
  /// How often chunks that nobody needs are looked for, and how many go with one commit.
  public static let collectMilliseconds: Int64 = 60_000
  public static let collectedChunks = 256
  /// From one such portion that was full to the next: others' commits go between.
  public static let collectPauseMilliseconds: Int64 = 100

  // What a relay's owner asks.
  /// How long the removal of an account with all that it has may take.
  public static let removalMilliseconds: Int64 = 10 * 60_000

  // Subscriptions.
  public static let subscriptionsPerDevice = 64
  /// Members of a query subscription's `where`.
  public static let subscriptionConditions = 16
  /// One subscription as JSON: the relay holds all of a connected device's in memory.
  public static let subscriptionBytes = 4 << 10
  /// A member of a record that is longer, in bytes of JSON, is not compared with what `where` asks
  /// for: that fits into `subscriptionBytes`, and is no longer in any sensible spelling.
  public static let comparedValueBytes = 32 << 10
  /// Zones that one answer lists; accounts likewise.
  public static let listedZones = 1_000
  public static let listedAccounts = 1_000
  /// Zones that a plan names, and a body with so many of the longest names, spelt generously.
  public static let planZones = 100
  public static let planBodyBytes = 64 << 10

  // Fetching and pushing.
  /// Records a page when the client names no limit, and at most.
  public static let pageRecords = 1_000
  /// Bytes of fields and names a page: about 2 MiB of JSON.
  public static let pageBytes = 2 << 20
  /// A push larger than this is told as a hint.
  public static let pushBytes = 64 << 10
  /// Longest wait of a long-poll, in milliseconds.
  public static let longPollMilliseconds: Int64 = 60_000
  /// When an empty answer to one leaves at the latest: proxies give a request up after 60 seconds
  /// without a byte.
  public static let longPollHeldMilliseconds: Int64 = 55_000

  // HTTP (RFC 9112 leaves these to the server).
  public static let requestLineBytes = 8 << 10
  public static let headerBytes = 16 << 10
  public static let headerCount = 100
  /// Bodies of calls that carry no records.
  public static let smallBodyBytes = 16 << 10
  /// Bytes of pipelined requests that may wait behind the one being answered.
  public static let pipelineBytes = 64 << 10
  /// From the first byte of a request's head to its last, and of its body likewise.
  public static let requestMilliseconds: Int64 = 30_000
  /// A connection that asks nothing is closed after this long.
  public static let idleMilliseconds: Int64 = 75_000

  // WebSocket.
  public static let messageBytes = batchBytes
  public static let helloMilliseconds: Int64 = 5_000
  public static let keepAliveMilliseconds: Int64 = 25_000
  /// Messages from this size on are compressed, in bytes. A change of 800 bytes becomes 310 and
  /// one of 2,400 590, in 6 and 10 µs where a delivery costs 2; but what is below a packet's 1,400
  /// bytes leaves in one packet either way.
  public static let deflateBytes = 1_024
  /// How far back what is compressed refers, as a power of two: 4 KiB. On records as JSON a window
  /// eight times as large makes pages no smaller (5,774 against 6,252 bytes of 35,075), and a
  /// receiver must hold one.
  public static let deflateWindowBits = 12
  /// Requests of one socket that wait for their answer; beyond it the socket is not read.
  public static let socketRequests = 64
  /// Bytes that wait to leave one connection; beyond it changes fold into one hint.
  public static let sendQueueBytes = 256 << 10
  /// A connection that takes no byte for this long is closed.
  public static let stalledMilliseconds: Int64 = 30_000

  // Pairing.
  public static let pairingMilliseconds: Int64 = 10 * 60_000
  /// Wrong codes from one address a minute, and from all before they are refused as too many.
  public static let pairingGuessesPerAddress = 5
  public static let pairingGuessesInAll = 100
  public static let pairingWindowMilliseconds: Int64 = 60_000
  public static let pairingCodesPerAccount = 10
  public static let devicesPerAccount = 100

  // Apps.
  /// One phase of a timer, in milliseconds: a day. What is longer is a slip of the finger.
  public static let timerMilliseconds: Int64 = 24 * 3_600_000
  /// Items of the clipboard that stand at a time; older ones go.
  public static let clipboardItems = 100
  /// What one check of a habit may add to a day's count: more is a slip of the finger.
  public static let habitCount: Int64 = 1_000_000
  /// A habit's title, in Unicode scalars.
  public static let habitTitle = 200
  /// What scrypt may use to open a vault's key that waits in a record, in bytes, and how often it
  /// is done: whoever wrote the record must not use up the memory or the time of a device. Twice
  /// and four times what our own records ask for.
  public static let scryptBytes = 128 << 20
  public static let scryptLanes: Int64 = 4
  /// Records that one merge may make beside the one it merges. A rule makes one; more come only
  /// where the copy's name is taken, and the names then differ.
  public static let copiesOfOneMerge = 16
  /// The history of a home's files: of each of its two parts, in bytes.
  public static let vaultHistoryBytes = 1 << 20
  /// Files that one home keeps the same as the account's, conflict copies among them.
  public static let vaultFiles = 1_000
  /// Tries to read a file that is written all the while, before that is told.
  public static let vaultReads = 5
  /// From the last that was heard of a file to looking at it: when a writer has closed it, when one
  /// has just written, and at most while one goes on.
  public static let vaultClosedMilliseconds: Int64 = 50
  public static let vaultWritingMilliseconds: Int64 = 500
  public static let vaultBusyMilliseconds: Int64 = 5_000
  /// For how long a file is gone before it is deleted elsewhere: editors delete and make anew.
  public static let vaultGoneMilliseconds: Int64 = 2_000
  /// After what could not be done with a file it is tried again: first, and at most.
  public static let vaultRetryMilliseconds: Int64 = 5_000
  public static let vaultRetryMaxMilliseconds: Int64 = 600_000
  /// From one report of a file's progress to the next.
  public static let vaultProgressMilliseconds: Int64 = 100
  /// One line of `lockstep resolve`, in bytes: three records at their largest, spelt generously.
  public static let resolveLineBytes = 8 << 20

  /// A file of settings, in bytes: the sample with all comments is a tenth of it.
  public static let configBytes = 256 << 10

  // The relay as a whole.
  /// Connections at the front door of a relay: what its memory can hold of idle ones.
  public static let connections = 50_000
  /// Of these, those from one address: a whole office may stand behind it, and fifty such addresses
  /// are needed to take all.
  public static let connectionsPerAddress = 1_000
  /// Sockets, streams and waiting long-polls of one account on one node: a hundred devices with a
  /// few tabs each. Each save goes out as often.
  public static let connectionsPerAccount = 500
  /// Connections at the owner's doors, which everything else leaves room for.
  public static let ownerConnections = 256
  /// Descriptors that a relay needs besides those of connections and files that come in.
  public static let spareDescriptors = 64
  /// Requests and messages of one device on one node: several times what our own benches and a busy
  /// upload ask, and a tenth of what a node can do.
  public static let requestsPerSecondPerDevice = 2_000
  public static let requestBurstPerDevice = 4_000
  /// Requests without a good token from one address on one node. A browser or a new device makes a
  /// few; tokens have 256 bits, so it is the load that is bounded, and not the luck.
  public static let requestsPerSecondPerAddress = 100
  public static let requestBurstPerAddress = 1_000
  /// Accounts that one address makes in an hour.
  public static let accountsPerHourPerAddress = 30
  /// Devices, and addresses, of which one node remembers how much they asked lately. Those that
  /// have asked nothing for longest are forgotten, and may then ask as if they had just come.
  public static let countedAskers = 1 << 16
  /// Hops of a forwarded request that are looked at, from its end.
  public static let forwardedHops = 32
  /// Store requests of one node that have not been answered.
  public static let storeRequests = 20_000
  /// Bodies and messages in memory over all connections of a relay.
  public static let bodyBudgetBytes = 512 << 20
  /// How long batch ids and tombstones are kept, in milliseconds: 30 days.
  public static let historyMilliseconds: Int64 = 30 * 24 * 3_600_000
  /// The longest of them that a relay's owner may ask for, in milliseconds: ten years.
  public static let retentionMilliseconds: Int64 = 3_650 * 24 * 3_600_000
  /// Remembered batches and spent pairing codes that a commit forgets, a request of it: more than
  /// one, so that a backlog of old ones shrinks, and few, so that no commit is long for it.
  public static let forgottenPerRequest = 2
  /// When a device was last heard of is written at most this often, and this long after it came,
  /// so that many share one commit.
  public static let sightingMilliseconds: Int64 = 60_000
  public static let sightingDelayMilliseconds: Int64 = 1_000
  /// How often the nodes of a process tell one another their counters.
  public static let statusMilliseconds: Int64 = 5_000
  /// Connections that a node names when it is asked what waits: the worst say what is wrong.
  public static let shownQueues = 5
  /// How long loops and workers have to answer when a person asks how they are.
  public static let stateMilliseconds: Int64 = 1_000
  /// How long a store waits for another connection to the same file (a reader that is in the way of
  /// the log's restart, a recovery after a crash), in milliseconds.
  public static let storeBusyMilliseconds = 5_000
  /// Pages of 4 KiB in a store's write-ahead log from which it is moved into the database when the
  /// store has a pause, and at which it is moved at once, so that the log stays bounded.
  public static let logPages = 1_000
  public static let logPagesMax = 16_000
  /// Pages in it from which it is moved beside the commits, where the store has no pause.
  public static let logPagesWithoutPause = 4_000
  /// How long a commit waits, before the log is moved, for a reader that is in the way: longer than
  /// a page takes to be read. Where a reader stays, the log grows by `logPagesMax` until the next
  /// try.
  public static let logReaderMilliseconds = 100
  /// Pages that a backup copies, and steps of SQLite's machine that a check makes, before it asks
  /// whether to go on: a few milliseconds' worth each.
  public static let copiedPages = 1_024
  public static let stepsAQuestion = 100_000
  /// How often a backup begins anew because what it names was removed meanwhile.
  public static let backupAttempts = 5
  /// What a backup leaves free of a disk that the store is on too.
  public static let backupReserveBytes: Int64 = 16 << 20
  /// Faults of a store that are told one by one.
  public static let shownFaults = 50
  /// From SIGTERM to the end.
  public static let drainMilliseconds: Int64 = 10_000

  /// How often a connection that is being closed gets `stalledMilliseconds` once more because its
  /// peer still takes some: nobody may hold one for ever by a byte now and then.
  public static let closingRenewals = 4
  /// Jobs that a worker does before it tells the nodes what came of them: enough for one fsync to
  /// serve a crowd.
  public static let jobsAPortion = 256
  /// What a relay's store does before it tells what came of it, counted in records of up to a KiB:
  /// the largest batch of small records, for a few milliseconds. The saves of others wait no longer
  /// than this, whatever one device uploads.
  public static let portionCost = 512
  /// Requests to the store up to this cost, in the same unit, go before larger ones.
  public static let lightCost = 64
  /// Of the time in which a relay's store commits, what an account may take at once and in each
  /// second before it is put off, in microseconds: some 5,000 small records at once.
  public static let commitBurstMicroseconds = 50_000
  public static let commitMicrosecondsPerSecond = 100
  /// The least time that a unit of a save's cost takes, the reading of its body included.
  public static let decodeNanosecondsPerCost: Int64 = 500
  /// Requests up to this cost are free: what a person does.
  public static let freeCost = 2
  /// The same of the time in which pages of changes are read: some 20,000 records at once, and a
  /// hundred small pages a second.
  public static let readBurstMicroseconds = 100_000
  public static let readMicrosecondsPerSecond = 10_000
  /// After what was put off and then done, the next of it waits for so many times as long as that
  /// took, and for so many times what it took beyond so many microseconds more than work usually
  /// takes (`WorkPace`): who works beside it meets a long portion far less often than once in a
  /// hundred times. A page that is read is not in the way of saves, but takes a processor.
  public static let putOffRest = 32
  public static let putOffShortMicroseconds = 1_000
  public static let putOffCommitLongRest = 1_000
  public static let putOffReadLongRest = 100
  /// Nothing rests where nobody else has done anything for so many milliseconds, and no account
  /// waits longer for its turn than so many: less than `answerMilliseconds`.
  public static let putOffQuietMilliseconds: Int64 = 100
  public static let putOffPatienceMilliseconds: Int64 = 12_000
  /// Sockets of an account that one node welcomes at once, after a restart for example, and in each
  /// second; the others wait for their welcome.
  public static let welcomesAtOnce = 500
  public static let welcomesPerSecond = 10
  /// A request that is one too many is answered with 429 after so many milliseconds, in which its
  /// client sends no other on its connection.
  public static let tooOftenMilliseconds: Int64 = 250
  /// Pages of changes that one node has read for it at once. Each may be `pageBytes` large and lies
  /// in memory until it leaves; as many keep the store's reader busy.
  public static let pagesUnderWay = 8
  // Devices.
  public static let pollMilliseconds: Int64 = 30_000
  public static let agentLongPollMilliseconds: Int64 = 50_000
  /// First and greatest ceiling of the backoff with full jitter.
  public static let backoffFirstMilliseconds: Int64 = 500
  public static let backoffMilliseconds: Int64 = 30_000
  public static let connectMilliseconds: Int64 = 10_000
  /// Waiting for the answer to a save or a fetch.
  public static let answerMilliseconds: Int64 = 15_000
  /// After this long a zone that the account's plan does not include is tried again by itself, with
  /// one batch: the plan may be another one by then. A person who syncs has it tried at once.
  public static let planRetryMilliseconds: Int64 = 3_600_000
  /// After this long, then twice as long each time, the relay is asked for chunks nobody had.
  public static let lackingFirstMilliseconds: Int64 = 60_000
  public static let lackingMilliseconds: Int64 = 3_600_000
  /// Records that wait in an outbox; beyond it an edit is refused with a clear word.
  public static let outboxRecords = 100_000
  /// Bytes of fields that wait in an outbox, its bases included: an agent holds them in memory.
  public static let outboxBytes = 256 << 20
  /// How long a device that comes back waits for what others did meanwhile, before it lets what it
  /// last knew run out: as long as others wait for the owner of a countdown.
  public static let catchUpMilliseconds: Int64 = 2_000
  /// Edits that time makes with one transaction, where one leads to the next.
  public static let dueEdits = 100
  /// A measured offset is written down when it moved by this much, in milliseconds.
  public static let offsetNoteMilliseconds: Int64 = 500
  /// An offset that moved by this much, in milliseconds, is told by itself: screens show it.
  public static let offsetToldMilliseconds: Int64 = 100
  /// Two clocks of one machine that part by more than this, in milliseconds: one has jumped. Where
  /// a deadline is reached later than this, the process had no turn, as when it was suspended.
  public static let clockJumpMilliseconds: Int64 = 1_000
  /// How long a measured relay time is trusted, and when it is measured again before that.
  public static let clockTrustMilliseconds: Int64 = 30 * 60_000
  public static let clockMeasureMilliseconds: Int64 = 15 * 60_000
  /// Measurements of a new socket, of which the best is taken.
  public static let clockSamples = 4
  /// The longest `Retry-After` that a device obeys.
  public static let retryAfterMilliseconds: Int64 = 3_600_000
  /// From leaving a rung of the ladder to trying it again: first, and at most.
  public static let probeFirstMilliseconds: Int64 = 60_000
  public static let probeMilliseconds: Int64 = 30 * 60_000
  /// What an answer to a long-poll may take beyond its wait.
  public static let longPollMarginMilliseconds: Int64 = 10_000
  /// The longest message or body that a device takes: a page of `pageBytes` with all its names.
  public static let relayMessageBytes = 8 << 20
  /// Silence after which a stream of events is given up, where the relay does not say how often it
  /// speaks: what proxies usually allow, and more.
  public static let streamSilenceMilliseconds: Int64 = 75_000
  /// The longest keep-alive that a relay may ask for.
  public static let keepAliveCeilingMilliseconds: Int64 = 300_000
  /// The time of the last sync is written down at least this often, where nothing else is.
  public static let syncNoteMilliseconds: Int64 = 600_000
  /// How long a manual sync may take.
  public static let syncMilliseconds: Int64 = 20_000
  /// Parked and undecided records that a status names; beyond it they are counted.
  public static let statusRecords = 100
  /// Chunks of files that an agent is writing into its home at once: each lies in memory.
  public static let chunkAdds = 4
  /// Chunks that go up at once, on a connection each, and that come down at once.
  public static let chunkUploads = 2
  public static let chunkDownloads = 2
  /// Silence after which a chunk's connection is given up while its bytes go: as long as the relay
  /// waits. And once all of them lie with the system, which tells nothing of a slow way.
  public static let chunkSilenceMilliseconds: Int64 = 30_000
  public static let chunkAnswerMilliseconds: Int64 = 120_000
  /// From one report of a chunk's progress to the next.
  public static let chunkProgressMilliseconds: Int64 = 250
  /// Tries in a row that bring no byte of a chunk, and downloads of one with other bytes than its
  /// name says, before whoever reads it is told.
  public static let chunkTries = 5
  public static let chunkMismatches = 3
  /// Chunks that a device knows to be at the relay, and for how long it trusts that without asking:
  /// well below the relay's own patience with a chunk that no record names.
  public static let confirmedChunks = 1 << 16
  public static let confirmedMilliseconds: Int64 = 3_600_000
  /// Orders to read chunks that an agent has not answered.
  public static let chunkReads = 64
  /// How long a chunk that nothing names stays in a home: as long as on the relay.
  public static let chunkKeepMilliseconds: Int64 = 24 * 3_600_000
  /// When an agent looks for such chunks first, and from then on, and likewise for those that
  /// records name and the relay has lost: not within a command that is soon over.
  public static let chunkCareFirstMilliseconds: Int64 = 60_000
  public static let chunkCareMilliseconds: Int64 = 3_600_000
  /// Pages and answers of an agent that wait to be applied; beyond it pages are fetched again.
  public static let waitingArrivals = 256
  public static let waitingArrivalBytes = 8 << 20
  /// Pages, and bytes of fields in them, that a device asks for before it has applied the ones
  /// before: what they share is one transaction of its store.
  public static let pagesAhead = 4
  public static let pagesAheadBytes = 1 << 20
  /// Pages of 4 KiB in the log of a device's store from which it is moved into the database: a
  /// first sync writes the same pages again and again, and is to move each but seldom.
  public static let replicaLogPages = 8_000

  // wire-echo.
  /// One message, in bytes: the longest that conformance suites send.
  public static let echoMessageBytes = 16 << 20
  /// Bytes that wait to leave a connection; beyond it the connection is not read.
  public static let echoUnsentBytes = 4 << 20
  public static let echoConnections = 1_000
  /// One case of a suite: the longest have 480 s themselves.
  public static let echoCaseMilliseconds: Int64 = 600_000

  // The loop.
  /// Read at once from a connection: large enough that most bodies come in one piece.
  public static let receiveBytes = 128 << 10
  /// Frames in one write: joined, they cost one system call.
  public static let framesAWrite = 64
  /// Bytes of one connection that the kernel holds beyond those under way. Left to itself it takes
  /// megabytes, and takes no more until a third of them has left: a slow peer that reads all the
  /// while would then look as one that takes nothing.
  public static let kernelUnsentBytes = 128 << 10
  /// How long bytes may lie unacknowledged with the system before it gives a connection up, whose
  /// peer is gone without a word. Longer than `stalledMilliseconds`, which is for peers that are
  /// there and take nothing.
  public static let vanishedMilliseconds: Int64 = 60_000
  /// Written to one connection before the others have their turn.
  public static let writeBytes = 1 << 20
  /// Connections that one listener lets in before the others have their turn.
  public static let acceptsATurn = 64
  /// Pause of a listener when no descriptor is left: the call would fail at once, again and again.
  public static let acceptPauseMilliseconds: Int64 = 100
  /// From a connection's first moment to the end of its TLS handshake.
  public static let handshakeMilliseconds: Int64 = 10_000
  /// TLS handshakes of one loop that peers have begun and not finished: each holds some tens of
  /// KiB. A crowd that comes back after an outage has finished most of its own within a second.
  public static let handshakesAtOnce = 1_000
  /// Steps of handshakes before everything else has its turn. One costs a millisecond or two, and
  /// with a crowd of them nothing else waits longer than for so many.
  public static let handshakesATurn = 4
  /// Sealed at once by TLS: the largest of its records (RFC 8446 section 5.1), which frames of one
  /// turn share.
  public static let secureWriteBytes = 16 << 10
  /// A certificate, or a bundle of authorities, in bytes: twice what systems ship.
  public static let certificatesBytes = 1 << 20
  /// A closed connection's late bytes are read for this long and no further, so that they do not
  /// reset it before the peer has read the last answer.
  public static let lingerMilliseconds: Int64 = 2_000
  public static let lingerBytes = 4 << 20
}
