import LockstepModel
import LockstepStorage

/// Queries on accounts and devices.
enum AccountQueries {
  static func principal(
    _ tokenHash: [UInt8], on connection: PostgresConnection
  ) throws(PostgresFault) -> ReadResult {
    let parameters = PostgresParameters().bind(tokenHash)
    let rows = try connection.read { pipeline in
      pipeline.add(principal, parameters)
      pipeline.add(subscriptionsOfToken, parameters)
    }
    if rows[0].first({ $0.bool(11) }) ?? false { return .refused(StoreRefusals.moving) }
    let found = try rows[0].first { (row) throws(PostgresFault) in
      Principal(
        account: AccountID(rawValue: row.bits(0)), device: DeviceID(rawValue: row.bits(1)),
        scope: try row.scope(10), newest: AccountHead(row, from: 5).token, plan: try row.plan(2),
        membershipVersion: row.integer(8), hasWakes: row.bool(9))
    }
    guard var found else {
      return .refused(try MoveQueries.absence(ofToken: tokenHash, on: connection))
    }
    found.subscriptions = try rows[1].all { (row) throws(PostgresFault) in try row.subscription() }
    return .principal(found)
  }

  static func count(on connection: PostgresConnection) throws(PostgresFault) -> ReadResult {
    .count(Int(clamping: try connection.run(total).first { $0.integer(0) } ?? 0))
  }

  static func list(
    after: AccountID?, limit: Int, on connection: PostgresConnection
  ) throws(PostgresFault) -> ReadResult {
    let count = max(1, min(limit, Limits.listedAccounts))
    // Ids are unsigned and the database's integers are signed: the upper half sorts before 0.
    let first = after.map { $0.rawValue &+ 1 } ?? 0
    if after != nil, first == 0 { return .accounts([], more: false) }
    let halves: [ClosedRange<UInt64>] =
      first >> 63 == 0 ? [first...(.max >> 1), 1 << 63 ... .max] : [first ... .max]
    let rows = try connection.read { pipeline in
      for half in halves {
        pipeline.add(
          list,
          PostgresParameters().bind(half.lowerBound).bind(half.upperBound).bind(Int64(count + 1)))
      }
    }
    var summaries: [AccountSummary] = []
    for half in rows {
      summaries += try half.all { (row) throws(PostgresFault) in try row.summary() }
    }
    return .accounts(Array(summaries.prefix(count)), more: summaries.count > count)
  }

  static func summary(
    of account: AccountID, on connection: PostgresConnection
  ) throws(PostgresFault) -> ReadResult {
    let parameters = PostgresParameters().bind(account.rawValue).bind(account.rawValue)
      .bind(Int64(1))
    let found = try connection.run(list, parameters).first { (row) throws(PostgresFault) in
      try row.summary()
    }
    return found.map { .account($0) } ?? .refused(StoreRefusals.unknownAccount)
  }

  /// `relay`: the relay that sends the query. It tracks its own connections itself.
  static func devices(
    of account: AccountID, for relay: UInt64, on connection: PostgresConnection
  ) throws(PostgresFault) -> ReadResult {
    let parameters = PostgresParameters().bind(account.rawValue)
    let rows = try connection.read { pipeline in
      pipeline.add(ZoneQueries.head, parameters)
      pipeline.add(devices, parameters.bind(relay))
    }
    guard rows[0].count > 0 else { return .refused(StoreRefusals.unknownAccount) }
    return .devices(
      try rows[1].all { (row) throws(PostgresFault) in
        Device(
          id: DeviceID(rawValue: row.bits(0)),
          description: DeviceDescription(
            deviceName: row.text(1), platform: row.text(2), appVersion: row.text(3)),
          lastSeen: row.integer(4), connected: row.bool(5), scope: try row.scope(6))
      })
  }

  /// Returns the head and the number of membership changes of each account, from rows of
  /// `versions`; a removed account is omitted.
  static func versions(_ rows: PostgresRows) -> [AccountVersion] {
    rows.all { row in
      AccountVersion(
        account: AccountID(rawValue: row.bits(0)), token: AccountHead(row, from: 1).token,
        membershipVersion: row.integer(4))
    }
  }

