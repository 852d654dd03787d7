/**
 * All limits of the client, each with its unit and its reason; those of names and fields are in
 * `model`. If the relay has the same limit, the value is the relay's (`GET /v1/limits`).
 */
export const limits = Object.freeze({
  /** Records in one batch, and its bytes as JSON. */
  batchRecords: 400,
  batchBytes: 2 << 20,
  /** Size in bytes of a request that every intermediary accepts: if it is refused for its size
   * anyway, that counts as an outage. */
  smallRequestBytes: 8 << 10,
  /** Records, and bytes, that a restored relay has lost and that are moved into the outbox at
   * once. */
  pageRecords: 1_000,
  pageBytes: 2 << 20,
  /** Records in the outbox, and bytes of their fields, bases included: a page holds them in
   * memory. */
  outboxRecords: 20_000,
  outboxBytes: 32 << 20,
  /** Devices of an account; the relay's own limit is not greater. */
  accountDevices: 100,
  /** Devices of the account whose names are stored for use without a connection. */
  knownDevices: 100,
  /** Zones in a device's scope. */
  scopeZones: 16,
  /** Seconds for which a pairing code may be valid: from the time to type it, to the relay's own
   * lifetime of a code. */
  pairingSecondsMin: 10,
  pairingSecondsMax: 600,
  /** Times that a person may type the second half of a code: typing errors, and no more. */
  secretTries: 5,
  /** Edits of one call of `change`. */
  editsOfOneChange: 400,
  /** Due edits in one transaction, if one leads to the next. */
  dueEdits: 100,
  /** Members of one object to which due edits add. */
  dueAdditions: 1_000,
  /** Copies of one merge, if copies conflict with other records of the same name. */
  copiesOfOneMerge: 16,
  /** Parked and undecided records that a status lists; further ones are only counted. */
  statusRecords: 100,
  /** Pages and answers that wait to be applied; pages beyond it are fetched again. */
  waitingArrivals: 256,
  /** Versions of a record that a device remembers as replaced by the one that it holds. */
  ancestors: 8,
  /** Ids that a change in a sealed zone has had as a version, of which it remembers the newest. */
  givenIds: 8,
  /** Lost versions that a record names as included. */
  includes: 8,
  /** Records of sealed zones that are listed as unreadable; of further ones only their presence is
   * known. */
  unreadableRecords: 1_000,
  /** Cursors that a relay may refuse one after the other before the device waits: a restore costs
   * two, if the relay reports how far it went back only for an earlier one. */
  lostCursors: 3,
  /** Records that a device saves again at once, sealed with newer keys, and the pause before
   * that. */
  resealRecords: 8,
  resealMilliseconds: 1_000,
  /** Zones whose derived keys a device keeps in memory. */
  zoneSealsKept: 1_000,
  /** Names at the relay, of records of sealed zones, that a device keeps in memory. */
  relayNamesKept: 100_000,
  /** Ranges of lost tags that a device remembers. */
  tagGaps: 1_000,
  /** Change in milliseconds from which a measured clock offset is written to the store. */
  offsetNoteMilliseconds: 500,
  /** Interval at which the time of the last sync is written if there is nothing else to write. */
  syncNoteMilliseconds: 600_000,
  /** Difference between two clocks of one machine from which one of them has jumped. A deadline
   * that is reached later than this means that the page did not run, for example because it was
   * suspended. */
  clockJumpMilliseconds: 1_000,
  /** Time for which a measured relay time is trusted, and the age at which it is measured again. */
  clockTrustMilliseconds: 30 * 60_000,
  clockMeasureMilliseconds: 15 * 60_000,
  /** Measurements on a new socket; the best is used. */
  clockSamples: 4,
  /** Time for which a reconnecting device waits for the changes of others before it lets countdowns
   * in its last known state end. */
  catchUpMilliseconds: 2_000,
  /** One day: no deadline is set further ahead; it is checked again by then. */
  farMilliseconds: 86_400_000,
  pollMilliseconds: 30_000,
  /** Time for which a long-poll asks to be held. One that is cut asks for half as long, but for no
   * less than the shortest: a request every few seconds costs more than a late change. */
  longPollMilliseconds: 50_000,
  shortestLongPollMilliseconds: 6_000,
  /** Time that an answer to a long-poll may take beyond its wait. */
  longPollMarginMilliseconds: 10_000,
  /** Ceilings of the backoff with full jitter: first and maximum. */
  backoffFirstMilliseconds: 500,
  backoffMilliseconds: 30_000,
  /** Longest period over which a relay may make its devices reconnect. */
  reconnectObeyedMilliseconds: 300_000,
  /** The longest `Retry-After` that a device obeys. */
  retryAfterMilliseconds: 3_600_000,
  /** Addresses to which a device follows its account at once, without being served by any. */
  relayFollows: 5,
  connectMilliseconds: 10_000,
  /** Timeout from an open socket to its welcome. */
  helloMilliseconds: 5_000,
  /** Timeout for the answer to a save, a fetch or a call. */
  answerMilliseconds: 15_000,
  /** Keep-alive interval of the relay: the default, and the bounds of a value that it sends. */
  keepAliveMilliseconds: 25_000,
  keepAliveFloorMilliseconds: 1_000,
  keepAliveCeilingMilliseconds: 300_000,
  /** Silence after which a stream of events is closed, if the relay does not give its keep-alive
   * interval. */
  streamSilenceMilliseconds: 75_000,
  /** Delay from a fallback to a worse transport to the next attempt at a better one: first and
   * maximum. */
  probeFirstMilliseconds: 60_000,
  probeMilliseconds: 30 * 60_000,
  /** Delay after which a zone that the plan does not include is tried again. */
  planRetryMilliseconds: 3_600_000,
  /** Length of the longest message or body that a device accepts: a page with all its names. */
  relayMessageBytes: 8 << 20,
  /** Time for which a device must be in sync before a steady status says so. */
  steadyMilliseconds: 300,
  /** Rounds of exchange after which the devices of a test are said never to agree. */
  worldRounds: 1_000,
  /** Time by which a stamp of a field may be newer than its record's own: more than any clock that
   * a relay accepts is ahead. */
  stampAheadMilliseconds: 86_400_000,
  /** Timeout of a manual sync. */
  syncMilliseconds: 20_000,
  /** Minimum wait after a failure of the store. */
  storeRetryMilliseconds: 1_000,
  /** Jobs on the store, edits included, that wait for their turn. */
  waitingJobs: 1_000,
  /** Without Web Locks: duration of a leading tab's lease, and the interval of its renewal. */
  leaseMilliseconds: 10_000,
  leaseRenewalMilliseconds: 3_000,
  /** Time for which another tab waits for the leading tab before it asks again; number of tries
   * before it takes the lead itself; number of tries before it gives up. */
  orderMilliseconds: 3_000,
  silencesToLead: 3,
  orderTries: 8,
  /** Orders of other tabs that are being performed. */
  runningOrders: 64,
  /** Orders of other tabs that are remembered, so that a repeated order is performed once. */
  rememberedOrders: 64,
  /** Changed records in one message between tabs; if there are more, the other tabs read the
   * store. */
  broadcastRecords: 200,
  /** Tries of a change that must be made again because another tab changed the record meanwhile. */
  changeTries: 8,
  /** Bytes of a chunk of a file; the relay takes no larger one. */
  chunkBytes: 4 << 20,
  /** Largest file that is sent or read, in bytes: the browser keeps the content of a downloaded one
   * until the page has it whole. */
  fileBytes: 256 << 20,
  /** Bytes of a file that are read, and sealed bytes that are kept, at once. */
  fileReadBytes: 8 << 20,
  fileAheadBytes: 8 << 20,
  /** Chunks that are asked about at once, and that are sent or fetched at a time. */
  chunksAsked: 256,
  chunksAtOnce: 2,
  /** Time for one chunk, on a slow connection, and the number of tries. */
  chunkMilliseconds: 300_000,
  chunkTries: 4,
  /** Time for which another version of this page may block the opening of the store. */
  openMilliseconds: 10_000,
});
