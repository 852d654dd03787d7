import LockstepModel
import LockstepStorage

/// Writes accounts, their plans, devices and pairing codes. Each request is decided in full before
/// its first write, so that a refused request leaves no trace in the shared transaction.
final class AccountWriter {
  private let queries: AccountQueries
  private let rules: StoreRules
  private let run: UInt64
  private let account: SQLiteStatement
  private let insertAccount: SQLiteStatement
  private let labels: AccountLabels
  private let setPlan: SQLiteStatement
  private let token: SQLiteStatement
  private let memberCount: SQLiteStatement
  private let insertDevice: SQLiteStatement
  private let renameDevice: SQLiteStatement
  private let deleteDevice: SQLiteStatement
  private let deleteSubscriptions: SQLiteStatement
  private let deleteWakes: SQLiteStatement
  private let touchDevice: SQLiteStatement
  private let code: SQLiteStatement
  private let insertPairing: SQLiteStatement
  private let deleteCode: SQLiteStatement
  private let deleteCodes: SQLiteStatement
  private let deleteExpiredOfAccount: SQLiteStatement
  private let deleteOldest: SQLiteStatement
  private let expired: SQLiteStatement
  private let delete: SQLiteStatement

  init(
    _ connection: SQLiteConnection, queries: AccountQueries, rules: StoreRules, run: UInt64
  ) throws(StorageError) {
    self.queries = queries
    self.rules = rules
    self.run = run
    account = try connection.prepare("SELECT 1 FROM accounts WHERE account = ?")
    insertAccount = try connection.prepare(
      """
      INSERT INTO accounts (account, generation, newest, label, made_at, run, label_key)
      VALUES (?, ?, 0, ?, ?, ?, ?)
      """)
    labels = try AccountLabels(connection)
    setPlan = try connection.prepare(
      """
      UPDATE accounts SET plan = ?2, quota_bytes = ?3, quota_records = ?4 WHERE account = ?1
      """)
    token = try connection.prepare("SELECT 1 FROM devices WHERE token_hash = ?")
    memberCount = try connection.prepare("SELECT count(*) FROM devices WHERE account = ?")
    insertDevice = try connection.prepare(
      """
      INSERT INTO devices
        (account, device, device_name, platform, app_version, token_hash, last_seen, scope)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      """)
    renameDevice = try connection.prepare(
      "UPDATE devices SET device_name = ?3 WHERE account = ?1 AND device = ?2")
    deleteDevice = try connection.prepare("DELETE FROM devices WHERE account = ? AND device = ?")
    deleteSubscriptions = try connection.prepare(
      "DELETE FROM subscriptions WHERE account = ? AND device = ?")
    deleteWakes = try connection.prepare("DELETE FROM wakes WHERE account = ? AND device = ?")
    touchDevice = try connection.prepare(
      """
      UPDATE devices SET last_seen = ?3
      WHERE account = ?1 AND device = ?2 AND last_seen < ?3
      """)
    code = try connection.prepare(
      """
      SELECT account, code_hash, expires_at, scope, wrapped FROM pairings
      WHERE code_hash = ? AND expires_at > ?
      """)
    insertPairing = try connection.prepare(
      """
      INSERT INTO pairings (account, code_hash, expires_at, scope, wrapped) VALUES (?, ?, ?, ?, ?)
      """)
    deleteCode = try connection.prepare("DELETE FROM pairings WHERE code_hash = ?")
    deleteCodes = try connection.prepare("DELETE FROM pairings WHERE account = ?")
    deleteExpiredOfAccount = try connection.prepare(
      "DELETE FROM pairings WHERE account = ? AND expires_at <= ?")
    // Deletes all but the newest codes; the second parameter is the number to keep.
    deleteOldest = try connection.prepare(
      """
      DELETE FROM pairings WHERE number IN (
        SELECT number FROM pairings WHERE account = ? ORDER BY number DESC LIMIT -1 OFFSET ?)
      """)
    expired = try connection.prepare(
      "SELECT number FROM pairings WHERE expires_at <= ? ORDER BY expires_at LIMIT ?")
    delete = try connection.prepare("DELETE FROM pairings WHERE number = ?")
  }