  // MARK: Statements

  private static let principal = PostgresStatement(
    "principal",
    """
    SELECT account, device, plan, quota_bytes, quota_records, generation, newest, forgotten,
      affairs, (
        SELECT count(*) FROM wakes
        WHERE wakes.account = devices.account AND wakes.device = devices.device) > 0, scope,
      coalesce(moving_until = \(Int64.max), false)
    FROM devices JOIN accounts USING (account) WHERE token_hash = $1::bytea
    """)
  private static let subscriptionsOfToken = PostgresStatement(
    "subscriptions of token",
    """
    SELECT id, content FROM devices JOIN subscriptions USING (account, device)
    WHERE token_hash = $1::bytea ORDER BY id
    """)
  static let subscriptions = PostgresStatement(
    "subscriptions",
    """
    SELECT id, content FROM subscriptions WHERE account = $1::bigint AND device = $2::bigint
    ORDER BY id
    """)
  static let total = PostgresStatement("account count", "SELECT count(*) FROM accounts")
  private static let list = PostgresStatement(
    "accounts",
    """
    SELECT account, label, plan, quota_bytes, quota_records, made_at,
      (SELECT count(*) FROM devices WHERE devices.account = accounts.account), newest, chunk_bytes,
      record_bytes, record_count,
      (SELECT max(CASE WHEN \(ListenerQueries.isConnected(besides: "0"))
          THEN greatest(last_seen, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)
          ELSE last_seen END)
        FROM devices WHERE devices.account = accounts.account),
      coalesce(moving_until = \(Int64.max), false)
    FROM accounts WHERE account >= $1::bigint AND account <= $2::bigint
    ORDER BY account LIMIT $3::bigint
    """)
  private static let devices = PostgresStatement(
    "devices",
    """
    SELECT device, device_name, platform, app_version, last_seen,
      \(ListenerQueries.isConnected(besides: "$2")), scope
    FROM devices WHERE account = $1::bigint ORDER BY number
    """)
  static let versions = PostgresStatement(
    "movements",
    """
    SELECT account, generation, newest, forgotten, affairs FROM accounts
    WHERE account = ANY ($1::bigint[])
    """)
}

extension PostgresRow {
  fileprivate func summary() throws(PostgresFault) -> AccountSummary {
    AccountSummary(
      id: AccountID(rawValue: bits(0)), label: text(1), plan: try plan(2), madeAt: integer(5),
      devices: Int(clamping: integer(6)), newestTag: integer(7), chunkBytes: integer(8),
      recordBytes: integer(9), records: integer(10),
      lastSeen: isNull(11) ? nil : integer(11), isArriving: bool(12))
  }

  /// Reads the plan from `plan`, `quota_bytes` and `quota_records`.
  fileprivate func plan(_ column: Int32) throws(PostgresFault) -> Plan {
    guard var plan = Plan(storedText: isNull(column) ? nil : text(column)) else {
      throw PostgresFault(cause: .damaged, message: "a plan has an invalid format")
    }
    plan.bytes = isNull(column + 1) ? nil : integer(column + 1)
    plan.records = isNull(column + 2) ? nil : integer(column + 2)
    return plan
  }

  /// Reads the scope of a device, or of a pairing code.
  func scope(_ column: Int32) throws(PostgresFault) -> DeviceScope {
    guard let scope = DeviceScope(storedText: isNull(column) ? nil : text(column)) else {
      throw PostgresFault(cause: .damaged, message: "a device's scope has an invalid format")
    }
    return scope
  }

  /// Reads the subscription from `id` and `content`.
  func subscription(at column: Int32 = 0) throws(PostgresFault) -> Subscription {
    guard let subscription = Subscription(id: try name(column), storedText: text(column + 1))
    else {
      throw PostgresFault(
        cause: .damaged, message: "a subscription has an invalid format")
    }
    return subscription
  }
}
