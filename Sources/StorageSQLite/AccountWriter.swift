import LockstepModel
import LockstepStorage

/// Writes accounts, their plans, devices and pairing codes. Each request is decided in full before
/// its first write, so that a refused request leaves no trace in the shared transaction.
final class AccountWriter {
  private let rules: StoreRules
  private let run: UInt64
  private let account: SQLiteStatement
  private let insertAccount: SQLiteStatement
  private let setPlan: SQLiteStatement
  private let token: SQLiteStatement
  private let member: SQLiteStatement
  private let memberCount: SQLiteStatement
  private let insertDevice: SQLiteStatement
  private let renameDevice: SQLiteStatement
  private let deleteDevice: SQLiteStatement
  private let deleteSubscriptions: SQLiteStatement
  private let touchDevice: SQLiteStatement
  private let code: SQLiteStatement
  private let insertPairing: SQLiteStatement
  private let deleteCode: SQLiteStatement
  private let deleteCodes: SQLiteStatement
  private let deleteExpiredOfAccount: SQLiteStatement
  private let deleteOldest: SQLiteStatement
  private let expired: SQLiteStatement
  private let delete: SQLiteStatement

  init(_ connection: SQLiteConnection, rules: StoreRules, run: UInt64) throws(StorageError) {
    self.rules = rules
    self.run = run
    account = try connection.prepare("SELECT 1 FROM accounts WHERE account = ?")
    insertAccount = try connection.prepare(
      """
      INSERT INTO accounts (account, generation, newest, label, made_at, run)
      VALUES (?, ?, 0, ?, ?, ?)
      """)
    setPlan = try connection.prepare(
      """
      UPDATE accounts SET plan = ?2, quota_bytes = ?3, quota_records = ?4 WHERE account = ?1
      """)
    token = try connection.prepare("SELECT 1 FROM devices WHERE token_hash = ?")
    member = try connection.prepare("SELECT 1 FROM devices WHERE account = ? AND device = ?")
    memberCount = try connection.prepare("SELECT count(*) FROM devices WHERE account = ?")
    insertDevice = try connection.prepare(
      """
      INSERT INTO devices
        (account, device, device_name, platform, app_version, token_hash, last_seen)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      """)
    renameDevice = try connection.prepare(
      "UPDATE devices SET device_name = ?3 WHERE account = ?1 AND device = ?2")
    deleteDevice = try connection.prepare("DELETE FROM devices WHERE account = ? AND device = ?")
    deleteSubscriptions = try connection.prepare(
      "DELETE FROM subscriptions WHERE account = ? AND device = ?")
    touchDevice = try connection.prepare(
      """
      UPDATE devices SET last_seen = ?3
      WHERE account = ?1 AND device = ?2 AND last_seen < ?3
      """)
    code = try connection.prepare(
      "SELECT account FROM pairings WHERE code_hash = ? AND expires_at > ?")
    insertPairing = try connection.prepare(
      "INSERT INTO pairings (account, code_hash, expires_at) VALUES (?, ?, ?)")
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

  func create(
    _ id: AccountID, generation: UInt32, label: String, device: NewDevice?, pairing: NewPairing?,
    wall: Int64
  ) throws(StorageError) -> CommitResult {
    guard try !exists(id), try isFree(device), try isFree(pairing, wall: wall) else {
      return .refused(StoreRefusals.taken)
    }
    try insertAccount.bind(id.rawValue).bind(Int64(generation)).bind(label).bind(wall)
      .bind(run).run()
    if let device { try admit(device, to: id, wall: wall) }
    if let pairing { try offer(pairing, by: id, wall: wall) }
    return .done
  }

  func setPlan(_ plan: Plan, of id: AccountID) throws(StorageError) -> CommitResult {
    guard try exists(id) else { return .refused(StoreRefusals.unknownAccount) }
    try setPlan.bind(id.rawValue).bind(plan.storedText).bind(plan.bytes)
      .bind(plan.records).run()
    return .done
  }

  func issue(
    _ pairing: NewPairing, for id: AccountID, wall: Int64
  ) throws(StorageError) -> CommitResult {
    guard try exists(id) else { return .refused(StoreRefusals.unknownAccount) }
    if let issuer = pairing.issuer, try !isMember(issuer, of: id) {
      return .refused(StoreRefusals.revokedDevice)
    }
    guard try isFree(pairing, wall: wall) else { return .refused(StoreRefusals.taken) }
    try offer(pairing, by: id, wall: wall)
    return .done
  }

  func redeem(
    _ codeHash: [UInt8], for device: NewDevice, wall: Int64
  ) throws(StorageError) -> CommitResult {
    guard let id = try owner(of: codeHash, wall: wall) else {
      return .refused(StoreRefusals.badPairingCode)
    }
    guard device.mayJoin(id) else { return .refused(StoreRefusals.otherAccount) }
    let count = try memberCount.bind(id.rawValue).first { $0.integer(0) } ?? 0
    guard count < rules.devicesPerAccount else {
      return .refused(StoreRefusals.tooManyDevices(rules.devicesPerAccount))
    }
    guard try !isMember(device.id, of: id), try isFree(device) else {
      return .refused(StoreRefusals.taken)
    }
    try deleteCode.bind(codeHash).run()
    try admit(device, to: id, wall: wall)
    return .redeemed(id)
  }

  func rename(
    _ device: DeviceID, of id: AccountID, to name: String
  ) throws(StorageError) -> CommitResult {
    guard try isMember(device, of: id) else { return .refused(StoreRefusals.unknownDevice) }
    try renameDevice.bind(id.rawValue).bind(device.rawValue).bind(name).run()
    return .done
  }

  /// Deletes the device's row with its token hash, and the device's subscriptions. Also deletes the
  /// account's pairing codes, because the device may have created them.
  func revoke(_ device: DeviceID, of id: AccountID) throws(StorageError) -> CommitResult {
    guard try isMember(device, of: id) else { return .refused(StoreRefusals.unknownDevice) }
    try deleteDevice.bind(id.rawValue).bind(device.rawValue).run()
    try deleteSubscriptions.bind(id.rawValue).bind(device.rawValue).run()
    try deleteCodes.bind(id.rawValue).run()
    return .done
  }

  func touch(_ sightings: [DeviceSighting]) throws(StorageError) -> CommitResult {
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

  private func admit(
    _ device: NewDevice, to id: AccountID, wall: Int64
  ) throws(StorageError) {
    let description = device.description
    try insertDevice.bind(id.rawValue).bind(device.id.rawValue).bind(description.deviceName)
      .bind(description.platform).bind(description.appVersion).bind(device.tokenHash).bind(wall)
      .run()
  }

  private func offer(
    _ pairing: NewPairing, by id: AccountID, wall: Int64
  ) throws(StorageError) {
    // An expired code that was not deleted yet may have the same hash.
    try deleteCode.bind(pairing.codeHash).run()
    try deleteExpiredOfAccount.bind(id.rawValue).bind(wall).run()
    try deleteOldest.bind(id.rawValue).bind(Int64(Limits.pairingCodesPerAccount - 1)).run()
    try insertPairing.bind(id.rawValue).bind(pairing.codeHash).bind(pairing.expiresAt).run()
  }

  private func exists(_ id: AccountID) throws(StorageError) -> Bool {
    try account.bind(id.rawValue).first { _ in true } ?? false
  }

  private func isMember(_ device: DeviceID, of id: AccountID) throws(StorageError) -> Bool {
    try member.bind(id.rawValue).bind(device.rawValue).first { _ in true } ?? false
  }

  private func isFree(_ device: NewDevice?) throws(StorageError) -> Bool {
    guard let device else { return true }
    return try token.bind(device.tokenHash).first { _ in false } ?? true
  }

  private func isFree(_ pairing: NewPairing?, wall: Int64) throws(StorageError) -> Bool {
    guard let pairing else { return true }
    return try owner(of: pairing.codeHash, wall: wall) == nil
  }

  private func owner(of codeHash: [UInt8], wall: Int64) throws(StorageError) -> AccountID? {
    try code.bind(codeHash).bind(wall).first { AccountID(rawValue: $0.bits(0)) }
  }
}