  func createAccount(
    _ id: AccountID, generation: UInt32, label: String, device: NewDevice?, pairing: NewPairing?,
    wall: Int64
  ) throws(StorageError) -> CommitResult {
    guard try !exists(id), try isFree(device), try isFree(pairing, wall: wall) else {
      return .refused(StoreRefusals.taken)
    }
    if let holder = try labels.account(labelled: label) {
      return .refused(StoreRefusals.labelTaken(by: holder))
    }
    try insertAccount.bind(id.rawValue).bind(Int64(generation)).bind(label).bind(wall)
      .bind(run).bind(AccountLabel.key(label)).run()
    if let device { try addDevice(device, .everything, to: id, wall: wall) }
    if let pairing { try addPairing(pairing, by: id, wall: wall) }
    return .done
  }

  func setPlan(_ plan: Plan, of id: AccountID) throws(StorageError) -> CommitResult {
    guard try exists(id) else { return .refused(StoreRefusals.unknownAccount) }
    try setPlan.bind(id.rawValue).bind(plan.storedText).bind(plan.bytes)
      .bind(plan.records).run()
    return .done
  }

  func issuePairing(
    _ pairing: NewPairing, for id: AccountID, wall: Int64
  ) throws(StorageError) -> CommitResult {
    guard try exists(id) else { return .refused(StoreRefusals.unknownAccount) }
    if let issuer = pairing.issuer, try !queries.isMember(issuer, of: id) {
      return .refused(StoreRefusals.revokedDevice)
    }
    guard try isFree(pairing, wall: wall) else { return .refused(StoreRefusals.taken) }
    try addPairing(pairing, by: id, wall: wall)
    return .done
  }

  func redeemPairing(
    _ codeHash: [UInt8], for device: NewDevice, wall: Int64
  ) throws(StorageError) -> CommitResult {
    guard let found = try validPairing(of: codeHash, wall: wall) else {
      return .refused(try queries.residences.absence(ofPairing: codeHash, wall: wall))
    }
    let (id, pairing) = (found.account, found.pairing)
    if let until = try queries.residences.lease(of: id)?.movingUntil, until > wall {
      return .refused(StoreRefusals.moving)
    }
    guard device.mayJoin(id) else { return .refused(StoreRefusals.otherAccount) }
    let count = try memberCount.bind(id.rawValue).first { $0.integer(0) } ?? 0
    guard count < rules.devicesPerAccount else {
      return .refused(StoreRefusals.tooManyDevices(rules.devicesPerAccount))
    }
    guard try !queries.isMember(device.id, of: id), try isFree(device) else {
      return .refused(StoreRefusals.taken)
    }
    try deleteCode.bind(codeHash).run()
    try addDevice(device, pairing.scope, to: id, wall: wall)
    return .redeemed(id, pairing.scope, wrapped: pairing.wrapped)
  }

  func renameDevice(
    _ device: DeviceID, of id: AccountID, to name: String
  ) throws(StorageError) -> CommitResult {
    guard try queries.isMember(device, of: id) else { return .refused(StoreRefusals.unknownDevice) }
    try renameDevice.bind(id.rawValue).bind(device.rawValue).bind(name).run()
    return .done
  }

  /// Deletes the device's row with its token hash, its subscriptions and its registrations for
  /// wakes. Also deletes the account's pairing codes, because the device may have created them.
  func revokeDevice(_ device: DeviceID, of id: AccountID) throws(StorageError) -> CommitResult {
    guard try queries.isMember(device, of: id) else { return .refused(StoreRefusals.unknownDevice) }
    try deleteDevice.bind(id.rawValue).bind(device.rawValue).run()
    try deleteSubscriptions.bind(id.rawValue).bind(device.rawValue).run()
    try deleteWakes.bind(id.rawValue).bind(device.rawValue).run()
    try deleteCodes.bind(id.rawValue).run()
    return .done
  }

