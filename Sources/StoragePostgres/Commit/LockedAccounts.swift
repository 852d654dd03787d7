import LockstepModel
import LockstepStorage

/// The accounts that a commit has locked: their heads and their devices, kept up to date with the
/// changes of the commit.
final class LockedAccounts {
  struct Known {
    var head: AccountHead
    var chunkBytes: Int64
    var use = AccountUse()
    /// The plan without its zones, which are not read.
    var plan = Plan.everything
    /// True if the account's commits are refused: it is being moved.
    var isMoving = false
  }

  private var known: [AccountID: Known] = [:]
  private var members: [AccountID: Set<DeviceID>] = [:]
  /// Of the accounts that requests name and that are not here.
  private var departures: [AccountID: Departure] = [:]
  /// The run of the store; nil if no account was locked.
  private(set) var run: UInt64?
  /// Gaps that arose in this commit, by account.
  private(set) var gaps: [(account: AccountID, gap: TagGap)] = []
  /// Change of each account's use in this commit.
  private(set) var growths: [AccountID: AccountUse] = [:]
  /// Accounts with a new tag, in the order of their first change.
  private var movedAccounts: [AccountID] = []

  /// Returns nil if the account does not exist, or no request names it.
  subscript(id: AccountID) -> Known? { known[id] }

  func isMember(_ device: DeviceID, of id: AccountID) -> Bool {
    known[id] != nil && members[id]?.contains(device) == true
  }

  /// Accounts with a new tag, and their present tokens.
  var moved: [(account: AccountID, token: ChangeToken)] {
    movedAccounts.sorted().compactMap { id in known[id].map { (id, $0.head.token) } }
  }

  /// Refusal of a request that needs an account that is being moved, or that has moved away.
  func absence(of id: AccountID) -> Refusal? {
    if let account = known[id] { return account.isMoving ? StoreRefusals.moving : nil }
    return departures[id]?.refusal
  }

  func setDepartures(_ found: [AccountID: Departure]) { departures = found }

  func add(_ id: AccountID, generation: UInt32) {
    known[id] = Known(
      head: AccountHead(generation: generation, newest: 0, run: run ?? 0), chunkBytes: 0)
    members[id] = []
  }

  func remove(_ id: AccountID) {
    known[id] = nil
    members[id] = nil
    movedAccounts.removeAll { $0 == id }
    gaps.removeAll { $0.account == id }
    growths[id] = nil
  }

  /// Removes all devices of the account.
  func removeAllMembers(of id: AccountID) { members[id] = [] }

  func addMember(_ device: DeviceID, to id: AccountID) { members[id, default: []].insert(device) }

  func removeMember(_ device: DeviceID, of id: AccountID) { members[id]?.remove(device) }

  /// Returns the head from which the account's next save continues.
  func entering(_ head: AccountHead, of id: AccountID) -> AccountHead {
    run.map { head.entering($0, id) } ?? head
  }

  func advance(_ id: AccountID, to head: AccountHead) {
    guard let former = known[id]?.head, former.newest != head.newest else { return }
    if let gap = head.gap(since: former) { gaps.append((id, gap)) }
    known[id]?.head = head
    if !movedAccounts.contains(id) { movedAccounts.append(id) }
  }

  func setPlan(_ id: AccountID, _ plan: Plan) { known[id]?.plan = plan }

  func grow(_ id: AccountID, by growth: AccountUse) {
    guard growth != AccountUse(), known[id] != nil else { return }
    known[id]?.use += growth
    growths[id, default: AccountUse()] += growth
  }

  func addChunkBytes(_ bytes: Int64, to id: AccountID) { known[id]?.chunkBytes += bytes }

  // MARK: Locking

  /// Returns the statements that lock and read the accounts of the requests; nil if there are none.
  func lockStatements(
    for requests: [CommitRequest]
  ) -> [(statement: PostgresStatement, parameters: PostgresParameters)]? {
    var ids: Set<AccountID> = []
    var codes: [[UInt8]] = []
    var devices: [(account: AccountID, device: DeviceID)] = []
    for request in requests {
      for id in request.accounts { ids.insert(id) }
      if case .redeemPairing(let codeHash, _) = request { codes.append(codeHash) }
      if let device = request.device { devices.append(device) }
    }
    guard !ids.isEmpty || !codes.isEmpty else { return nil }
    let accounts = ids.sorted().map(\.rawValue)
    return [
      (LockedAccounts.lock, PostgresParameters().bind(accounts).bind(codes)),
      (
        LockedAccounts.devices,
        PostgresParameters().bind(devices.map(\.account.rawValue))
          .bind(devices.map(\.device.rawValue))
      ),
    ]
  }

