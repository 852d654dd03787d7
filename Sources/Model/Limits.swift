import LockstepJSON

/// All limits of the program, each with its unit and reason.
@usableFromInline
package enum Limits {
  // Names and records (docs/protocol.md).
  /// Zone, record and type names, in bytes of UTF-8.
  @usableFromInline package static let nameBytes = 255
  /// Bytes of one record's `fields`: as large as CloudKit's records.
  @usableFromInline package static let recordBytes = 1 << 20
  /// Records in one batch.
  @usableFromInline package static let batchRecords = 400
  /// Bytes of one batch as JSON; also the maximum of a body and of a socket message.
  @usableFromInline package static let batchBytes = 2 << 20
  /// Largest distance of a record's stamp into the future, in milliseconds.
  @usableFromInline package static let clockAheadMilliseconds: Int64 = 5_000
  /// Upper bound of tags and sequences, which must stay exact in a JSON number (2⁵³).
  @usableFromInline package static let sequenceLimit: Int64 = 1 << 53
  @usableFromInline package static let changeTokenBytes = 96
  /// Device names, platforms and versions, in bytes of UTF-8.
  @usableFromInline package static let descriptionBytes = 255
  /// Bytes of an id that a socket client chooses for its own request.
  @usableFromInline package static let requestIDBytes = 128
  /// Amount by which the relay raises an account's sequence after an older copy of its store was
  /// restored, if its clock cannot give the amount. The lower bound is more than the number of tags
  /// given since that copy was made. The amount is random up to the upper bound: one copy may be
  /// restored twice, and the tags given after each restore must not collide.
  @usableFromInline package static let restoredTags: ClosedRange<Int64> = 1 << 32...1 << 43
  /// The same for an account's first save in another run of the store. Smaller, because that
  /// happens more often.
  @usableFromInline package static let runTags: ClosedRange<Int64> = 1 << 24...1 << 36
  /// Gaps between runs that are kept per account, newest first: one for each restart of the relay
  /// with a save in between.
  @usableFromInline package static let tagGaps = 1_000
  /// Tags per millisecond by which an account's tags advance with time after a restore: more than
  /// are ever given in a millisecond, and below the tags' limit until 2109.
  @usableFromInline package static let tagsPerMillisecond: Int64 = 1 << 10
  /// Nesting of JSON: deeper input is refused before it can exhaust a stack.
  @usableFromInline package static let jsonDepth = JSONScanner.depthMax

  // Chunks of files.
  /// Bytes of one chunk.
  @usableFromInline package static let chunkBytes = 4 << 20
  /// Chunks that one record names: with the largest ones a file of 16 GiB.
  @usableFromInline package static let chunksPerRecord = 4_096
  /// Hashes in one request about missing chunks: as many as a record may name.
  @usableFromInline package static let chunkHashes = 4_096
  /// Bytes of a body of `chunkHashes` hashes as JSON, with generous spelling.
  @usableFromInline package static let chunkHashesBytes = 512 << 10
  /// Time for which a chunk that no record names is kept after the last request about it: a day.
  @usableFromInline package static let chunkLeaseMilliseconds: Int64 = 24 * 3_600_000
  /// Bytes of chunks that one account keeps, unless the relay's owner sets another value: 10 GiB.
  @usableFromInline package static let chunkBytesPerAccount: Int64 = 10 << 30
  /// Bytes that are read from or written to a file at once, and bytes that may wait to be written
  /// for one upload.
  @usableFromInline package static let chunkPortionBytes = 128 << 10
  @usableFromInline package static let chunkWaitingBytes = 512 << 10
  /// Uploads in progress on one node: each holds a file open.
  @usableFromInline package static let uploads = 256
  /// Of these, uploads of one account: a few devices with many files leave room for other accounts.
  @usableFromInline package static let uploadsPerAccount = 64
  /// Interval between collections of unused chunks, and the number that one commit removes.
  @usableFromInline package static let collectMilliseconds: Int64 = 60_000
  @usableFromInline package static let collectedChunks = 256
  /// Pause after a full portion of such removals: commits of other accounts run in between.
  @usableFromInline package static let collectPauseMilliseconds: Int64 = 100

  // Requests of a relay's owner.
  /// Timeout for the removal of an account with all its data.
  @usableFromInline package static let removalMilliseconds: Int64 = 10 * 60_000

  // Subscriptions.
  @usableFromInline package static let subscriptionsPerDevice = 64
  /// Members of a query subscription's `where`.
  @usableFromInline package static let subscriptionConditions = 16
  /// Bytes of one subscription as JSON: the relay holds all subscriptions of a connected device in
  /// memory.
  @usableFromInline package static let subscriptionBytes = 4 << 10
  /// Bytes of JSON up to which a member of a record is compared with a value in `where`. That value
  /// fits into `subscriptionBytes`, and no sensible spelling of it is longer than this.
  @usableFromInline package static let comparedValueBytes = 32 << 10
  /// Zones, and accounts, in one list answer.
  @usableFromInline package static let listedZones = 1_000
  @usableFromInline package static let listedAccounts = 1_000
  /// Zones that a plan names, and bytes of a body with that many zones of the longest names, with
  /// generous spelling.
  @usableFromInline package static let planZones = 100
  @usableFromInline package static let planBodyBytes = 64 << 10

  // Fetching and pushing.
  /// Records per page: the default and the maximum.
  @usableFromInline package static let pageRecords = 1_000
  /// Bytes of fields and names per page: about 2 MiB of JSON.
  @usableFromInline package static let pageBytes = 2 << 20
  /// Bytes of a push; a larger one is sent as a hint.
  @usableFromInline package static let pushBytes = 64 << 10
  /// Sockets of one account from which on they are a crowd: the changes of a turn are sent to them
  /// together, and after all other frames of the turn.
  @usableFromInline package static let crowdConnections = 64
  /// Longest time for which a change to a crowd waits for saves that are under way, in nanoseconds
  /// for each socket: a fifth of what it takes to send it to one.
  @usableFromInline package static let crowdNanosecondsPerSocket: Int64 = 1_000
  /// Longest wait of a long-poll, in milliseconds.
  @usableFromInline package static let longPollMilliseconds: Int64 = 60_000
  /// Time after which an empty answer to a long-poll is sent at the latest: proxies give up a
  /// request after 60 seconds without a byte.
  @usableFromInline package static let longPollHeldMilliseconds: Int64 = 55_000

  // Web Push.
  /// Bytes of a push endpoint's URL: a quarter of the request line that every server is to accept
  /// (RFC 9112 section 3).
  @usableFromInline package static let wakeEndpointBytes = 2_048
  /// Bytes of one encrypted push: services must accept as many (RFC 8030 section 7.2).
  @usableFromInline package static let wakeBodyBytes = 4_096
  /// Bytes of a wake before its encryption, with the delimiter and the padding: the same for every
  /// wake, so that its size reveals nothing. The longest wake has a notice of both sizes below and
  /// a new key.
  @usableFromInline package static let wakeRecordBytes = 640
  /// Bytes of the title of a notice, which JSON may double, and of the URL that it opens.
  @usableFromInline package static let wakeTitleBytes = 64
  @usableFromInline package static let wakeNavigateBytes = 160
  /// Hosts that the relay's owner names for pushes.
  @usableFromInline package static let wakeExceptions = 64
  /// Origins of push services whose VAPID token is kept. For one more, the oldest token is dropped,
  /// which costs a signature later.
  @usableFromInline package static let vapidOrigins = 256
  /// Validity of a VAPID token: 12 hours. Services accept up to 24 (RFC 8292 section 2), by their
  /// own clock.
  @usableFromInline package static let vapidSeconds: Int64 = 12 * 3_600
  @usableFromInline package static let vapidMostSeconds: Int64 = 24 * 3_600
  /// Rest of its validity at which a VAPID token is replaced: the clocks of relay and service may
  /// differ, and a push may wait.
  @usableFromInline package static let vapidRestSeconds: Int64 = 3_600
  /// Bytes of a VAPID token's subject, and of a whole `Authorization` field.
  @usableFromInline package static let vapidSubjectBytes = 255
  @usableFromInline package static let vapidFieldBytes = 4_096
  /// Pause for a push service that refuses because of load: if it does not name one, and the limits
  /// of what it names.
  @usableFromInline package static let wakePauseMilliseconds: Int64 = 60_000
  @usableFromInline
  package static let wakePauses: ClosedRange<Int64> = 1_000...24 * 3_600_000
  /// Characters of a push's topic (RFC 8030 section 5.4).
  @usableFromInline package static let wakeTopicCharacters = 32
  /// Pushes that wait for their turn, and of these the pushes to one service: one that does not
  /// answer leaves room for those to others.
  @usableFromInline package static let wakesWaiting = 1_024
  @usableFromInline package static let wakesWaitingPerOrigin = 256
  /// Time for which a push waits for its turn. The time for its answer included, it is shorter than
  /// `wakeLeaseMilliseconds`.
  @usableFromInline package static let wakeWaitMilliseconds: Int64 = 30_000
  /// Connections to push services, and of these the connections to one service.
  @usableFromInline package static let wakeConnections = 64
  @usableFromInline package static let wakeConnectionsPerOrigin = 4
  /// Of these, connections to services that have not answered yet, or not the last time; each has
  /// one at once. Anybody can name many hosts that never answer.
  @usableFromInline package static let wakeSilentConnections = 32
  /// Push services that are remembered while there is nothing to send to them.
  @usableFromInline package static let wakeOrigins = 256
  /// Time from the beginning of a push, the connection included, to the last byte of its answer.
  @usableFromInline package static let wakeAnswerMilliseconds: Int64 = 10_000
  /// Bytes of a push service's answer that are read, its head included.
  @usableFromInline package static let wakeAnswerBytes = 4 << 10
  /// Time after which a connection to a push service without a push is closed.
  @usableFromInline package static let wakeIdleMilliseconds: Int64 = 15_000
  /// Age at which the list of this machine's own addresses is read again.
  @usableFromInline package static let ownAddressesMilliseconds: Int64 = 5_000

  /// Bytes of the body of a registration for wakes, and of the code that verifies it.
  @usableFromInline package static let wakeRegistrationBytes = 4 << 10
  @usableFromInline package static let wakeCodeBytes = 64
  /// Registrations of one account that may be sent a code: at once, and in ten minutes.
  @usableFromInline package static let wakeCodesAtOnce = 8
  /// Time that a push service keeps an undelivered push, in seconds: four weeks, the most that
  /// services accept.
  @usableFromInline package static let wakeSeconds: Int64 = 28 * 86_400
  /// Time for which a push with a code is kept: the device waits for it.
  @usableFromInline package static let wakeCodeSeconds: Int64 = 600
  /// Time for which the relay still sends under a key for push services that it has replaced, so
  /// that each device learns of the new one and subscribes for it.
  @usableFromInline package static let wakeKeyOverlapMilliseconds: Int64 = 30 * 86_400_000
  /// Time between a change and the check for devices that it wakes, so that the changes of a moment
  /// are checked together.
  @usableFromInline package static let wakeGatherMilliseconds: Int64 = 50
  /// Time between two passes over all devices that have registered for wakes.
  @usableFromInline package static let wakeSweepMilliseconds: Int64 = 30_000
  /// Wakes that a relay sends at a time.
  @usableFromInline package static let wakesAtOnce = 256
  /// The same of one account, and milliseconds until it is looked at again if it has more.
  @usableFromInline package static let wakesOfAccountAtOnce = 16
  @usableFromInline package static let wakesOfAccountMilliseconds: Int64 = 1_000
  /// Registrations for wakes of one device.
  @usableFromInline package static let wakesPerDevice = 4
  /// Time without contact after which a device is woken.
  @usableFromInline package static let wakeDelayMilliseconds: Int64 = 3_000
  /// Pauses between a wake that is not answered and the next one: the first, and the longest.
  @usableFromInline
  package static let wakeRepeats: ClosedRange<Int64> = 30 * 60_000...24 * 3_600_000
  /// Wakes for changes that were sent to a device which does not prove that it has them.
  @usableFromInline package static let wakeRepeatsMax = 8
  /// Pauses after a wake that no push service accepted: the first, and the longest.
  @usableFromInline package static let wakeFailurePauses: ClosedRange<Int64> = 60_000...30 * 60_000
  /// Time for which a relay that has claimed a wake may be sending it.
  @usableFromInline package static let wakeLeaseMilliseconds: Int64 = 60_000
  /// Changes of which it is checked at most if one concerns a sleeping device; beyond, one does. If
  /// that many did not, the store remembers it.
  @usableFromInline package static let wakeScannedRecords = 2_000
  @usableFromInline package static let wakePassedRecords = 100
  /// Devices whose wakes one request to the store handles.
  @usableFromInline package static let wakesPerRequest = 256

  // HTTP (RFC 9112 leaves these to the server).
  @usableFromInline package static let requestLineBytes = 8 << 10
  @usableFromInline package static let headerBytes = 16 << 10
  @usableFromInline package static let headerCount = 100
  /// Bytes of a body in calls that carry no records.
  @usableFromInline package static let smallBodyBytes = 16 << 10
  /// Bytes of pipelined requests that may wait behind the request that is being answered.
  @usableFromInline package static let pipelineBytes = 64 << 10
  /// Time from the first byte of a request's head to its last; the same for its body.
  @usableFromInline package static let requestMilliseconds: Int64 = 30_000
  /// Time after which a connection without a request is closed.
  @usableFromInline package static let idleMilliseconds: Int64 = 75_000

  // WebSocket.
  @usableFromInline package static let messageBytes = batchBytes
  @usableFromInline package static let helloMilliseconds: Int64 = 5_000
  @usableFromInline package static let keepAliveMilliseconds: Int64 = 25_000
  /// Size in bytes from which messages are compressed. A change of 800 bytes becomes 310 and one of
  /// 2,400 590, in 6 and 10 µs, while a delivery costs 2; but a message below a packet's 1,400
  /// bytes leaves in one packet either way.
  @usableFromInline package static let deflateBytes = 1_024
  /// Window of the compression, as a power of two: 4 KiB. On records as JSON a window eight times
  /// as large makes pages no smaller (5,774 against 6,252 bytes of 35,075), and a receiver must
  /// hold one.
  @usableFromInline package static let deflateWindowBits = 12
  /// Unanswered requests of one socket; beyond it the socket is not read.
  @usableFromInline package static let socketRequests = 64
  /// Unsent bytes of one connection; beyond it changes are merged into one hint.
  @usableFromInline package static let sendQueueBytes = 256 << 10
  /// Time after which a connection that accepts no byte is closed.
  @usableFromInline package static let stalledMilliseconds: Int64 = 30_000

  // Pairing.
  @usableFromInline package static let pairingMilliseconds: Int64 = 10 * 60_000
  /// Longest time for which a code of the relay's owner may be valid: an invitation.
  @usableFromInline package static let invitationMilliseconds: Int64 = 7 * 86_400_000
  /// Shortest time for which a device may ask for a code, in seconds.
  @usableFromInline package static let pairingSecondsMin: Int64 = 10
  /// Zones of a device's scope.
  @usableFromInline package static let scopeZones = 16
  /// Characters of the wrapped keys that a pairing code carries: 6 KiB, for a hundred keys of 32
  /// bytes with their names. They count for nothing in the account's use:
  /// `pairingCodesPerAccount` limits them to 80 KiB.
  @usableFromInline package static let wrappedKeyCharacters = 8_192
  /// Bytes of the body that names a scope and has wrapped keys, with generous spelling.
  @usableFromInline package static let pairingBodyBytes = 40 << 10
  /// Wrong codes per minute from one address, and from all addresses, before further ones are
  /// refused.
  @usableFromInline package static let pairingGuessesPerAddress = 5
  @usableFromInline package static let pairingGuessesInAll = 100
  @usableFromInline package static let pairingWindowMilliseconds: Int64 = 60_000
  @usableFromInline package static let pairingCodesPerAccount = 10
  /// Time for which a link to the owner's page is valid: long enough to walk to another machine.
  @usableFromInline package static let adminCodeMilliseconds: Int64 = 10 * 60_000
  /// Links to the owner's page that are valid at a time; beyond it the oldest is not.
  @usableFromInline package static let adminCodes = 16
  /// Longest session of the owner's page: a working day.
  @usableFromInline package static let adminSessionMilliseconds: Int64 = 12 * 3_600_000
  /// Sessions of the owner's page at a time; beyond it the oldest ends.
  @usableFromInline package static let adminSessions = 32
  @usableFromInline package static let devicesPerAccount = 100

  // Apps.
  /// One phase of a timer, in milliseconds: a day. A longer one is a typing error.
  @usableFromInline package static let timerMilliseconds: Int64 = 24 * 3_600_000
  /// Bytes of a file of merge rules.
  @usableFromInline package static let rulesFileBytes = 1 << 20
  /// Rules of fields in the table of one record type, and types in one table.
  @usableFromInline package static let mergeRuleFields = 256
  @usableFromInline package static let mergeRuleTypes = 256
  /// Age at which the stamp of a removed field, element or member is dropped by a later edit: a
  /// device that was away for longer may bring the removed value back.
  @usableFromInline package static let removalStampMilliseconds: Int64 = 90 * 86_400_000
  /// Time by which a stamp in a record may be later than the record's own: a change by another
  /// program with a late clock, a millisecond after the value that it changed. Stamps beyond it are
  /// not followed by a later edit's time.
  @usableFromInline package static let stampLeadMilliseconds: Int64 = 86_400_000
  /// Versions of a record that a device remembers as replaced by the one that it holds.
  @usableFromInline package static let ancestors = 8
  /// Generations of an account's key that a device has: one for each revocation of a device, until
  /// all records are sealed anew.
  package static let keyGenerations = 64
  /// Records of sealed zones that are listed as unreadable; of further ones only their presence is
  /// known.
  package static let unreadableRecords = 1_000
  /// Records that a device saves again at once, sealed with newer keys, and the pause before that.
  package static let resealRecords = 8
  package static let resealMilliseconds: Int64 = 1_000
  /// Zones whose derived keys a device keeps in memory.
  package static let zoneSealsKept = 1_000
  /// Names at the relay, of records of sealed zones, that a device keeps in memory.
  package static let relayNamesKept = 100_000
  /// Writers that a version vector names; earlier ones count as seen (`VersionVector.floor`).
  package static let vectorEntries = 64
  /// Ids that a change in a sealed zone has had as a version, of which it remembers the newest.
  package static let givenIDs = 8
  /// Lost versions that a record names as included.
  @usableFromInline package static let includes = 8
  /// Acts of the timer that one further act names as replaced.
  @usableFromInline package static let replacedActs = 8
  /// Items that the clipboard keeps; older ones are removed.
  @usableFromInline package static let clipboardItems = 100
  /// Pinned items of the clipboard: half of all, so that there is always room for a history.
  @usableFromInline package static let clipboardPins = 50
  /// Amount that one check of a habit may add to a day's count: a larger one is a typing error.
  @usableFromInline package static let habitCount: Int64 = 1_000_000
  /// Length of a habit's title, in Unicode scalars.
  @usableFromInline package static let habitTitle = 200
  /// Memory in bytes that scrypt may use to open a vault's key from a record, and its number of
  /// lanes. The writer of the record must not exhaust the memory or the time of a device. Twice and
  /// four times the values of our own records.
  @usableFromInline package static let scryptBytes = 128 << 20
  @usableFromInline package static let scryptLanes: Int64 = 4
  /// Records that one merge may make beside the merged one. A rule makes one; more are made only if
  /// the copy's name is taken, and the names then differ.
  @usableFromInline package static let copiesOfOneMerge = 16
  /// Bytes of each of the two files in which a vault keeps its history.
  @usableFromInline package static let vaultHistoryBytes = 1 << 20
  /// Files that one vault keeps in sync with the account, conflict copies included.
  @usableFromInline package static let vaultFiles = 1_000
  /// Attempts to read a file that is written all the time, before that is reported.
  @usableFromInline package static let vaultReads = 5
  /// Delay from the last event of a file to the check of the file: after a writer closed it, after
  /// a write, and the maximum while writing goes on.
  @usableFromInline package static let vaultClosedMilliseconds: Int64 = 50
  @usableFromInline package static let vaultWritingMilliseconds: Int64 = 500
  @usableFromInline package static let vaultBusyMilliseconds: Int64 = 5_000
  /// Time for which a file must be gone before it is deleted on other devices: editors delete a
  /// file and make it anew.
  @usableFromInline package static let vaultGoneMilliseconds: Int64 = 2_000
  /// Delay before a failed operation on a file is tried again: first and maximum.
  @usableFromInline package static let vaultRetryMilliseconds: Int64 = 5_000
  @usableFromInline package static let vaultRetryMaxMilliseconds: Int64 = 600_000
  /// Interval between two reports of a file's progress.
  @usableFromInline package static let vaultProgressMilliseconds: Int64 = 100
  /// Bytes of one line of `lockstep resolve`: three records of the largest size, with generous
  /// spelling.
  @usableFromInline package static let resolveLineBytes = 8 << 20

  /// Bytes of a file of settings: the sample with all comments is a tenth of it.
  @usableFromInline package static let configBytes = 256 << 10

  // The relay as a whole.
  /// Client connections of a relay: as many idle ones as its memory can hold.
  @usableFromInline package static let connections = 50_000
  /// Of these, connections from one address: a whole office may share it, and it takes fifty such
  /// addresses to use up all connections.
  @usableFromInline package static let connectionsPerAddress = 1_000
  /// Sockets, streams and waiting long-polls of one account on one node: a hundred devices with a
  /// few tabs each. Each save is sent that many times.
  @usableFromInline package static let connectionsPerAccount = 500
  /// Connections to the owner's listeners; the other limits leave room for them.
  @usableFromInline package static let ownerConnections = 256
  /// Descriptors that a relay needs beside those of connections and uploaded files.
  @usableFromInline package static let spareDescriptors = 64
  /// Requests and messages of one device on one node: several times the rate of our own benchmarks
  /// and of a busy upload, and a tenth of a node's capacity.
  @usableFromInline package static let requestsPerSecondPerDevice = 2_000
  @usableFromInline package static let requestBurstPerDevice = 4_000
  /// Requests without a valid token from one address on one node. A browser or a new device makes a
  /// few. Tokens have 256 bits, so this bounds the load; guessing is hopeless anyway.
  @usableFromInline package static let requestsPerSecondPerAddress = 100
  @usableFromInline package static let requestBurstPerAddress = 1_000
  /// Accounts that one address creates in an hour.
  @usableFromInline package static let accountsPerHourPerAddress = 30
  /// Devices, and addresses, whose request rates one node remembers. Those without a request for
  /// longest are forgotten, and start again with a full allowance.
  @usableFromInline package static let rateLimitKeys = 1 << 16
  /// Hops of a forwarded request that are examined, from the last one on.
  @usableFromInline package static let forwardedHops = 32
  /// Unanswered store requests of one node.
  @usableFromInline package static let storeRequests = 20_000
  /// Bytes of bodies and messages in memory over all connections of a relay.
  @usableFromInline package static let bodyBudgetBytes = 512 << 20
  /// Retention of batch ids and tombstones, in milliseconds: 30 days.
  @usableFromInline package static let historyMilliseconds: Int64 = 30 * 24 * 3_600_000
  /// Longest retention that a relay's owner may set, in milliseconds: ten years.
  @usableFromInline package static let retentionMilliseconds: Int64 = 3_650 * 24 * 3_600_000
  /// Remembered batches and used pairing codes that a commit forgets per request. More than one, so
  /// that a backlog of old ones shrinks; few, so that no commit becomes long.
  @usableFromInline package static let forgottenPerRequest = 2
  /// Interval after which the first write of a device's last contact is repeated, and the delay of
  /// such a write, so that many share one commit.
  @usableFromInline package static let sightingMilliseconds: Int64 = 60_000
  @usableFromInline package static let sightingDelayMilliseconds: Int64 = 1_000
  /// Number of those intervals in which the last contacts of all connected devices are written
  /// again to a shared store, a part of them in each: half an hour. And how many devices such a
  /// write has at most.
  @usableFromInline package static let sightingParts = 30
  @usableFromInline package static let sightingsAtOnce = 1_000
  /// Interval at which the nodes of a process exchange their counters.
  @usableFromInline package static let statusMilliseconds: Int64 = 5_000
  /// Connections that a node lists in a report of its queues: the longest queues show the problem.
  @usableFromInline package static let shownQueues = 5
  /// Time that loops and workers have to answer a request for their state.
  @usableFromInline package static let stateMilliseconds: Int64 = 1_000
  /// Time for which a store waits for another connection to the same file (a reader that blocks the
  /// log's restart, a recovery after a crash), in milliseconds.
  @usableFromInline package static let storeBusyMilliseconds = 5_000
  /// Pages of 4 KiB in a store's write-ahead log: from the first number on it is checkpointed when
  /// the store is idle, at the second at once, so that the log stays bounded.
  @usableFromInline package static let logPages = 1_000
  @usableFromInline package static let logPagesMax = 16_000
  /// Pages from which the log is checkpointed in parallel with commits if the store is never idle.
  @usableFromInline package static let logPagesWithoutPause = 4_000
  /// Bytes of the file of a commit log, and of the space that is written ahead of its blocks.
  @usableFromInline package static let commitLogBytes = 16 << 20
  @usableFromInline package static let commitLogStep = 1 << 20
  /// Bytes of the fields of one save in the commit log. A larger one would be written twice.
  @usableFromInline package static let loggedSaveBytes = 16 << 10
  /// Saves, and bytes of their records, that only the commit log and the memory hold: above that
  /// the database takes them before the next commit, and above the last number in an idle period.
  @usableFromInline package static let bufferedSaves = 4_096
  @usableFromInline package static let bufferedSaveBytes = 4 << 20
  @usableFromInline package static let bufferedSavesAtRest = 256
  /// Records of a save on a node's own thread. Each may be read from a cold disk.
  @usableFromInline package static let shortCommitRecords = 8
  /// Nanoseconds of a commit on a node's own thread, above which the next ones are left to the
  /// worker; the number of those, and the greatest number, which is reached by doubling.
  @usableFromInline package static let shortCommitNanoseconds: Int64 = 1_000_000
  @usableFromInline package static let shortCommitPause = 64
  @usableFromInline package static let shortCommitPauseMax = 4_096
  /// Time for which a commit waits, before a checkpoint, for a reader that blocks it: longer than
  /// a portion of reads usually takes. If the reader stays, the log grows by `logPagesMax` until
  /// the next attempt.
  @usableFromInline package static let logReaderMilliseconds = 100
  /// Pages that a backup copies, and SQLite virtual machine steps of a check, between two checks
  /// for cancellation: a few milliseconds each.
  @usableFromInline package static let copiedPages = 1_024
  @usableFromInline package static let stepsPerCheck = 100_000
  /// Attempts at a backup, which starts again if data that it names was removed in the meantime.
  @usableFromInline package static let backupAttempts = 5
  /// Bytes that a backup leaves free if it is on the same disk as the store.
  @usableFromInline package static let backupReserveBytes: Int64 = 16 << 20
  /// Faults of a store that are reported one by one.
  @usableFromInline package static let shownFaults = 50
  /// Time from SIGTERM to the end of the process.
  @usableFromInline package static let drainMilliseconds: Int64 = 10_000

  /// Number of times that a closing connection gets `stalledMilliseconds` again because its peer
  /// still accepts bytes: a peer must not hold it for ever with a byte now and then.
  @usableFromInline package static let closingRenewals = 4
  /// Jobs that a worker does before it sends the results to the nodes: enough for one fsync to
  /// serve many clients.
  @usableFromInline package static let jobsPerPortion = 256
  /// Work of a relay's store before it sends the results, counted in records of up to a KiB: the
  /// largest batch of small records, a few milliseconds. Saves of other accounts wait no longer
  /// than this, whatever one device uploads.
  @usableFromInline package static let portionCost = 512
  /// Store requests up to this cost, in the same unit, go before larger ones.
  @usableFromInline package static let lightCost = 64
  /// Commit time of a relay's store that an account may use at once, and in each second, before its
  /// work is deferred, in microseconds: some 5,000 small records at once.
  @usableFromInline package static let commitBurstMicroseconds = 50_000
  @usableFromInline package static let commitMicrosecondsPerSecond = 100
  /// Minimum time charged per unit of a save's cost, in nanoseconds, decoding of its body included.
  @usableFromInline package static let decodeNanosecondsPerCost: Int64 = 500
  /// Requests up to this cost are free: typical requests of a person.
  @usableFromInline package static let freeCost = 2
  /// The same for the time of reading pages of changes: some 20,000 records at once, and a hundred
  /// small pages a second.
  @usableFromInline package static let readBurstMicroseconds = 100_000
  @usableFromInline package static let readMicrosecondsPerSecond = 10_000
  /// Factors of the pause after deferred work (`WorkPace`): `putOffRest` times its duration, plus
  /// the long rest times its duration beyond `putOffShortMicroseconds` and the usual duration of
  /// work. Others then meet a long portion far less often than once in a hundred times. A page read
  /// does not block saves, but uses a processor.
  @usableFromInline package static let putOffRest = 32
  @usableFromInline package static let putOffShortMicroseconds = 1_000
  @usableFromInline package static let putOffCommitLongRest = 1_000
  @usableFromInline package static let putOffReadLongRest = 100
  /// Milliseconds without other work after which deferred work needs no pause, and the longest wait
  /// of an account for its turn: less than `answerMilliseconds`.
  @usableFromInline package static let putOffQuietMilliseconds: Int64 = 100
  @usableFromInline package static let putOffPatienceMilliseconds: Int64 = 12_000
  /// Sockets of an account that one node welcomes at once, for example after a restart, and in each
  /// second; the others wait for their welcome.
  @usableFromInline package static let welcomesAtOnce = 500
  @usableFromInline package static let welcomesPerSecond = 10
  /// Delay of a 429 answer to a request over the rate, in which its client sends no other request
  /// on the connection.
  @usableFromInline package static let rateLimitDelayMilliseconds: Int64 = 250
  /// Pages of changes that are read for one node at once. Each may have `pageBytes` and is in
  /// memory until it is sent; as many keep the store's reader busy.
  @usableFromInline package static let pagesUnderWay = 8
  // Devices.
  @usableFromInline package static let pollMilliseconds: Int64 = 30_000
  @usableFromInline package static let agentLongPollMilliseconds: Int64 = 50_000
  /// Ceilings of the backoff with full jitter: first and maximum.
  @usableFromInline package static let backoffFirstMilliseconds: Int64 = 500
  @usableFromInline package static let backoffMilliseconds: Int64 = 30_000
  /// Addresses to which a device follows its account at once, without being served by any of them.
  @usableFromInline package static let relayFollows = 5
  @usableFromInline package static let connectMilliseconds: Int64 = 10_000
  /// Timeout for the answer to a save or a fetch.
  @usableFromInline package static let answerMilliseconds: Int64 = 15_000
  /// Delay after which a zone that the account's plan does not include is tried again, with one
  /// batch: the plan may have changed by then. A manual sync tries it at once.
  @usableFromInline package static let planRetryMilliseconds: Int64 = 3_600_000
  /// Delay before the relay is asked again for chunks that neither it nor the device had: first,
  /// then doubled each time up to the maximum.
  @usableFromInline package static let lackingFirstMilliseconds: Int64 = 60_000
  @usableFromInline package static let lackingMilliseconds: Int64 = 3_600_000
  /// Records in an outbox; beyond it an edit is refused with a clear message.
  @usableFromInline package static let outboxRecords = 100_000
  /// Bytes of fields in an outbox, its bases included: an agent holds them in memory.
  @usableFromInline package static let outboxBytes = 256 << 20
  /// Time for which a reconnecting device waits for the changes of others before it lets countdowns
  /// in its last known state end: as long as others wait for the owner of a countdown.
  @usableFromInline package static let catchUpMilliseconds: Int64 = 2_000
  /// Timed edits in one transaction, if one leads to the next.
  @usableFromInline package static let dueEdits = 100
  /// Members of one object to which due edits add (`DueAddition`).
  @usableFromInline package static let dueAdditions = 1_000
  /// Change in milliseconds from which a measured clock offset is written to the store.
  @usableFromInline package static let offsetNoteMilliseconds: Int64 = 500
  /// Change in milliseconds from which an offset is reported on its own: screens show it.
  @usableFromInline package static let offsetReportedMilliseconds: Int64 = 100
  /// Difference in milliseconds between two clocks of one machine from which one of them has
  /// jumped. A deadline that is reached later than this means that the process did not run, for
  /// example because it was suspended.
  @usableFromInline package static let clockJumpMilliseconds: Int64 = 1_000
  /// Time for which a measured relay time is trusted, and the age at which it is measured again.
  @usableFromInline package static let clockTrustMilliseconds: Int64 = 30 * 60_000
  @usableFromInline package static let clockMeasureMilliseconds: Int64 = 15 * 60_000
  /// Measurements on a new socket; the best is used.
  @usableFromInline package static let clockSamples = 4
  /// The longest `Retry-After` that a device obeys.
  @usableFromInline package static let retryAfterMilliseconds: Int64 = 3_600_000
  /// Delay from a fallback to a worse transport to the next attempt at a better one: first and
  /// maximum.
  @usableFromInline package static let probeFirstMilliseconds: Int64 = 60_000
  @usableFromInline package static let probeMilliseconds: Int64 = 30 * 60_000
  /// Time that an answer to a long-poll may take beyond its wait.
  @usableFromInline package static let longPollMarginMilliseconds: Int64 = 10_000
  /// Bytes of the longest message or body that a device accepts: a page of `pageBytes` with all its
  /// names.
  @usableFromInline package static let relayMessageBytes = 8 << 20
  /// Silence after which a stream of events is closed, if the relay does not give its keep-alive
  /// interval: more than proxies usually allow.
  @usableFromInline package static let streamSilenceMilliseconds: Int64 = 75_000
  /// Longest keep-alive that a relay may ask for.
  @usableFromInline package static let keepAliveCeilingMilliseconds: Int64 = 300_000
  /// Interval at which the time of the last sync is written if there is nothing else to write.
  @usableFromInline package static let syncNoteMilliseconds: Int64 = 600_000
  /// Cursors that a relay may refuse one after the other before the device waits: a restore costs
  /// two, if the relay reports how far it went back only for an earlier one.
  package static let lostCursors = 3
  /// Timeout of a manual sync.
  @usableFromInline package static let syncMilliseconds: Int64 = 20_000
  /// Parked and undecided records that a status lists; beyond it they are counted.
  @usableFromInline package static let statusRecords = 100
  /// Chunks of files that an agent writes to its home folder at once: each is in memory.
  @usableFromInline package static let chunkAdds = 4
  /// Chunks that are uploaded at once, each on its own connection, and downloaded at once.
  @usableFromInline package static let chunkUploads = 2
  @usableFromInline package static let chunkDownloads = 2
  /// Silence after which a chunk's connection is closed while its bytes are being sent: as long as
  /// the relay waits; and once all of them are in the system's buffer, where progress on a slow
  /// path is not visible.
  @usableFromInline package static let chunkSilenceMilliseconds: Int64 = 30_000
  @usableFromInline package static let chunkAnswerMilliseconds: Int64 = 120_000
  /// Interval between two reports of a chunk's progress.
  @usableFromInline package static let chunkProgressMilliseconds: Int64 = 250
  /// Failed attempts in a row without a byte of a chunk, and downloads whose bytes do not match its
  /// hash, before the reader gets an error.
  @usableFromInline package static let chunkTries = 5
  @usableFromInline package static let chunkMismatches = 3
  /// Chunks that a device knows to be at the relay, and the time for which it relies on that
  /// without asking: well below the relay's lease of a chunk that no record names.
  @usableFromInline package static let confirmedChunks = 1 << 16
  @usableFromInline package static let confirmedMilliseconds: Int64 = 3_600_000
  /// Unanswered orders to read chunks from an agent.
  @usableFromInline package static let chunkReads = 64
  /// Time for which a chunk that no record names stays on a device: as long as on the relay.
  @usableFromInline package static let chunkKeepMilliseconds: Int64 = 24 * 3_600_000
  /// Delay until an agent first looks for such chunks, and for chunks that records name and the
  /// relay has lost, and the interval after that. The first delay keeps it out of short commands.
  @usableFromInline package static let chunkCleanupFirstMilliseconds: Int64 = 60_000
  @usableFromInline package static let chunkCleanupMilliseconds: Int64 = 3_600_000
  /// Pages and answers of an agent that wait to be applied; beyond it pages are fetched again.
  @usableFromInline package static let waitingArrivals = 256
  @usableFromInline package static let waitingArrivalBytes = 8 << 20
  /// Pages, and bytes of fields in them, that a device requests before the previous ones are
  /// applied: they share one transaction of its store.
  @usableFromInline package static let pagesAhead = 4
  @usableFromInline package static let pagesAheadBytes = 1 << 20
  /// Pages of 4 KiB in the log of a device's store from which it is checkpointed: a first sync
  /// writes the same pages again and again, and each is to be checkpointed seldom.
  @usableFromInline package static let replicaLogPages = 8_000
  /// Bytes of a device's log that are written ahead of its commits, in a pause; at most twice as
  /// many: thirty small edits, or a transaction of a hundred.
  @usableFromInline package static let replicaLogReserveBytes = 512 << 10

  // wire-echo.
  /// Bytes of one message: the longest that conformance suites send.
  @usableFromInline package static let echoMessageBytes = 16 << 20
  /// Unsent bytes of a connection; beyond it the connection is not read.
  @usableFromInline package static let echoUnsentBytes = 4 << 20
  @usableFromInline package static let echoConnections = 1_000
  /// Time for one case of a suite: the longest cases allow 480 s themselves.
  @usableFromInline package static let echoCaseMilliseconds: Int64 = 600_000

  // The loop.
  /// Bytes that are read at once from a connection: large enough that most bodies come in one read.
  @usableFromInline package static let receiveBytes = 128 << 10
  /// Frames in one write: joined, they cost one system call.
  @usableFromInline package static let framesPerWrite = 64
  /// Bytes of one connection that the kernel queues beyond those in flight. Without this limit it
  /// takes megabytes, and then no more until a third of them has left: a slow peer that reads all
  /// the time would look like one that reads nothing.
  @usableFromInline package static let kernelUnsentBytes = 128 << 10
  /// Time for which bytes may be unacknowledged before the system closes a connection whose peer
  /// has vanished. Longer than `stalledMilliseconds`, which is for peers that are present and read
  /// nothing.
  @usableFromInline package static let vanishedMilliseconds: Int64 = 60_000
  /// Bytes written to one connection before the others have their turn. Also bounds one write call,
  /// within which the kernel may not preempt the thread.
  @usableFromInline package static let writeBytes = 256 << 10
  /// Connections that one listener accepts before the others have their turn.
  @usableFromInline package static let acceptsPerTurn = 64
  /// Pause of a listener when no descriptor is left: `accept` would fail again at once.
  @usableFromInline package static let acceptPauseMilliseconds: Int64 = 100
  /// Time from the accept of a connection to the end of its TLS handshake.
  @usableFromInline package static let handshakeMilliseconds: Int64 = 10_000
  /// Unfinished TLS handshakes of one loop: each holds some tens of KiB. Many clients that return
  /// after an outage have finished most of theirs within a second.
  @usableFromInline package static let handshakesAtOnce = 1_000
  /// Handshake steps before all other work has its turn. One costs a millisecond or two; with many
  /// handshakes other work waits no longer than for this number.
  @usableFromInline package static let handshakesPerTurn = 4
  /// Bytes that TLS encrypts at once: the largest of its records (RFC 8446 section 5.1), which the
  /// frames of one turn share.
  @usableFromInline package static let secureWriteBytes = 16 << 10
  /// Bytes of a certificate, or of a bundle of authorities: twice what systems ship.
  @usableFromInline package static let certificatesBytes = 1 << 20
  /// Time for which, and bytes up to which, late bytes of a closed connection are read, so that
  /// they do not reset it before the peer has read the last answer.
  @usableFromInline package static let lingerMilliseconds: Int64 = 2_000
  @usableFromInline package static let lingerBytes = 4 << 20
}