  func touchDevices(_ sightings: [DeviceSighting]) throws(StorageError) -> CommitResult {
    for sighting in sightings {
      try touchDevice.bind(sighting.account.rawValue).bind(sighting.device.rawValue)
        .bind(sighting.lastSeen).run()
    }
    return .done
  }

  /// Deletes at most `count` expired codes.
  func forgetCodes(_ count: Int, wall: Int64) throws(StorageError) {
    let numbers = try expired.bind(wall).bind(Int64(count)).all { $0.integer(0) }
    for number in numbers { try delete.bind(number).run() }
  }

  private func addDevice(
    _ device: NewDevice, _ scope: DeviceScope, to id: AccountID, wall: Int64
  ) throws(StorageError) {
    let description = device.description
    try insertDevice.bind(id.rawValue).bind(device.id.rawValue).bind(description.deviceName)
      .bind(description.platform).bind(description.appVersion).bind(device.tokenHash).bind(wall)
      .bind(scope.storedText).run()
  }

  private func addPairing(
    _ pairing: NewPairing, by id: AccountID, wall: Int64
  ) throws(StorageError) {
    // An expired code that was not deleted yet may have the same hash.
    try deleteCode.bind(pairing.codeHash).run()
    try deleteExpiredOfAccount.bind(id.rawValue).bind(wall).run()
    try deleteOldest.bind(id.rawValue).bind(Int64(Limits.pairingCodesPerAccount - 1)).run()
    try insertPairing.bind(id.rawValue).bind(pairing.codeHash).bind(pairing.expiresAt)
      .bind(pairing.scope.storedText).bind(pairing.wrapped).run()
  }

  private func exists(_ id: AccountID) throws(StorageError) -> Bool {
    try account.bind(id.rawValue).first { _ in true } ?? false
  }

  private func isFree(_ device: NewDevice?) throws(StorageError) -> Bool {
    guard let device else { return true }
    return try token.bind(device.tokenHash).first { _ in false } ?? true
  }

  private func isFree(_ pairing: NewPairing?, wall: Int64) throws(StorageError) -> Bool {
    guard let pairing else { return true }
    return try validPairing(of: pairing.codeHash, wall: wall) == nil
  }

  /// Returns nil if the code is unknown or has expired.
  private func validPairing(
    of codeHash: [UInt8], wall: Int64
  ) throws(StorageError) -> ExportedPairing? {
    try code.bind(codeHash).bind(wall).first(SQLiteStoreSource.pairing)
  }
}

/// Lookup of accounts by label.
final class AccountLabels {
  private let byKey: SQLiteStatement
  private let withoutKey: SQLiteStatement
  private let all: SQLiteStatement
  private let putKey: SQLiteStatement

  init(_ connection: SQLiteConnection) throws(StorageError) {
    byKey = try connection.prepare(
      "SELECT account, label FROM accounts WHERE label_key = ? ORDER BY account")
    withoutKey = try connection.prepare(
      """
      SELECT account, label FROM accounts WHERE label_key IS NULL AND label <> '' ORDER BY account
      """)
    all = try connection.prepare(
      "SELECT account, label FROM accounts WHERE label <> '' ORDER BY account")
    putKey = try connection.prepare("UPDATE accounts SET label_key = ?2 WHERE account = ?1")
  }

  /// Returns an account that has the label, or nil. Only a label without a key is compared with
  /// those of all accounts. Adds some of the keys that rows of an older program, or of another
  /// store, lack.
  func account(labelled label: String) throws(StorageError) -> AccountID? {
    guard !label.isEmpty else { return nil }
    guard let key = AccountLabel.key(label) else { return holder(of: label, in: try rows(all)) }
    if let found = try byKey.bind(key).first({ AccountID(rawValue: $0.bits(0)) }) { return found }
    let others = try rows(withoutKey)
    for row in others.prefix(AccountLabel.addedKeys) {
      guard let key = AccountLabel.key(row.label) else { continue }
      try putKey.bind(row.account.rawValue).bind(key).run()
    }
    return holder(of: label, in: others)
  }

  private typealias Row = (account: AccountID, label: String)

  private func rows(_ statement: SQLiteStatement) throws(StorageError) -> [Row] {
    try statement.all { (AccountID(rawValue: $0.bits(0)), $0.text(1)) }
  }

