import LockstepModel
import LockstepStorage

/// One commit: a batch of requests as one transaction.
///
/// First the rows of all accounts of the batch are locked, in the order of their ids, so that
/// relays cannot deadlock. A relay that holds these locks waits for no other lock: its writes to
/// rows of other accounts (forgetting, collecting, sightings) skip locked rows. So the order of an
/// account's saves is the order in which relays lock its row.
///
/// A batch of saves of any size takes 2 round trips:
///
///     BEGIN · lock the accounts · what the plans must know of devices, batches, records, chunks
///     what conflicts show · the records · counts · heads · forgetting · the notice · COMMIT
///
/// In between, everything is decided in memory, from the rows read and from the changes of earlier
/// requests of the batch. Other requests, which are rare, read their data in an additional round
/// trip. Statements without a result wait in `writes` and are sent with the next round trip. A
/// batch that needs no account's row takes one round trip.
final class CommitRun {
  let connection: PostgresConnection
  let rules: StoreRules
  let wall: Int64
  /// Number that identifies this relay's notices.
  let relay: UInt64
  let accounts: LockedAccounts
  let saves: SaveBatchPlanner
  /// Number of membership changes by account, for the other relays.
  private(set) var membershipVersion: [AccountID: Int64] = [:]
  private var writes = PostgresPipeline()
  private var results: [CommitResult?]
  /// Saves whose answers need rows that come back with `writes`.
  private var waiting: [(saves: [PlannedSave], step: Int)] = []
  private var patience = Limits.databaseAnswerMilliseconds

  init(
    _ requests: [CommitRequest], on connection: PostgresConnection, rules: StoreRules, wall: Int64,
    relay: UInt64
  ) {
    self.connection = connection
    self.rules = rules
    self.wall = wall
    self.relay = relay
    accounts = LockedAccounts()
    saves = SaveBatchPlanner(wall: wall, lease: rules.chunkLeaseMilliseconds)
    results = Array(repeating: nil, count: requests.count)
  }

  /// Performs all requests.
  func perform(_ requests: [CommitRequest]) throws(PostgresFault) -> [CommitResult] {
    try begin(requests)
    for (index, request) in requests.enumerated() {
      if request.needsSaveLookup, !saves.isReady { try loadSaveLookup(for: requests[index...]) }
      if case .save(let commit) = request {
        try take(commit, at: index)
      } else {
        results[index] = try answer(request)
      }
    }
    try finish(forgetting: requests.reduce(0) { $0 + $1.forgets })
    let answered = results.compactMap { $0 }
    precondition(answered.count == requests.count, "a request was not answered")
    return answered
  }

  // MARK: Helpers for requests

  private func answer(_ request: CommitRequest) throws(PostgresFault) -> CommitResult {
    switch request {
    case .createAccount(let id, let generation, let label, let device, let pairing):
      try createAccount(
        id, generation: generation, label: label, device: device, pairing: pairing)
    case .issuePairing(let id, let pairing): try issue(pairing, for: id)
    case .redeemPairing(let codeHash, let device): try redeem(codeHash, for: device)
    case .renameDevice(let id, let device, let name): rename(device, of: id, to: name)
    case .revokeDevice(let id, let device): revoke(device, of: id)
    case .touchDevices(let sightings): touch(sightings)
    case .checkWritable: checkWritable()
    case .save: preconditionFailure("saves are decided together")
    case .setPlan(let id, let plan): setPlan(plan, of: id)
    case .putSubscription(let id, let device, let subscription):
      try put(subscription, for: device, of: id)
    case .removeSubscription(let id, let device, let name):
      try removeSubscription(name, for: device, of: id)
    case .removeAccount(let id): try removeAccount(id)
    case .addChunk(let id, let hash, let file, let bytes):
      addChunk(hash, of: id, file: file, bytes: bytes)
    case .renewChunks(let id, let hashes): renewChunks(hashes, of: id)
    case .confirmChunks(let files): doubt(files, false)
    case .markChunksMissing(let files): doubt(files, true)
    case .collectChunks(let count): try collectChunks(atMost: count)
    case .deleteZone(let id, let device, let zone, let through):
      try deleteZone(zone, through: through, by: device, of: id)
    case .deleteZoneRest(let id, let device, let zone, let portion):
      try delete(portion, of: zone, by: device, of: id)
    }
  }