/// Limits of one account on a relay, and of the work in one commit or read for it.
extension Limits {
  /// Chunks that the records of one batch name together: each is looked up on the thread that makes
  /// the commits of all accounts.
  @usableFromInline package static let chunksPerBatch = 4_096
  /// Bytes of records, tombstones and remembered batches that one account keeps. Counted apart from
  /// chunks, so that files at their limit do not block a timer or a memo.
  @usableFromInline package static let recordBytesPerAccount: Int64 = 10 << 30
  /// Records of one account, tombstones included: many times what a person makes.
  @usableFromInline package static let recordsPerAccount: Int64 = 2_000_000
  /// Batches of one account that the relay remembers: twice the number that one batch a second
  /// makes in the whole history kept.
  @usableFromInline package static let batchesPerAccount: Int64 = 5_000_000
  /// Approximate bytes of a row in the store beyond its names and contents, indexes included.
  @usableFromInline package static let rowBytes: Int64 = 128
  /// Records, tombstones, batches and chunks of a zone or an account that one commit deletes: some
  /// milliseconds. Commits of other accounts run in between.
  @usableFromInline package static let deletedPerCommit = 1_000
  /// Rows of an account that are scanned for one page, or for one portion of a deletion. If most of
  /// them are tombstones or of other zones, the page is shorter, or empty, with `more`.
  @usableFromInline package static let scannedRecords = 8_192
  /// Accounts that unknown clients create on an open relay, in total.
  @usableFromInline package static let accounts = 10_000
  /// Free bytes on the relay's disk below which it accepts no new data, unless its owner sets
  /// another value: room for the log checkpoint and for deletions, and for writes between two
  /// checks.
  @usableFromInline package static let diskFloorBytes: Int64 = 512 << 20
  /// Interval of that check, and the retry delay for clients that are refused for it.
  @usableFromInline package static let diskCheckMilliseconds: Int64 = 1_000
  @usableFromInline package static let diskRetryMilliseconds: Int64 = 60_000
}

