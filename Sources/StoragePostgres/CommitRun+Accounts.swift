import LockstepModel
import LockstepStorage

/// Accounts, their plans, devices and pairing codes. Each request is decided in full before its
/// first write, so that a refused request leaves no trace in the shared transaction.
extension CommitRun {
  func createAccount(
    _ id: AccountID, generation: UInt32, label: String, device: NewDevice?, pairing: NewPairing?
  ) throws(PostgresFault) -> CommitResult {
    guard accounts[id] == nil, try isFree(device), try isFree(pairing) else {
      return .refused(StoreRefusals.taken)
    }
    write(
      AccountWriter.insert,
      PostgresParameters().bind(id.rawValue).bind(Int64(generation)).bind(label).bind(wall))
    accounts.add(id, generation: generation)
    if let device { admit(device, to: id) }
    if let pairing { offer(pairing, by: id) }
    return .done
  }

  func setPlan(_ plan: Plan, of id: AccountID) -> CommitResult {
    guard accounts[id] != nil else { return .refused(StoreRefusals.unknownAccount) }
    write(
      AccountWriter.setPlan,
      PostgresParameters().bind(id.rawValue).bind(plan.storedText).bind([plan.bytes])
        .bind([plan.records]))
    accounts.plan(id, plan)
    note(affairsOf: id)
    return .done
  }

  /// Removes one portion per commit. The first portion also signs out the account's devices.
  func removeAccount(_ id: AccountID) throws(PostgresFault) -> CommitResult {
    guard accounts[id] != nil else { return .refused(StoreRefusals.unknownAccount) }
    readAnew()
    let asked = PostgresParameters().bind(id.rawValue)
    for removal in AccountWriter.accessRemovals { write(removal, asked) }
    accounts.revokeAll(of: id)
    note(affairsOf: id)
    let gone = try ask { pipeline in
      for removal in AccountWriter.portionRemovals {
        pipeline.add(removal, asked.bind(Int64(rules.deletedPerCommit)))
      }
    }
    guard gone.allSatisfy({ $0.written < rules.deletedPerCommit }) else { return .removing }
    for removal in AccountWriter.endRemovals { write(removal, asked) }
    accounts.remove(id)
    return .done
  }

  func issue(
    _ pairing: NewPairing, for id: AccountID
  ) throws(PostgresFault) -> CommitResult {
    guard accounts[id] != nil else { return .refused(StoreRefusals.unknownAccount) }
    if let issuer = pairing.issuer, !accounts.isMember(issuer, of: id) {
      return .refused(StoreRefusals.revokedDevice)
    }
    guard try isFree(pairing) else { return .refused(StoreRefusals.taken) }
    offer(pairing, by: id)
    return .done
  }

  func redeem(
    _ codeHash: [UInt8], for device: NewDevice
  ) throws(PostgresFault) -> CommitResult {
    let rows = try ask { pipeline in
      pipeline.add(
        AccountWriter.redemption,
        PostgresParameters().bind(codeHash).bind(wall).bind(device.id.rawValue))
      pipeline.add(AccountWriter.token, PostgresParameters().bind(device.tokenHash))
    }
    let found = rows[0].first { row in
      (id: AccountID(rawValue: row.bits(0)), count: row.integer(1), isMember: row.bool(2))
    }
    guard let found else { return .refused(StoreRefusals.badPairingCode) }
    guard accounts[found.id] != nil else {
      // The code was issued while the known accounts were being locked.
      throw PostgresFault(cause: .refused(state: "40001"), message: "a code came meanwhile")
    }
    guard device.mayJoin(found.id) else { return .refused(StoreRefusals.otherAccount) }
    guard found.count < rules.devicesPerAccount else {
      return .refused(StoreRefusals.tooManyDevices(rules.devicesPerAccount))
    }
    guard !found.isMember, rows[1].count == 0 else { return .refused(StoreRefusals.taken) }
    write(AccountWriter.deleteCode, PostgresParameters().bind(codeHash))
    admit(device, to: found.id)
    note(affairsOf: found.id)
    return .redeemed(found.id)
  }

  func rename(_ device: DeviceID, of id: AccountID, to name: String) -> CommitResult {
    guard accounts.isMember(device, of: id) else { return .refused(StoreRefusals.unknownDevice) }
    write(
      AccountWriter.renameDevice,
      PostgresParameters().bind(id.rawValue).bind(device.rawValue).bind(name))
    note(affairsOf: id)
    return .done
  }

  /// Deletes the device's row with its token hash, and the device's subscriptions. Also deletes the
  /// account's pairing codes, because the device may have created them.
  func revoke(_ device: DeviceID, of id: AccountID) -> CommitResult {
    guard accounts.isMember(device, of: id) else { return .refused(StoreRefusals.unknownDevice) }
    let row = PostgresParameters().bind(id.rawValue).bind(device.rawValue)
    write(AccountWriter.deleteDevice, row)
    write(AccountWriter.deleteSubscriptions, row)
    write(AccountWriter.deleteCodes, PostgresParameters().bind(id.rawValue))
    accounts.revoke(device, of: id)
    note(affairsOf: id)
    return .done
  }