  private func checkWritable() -> CommitResult {
    write(StoreOpening.rewrite, PostgresParameters())
    return .done
  }

  /// Queues a statement without a result; it is sent with the next round trip.
  func write(_ statement: PostgresStatement, _ parameters: PostgresParameters) {
    writes.add(statement, parameters)
  }

  /// Sends all queued statements and those that `fill` adds. Returns the rows of the latter.
  func ask(
    _ fill: (inout PostgresPipeline) -> Void
  ) throws(PostgresFault) -> [PostgresRows] {
    flushPlannedSaves()
    let first = writes.steps.count
    fill(&writes)
    return Array(try send().dropFirst(first))
  }

  /// Discards the rows that were read for saves, because they are no longer valid.
  func readAnew() {
    flushPlannedSaves()
    saves.forget()
  }

  func note(affairsOf account: AccountID) { membershipVersion[account, default: 0] += 1 }

  /// Raises the timeouts for the rest of the commit: a whole account is scanned.
  func allowTime() {
    writes.add(PostgresSession.long)
    patience = Limits.removalMilliseconds
  }

  // MARK: Steps of a commit

  private func begin(_ requests: [CommitRequest]) throws(PostgresFault) {
    writes.add(.begin)
    guard let asked = accounts.question(about: requests) else { return }
    let places = asked.map { writes.add($0.statement, $0.parameters) }
    let first = writes.steps.count
    let isDeskRead = requests.contains(where: \.needsSaveLookup)
    if isDeskRead { saves.ask(for: requests[...], in: &writes) }
    let rows = try send()
    accounts.learn(from: places.map { rows[$0] })
    if isDeskRead { try saves.learn(from: rows[first...]) }
  }

  private func loadSaveLookup(for requests: ArraySlice<CommitRequest>) throws(PostgresFault) {
    let first = writes.steps.count
    saves.ask(for: requests, in: &writes)
    try saves.learn(from: try send()[first...])
  }

  private func take(_ commit: SaveCommit, at index: Int) throws(PostgresFault) {
    guard accounts.isMember(commit.device, of: commit.account),
      let account = accounts[commit.account]
    else {
      results[index] = .refused(StoreRefusals.revokedDevice)
      return
    }
    if let gap = try lostBase(of: commit, account.head) {
      results[index] = .refused(account.head.restored(from: gap))
      return
    }
    let entered = accounts.entering(account.head, of: commit.account)
    let room = account.plan.room(beside: account.use, rules)
    switch saves.plan(commit, at: index, since: account.head, entered: entered, room: room) {
    case .answered(let result): results[index] = result
    case .moved(let reached, let growth):
      accounts.advance(commit.account, to: reached)
      accounts.grow(commit.account, by: growth)
    }
    guard saves.bytes > Limits.databaseWriteBytes else { return }
    readAnew()
    _ = try send()
  }

  /// Returns the gap that contains the base tag of a conflict: a tag that was never assigned.
  private func lostBase(
    of commit: SaveCommit, _ head: AccountHead
  ) throws(PostgresFault) -> TagGap? {
    for tag in saves.conflictingBases(of: commit)
    where tag <= head.rangeStart || tag > head.newest {
      let token = ChangeToken(generation: 0, sequence: tag)
      let ground = try findGround(of: token, of: commit.account)
      let gap = head.gap(of: token, in: accounts.run ?? head.run, find: ground.gap)
      if let gap { return gap }
    }
    return nil
  }

  /// Turns the planned saves into queued statements.
  private func flushPlannedSaves() {
    let first = writes.steps.count
    let planned = saves.settle(in: &writes)
    if !planned.isEmpty { waiting.append((planned, first)) }
  }