/// Limits on load from many clients, and the spread of their reconnects.
extension Limits {
  // Memory.
  /// Bytes of a message before the session is open: a `hello` holds a token and a cursor, and the
  /// sender is unknown until then.
  @usableFromInline package static let helloBytes = 4 << 10
  /// Divisor of a loop's body budget: one account, or one address before sign-in, holds at most
  /// this fraction of it, but always `bodyShareFloorBytes`, enough for a message and a page in
  /// memory. Beyond its share the holder is not read, and others are still served.
  @usableFromInline package static let bodyShares = 8
  @usableFromInline package static let bodyShareFloorBytes = 8 << 20
  /// Approximate memory of a record of a batch beyond its bytes on the wire.
  @usableFromInline package static let recordOverheadBytes = 256
  /// Bytes up to which the head of a request is not counted as held memory. A browser's head is
  /// below it and belongs to the cost of the connection.
  @usableFromInline package static let lightHeadBytes = 4 << 10
  /// Interval at which the relay checks how much free memory the allocator keeps, and the growth
  /// since the last time from which that memory is returned to the system.
  @usableFromInline package static let heapCheckMilliseconds: Int64 = 5_000
  @usableFromInline package static let heapSlackBytes = 8 << 20

  // Reconnects to a relay after all its devices lost it.
  /// Span over which devices reconnect, in milliseconds: per connection; the most that this gives,
  /// for some hundred devices and more; the maximum. A span below the floor is not sent: the first
  /// retry is spread as far anyway.
  @usableFromInline package static let reconnectPerConnectionMilliseconds: Int64 = 50
  @usableFromInline package static let reconnectSmallMaxMilliseconds: Int64 = 15_000
  @usableFromInline package static let reconnectMilliseconds: Int64 = 60_000
  @usableFromInline package static let reconnectFloorMilliseconds: Int64 = 1_000
  /// Longest such span that a device obeys.
  @usableFromInline package static let reconnectObeyedMilliseconds: Int64 = 300_000
}