  func readLookup(from rows: [PostgresRows]) {
    for (id, account) in rows[0].all({ row in
      var head = AccountHead(row, from: 1)
      head.run = row.bits(5)
      head.rangeStart = row.integer(6)
      return (
        AccountID(rawValue: row.bits(0)),
        Known(
          head: head, chunkBytes: row.integer(4),
          use: AccountUse(
            bytes: row.integer(7), records: row.integer(8), batches: row.integer(9)),
          plan: Plan(
            zones: nil, bytes: row.isNull(10) ? nil : row.integer(10),
            records: row.isNull(11) ? nil : row.integer(11)),
          isMoving: row.bool(12))
      )
    }) { known[id] = account }
    for (id, device, run) in rows[1].all({ row in
      (
        AccountID(rawValue: row.bits(0)), DeviceID(rawValue: row.bits(1)),
        row.isNull(2) ? nil : row.bits(2)
      )
    }) {
      if let run { self.run = run } else { members[id, default: []].insert(device) }
    }
  }

  /// Sorts the accounts before it locks them. Also finds the account of a redeemed pairing code.
  private static let lock = PostgresStatement(
    "lock accounts",
    """
    SELECT account, generation, newest, forgotten, chunk_bytes, run, range_start,
      record_bytes, record_count, batch_count, quota_bytes, quota_records,
      coalesce(moving_until > (extract(epoch FROM clock_timestamp()) * 1000)::bigint, false)
    FROM accounts
    WHERE account = ANY (ARRAY(
      SELECT unnest($1::bigint[])
      UNION SELECT account FROM pairings WHERE code_hash = ANY ($2::bytea[])))
    ORDER BY account FOR UPDATE
    """)
  /// Members, and in a row of its own the run in which relays write. A statement that waits for a
  /// row reads the other tables as they were before, so the run is read after the lock: an account
  /// would else go back to a run that has ended.
  private static let devices = PostgresStatement(
    "members",
    """
    SELECT account, device, NULL::bigint
    FROM unnest($1::bigint[], $2::bigint[]) AS asked (account, device)
    JOIN devices USING (account, device)
    UNION ALL SELECT NULL, NULL, run FROM opening WHERE one
    """)
}

extension CommitRequest {
  /// Accounts whose rows must be locked. Sightings and the collection lock no account: they skip
  /// rows locked by others. Nor do changes of a device's registrations for wakes, if they leave
  /// their number.
  var accounts: [AccountID] {
    switch self {
    case .createAccount(let id, _, _, _, _), .issuePairing(let id, _), .renameDevice(let id, _, _),
      .revokeDevice(let id, _), .deleteZone(let id, _, _, _), .deleteZoneRest(let id, _, _, _),
      .putSubscription(let id, _, _),
      .removeSubscription(let id, _, _), .setPlan(let id, _), .removeAccount(let id),
      .addChunk(let id, _, _, _), .renewChunks(let id, _), .putWake(let id, _, _, _, _),
      .removeWake(let id, _, _):
      [id]
    case .save(let commit): [commit.account]
    case .move(let step): [step.account]
    case .confirmChunks(let files), .markChunksMissing(let files): files.map(\.account)
    case .redeemPairing, .touchDevices, .checkWritable, .collectChunks, .verifyWake, .claimWakes,
      .reportWakes, .addWakeKey:
      []
    }
  }

  /// Account and device whose membership decides about the request.
  var device: (account: AccountID, device: DeviceID)? {
    switch self {
    case .renameDevice(let id, let device, _), .revokeDevice(let id, let device),
      .deleteZone(let id, let device, _, _), .deleteZoneRest(let id, let device, _, _),
      .putSubscription(let id, let device, _), .removeSubscription(let id, let device, _),
      .putWake(let id, let device, _, _, _):
      (id, device)
    case .save(let commit): (commit.account, commit.device)
    case .issuePairing(let id, let pairing): pairing.issuer.map { (id, $0) }
    case .createAccount, .setPlan, .removeAccount, .addChunk, .renewChunks,
      .confirmChunks, .markChunksMissing, .redeemPairing, .touchDevices, .checkWritable,
      .collectChunks, .removeWake, .verifyWake, .claimWakes, .reportWakes, .addWakeKey, .move:
      nil
    }
  }

  /// True if the request is decided from the data of a `SaveBatchPlanner`.
  var needsSaveLookup: Bool {
    switch self {
    case .save, .addChunk, .renewChunks: true
    case .createAccount, .issuePairing, .redeemPairing, .renameDevice, .revokeDevice,
      .touchDevices, .checkWritable, .deleteZone, .deleteZoneRest, .putSubscription,
      .removeSubscription, .setPlan, .removeAccount, .confirmChunks, .markChunksMissing,
      .collectChunks, .putWake, .removeWake, .verifyWake, .claimWakes, .reportWakes, .addWakeKey,
      .move:
      false
    }
  }

  var addsWakeKey: Bool { if case .addWakeKey = self { true } else { false } }

  var addsLabel: Bool {
    if case .createAccount(_, _, let label, _, _) = self { !label.isEmpty } else { false }
  }
}
