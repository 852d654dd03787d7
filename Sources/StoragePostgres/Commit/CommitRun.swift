import LockstepModel
import LockstepStorage

/// One commit: a batch of requests as one transaction.
///
/// First the rows of all accounts of the batch are locked, in the order of their ids, so that
/// relays cannot deadlock; then those of devices that have registered for wakes (`LockedWakes`). A
/// relay that holds these locks waits for no other lock: its writes to rows of other accounts
/// (forgetting, collecting, sightings, claims of wakes) skip locked rows. So the order of an
/// account's saves is the order in which relays lock its row.
///
/// A batch of saves of any size takes 2 round trips:
///
///     BEGIN · lock the accounts · look up devices, batches, records and chunks of the saves
///     records in conflict · the records · counts · heads · pruning · COMMIT · the listeners
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
  /// True if the relay's bus announces the commit; otherwise it announces itself to all relays.
  let hasBus: Bool
  /// The changes to announce, once it is committed.
  private(set) var notices: [CommitNotice] = []
  /// Accounts among these with registrations for wakes.
  private(set) var sleeping: [AccountID] = []
  /// True if the database knows this relay as one that listens; nil if it was not asked.
  private(set) var isRegistered: Bool?
  let accounts: LockedAccounts
  let wakes: LockedWakes
  let saves: SaveBatchPlanner
  /// Number of membership changes by account, for the other relays.
  private(set) var membershipChanges: [AccountID: Int64] = [:]
  private var writes = PostgresPipeline()
  private var results: [CommitResult?]
  /// Saves whose answers need rows that come back with `writes`.
  private var waiting: [(saves: [PlannedSave], step: Int)] = []
  private var timeoutMilliseconds = Limits.databaseAnswerMilliseconds
  /// Accounts of saves that are answered from the rows. Their rows are written as they are: a
  /// commit that writes nothing waits for no standby, and the rows may be newer than every standby
  /// after a crash of the server.
  private var confirmed: Set<AccountID> = []

  init(
    _ requests: [CommitRequest], on connection: PostgresConnection, rules: StoreRules, wall: Int64,
    relay: UInt64, hasBus: Bool
  ) {
    self.hasBus = hasBus
    self.connection = connection
    self.rules = rules
    self.wall = wall
    self.relay = relay
    accounts = LockedAccounts()
    wakes = LockedWakes()
    saves = SaveBatchPlanner(wall: wall, lease: rules.chunkLeaseMilliseconds)
    results = Array(repeating: nil, count: requests.count)
  }

  /// Performs all requests.
  func perform(_ requests: [CommitRequest]) throws(PostgresFault) -> [CommitResult] {
    try begin(requests)
    for (index, request) in requests.enumerated() {
      if request.needsSaveLookup, !saves.isReady { try loadSaveLookup(for: requests[index...]) }
      if let refusal = request.resident.flatMap(accounts.absence) {
        results[index] = .refused(refusal)
      } else if case .save(let commit) = request {
        try planSave(commit, at: index)
      } else {
        results[index] = try performRequest(request)
      }
    }
    try finish(pruning: requests.reduce(0) { $0 + $1.prunedRows })
    let answered = results.compactMap { $0 }
    precondition(answered.count == requests.count, "a request was not answered")
    return answered
  }

  // MARK: Helpers for requests

  private func performRequest(_ request: CommitRequest) throws(PostgresFault) -> CommitResult {
    switch request {
    case .createAccount(let id, let generation, let label, let device, let pairing):
      try createAccount(
        id, generation: generation, label: label, device: device, pairing: pairing)
    case .issuePairing(let id, let pairing): try issuePairing(pairing, for: id)
    case .redeemPairing(let codeHash, let device): try redeemPairing(codeHash, for: device)
    case .renameDevice(let id, let device, let name): renameDevice(device, of: id, to: name)
    case .revokeDevice(let id, let device): revokeDevice(device, of: id)
    case .touchDevices(let sightings): touchDevices(sightings)
    case .checkWritable: checkWritable()
    case .save: preconditionFailure("saves are decided together")
    case .setPlan(let id, let plan): setPlan(plan, of: id)
    case .putSubscription(let id, let device, let subscription):
      try putSubscription(subscription, for: device, of: id)
    case .removeSubscription(let id, let device, let name):
      try removeSubscription(name, for: device, of: id)
    case .removeAccount(let id): try removeAccount(id)
    case .addChunk(let id, let hash, let file, let bytes):
      addChunk(hash, of: id, file: file, bytes: bytes)
    case .renewChunks(let id, let hashes): renewChunks(hashes, of: id)
    case .confirmChunks(let files): setUnverified(files, false)
    case .markChunksMissing(let files): setUnverified(files, true)
    case .collectChunks(let count): try collectChunks(atMost: count)
    case .deleteZone(let id, let device, let zone, let through):
      try deleteZone(zone, through: through, by: device, of: id)
    case .deleteZoneRest(let id, let device, let zone, let portion):
      try deletePortion(portion, of: zone, by: device, of: id)
    case .putWake(let id, let device, let registration, let keyMadeAt, let codeHash):
      putWake(
        registration, for: SleeperID(account: id, device: device), keyMadeAt: keyMadeAt,
        codeHash: codeHash)
    case .removeWake(let id, let device, let name):
      removeWake(name, of: SleeperID(account: id, device: device))
    case .verifyWake(let id, let device, let name, let codeHash):
      verifyWake(name, of: SleeperID(account: id, device: device), codeHash: codeHash)
    case .claimWakes(let ids, let keys): try claimWakes(ids, keys: keys)
    case .reportWakes(let reports): reportWakes(reports)
    case .addWakeKey(let key, let onlyFirst): try addWakeKey(key, onlyFirst: onlyFirst)
    case .move(let step): try move(step)
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
  func query(
    _ fill: (inout PostgresPipeline) -> Void
  ) throws(PostgresFault) -> [PostgresRows] {
    flushPlannedSaves()
    let first = writes.steps.count
    fill(&writes)
    return Array(try send().dropFirst(first))
  }

  /// Discards the rows that were read for saves, because they are no longer valid.
  func discardLookup() {
    flushPlannedSaves()
    saves.discardLookup()
  }

  func recordMembershipChange(of account: AccountID) { membershipChanges[account, default: 0] += 1 }

  /// Raises the timeouts for the rest of the commit: a whole account is scanned.
  func allowTime() {
    writes.add(PostgresSession.long)
    timeoutMilliseconds = Limits.removalMilliseconds
  }

  // MARK: Steps of a commit

  private func begin(_ requests: [CommitRequest]) throws(PostgresFault) {
    writes.add(.begin)
    let steps = accounts.lockStatements(for: requests)?
      .map { writes.add($0.statement, $0.parameters) }
    let wakeStep = wakes.lockParameters(for: requests).map { writes.add(LockedWakes.lock, $0) }
    if requests.contains(where: \.addsWakeKey) { writes.add(WakeWriter.lockKeys) }
    if requests.contains(where: \.addsLabel) { writes.add(AccountWriter.lockLabels) }
    guard steps != nil || wakeStep != nil else { return }
    let first = writes.steps.count
    let needsLookup = requests.contains(where: \.needsSaveLookup)
    if needsLookup { saves.addLookup(for: requests[...], in: &writes) }
    let rows = try send()
    if let steps { accounts.readLookup(from: steps.map { rows[$0] }) }
    if let wakeStep { try wakes.read(rows[wakeStep]) }
    if needsLookup { try saves.readLookup(from: rows[first...]) }
    var absentees: Set<AccountID> = []
    for request in requests {
      if let id = request.resident, accounts[id] == nil { absentees.insert(id) }
    }
    if !absentees.isEmpty { accounts.setDepartures(try departures(of: absentees.sorted())) }
  }

  private func loadSaveLookup(for requests: ArraySlice<CommitRequest>) throws(PostgresFault) {
    let first = writes.steps.count
    saves.addLookup(for: requests, in: &writes)
    try saves.readLookup(from: try send()[first...])
  }

  private func planSave(_ commit: SaveCommit, at index: Int) throws(PostgresFault) {
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
    let available = account.plan.remainingSpace(beside: account.use, rules)
    let decision = saves.plan(
      commit, at: index, since: account.head, entered: entered, available: available)
    switch decision {
    case .answered(let result): results[index] = result
    case .moved(let reached, let growth):
      if reached.newest == account.head.newest { confirmed.insert(commit.account) }
      accounts.advance(commit.account, to: reached)
      accounts.grow(commit.account, by: growth)
    }
    guard saves.bytes > Limits.databaseWriteBytes else { return }
    discardLookup()
    _ = try send()
  }

  /// Returns the gap that contains the base tag of a conflict: a tag that was never assigned.
  private func lostBase(
    of commit: SaveCommit, _ head: AccountHead
  ) throws(PostgresFault) -> TagGap? {
    for tag in saves.conflictingBases(of: commit)
    where tag <= head.rangeStart || tag > head.newest {
      let token = ChangeToken(generation: 0, sequence: tag)
      let tokenRange = try findTokenRange(of: token, of: commit.account)
      let gap = head.gap(of: token, in: accounts.run ?? head.run, find: tokenRange.gap)
      if let gap { return gap }
    }
    return nil
  }

  /// Turns the planned saves into queued statements.
  private func flushPlannedSaves() {
    let first = writes.steps.count
    let planned = saves.addWrites(to: &writes)
    if !planned.isEmpty { waiting.append((planned, first)) }
  }

  private func finish(pruning count: Int) throws(PostgresFault) {
    flushPlannedSaves()
    let moved = accounts.moved
    let concerned = membershipChanges.filter { accounts[$0.key] != nil }.sorted { $0.key < $1.key }
    let all = Set(moved.map(\.account) + concerned.map(\.key) + accounts.growths.keys)
      .union(confirmed).sorted()
    if !all.isEmpty {
      let growths = all.map { accounts.growths[$0] ?? AccountUse() }
      writes.add(
        CommitRun.advance,
        PostgresParameters().bind(all.map(\.rawValue))
          .bind(all.map { accounts[$0]?.head.newest ?? 0 }).bind(
            all.map { membershipChanges[$0] ?? 0 }
          )
          .bind(all.map { accounts[$0]?.head.run ?? 0 })
          .bind(all.map { accounts[$0]?.head.rangeStart ?? 0 })
          .bind(growths.map(\.bytes)).bind(growths.map(\.records)).bind(growths.map(\.batches)))
    }
    if !accounts.gaps.isEmpty {
      writes.add(
        CommitRun.insertGaps,
        PostgresParameters().bind(accounts.gaps.map(\.account.rawValue))
          .bind(accounts.gaps.map(\.gap.after)).bind(accounts.gaps.map(\.gap.through)))
      writes.add(
        CommitRun.forgetGaps,
        PostgresParameters().bind(accounts.gaps.map(\.account.rawValue))
          .bind(Int64(Limits.tagGaps)))
    }
    Forgetting.add(count, rules: rules, wall: wall, to: &writes)
    let commit = writes.add(.commit)
    let changes = BusPayload(
      relay: relay, moved: moved,
      membershipChanges: membershipChanges.filter { $0.value > 0 }.map(\.key).sorted()
    ).changes
    let step = changes.isEmpty ? nil : announce(changes)
    let rows = try send(commit: commit)
    guard rows[commit].command == "COMMIT" else {
      throw PostgresFault(
        cause: .refused(state: "40001"), message: "the transaction was rolled back instead")
    }
    guard hasBus else { return }
    readListeners(step.flatMap { rows.indices.contains($0) ? rows[$0] : nil }, of: changes)
  }

  /// Adds what follows the commit: the announcement itself, or the lookup of its receivers.
  private func announce(_ changes: [BusPayload.Change]) -> Int? {
    if hasBus {
      return ListenerQueries.find(changes.map(\.account), besides: relay, in: &writes)
    }
    let (statement, parameters) = PostgresBus.notices(
      BusPayload(relay: relay, changes).texts(after: 0), to: connection.schema)
    writes.add(statement, parameters)
    writes.add(ListenerQueries.recordCommand)
    return nil
  }

  /// `rows`: nil if they could not be read after the commit.
  private func readListeners(_ rows: PostgresRows?, of changes: [BusPayload.Change]) {
    var listeners: [AccountID: [UInt64]] = [:]
    isRegistered = rows.map { _ in false }
    let found = rows?.all { ($0.optionalBits(0), $0.optionalBits(1)) } ?? []
    for row in found {
      switch row {
      case (let account?, let relay?):
        listeners[AccountID(rawValue: account), default: []].append(relay)
      case (let account?, nil): sleeping.append(AccountID(rawValue: account))
      case (nil, _): isRegistered = true
      }
    }
    notices = changes.map { change in
      CommitNotice(change, listeners: rows.map { _ in listeners[change.account] ?? [] })
    }
  }

  /// Sends all queued statements in one round trip.
  private func send(commit: Int? = nil) throws(PostgresFault) -> [PostgresRows] {
    let pipeline = writes
    writes = PostgresPipeline()
    let rows = try connection.run(pipeline, within: timeoutMilliseconds, commit: commit)
    for (planned, step) in waiting {
      let shown = try SaveBatchPlanner.readConflictRecords(rows[step])
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
  private static let insertGaps = PostgresStatement(
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
}

/// Accounts, their plans, devices and pairing codes. Each request is decided in full before its
/// first write, so that a refused request leaves no trace in the shared transaction.
extension CommitRun {
  func createAccount(
    _ id: AccountID, generation: UInt32, label: String, device: NewDevice?, pairing: NewPairing?
  ) throws(PostgresFault) -> CommitResult {
    guard accounts[id] == nil, try isFree(device), try isFree(pairing) else {
      return .refused(StoreRefusals.taken)
    }
    if let holder = try account(labelled: label) {
      return .refused(StoreRefusals.labelTaken(by: holder))
    }
    write(
      AccountWriter.insert,
      PostgresParameters().bind(id.rawValue).bind(Int64(generation)).bind(label).bind(wall)
        .bind(AccountLabel.key(label)))
    accounts.add(id, generation: generation)
    if let device { insertDevice(device, .everything, to: id) }
    if let pairing { insertPairing(pairing, by: id) }
    return .done
  }

  /// Returns an account that has the label, or nil. Only a label without a key is compared with
  /// those of all accounts. `AccountWriter.lockLabels` has locked all labels.
  private func account(labelled label: String) throws(PostgresFault) -> AccountID? {
    guard !label.isEmpty else { return nil }
    let rows: [PostgresRows]
    if let key = AccountLabel.key(label) {
      rows = try query { pipeline in
        pipeline.add(AccountWriter.labelsByKey, PostgresParameters().bind(key))
        pipeline.add(AccountWriter.labelsWithoutKey)
      }
      let missing = rows[1].all { (account: $0.bits(0), key: AccountLabel.key($0.text(1))) }
        .filter { $0.key != nil }.prefix(AccountLabel.addedKeys)
      if !missing.isEmpty {
        write(
          AccountWriter.putLabelKeys,
          PostgresParameters().bind(missing.map(\.account)).bind(missing.compactMap(\.key)))
      }
    } else {
      rows = try query { $0.add(AccountWriter.labels) }
    }
    for row in rows.flatMap({ $0.all { (account: $0.bits(0), label: $0.text(1)) } })
    where AccountLabel.areSame(row.label, label) {
      return AccountID(rawValue: row.account)
    }
    return nil
  }

  func setPlan(_ plan: Plan, of id: AccountID) -> CommitResult {
    guard accounts[id] != nil else { return .refused(StoreRefusals.unknownAccount) }
    write(
      AccountWriter.setPlan,
      PostgresParameters().bind(id.rawValue).bind(plan.storedText).bind([plan.bytes])
        .bind([plan.records]))
    accounts.setPlan(id, plan)
    recordMembershipChange(of: id)
    return .done
  }

  /// Removes one portion per commit. The first portion also signs out the account's devices.
  func removeAccount(_ id: AccountID) throws(PostgresFault) -> CommitResult {
    guard accounts[id] != nil else { return try forgetDeparture(of: id) }
    discardLookup()
    removeAccess(to: id)
    guard try removePortion(of: id) else { return .removing }
    write(AccountWriter.remove, PostgresParameters().bind(id.rawValue))
    accounts.remove(id)
    return .done
  }

  /// Removes the account's devices and pairing codes.
  func removeAccess(to id: AccountID) {
    let parameters = PostgresParameters().bind(id.rawValue)
    for removal in AccountWriter.accessRemovals { write(removal, parameters) }
    accounts.removeAllMembers(of: id)
    wakes.removeAll(of: id)
    recordMembershipChange(of: id)
  }

  /// Removes some of the account's rows. Returns true if only its own is left.
  func removePortion(of id: AccountID) throws(PostgresFault) -> Bool {
    let parameters = PostgresParameters().bind(id.rawValue)
    let gone = try query { pipeline in
      for removal in AccountWriter.portionRemovals {
        pipeline.add(removal, parameters.bind(Int64(rules.deletedPerCommit)))
      }
    }
    guard gone.allSatisfy({ $0.written < rules.deletedPerCommit }) else { return false }
    for removal in AccountWriter.endRemovals { write(removal, parameters) }
    return true
  }

  func issuePairing(
    _ pairing: NewPairing, for id: AccountID
  ) throws(PostgresFault) -> CommitResult {
    guard accounts[id] != nil else { return .refused(StoreRefusals.unknownAccount) }
    if let issuer = pairing.issuer, !accounts.isMember(issuer, of: id) {
      return .refused(StoreRefusals.revokedDevice)
    }
    guard try isFree(pairing) else { return .refused(StoreRefusals.taken) }
    insertPairing(pairing, by: id)
    return .done
  }

  func redeemPairing(
    _ codeHash: [UInt8], for device: NewDevice
  ) throws(PostgresFault) -> CommitResult {
    let rows = try query { pipeline in
      pipeline.add(
        AccountWriter.redemption,
        PostgresParameters().bind(codeHash).bind(wall).bind(device.id.rawValue))
      pipeline.add(AccountWriter.token, PostgresParameters().bind(device.tokenHash))
    }
    let found = try rows[0].first { (row) throws(PostgresFault) in
      (
        id: AccountID(rawValue: row.bits(0)), count: row.integer(1), isMember: row.bool(2),
        scope: try row.scope(3), wrapped: row.isNull(4) ? nil : row.text(4)
      )
    }
    guard let found else { return .refused(try absence(ofPairing: codeHash)) }
    guard accounts[found.id] != nil else {
      // The code was issued while the known accounts were being locked.
      throw PostgresFault(
        cause: .refused(state: "40001"), message: "a pairing code was issued concurrently")
    }
    if let refusal = accounts.absence(of: found.id) { return .refused(refusal) }
    guard device.mayJoin(found.id) else { return .refused(StoreRefusals.otherAccount) }
    guard found.count < rules.devicesPerAccount else {
      return .refused(StoreRefusals.tooManyDevices(rules.devicesPerAccount))
    }
    guard !found.isMember, rows[1].count == 0 else { return .refused(StoreRefusals.taken) }
    write(AccountWriter.deleteCode, PostgresParameters().bind(codeHash))
    insertDevice(device, found.scope, to: found.id)
    recordMembershipChange(of: found.id)
    return .redeemed(found.id, found.scope, wrapped: found.wrapped)
  }

  func renameDevice(_ device: DeviceID, of id: AccountID, to name: String) -> CommitResult {
    guard accounts.isMember(device, of: id) else { return .refused(StoreRefusals.unknownDevice) }
    write(
      AccountWriter.renameDevice,
      PostgresParameters().bind(id.rawValue).bind(device.rawValue).bind(name))
    recordMembershipChange(of: id)
    return .done
  }

  /// Deletes the device's row with its token hash, its subscriptions and its registrations for
  /// wakes. Also deletes the account's pairing codes, because the device may have created them.
  func revokeDevice(_ device: DeviceID, of id: AccountID) -> CommitResult {
    guard accounts.isMember(device, of: id) else { return .refused(StoreRefusals.unknownDevice) }
    let row = PostgresParameters().bind(id.rawValue).bind(device.rawValue)
    write(AccountWriter.deleteDevice, row)
    write(AccountWriter.deleteSubscriptions, row)
    removeWakes(of: SleeperID(account: id, device: device))
    write(AccountWriter.deleteCodes, PostgresParameters().bind(id.rawValue))
    accounts.removeMember(device, of: id)
    recordMembershipChange(of: id)
    return .done
  }

  func touchDevices(_ sightings: [DeviceSighting]) -> CommitResult {
    guard !sightings.isEmpty else { return .done }
    write(
      AccountWriter.touchDevices,
      PostgresParameters().bind(sightings.map(\.account.rawValue))
        .bind(sightings.map(\.device.rawValue)).bind(sightings.map(\.lastSeen))
        .bind(sightings.map { $0.isConnected ? 1 as Int64 : 0 }).bind(relay)
        .bind(Limits.connectedMilliseconds))
    recordContacts(of: sightings)
    return .done
  }

  private func insertDevice(_ device: NewDevice, _ scope: DeviceScope, to id: AccountID) {
    let description = device.description
    write(
      AccountWriter.insertDevice,
      PostgresParameters().bind(id.rawValue).bind(device.id.rawValue)
        .bind(description.deviceName).bind(description.platform).bind(description.appVersion)
        .bind(device.tokenHash).bind(wall).bind(scope.storedText))
    accounts.addMember(device.id, to: id)
  }

  private func insertPairing(_ pairing: NewPairing, by id: AccountID) {
    // An expired code that was not deleted yet may have the same hash.
    write(AccountWriter.deleteCode, PostgresParameters().bind(pairing.codeHash))
    write(AccountWriter.deleteExpired, PostgresParameters().bind(id.rawValue).bind(wall))
    write(
      AccountWriter.deleteOldest,
      PostgresParameters().bind(id.rawValue).bind(Int64(Limits.pairingCodesPerAccount - 1)))
    write(
      AccountWriter.insertPairing,
      PostgresParameters().bind(id.rawValue).bind(pairing.codeHash).bind(pairing.expiresAt)
        .bind(pairing.scope.storedText).bind(pairing.wrapped))
  }

  private func isFree(_ device: NewDevice?) throws(PostgresFault) -> Bool {
    guard let device else { return true }
    return try query { $0.add(AccountWriter.token, PostgresParameters().bind(device.tokenHash)) }[0]
      .count == 0
  }

  private func isFree(_ pairing: NewPairing?) throws(PostgresFault) -> Bool {
    guard let pairing else { return true }
    let parameters = PostgresParameters().bind(pairing.codeHash).bind(wall)
    return try query { $0.add(AccountWriter.code, parameters) }[0].count == 0
  }
}

/// SQL statements.
enum AccountWriter {
  static let insert = PostgresStatement(
    "insert account",
    """
    INSERT INTO accounts (account, generation, label, made_at, label_key, run)
    VALUES ($1::bigint, $2::bigint, $3::text, $4::bigint, $5::text,
      coalesce((SELECT run FROM opening WHERE one), 0))
    """)
  /// Held until the end of the transaction, so that of several relays only one adds a label. Each
  /// schema of a database has a lock of its own.
  static let lockLabels = PostgresStatement(
    "lock labels",
    """
    SELECT pg_advisory_xact_lock(hashtextextended('lockstep labels ' || current_schema(), 0))
      IS NULL
    """)
  static let labelsByKey = PostgresStatement(
    "labels by key", "SELECT account, label FROM accounts WHERE label_key = $1::text")
  static let labelsWithoutKey = PostgresStatement(
    "labels without key",
    "SELECT account, label FROM accounts WHERE label_key IS NULL AND label <> ''")
  static let labels = PostgresStatement(
    "labels", "SELECT account, label FROM accounts WHERE label <> ''")
  /// Skips rows locked by others: the next account with a label adds their keys.
  static let putLabelKeys = PostgresStatement(
    "put label keys",
    """
    UPDATE accounts SET label_key = missing.label_key
    FROM unnest($1::bigint[], $2::text[]) AS missing (account, label_key)
    WHERE accounts.account = missing.account AND accounts.account = ANY (ARRAY(
      SELECT account FROM accounts WHERE account = ANY ($1::bigint[])
      FOR UPDATE SKIP LOCKED))
    """)
  static let setPlan = PostgresStatement(
    "set plan",
    """
    UPDATE accounts SET plan = $2::text, quota_bytes = ($3::bigint[])[1],
      quota_records = ($4::bigint[])[1]
    WHERE account = $1::bigint
    """)
  /// Deletes an account's rows: from the tables that grant access, from those that may be large,
  /// and from the rest.
  static let accessRemovals = removals(["devices", "pairings", "subscriptions", "wakes"])
  static let portionRemovals = ["records", "batches", "chunks"].map { table in
    PostgresStatement(
      "remove some \(table)",
      """
      DELETE FROM \(table) WHERE account = $1::bigint AND ctid = ANY (ARRAY(
        SELECT ctid FROM \(table) WHERE account = $1::bigint LIMIT $2::bigint))
      """)
  }
  static let endRemovals = removals(["zones", "lineage", "gaps"])
  static let remove = removals(["accounts"])[0]

  private static func removals(_ tables: [String]) -> [PostgresStatement] {
    tables.map { table in
      PostgresStatement("remove \(table)", "DELETE FROM \(table) WHERE account = $1::bigint")
    }
  }

  static let token = PostgresStatement(
    "token", "SELECT 1::bigint FROM devices WHERE token_hash = $1::bytea")
  /// `IS TRUE` hides the comparison from the index of expiry times: without statistics, a plan
  /// would combine both indexes, and read the entries of all codes that are valid.
  private static let isValid = "(expires_at > $2::bigint) IS TRUE"
  static let code = PostgresStatement(
    "code", "SELECT account FROM pairings WHERE code_hash = $1::bytea AND \(isValid)")
  static let redemption = PostgresStatement(
    "redemption",
    """
    SELECT account, (SELECT count(*) FROM devices WHERE devices.account = pairings.account),
      EXISTS (SELECT 1 FROM devices
        WHERE devices.account = pairings.account AND device = $3::bigint),
      scope, wrapped
    FROM pairings WHERE code_hash = $1::bytea AND \(isValid)
    """)
  static let insertDevice = PostgresStatement(
    "insert device",
    """
    INSERT INTO devices
      (account, device, device_name, platform, app_version, token_hash, last_seen, scope)
    VALUES ($1::bigint, $2::bigint, $3::text, $4::text, $5::text, $6::bytea, $7::bigint, $8::text)
    """)
  static let renameDevice = PostgresStatement(
    "rename device",
    """
    UPDATE devices SET device_name = $3::text WHERE account = $1::bigint AND device = $2::bigint
    """)
  static let deleteDevice = PostgresStatement(
    "delete device", "DELETE FROM devices WHERE account = $1::bigint AND device = $2::bigint")
  static let deleteSubscriptions = PostgresStatement(
    "delete subscriptions",
    "DELETE FROM subscriptions WHERE account = $1::bigint AND device = $2::bigint")
  /// Skips a device row that another relay has locked; the device is reported again later. A
  /// connection that another relay has recorded stays valid until this relay has one too.
  static let touchDevices = PostgresStatement(
    "touch devices",
    """
    WITH seen AS (
      SELECT account, device, max(last_seen) AS last_seen, max(connected) = 1 AS connected
      FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])
        AS seen (account, device, last_seen, connected)
      GROUP BY account, device),
    held AS (
      SELECT devices.account, devices.device, seen.last_seen, seen.connected
      FROM seen JOIN devices ON devices.account = seen.account AND devices.device = seen.device
      WHERE devices.last_seen < seen.last_seen OR seen.connected
        OR devices.connected_by = $5::bigint
      FOR UPDATE OF devices SKIP LOCKED)
    UPDATE devices SET last_seen = greatest(devices.last_seen, held.last_seen),
      connected_by = CASE WHEN held.connected THEN $5::bigint ELSE connected_by END,
      connected_until = CASE
        WHEN held.connected THEN clock_timestamp() + $6::bigint * interval '1 millisecond'
        WHEN connected_by = $5::bigint THEN NULL
        ELSE connected_until END
    FROM held
    WHERE devices.account = held.account AND devices.device = held.device
    """)
  static let insertPairing = PostgresStatement(
    "insert pairing",
    """
    INSERT INTO pairings (account, code_hash, expires_at, scope, wrapped)
    VALUES ($1::bigint, $2::bytea, $3::bigint, $4::text, $5::text)
    """)
  static let deleteCode = PostgresStatement(
    "delete code", "DELETE FROM pairings WHERE code_hash = $1::bytea")
  static let deleteCodes = PostgresStatement(
    "delete codes", "DELETE FROM pairings WHERE account = $1::bigint")
  static let deleteExpired = PostgresStatement(
    "delete expired codes",
    "DELETE FROM pairings WHERE account = $1::bigint AND (expires_at <= $2::bigint) IS TRUE")
  /// Deletes all but the newest codes; the second parameter is the number to keep.
  static let deleteOldest = PostgresStatement(
    "delete oldest codes",
    """
    DELETE FROM pairings WHERE account = $1::bigint AND number IN (
      SELECT number FROM pairings WHERE account = $1::bigint ORDER BY number DESC
      OFFSET $2::bigint)
    """)
}

/// Turns a zone's records into tombstones, in portions, one per commit.
extension CommitRun {
  func deleteZone(
    _ zone: Name, through: ChangeToken?, by device: DeviceID, of id: AccountID
  ) throws(PostgresFault) -> CommitResult {
    guard accounts.isMember(device, of: id), let head = accounts[id]?.head else {
      return .refused(StoreRefusals.revokedDevice)
    }
    let tokenRange = try through.flatMap { (token) throws(PostgresFault) in
      try findTokenRange(of: token, of: id)
    }
    let end: ChangeTag
    do throws(Refusal) {
      end = try head.end(
        ofDeleting: zone, through: through,
        endedAt: through?.generation == head.generation ? nil : tokenRange?.endedAt,
        gap: through.flatMap { token in
          head.gap(of: token, in: accounts.run ?? head.run) { tokenRange?.gap(at: $0) }
        })
    } catch {
      return .refused(error)
    }
    return try deletePortion(ZonePortion(after: 0, end: end), of: zone, by: device, of: id)
  }

  /// Deletes the first records of the portion; the result names the rest.
  func deletePortion(
    _ portion: ZonePortion, of zone: Name, by device: DeviceID, of id: AccountID
  ) throws(PostgresFault) -> CommitResult {
    guard accounts.isMember(device, of: id), let head = accounts[id]?.head else {
      return .refused(StoreRefusals.revokedDevice)
    }
    discardLookup()
    let scanned = try query {
      $0.add(
        ZoneQueries.scanned, PostgresParameters().bind(id.rawValue).bind(portion.after))
    }[0].first { $0.integer(0) }
    let range = PostgresParameters().bind(id.rawValue).bind(zone.text).bind(portion.after)
      .bind(min(portion.end, scanned ?? .max)).bind(Int64(rules.deletedPerCommit))
    write(ZoneDeleter.release, range.bind(wall + rules.chunkLeaseMilliseconds))
    var entered = accounts.entering(head, of: id)
    let burial = range.bind(entered.newest).bind(device.rawValue).bind(wall)
    let found = try query { $0.add(ZoneDeleter.bury, burial) }[0].first { row in
      (count: Int(row.integer(0)), last: row.integer(1), bytes: row.integer(2))
    }
    let (count, last, bytes) = found ?? (0, 0, 0)
    let rest = portion.rest(
      scanned: scanned, deleted: count, last: last, limit: rules.deletedPerCommit)
    let tombstones =
      count > 0 && count <= Limits.batchRecords
      ? try query {
        $0.add(ZoneDeleter.buried, PostgresParameters().bind(id.rawValue).bind(entered.newest))
      }[0].all { (row) throws(PostgresFault) in try row.record() } : []
    let deletion = ZoneDeletion(head, entered, count, rest: rest) { tombstones }
    if count > 0 {
      let fewer = PostgresParameters().bind([id.rawValue]).bind([zone.text]).bind([Int64(-count)])
      write(RecordChanges.count, fewer)
      write(RecordChanges.dropEmpty, fewer)
      entered.newest = deletion.token.sequence
      accounts.advance(id, to: entered)
      accounts.grow(id, by: AccountUse(bytes: -bytes))
    }
    return .zoneDeleted(deletion)
  }

  func findTokenRange(
    of token: ChangeToken, of id: AccountID
  ) throws(PostgresFault) -> TokenRange {
    TokenRange(
      try query { $0.add(ZoneQueries.tokenRange, ZoneQueries.tokenRange(of: token, of: id)) }[0])
  }
}

/// SQL statements. Those that scan a zone are planned at each execution, for the tables as they are
/// then: a plan for an empty table would compare each row with each other row. They join by a row's
/// place, since without statistics the planner takes a zone for one row, and would compare all of
/// its rows with all that are deleted. A place is unique only within a partition, so the account is
/// compared as well.
enum ZoneDeleter {
  /// Decrements the use counts of the chunks that the records name, once for each record and chunk.
  static let release = PostgresStatement(
    "",
    """
    WITH live AS MATERIALIZED (
      SELECT name, chunks FROM records
      WHERE account = $1::bigint AND zone = $2::text AND tag > $3::bigint AND tag <= $4::bigint
        AND fields IS NOT NULL
      ORDER BY tag LIMIT $5::bigint),
    named AS (
      SELECT hash, count(*) AS uses FROM (
        SELECT DISTINCT name, substr(chunks, 32 * place + 1, 32) AS hash
        FROM live, generate_series(0, octet_length(chunks) / 32 - 1) AS place
        WHERE chunks IS NOT NULL
      ) AS pairs GROUP BY hash)
    UPDATE chunks SET uses = chunks.uses - named.uses,
      lease_until = CASE chunks.uses - named.uses WHEN 0 THEN $6::bigint
        ELSE chunks.lease_until END
    FROM named CROSS JOIN LATERAL (
      SELECT ctid AS row FROM chunks WHERE account = $1::bigint AND hash = named.hash OFFSET 0
    ) AS held
    WHERE chunks.account = $1::bigint AND chunks.ctid = held.row
    """)
  /// Assigns rising tags in the order in which the records were saved.
  static let bury = PostgresStatement(
    "",
    """
    WITH live AS MATERIALIZED (
      SELECT ctid AS row, tag, octet_length(fields) + coalesce(octet_length(chunks), 0) AS bytes,
        row_number() OVER (ORDER BY tag) AS place
      FROM records
      WHERE account = $1::bigint AND zone = $2::text AND tag > $3::bigint AND tag <= $4::bigint
        AND fields IS NOT NULL
      ORDER BY tag LIMIT $5::bigint),
    buried AS (
      UPDATE records SET fields = NULL, chunks = NULL, tag = $6::bigint + live.place,
        device = $7::bigint, modified_at = $8::bigint, deleted_at = $8::bigint
      FROM live WHERE records.account = $1::bigint AND records.ctid = live.row)
    SELECT count(*), coalesce(max(tag), 0)::bigint, coalesce(sum(bytes), 0)::bigint FROM live
    """)
  static let buried = PostgresStatement(
    "buried",
    """
    SELECT \(RecordRow.columns) FROM records WHERE account = $1::bigint AND tag > $2::bigint
    ORDER BY tag
    """)
}

/// An account's chunks of files, the number of records that name each chunk, and the lease until
/// which an unnamed chunk is kept.
extension CommitRun {
  func addChunk(
    _ hash: ChunkHash, of id: AccountID, file: ChunkFile, bytes: Int
  ) -> CommitResult {
    guard let account = accounts[id] else { return .refused(StoreRefusals.unknownAccount) }
    let chunk = SaveBatchPlanner.Chunk(account: id, hash: hash)
    let leaseUntil = wall + rules.chunkLeaseMilliseconds
    if var known = saves[chunk] {
      write(ChunkWriter.renew, renewal(of: [hash], in: id))
      let (old, wasLacking) = (ChunkFile(account: id, columnValue: known.file), known.isUnverified)
      write(
        ChunkWriter.replace,
        PostgresParameters().bind(id.rawValue).bind(hash.bytes).bind(file.columnValue))
      known.file = file.columnValue
      known.isUnverified = false
      saves[chunk] = known
      return .chunkReplaced(old, wasLacking: wasLacking)
    }
    guard Int64(bytes) <= rules.chunkBytesPerAccount - account.chunkBytes else {
      return .refused(StoreRefusals.quotaExceeded)
    }
    write(
      ChunkWriter.insert,
      PostgresParameters().bind(id.rawValue).bind(hash.bytes).bind(file.columnValue)
        .bind(Int64(bytes)).bind(leaseUntil))
    write(ChunkWriter.count, PostgresParameters().bind(id.rawValue).bind(Int64(bytes)))
    accounts.addChunkBytes(Int64(bytes), to: id)
    saves[chunk] = SaveBatchPlanner.KnownChunk(
      file: file.columnValue, bytes: Int64(bytes), isUnverified: false)
    return .chunkAdded
  }

  func renewChunks(_ hashes: [ChunkHash], of id: AccountID) -> CommitResult {
    guard accounts[id] != nil else { return .refused(StoreRefusals.unknownAccount) }
    let known = hashes.map { saves[SaveBatchPlanner.Chunk(account: id, hash: $0)] }
    if known.contains(where: { $0 != nil }) {
      write(ChunkWriter.renew, renewal(of: hashes, in: id))
    }
    return .renewed(
      bytes: known.map { chunk in
        chunk.flatMap { $0.isUnverified ? nil : Int(clamping: $0.bytes) }
      })
  }

  func setUnverified(_ files: [ChunkFile], _ isUnverified: Bool) -> CommitResult {
    guard !files.isEmpty else { return .done }
    discardLookup()
    write(
      isUnverified ? ChunkWriter.markUnverified : ChunkWriter.confirm,
      PostgresParameters().bind(files.map(\.account.rawValue)).bind(files.map(\.columnValue)))
    return .done
  }

  /// Skips accounts that another relay has locked: a later collection removes their chunks.
  func collectChunks(atMost limit: Int) throws(PostgresFault) -> CommitResult {
    discardLookup()
    let parameters = PostgresParameters().bind(wall).bind(Int64(max(0, limit)))
    let gone = try query { $0.add(ChunkWriter.collect, parameters) }[0].all { row in
      (
        file: ChunkFile(account: AccountID(rawValue: row.bits(0)), columnValue: row.integer(1)),
        bytes: row.integer(2)
      )
    }
    for chunk in gone { accounts.addChunkBytes(-chunk.bytes, to: chunk.file.account) }
    try clearAnyDeparture()
    return .collected(gone.map(\.file))
  }

  private func renewal(of hashes: [ChunkHash], in id: AccountID) -> PostgresParameters {
    PostgresParameters().bind(id.rawValue).bind(hashes.map(\.bytes))
      .bind(wall + rules.chunkLeaseMilliseconds)
  }
}

/// SQL statements.
private enum ChunkWriter {
  static let insert = PostgresStatement(
    "insert chunk",
    """
    INSERT INTO chunks (account, hash, file, bytes, lease_until)
    VALUES ($1::bigint, $2::bytea, $3::bigint, $4::bigint, $5::bigint)
    """)
  static let count = PostgresStatement(
    "count chunks",
    """
    UPDATE accounts SET chunk_bytes = chunk_bytes + $2::bigint WHERE account = $1::bigint
    """)
  static let renew = PostgresStatement(
    "renew chunks",
    """
    UPDATE chunks SET lease_until = $3::bigint
    WHERE account = $1::bigint AND hash = ANY ($2::bytea[])
    """)
  static let replace = PostgresStatement(
    "replace chunk",
    """
    UPDATE chunks SET file = $3::bigint, doubtful = false
    WHERE account = $1::bigint AND hash = $2::bytea
    """)
  static let confirm = PostgresStatement(
    "vouch",
    """
    UPDATE chunks SET doubtful = false
    FROM unnest($1::bigint[], $2::bigint[]) AS seen (account, file)
    WHERE chunks.account = seen.account AND chunks.file = seen.file AND doubtful
    """)
  static let markUnverified = PostgresStatement(
    "doubt chunks",
    """
    UPDATE chunks SET doubtful = true
    FROM unnest($1::bigint[], $2::bigint[]) AS seen (account, file)
    WHERE chunks.account = seen.account AND chunks.file = seen.file AND NOT doubtful
    """)
  /// Deletes the chunks whose lease ended first.
  static let collect = PostgresStatement(
    "collect",
    """
    WITH spent AS MATERIALIZED (
      SELECT account, hash, lease_until FROM chunks WHERE uses = 0 AND lease_until <= $1::bigint
      ORDER BY lease_until, account, hash LIMIT $2::bigint),
    held AS MATERIALIZED (
      SELECT account FROM accounts WHERE account = ANY (ARRAY(SELECT account FROM spent))
      ORDER BY account FOR UPDATE SKIP LOCKED),
    gone AS (
      DELETE FROM chunks USING spent, held
      WHERE spent.account = held.account AND chunks.account = spent.account
        AND chunks.hash = spent.hash AND chunks.uses = 0
        AND chunks.lease_until = spent.lease_until
      RETURNING chunks.account, chunks.hash, chunks.file, chunks.bytes, chunks.lease_until),
    counted AS (
      UPDATE accounts SET chunk_bytes = chunk_bytes - freed.bytes
      FROM (SELECT account, sum(bytes)::bigint AS bytes FROM gone GROUP BY account) AS freed
      WHERE accounts.account = freed.account)
    SELECT account, file, bytes FROM gone ORDER BY lease_until, account, hash
    """)
}

/// The subscriptions of devices.
extension CommitRun {
  func putSubscription(
    _ subscription: Subscription, for device: DeviceID, of id: AccountID
  ) throws(PostgresFault) -> CommitResult {
    guard accounts.isMember(device, of: id) else { return .refused(StoreRefusals.revokedDevice) }
    var existing = try subscriptions(of: device, of: id)
    let place = existing.firstIndex { $0.id >= subscription.id } ?? existing.count
    let isNew = place == existing.count || existing[place].id != subscription.id
    if isNew {
      guard existing.count < Limits.subscriptionsPerDevice else {
        return .refused(StoreRefusals.tooManySubscriptions)
      }
      existing.insert(subscription, at: place)
    } else {
      existing[place] = subscription
    }
    write(
      SubscriptionWriter.put,
      PostgresParameters().bind(id.rawValue).bind(device.rawValue).bind(subscription.id.text)
        .bind(subscription.storedText))
    recordMembershipChange(of: id)
    return .subscribed(existing, isNew: isNew)
  }

  func removeSubscription(
    _ name: Name, for device: DeviceID, of id: AccountID
  ) throws(PostgresFault) -> CommitResult {
    guard accounts.isMember(device, of: id) else { return .refused(StoreRefusals.revokedDevice) }
    let existing = try subscriptions(of: device, of: id)
    guard existing.contains(where: { $0.id == name }) else {
      return .refused(StoreRefusals.unknownSubscription)
    }
    write(
      SubscriptionWriter.remove,
      PostgresParameters().bind(id.rawValue).bind(device.rawValue).bind(name.text))
    recordMembershipChange(of: id)
    return .subscribed(existing.filter { $0.id != name }, isNew: false)
  }

  /// Returns the subscriptions ordered by id.
  private func subscriptions(
    of device: DeviceID, of id: AccountID
  ) throws(PostgresFault) -> [Subscription] {
    let parameters = PostgresParameters().bind(id.rawValue).bind(device.rawValue)
    return try query { $0.add(AccountQueries.subscriptions, parameters) }[0].all {
      (row) throws(PostgresFault) in try row.subscription()
    }
  }
}

/// SQL statements.
private enum SubscriptionWriter {
  static let put = PostgresStatement(
    "put subscription",
    """
    INSERT INTO subscriptions (account, device, id, content)
    VALUES ($1::bigint, $2::bigint, $3::text, $4::text)
    ON CONFLICT (account, device, id) DO UPDATE SET content = excluded.content
    """)
  static let remove = PostgresStatement(
    "remove subscription",
    """
    DELETE FROM subscriptions
    WHERE account = $1::bigint AND device = $2::bigint AND id = $3::text
    """)
}

/// Deletion of old rows in a commit. It never waits for another relay: rows locked by another relay
/// are skipped, and deleted by that relay or later.
enum Forgetting {
  /// Deletes at most `count` each of old batches, old tombstones and expired codes, oldest first.
  static func add(
    _ count: Int, rules: StoreRules, wall: Int64, to pipeline: inout PostgresPipeline
  ) {
    let old = PostgresParameters().bind(wall - rules.historyMilliseconds).bind(Int64(count))
    pipeline.add(batches, old)
    pipeline.add(tombstones, old)
    pipeline.add(codes, PostgresParameters().bind(wall).bind(Int64(count)))
  }

  /// Locks the account, because its row counts the batches.
  private static let batches = PostgresStatement(
    "forget batches",
    """
    WITH old AS MATERIALIZED (
      SELECT account, device, batch_high, batch_low FROM batches WHERE made_at < $1::bigint
      ORDER BY made_at, number LIMIT $2::bigint),
    held AS MATERIALIZED (
      SELECT account FROM accounts WHERE account = ANY (ARRAY(SELECT account FROM old))
      ORDER BY account FOR UPDATE SKIP LOCKED),
    gone AS (
      DELETE FROM batches USING old, held
      WHERE old.account = held.account AND batches.account = old.account
        AND batches.device = old.device AND batches.batch_high = old.batch_high
        AND batches.batch_low = old.batch_low
      RETURNING batches.account,
        \(Limits.rowBytes) + coalesce(octet_length(batches.words), 0) AS bytes)
    UPDATE accounts SET record_bytes = record_bytes - fewer.bytes,
      batch_count = batch_count - fewer.batches
    FROM (SELECT account, sum(bytes)::bigint AS bytes, count(*) AS batches FROM gone
      GROUP BY account) AS fewer
    WHERE accounts.account = fewer.account
    """)

  /// Locks the account first: a commit that holds the lock bases its decisions on these rows.
  private static let tombstones = PostgresStatement(
    "forget tombstones",
    """
    WITH old AS MATERIALIZED (
      SELECT account, zone, name, tag FROM records WHERE deleted_at < $1::bigint
      ORDER BY deleted_at, account, tag LIMIT $2::bigint),
    held AS MATERIALIZED (
      SELECT account FROM accounts WHERE account = ANY (ARRAY(SELECT account FROM old))
      ORDER BY account FOR UPDATE SKIP LOCKED),
    gone AS (
      DELETE FROM records USING old, held
      WHERE old.account = held.account AND records.account = old.account
        AND records.zone = old.zone AND records.name = old.name AND records.tag = old.tag
      RETURNING records.account, records.tag, \(RecordRow.storedBytes) AS bytes)
    UPDATE accounts SET forgotten = greatest(forgotten, last.tag),
      record_bytes = record_bytes - last.bytes, record_count = record_count - last.records
    FROM (SELECT account, max(tag) AS tag, sum(bytes)::bigint AS bytes, count(*) AS records
      FROM gone GROUP BY account) AS last
    WHERE accounts.account = last.account
    """)

  private static let codes = PostgresStatement(
    "forget codes",
    """
    WITH old AS (
      SELECT account, number FROM pairings WHERE expires_at <= $1::bigint
      ORDER BY expires_at LIMIT $2::bigint FOR UPDATE SKIP LOCKED)
    DELETE FROM pairings USING old
    WHERE pairings.account = old.account AND pairings.number = old.number
    """)
}