/// Limits of a store on PostgreSQL.
extension Limits {
  /// Timeout for a connection to one database host.
  @usableFromInline package static let databaseConnectMilliseconds: Int64 = 5_000
  /// Timeout of a statement. Statements over a whole account (its removal) or over all accounts (a
  /// new schema, a restore) have `removalMilliseconds`.
  @usableFromInline package static let databaseStatementMilliseconds: Int64 = 20_000
  /// Timeout for a lock that another relay holds: several of its commits.
  @usableFromInline package static let databaseLockMilliseconds: Int64 = 3_000
  /// Timeout for the answer to one pipeline of statements, network time included.
  @usableFromInline package static let databaseAnswerMilliseconds: Int64 = 30_000
  /// Time for which bytes may be unacknowledged, or keep-alive probes to a silent server
  /// unanswered, before its connection is closed.
  @usableFromInline package static let databaseVanishedMilliseconds: Int64 = 15_000
  /// Attempts at a commit or a read that fails because of another relay or a restart of the server,
  /// and the pause before the next attempt.
  @usableFromInline package static let databaseAttempts = 4
  @usableFromInline package static let databasePauseMilliseconds: Int64 = 100
  /// Bytes that one commit writes at once: they are in memory three times during the write.
  @usableFromInline package static let databaseWriteBytes = 16 << 20
  /// Bytes of one notice to the other relays: PostgreSQL accepts less than 8,000.
  @usableFromInline package static let noticeBytes = 7_900
  /// Time for which a device counts as connected to another relay after the last report of that,
  /// whether that relay still runs or not; and the time for which it does while that relay runs.
  /// The first one also is the time for which a relay counts as running after its last check.
  @usableFromInline package static let connectedMilliseconds = 2 * sightingMilliseconds + 10_000
  @usableFromInline package static let trustedReportMilliseconds =
    2 * Int64(sightingParts) * sightingMilliseconds + connectedMilliseconds
  /// Delay after which a failed store, of whatever kind, is tried again, and the retry delay given
  /// to devices.
  @usableFromInline package static let storeProbeMilliseconds: Int64 = 2_000
  /// Interval at which a relay that shares its store checks for changes that other relays made to
  /// its devices' accounts while a lost notice would not be noticed, and after one was; the
  /// interval while it would be; and the number of accounts in one query.
  @usableFromInline package static let versionCheckMilliseconds: Int64 = 3_000
  @usableFromInline package static let reliableVersionCheckMilliseconds: Int64 = 60_000
  @usableFromInline package static let versionCheckAccounts = 1_000
  /// Number of checks at the longer interval in which all accounts have their turn, and the number
  /// of accounts that each check includes at least.
  @usableFromInline package static let reliableVersionCheckParts = 30
  @usableFromInline package static let reliableVersionCheckAccounts = 100
  /// Interval of a relay's beats on the bus, the time between a notice and the beat after it, and
  /// the silence after which the relay counts as stopped.
  @usableFromInline package static let beatMilliseconds: Int64 = 4_000
  @usableFromInline package static let noticeBeatMilliseconds: Int64 = 1_000
  @usableFromInline package static let silentLineMilliseconds: Int64 = 5_500
  /// Longest wait, when a relay starts, for a notice of its own.
  @usableFromInline package static let busProbeMilliseconds: Int64 = 3_000
  /// Time for which a relay of an older version counts as there after a notice of it.
  @usableFromInline package static let unnumberedMilliseconds: Int64 = 600_000
  /// Time for which a relay that has checked its accounts counts as running: longer than the
  /// interval of its checks.
  @usableFromInline package static let seenRelayMilliseconds: Int64 = 90_000
  /// Longest wait for the database to take notices.
  @usableFromInline package static let busSendMilliseconds: Int64 = 5_000
  /// Time after which a relay that does not check its accounts is forgotten.
  @usableFromInline package static let deadRelayMilliseconds: Int64 = 300_000
  /// Accounts without connections here that a node still listens to, and changes that wait to be
  /// sent to other relays.
  @usableFromInline package static let formerAccounts = 10_000
  @usableFromInline package static let waitingNotices = 10_000
  /// Relays on one store whose notices are followed.
  @usableFromInline package static let lines = 1_000
  /// Notices that one wait returns at most; the rest stay in the connection.
  @usableFromInline package static let noticesAtOnce = 10_000
  /// Accounts that are read and written at once when all of them begin a new generation.
  @usableFromInline package static let restoredAccounts = 1_000
  /// Number of checks, a tenth of a second apart, in which a move waits for relays to disconnect
  /// from its database.
  @usableFromInline package static let disconnectChecks = 10
  /// Age in milliseconds from which a complete file that no account owns is listed for removal.
  /// Another relay may have just received a younger file and not yet recorded its owner.
  @usableFromInline package static let strayFileMilliseconds: Int64 = 3_600_000
}