  private func holder(of label: String, in rows: [Row]) -> AccountID? {
    rows.first { AccountLabel.areSame($0.label, label) }?.account
  }
}

/// Removes an account and all its data in portions, one per commit: first its devices, then
/// records, remembered batches and chunks, and the account's own row last. After each commit the
/// remaining data is consistent, including the counters and the chunk reference counts. A removal
/// that is requested again after a crash continues at that point.
final class AccountRemover {
  private let queries: ZoneQueries
  private let records: RecordWriter
  private let chunks: ChunkWriter
  private let rules: StoreRules
  /// Deletes an account's rows from the tables that are small.
  private let access: [SQLiteStatement]
  private let ends: [SQLiteStatement]
  private let delete: SQLiteStatement
  private let someRecords: SQLiteStatement
  private let deleteRecord: SQLiteStatement
  private let someBatches: SQLiteStatement
  private let deleteBatch: SQLiteStatement
  private let someChunks: SQLiteStatement

  init(
    _ connection: SQLiteConnection, queries: ZoneQueries, records: RecordWriter,
    chunks: ChunkWriter, rules: StoreRules
  ) throws(StorageError) {
    self.queries = queries
    self.records = records
    self.chunks = chunks
    self.rules = rules
    func removals(_ tables: [String]) throws(StorageError) -> [SQLiteStatement] {
      var removals: [SQLiteStatement] = []
      for table in tables {
        removals.append(try connection.prepare("DELETE FROM \(table) WHERE account = ?"))
      }
      return removals
    }
    access = try removals(["devices", "pairings", "subscriptions", "wakes"])
    ends = try removals(["zones", "lineage", "gaps"])
    delete = try connection.prepare("DELETE FROM accounts WHERE account = ?")
    someRecords = try connection.prepare(
      """
      SELECT number, zone, fields IS NOT NULL, \(RecordRow.storedBytes), chunks
      FROM records INDEXED BY records_by_tag WHERE account = ? ORDER BY tag LIMIT ?
      """)
    deleteRecord = try connection.prepare("DELETE FROM records WHERE number = ?")
    someBatches = try connection.prepare(
      "SELECT number, length(words) FROM batches WHERE account = ? LIMIT ?")
    deleteBatch = try connection.prepare("DELETE FROM batches WHERE number = ?")
    someChunks = try connection.prepare("SELECT hash, bytes FROM chunks WHERE account = ? LIMIT ?")
  }

  func removeAccount(_ id: AccountID, wall: Int64) throws(StorageError) -> CommitResult {
    guard let head = try queries.head(of: id) else {
      return .refused(StoreRefusals.unknownAccount)
    }
    try removeAccess(to: id)
    let gone = try removePortion(of: id, wall: wall)
    guard gone.isLast else {
      try records.advance(id, from: head, to: head, -gone.use)
      return .removing
    }
    for removal in ends { try removal.bind(id.rawValue).run() }
    try removeRow(of: id)
    return .done
  }

  /// Removes the account's own row.
  func removeRow(of id: AccountID) throws(StorageError) { try delete.bind(id.rawValue).run() }

  /// Removes the account's devices and pairing codes.
  func removeAccess(to id: AccountID) throws(StorageError) {
    for removal in access { try removal.bind(id.rawValue).run() }
  }

  /// Removes a portion of what is left of an account that has moved away. Returns true if nothing
  /// is left.
  func removeRest(of id: AccountID, wall: Int64) throws(StorageError) -> Bool {
    guard try removePortion(of: id, wall: wall).isLast else { return false }
    for removal in ends { try removal.bind(id.rawValue).run() }
    return true
  }

  private func removePortion(
    of id: AccountID, wall: Int64
  ) throws(StorageError) -> (use: AccountUse, isLast: Bool) {
    var left = rules.deletedPerCommit
    var gone = try removeRecords(left, of: id, wall: wall)
    left -= Int(gone.records)
    let batches = try removeBatches(left, of: id)
    left -= Int(batches.batches)
    gone += batches
    if left > 0 { left -= try removeChunks(left, of: id) }
    return (gone, left > 0)
  }