  func touch(_ sightings: [DeviceSighting]) -> CommitResult {
    guard !sightings.isEmpty else { return .done }
    write(
      AccountWriter.touchDevices,
      PostgresParameters().bind(sightings.map(\.account.rawValue))
        .bind(sightings.map(\.device.rawValue)).bind(sightings.map(\.lastSeen))
        .bind(sightings.map { $0.isConnected ? 1 as Int64 : 0 }).bind(relay)
        .bind(Limits.connectedMilliseconds))
    return .done
  }

  private func admit(_ device: NewDevice, to id: AccountID) {
    let description = device.description
    write(
      AccountWriter.insertDevice,
      PostgresParameters().bind(id.rawValue).bind(device.id.rawValue)
        .bind(description.deviceName).bind(description.platform).bind(description.appVersion)
        .bind(device.tokenHash).bind(wall))
    accounts.admit(device.id, to: id)
  }

  private func offer(_ pairing: NewPairing, by id: AccountID) {
    // An expired code that was not deleted yet may have the same hash.
    write(AccountWriter.deleteCode, PostgresParameters().bind(pairing.codeHash))
    write(AccountWriter.deleteExpired, PostgresParameters().bind(id.rawValue).bind(wall))
    write(
      AccountWriter.deleteOldest,
      PostgresParameters().bind(id.rawValue).bind(Int64(Limits.pairingCodesPerAccount - 1)))
    write(
      AccountWriter.insertPairing,
      PostgresParameters().bind(id.rawValue).bind(pairing.codeHash).bind(pairing.expiresAt))
  }

  private func isFree(_ device: NewDevice?) throws(PostgresFault) -> Bool {
    guard let device else { return true }
    return try ask { $0.add(AccountWriter.token, PostgresParameters().bind(device.tokenHash)) }[0]
      .count == 0
  }

  private func isFree(_ pairing: NewPairing?) throws(PostgresFault) -> Bool {
    guard let pairing else { return true }
    let asked = PostgresParameters().bind(pairing.codeHash).bind(wall)
    return try ask { $0.add(AccountWriter.code, asked) }[0].count == 0
  }
}

/// SQL statements.
private enum AccountWriter {
  static let insert = PostgresStatement(
    "insert account",
    """
    INSERT INTO accounts (account, generation, label, made_at, run)
    VALUES ($1::bigint, $2::bigint, $3::text, $4::bigint,
      coalesce((SELECT run FROM opening WHERE one), 0))
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
  static let accessRemovals = removals(["devices", "pairings", "subscriptions"])
  static let portionRemovals = ["records", "batches", "chunks"].map { table in
    PostgresStatement(
      "remove some \(table)",
      """
      DELETE FROM \(table) WHERE account = $1::bigint AND ctid = ANY (ARRAY(
        SELECT ctid FROM \(table) WHERE account = $1::bigint LIMIT $2::bigint))
      """)
  }
  static let endRemovals = removals(["zones", "lineage", "gaps", "accounts"])

  private static func removals(_ tables: [String]) -> [PostgresStatement] {
    tables.map { table in
      PostgresStatement("remove \(table)", "DELETE FROM \(table) WHERE account = $1::bigint")
    }
  }

  static let token = PostgresStatement(
    "token", "SELECT 1::bigint FROM devices WHERE token_hash = $1::bytea")
  static let code = PostgresStatement(
    "code",
    "SELECT account FROM pairings WHERE code_hash = $1::bytea AND expires_at > $2::bigint")
  static let redemption = PostgresStatement(
    "redemption",
    """
    SELECT account, (SELECT count(*) FROM devices WHERE devices.account = pairings.account),
      EXISTS (SELECT 1 FROM devices
        WHERE devices.account = pairings.account AND device = $3::bigint)
    FROM pairings WHERE code_hash = $1::bytea AND expires_at > $2::bigint
    """)
  static let insertDevice = PostgresStatement(
    "insert device",
    """
    INSERT INTO devices
      (account, device, device_name, platform, app_version, token_hash, last_seen)
    VALUES ($1::bigint, $2::bigint, $3::text, $4::text, $5::text, $6::bytea, $7::bigint)
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
    INSERT INTO pairings (account, code_hash, expires_at)
    VALUES ($1::bigint, $2::bytea, $3::bigint)
    """)
  static let deleteCode = PostgresStatement(
    "delete code", "DELETE FROM pairings WHERE code_hash = $1::bytea")
  static let deleteCodes = PostgresStatement(
    "delete codes", "DELETE FROM pairings WHERE account = $1::bigint")
  static let deleteExpired = PostgresStatement(
    "delete expired codes",
    "DELETE FROM pairings WHERE account = $1::bigint AND expires_at <= $2::bigint")
  /// Deletes all but the newest codes; the second parameter is the number to keep.
  static let deleteOldest = PostgresStatement(
    "delete oldest codes",
    """
    DELETE FROM pairings WHERE account = $1::bigint AND number IN (
      SELECT number FROM pairings WHERE account = $1::bigint ORDER BY number DESC
      OFFSET $2::bigint)
    """)
}