/// Protection of a relay from unknown clients and from mistakes of its owner.
extension Limits {
  /// Guesses at pairing codes that one node remembers. Beyond it the oldest are forgotten before
  /// their minute is over; that takes thousands of networks.
  @usableFromInline package static let countedGuesses = 1 << 16
  /// Shortest interval between two checks that the files of an open store still have their names.
  /// Saves in between are answered as saved.
  @usableFromInline package static let storeFileCheckMilliseconds: Int64 = 1_000
  /// Time for which a key seals the tickets of TLS sessions; it opens them for as long again. A
  /// ticket is valid for two hours.
  @usableFromInline package static let ticketKeyMilliseconds: Int64 = 6 * 3_600_000
}

/// Limits of moving a store to another place.
extension Limits {
  /// Rows of one table that are read from one store and written to the other at once. A portion
  /// also ends with the row that brings it to `movedBytes`.
  @usableFromInline package static let movedRows = 1_000
  @usableFromInline package static let movedBytes = 8 << 20
  /// Records that are read from a database at once; each may have `recordBytes`.
  @usableFromInline package static let movedRecords = 64
  /// Time for which an account stays frozen after its mover was killed, and attempts of a mover
  /// that was suspended for longer.
  @usableFromInline package static let moveLeaseMilliseconds: Int64 = 30_000
  @usableFromInline package static let moveAttempts = 5
}

/// Limits of a device whose network path to the relay refuses large or long requests.
extension Limits {
  /// Request size in bytes that every hop between a device and its relay accepts. If such a request
  /// is refused for its size, it is treated as an ordinary outage.
  @usableFromInline package static let smallRequestBytes = 8 << 10
  /// Shortest long-poll that a device asks for. A long-poll that is cut is halved, but not below
  /// this: a request every few seconds costs more than a change that comes late.
  @usableFromInline package static let shortestLongPollMilliseconds: Int64 = 6_000
}