  private func removeRecords(
    _ count: Int, of id: AccountID, wall: Int64
  ) throws(StorageError) -> AccountUse {
    typealias Row = (
      number: Int64, zone: Name, isLive: Bool, bytes: Int64, chunks: [ChunkHash]
    )
    let rows = try someRecords.bind(id.rawValue).bind(Int64(count)).all {
      (row) throws(StorageError) -> Row in
      (
        row.integer(0), try row.name(1), row.integer(2) != 0, row.integer(3),
        try queries.chunks.hashes(row, 4)
      )
    }
    var uses = ChunkUses()
    var live: [Name: Int] = [:]
    for row in rows {
      try deleteRecord.bind(row.number).run()
      uses.replace(row.chunks, by: [])
      if row.isLive { live[row.zone, default: 0] += 1 }
    }
    try chunks.applyChanges(uses.changes, to: id, wall: wall)
    for zone in live.keys.sorted() { try records.count(-(live[zone] ?? 0), in: zone, of: id) }
    return AccountUse(bytes: rows.reduce(0) { $0 + $1.bytes }, records: Int64(rows.count))
  }

  private func removeBatches(_ count: Int, of id: AccountID) throws(StorageError) -> AccountUse {
    let rows = try someBatches.bind(id.rawValue).bind(Int64(count)).all { row in
      (number: row.integer(0), words: Int(clamping: row.integer(1)))
    }
    var gone = AccountUse()
    for row in rows {
      try deleteBatch.bind(row.number).run()
      gone += RememberedBatch.use(words: row.words)
    }
    return gone
  }

  private func removeChunks(_ count: Int, of id: AccountID) throws(StorageError) -> Int {
    let rows = try someChunks.bind(id.rawValue).bind(Int64(count)).all { row in
      (hash: row.bytes(0), bytes: row.integer(1))
    }
    for row in rows { try chunks.removeChunk(row.hash, of: id, bytes: row.bytes) }
    return rows.count
  }
}

/// Writes the subscriptions of devices.
final class SubscriptionWriter {
  private let queries: AccountQueries
  private let put: SQLiteStatement
  private let remove: SQLiteStatement

  init(_ connection: SQLiteConnection, queries: AccountQueries) throws(StorageError) {
    self.queries = queries
    put = try connection.prepare(
      """
      INSERT INTO subscriptions (account, device, id, content) VALUES (?, ?, ?, ?)
      ON CONFLICT (account, device, id) DO UPDATE SET content = excluded.content
      """)
    remove = try connection.prepare(
      "DELETE FROM subscriptions WHERE account = ? AND device = ? AND id = ?")
  }

  func putSubscription(
    _ subscription: Subscription, for device: DeviceID, of account: AccountID
  ) throws(StorageError) -> CommitResult {
    guard try queries.isMember(device, of: account) else {
      return .refused(StoreRefusals.revokedDevice)
    }
    let existing = try queries.subscriptions(of: device, of: account)
    let isNew = !existing.contains { $0.id == subscription.id }
    guard !isNew || existing.count < Limits.subscriptionsPerDevice else {
      return .refused(StoreRefusals.tooManySubscriptions)
    }
    try put.bind(account.rawValue).bind(device.rawValue).bind(subscription.id)
      .bind(subscription.storedText).run()
    return .subscribed(try queries.subscriptions(of: device, of: account), isNew: isNew)
  }

  func removeSubscription(
    _ name: Name, for device: DeviceID, of account: AccountID
  ) throws(StorageError) -> CommitResult {
    guard try queries.isMember(device, of: account) else {
      return .refused(StoreRefusals.revokedDevice)
    }
    let existing = try queries.subscriptions(of: device, of: account)
    guard existing.contains(where: { $0.id == name }) else {
      return .refused(StoreRefusals.unknownSubscription)
    }
    try remove.bind(account.rawValue).bind(device.rawValue).bind(name).run()
    return .subscribed(existing.filter { $0.id != name }, isNew: false)
  }
}