  private func finish(forgetting count: Int) throws(PostgresFault) {
    flushPlannedSaves()
    let moved = accounts.moved
    let concerned = membershipVersion.filter { accounts[$0.key] != nil }.sorted { $0.key < $1.key }
    let all = Set(moved.map(\.account) + concerned.map(\.key) + accounts.growths.keys).sorted()
    if !all.isEmpty {
      let growths = all.map { accounts.growths[$0] ?? AccountUse() }
      writes.add(
        CommitRun.advance,
        PostgresParameters().bind(all.map(\.rawValue))
          .bind(all.map { accounts[$0]?.head.newest ?? 0 }).bind(
            all.map { membershipVersion[$0] ?? 0 }
          )
          .bind(all.map { accounts[$0]?.head.run ?? 0 })
          .bind(all.map { accounts[$0]?.head.rangeStart ?? 0 })
          .bind(growths.map(\.bytes)).bind(growths.map(\.records)).bind(growths.map(\.batches)))
    }
    if !accounts.gaps.isEmpty {
      writes.add(
        CommitRun.passOver,
        PostgresParameters().bind(accounts.gaps.map(\.account.rawValue))
          .bind(accounts.gaps.map(\.gap.after)).bind(accounts.gaps.map(\.gap.through)))
      writes.add(
        CommitRun.forgetGaps,
        PostgresParameters().bind(accounts.gaps.map(\.account.rawValue))
          .bind(Int64(Limits.tagGaps)))
    }
    Forgetting.add(count, rules: rules, wall: wall, to: &writes)
    let commit = writes.add(.commit)
    let notices = BusPayload(
      relay: relay, moved: moved,
      membershipVersion: membershipVersion.filter { $0.value > 0 }.map(\.key).sorted())
    for text in notices.texts {
      writes.add(
        CommitRun.notify,
        PostgresParameters().bind(BusPayload.channel(of: connection.schema)).bind(text))
    }
    let rows = try send(commit: commit)
    guard rows[commit].command == "COMMIT" else {
      throw PostgresFault(
        cause: .refused(state: "40001"), message: "the transaction was rolled back instead")
    }
  }

  /// Sends all queued statements in one round trip.
  private func send(commit: Int? = nil) throws(PostgresFault) -> [PostgresRows] {
    let pipeline = writes
    writes = PostgresPipeline()
    let rows = try connection.run(pipeline, within: patience, commit: commit)
    for (planned, step) in waiting {
      let shown = try SaveBatchPlanner.shown(rows[step])
      for save in planned { results[save.index] = .saved(save.outcome(showing: shown)) }
    }
    waiting = []
    return rows
  }

  // MARK: Statements

  private static let advance = PostgresStatement(
    "advance",
    """
    UPDATE accounts SET newest = next.newest, affairs = accounts.affairs + next.affairs,
      run = next.run, range_start = next.range_start, record_bytes = record_bytes + next.bytes,
      record_count = record_count + next.records, batch_count = batch_count + next.batches
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[],
        $6::bigint[], $7::bigint[], $8::bigint[])
      AS next (account, newest, affairs, run, range_start, bytes, records, batches)
    WHERE accounts.account = next.account
    """)
  private static let passOver = PostgresStatement(
    "pass over",
    """
    INSERT INTO gaps (account, after_tag, through_tag)
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[])
    """)
  private static let forgetGaps = PostgresStatement(
    "forget gaps",
    """
    DELETE FROM gaps USING unnest($1::bigint[]) AS asked (account)
    WHERE gaps.account = asked.account AND through_tag <= (
      SELECT through_tag FROM gaps AS kept WHERE kept.account = asked.account
      ORDER BY through_tag DESC OFFSET $2::bigint LIMIT 1)
    """)
  /// Separate transaction after the commit, in the same round trip and not synced. NOTIFY holds a
  /// lock of the whole server until its transaction ends, so within the commit the relays would
  /// wait for the disk one after the other. If a crash loses the notice, or a full queue rejects
  /// it, other relays find the change by polling.
  private static let notify = PostgresStatement(
    "notify",
    "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1::text, $2::text) IS NULL")
}
