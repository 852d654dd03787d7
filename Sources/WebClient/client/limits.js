/**
 * Every ceiling of the client, once, with its unit and its reason; those of names and fields are in
 * `changes`. Where the relay has the same limit, it is the relay's number (`GET /v1/limits`).
 */
export const limits = Object.freeze({
  /** Records in one batch, and bytes of it as JSON. */
  batchRecords: 400,
  batchBytes: 2 << 20,
  /** A request of up to this size, in bytes, is too large for nobody between a device and its
   * relay: where it is refused for its size all the same, that is an outage like any other. */
  smallRequestBytes: 8 << 10,
  /** Records of a restored relay's loss that go into the outbox at once. */
  pageRecords: 1_000,
  pageBytes: 2 << 20,
  /** Records that wait in the outbox, and bytes of their fields, bases included: a page holds them
   * in memory. */
  outboxRecords: 20_000,
  outboxBytes: 32 << 20,
  /** Devices of the account whose names are kept for when there is no connection. */
  notedDevices: 100,
  /** Edits that one call of `change` may make. */
  editsOfOneChange: 400,
  /** Edits that time makes with one step, where one leads to the next. */
  dueEdits: 100,
  /** Copies that one merge may lead to, where copies meet others under their name. */
  copiesOfOneMerge: 16,
  /** Parked and undecided records that a status names; beyond it they are counted. */
  statusRecords: 100,
  /** Pages and answers that wait to be applied; beyond it pages are fetched again. */
  waitingArrivals: 256,
  /** Ranges of tags of which a device remembers that the relay has lost them. */
  tagGaps: 1_000,
  /** A measured offset is written down when it moved by this much, in milliseconds. */
  offsetNoteMilliseconds: 500,
  /** The time of the last sync is written down at least this often. */
  syncNoteMilliseconds: 600_000,
  /** Two clocks of one machine that part by more than this: one has jumped. Where a deadline is
   * reached later than this, the page had no turn, as when it was suspended. */
  clockJumpMilliseconds: 1_000,
  /** How long a measured relay time is trusted, and when it is measured again before that. */
  clockTrustMilliseconds: 30 * 60_000,
  clockMeasureMilliseconds: 15 * 60_000,
  /** Measurements of a new socket, of which the best is taken. */
  clockSamples: 4,
  /** How long a device that comes back waits for what others did meanwhile, before it lets what it
   * last knew run out. */
  catchUpMilliseconds: 2_000,
  /** A deadline further ahead than this, a day, is looked at again by then. */
  farMilliseconds: 86_400_000,
  pollMilliseconds: 30_000,
  /** For how long a long-poll asks to be held. One that is cut asks for half as long, and not for
   * less than the shortest: a request every few seconds is dearer than a change that comes late. */
  longPollMilliseconds: 50_000,
  shortestLongPollMilliseconds: 6_000,
  /** What an answer to a long-poll may take beyond its wait. */
  longPollMarginMilliseconds: 10_000,
  /** First and greatest ceiling of the backoff with full jitter. */
  backoffFirstMilliseconds: 500,
  backoffMilliseconds: 30_000,
  /** The longest span over which a relay may have its devices come back. */
  reconnectObeyedMilliseconds: 300_000,
  /** The longest `Retry-After` that is obeyed. */
  retryAfterMilliseconds: 3_600_000,
  connectMilliseconds: 10_000,
  /** From an open socket to its welcome. */
  helloMilliseconds: 5_000,
  /** Waiting for the answer to a save, a fetch or a call. */
  answerMilliseconds: 15_000,
  /** What a relay says of its heartbeat is taken between these. */
  keepAliveMilliseconds: 25_000,
  keepAliveFloorMilliseconds: 1_000,
  keepAliveCeilingMilliseconds: 300_000,
  /** Silence after which a stream of events is given up, where the relay does not say how often it
   * speaks. */
  streamSilenceMilliseconds: 75_000,
  /** From leaving a rung of the ladder to trying it again: first, and at most. */
  probeFirstMilliseconds: 60_000,
  probeMilliseconds: 30 * 60_000,
  /** A zone that the plan does not include is tried again by itself after this long. */
  planRetryMilliseconds: 3_600_000,
  /** The longest message or body that is taken: a page with all its names. */
  relayMessageBytes: 8 << 20,
  /** How long a manual sync may take. */
  syncMilliseconds: 20_000,
  /** So long a store that failed is left alone at least. */
  storeRetryMilliseconds: 1_000,
  /** Steps of the store, edits included, that wait for their turn. */
  waitingJobs: 1_000,
  /** Without Web Locks: how long a tab leads without saying so again, and how often it says so. */
  leaseMilliseconds: 10_000,
  leaseRenewalMilliseconds: 3_000,
  /** How long another tab waits for the leading one before it asks again, and how often it does
   * before it takes the lead itself, and before it gives up. */
  orderMilliseconds: 3_000,
  silencesToLead: 3,
  orderTries: 8,
  /** Orders of other tabs that are being carried out. */
  runningOrders: 64,
  /** Orders of other tabs that are remembered, so that one asked twice is carried out once. */
  rememberedOrders: 64,
  /** Changes in one message between tabs; of more the others read the store. */
  broadcastRecords: 200,
  /** How often a change is made anew because another tab changed the record meanwhile. */
  changeTries: 8,
  /** How long another version of this page may keep the store from being opened. */
  openMilliseconds: 10_000,
});
