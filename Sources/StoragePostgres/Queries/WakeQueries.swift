import LockstepModel
import LockstepStorage

/// Queries on devices' registrations for wakes.
enum WakeQueries {
  static func statuses(
    of id: SleeperID, on connection: PostgresConnection
  ) throws(PostgresFault) -> ReadResult {
    let rows = try connection.run(
      row, PostgresParameters().bind(id.account.rawValue).bind(id.device.rawValue))
    let wakes = try rows.first { (row) throws(PostgresFault) in try row.wakes(0) }
    return .wakes(wakes?.statuses ?? [])
  }

  /// `relay`: the relay that sends the query. It tracks its own connections itself.
  static func sleepers(
    _ query: SleeperQuery, for relay: UInt64, on connection: PostgresConnection
  ) throws(PostgresFault) -> ReadResult {
    let selection: Selection
    var parameters = PostgresParameters().bind(Int64(query.limit))
    switch query {
    case .accounts(let accounts):
      selection = ofAccounts
      parameters = parameters.bind(accounts.map(\.rawValue))
    case .after(let id, _):
      guard let first = id.map(\.next) ?? SleeperID.first else {
        return .sleepers([], next: nil)
      }
      selection = following
      parameters = parameters.bind(first.account.rawValue).bind(first.device.rawValue)
    }
    let chosen = parameters
    let rows = try connection.read { pipeline in
      pipeline.add(selection.sleepers, chosen.bind(relay))
      pipeline.add(selection.subscriptions, chosen)
    }
    var subscriptions: [SleeperID: [Subscription]] = [:]
    for (id, subscription) in try rows[1].all({ (row) throws(PostgresFault) in
      (row.sleeperID, try row.subscription(at: 2))
    }) { subscriptions[id, default: []].append(subscription) }
    let found = try rows[0].all { (row) throws(PostgresFault) -> Sleeper? in
      // A relay of an older version has revoked the device.
      if row.isNull(3) { return nil }
      return Sleeper(
        id: row.sleeperID, wakes: try row.wakes(2), newest: row.mark(3), scope: try row.scope(6),
        subscriptions: subscriptions[row.sleeperID] ?? [], isConnectedElsewhere: row.bool(5))
    }
    let isFull = rows[0].count > 0 && rows[0].count == query.limit
    return .sleepers(
      found.compactMap(\.self), next: isFull ? rows[0][rows[0].count - 1].sleeperID : nil)
  }

  static func keys(on connection: PostgresConnection) throws(PostgresFault) -> ReadResult {
    .wakeKeys(try connection.run(allKeys).all { $0.wakeKey })
  }

  // MARK: Statements

  private static let row = PostgresStatement(
    "wakes", "SELECT content FROM wakes WHERE account = $1::bigint AND device = $2::bigint")
  static let allKeys = PostgresStatement(
    "wake keys", "SELECT made_at, private_key FROM wake_keys ORDER BY made_at")

  private struct Selection {
    let sleepers: PostgresStatement
    let subscriptions: PostgresStatement

    /// `relay`: the parameter after those of the condition.
    ///
    /// `LIMIT` and `OFFSET` in the inner queries make the planner look up their rows for each of
    /// the chosen devices: it might read whole tables otherwise.
    init(_ name: String, _ condition: String, relay: String) {
      let chosen = """
        (SELECT account, device, content FROM wakes
          WHERE \(condition) ORDER BY account, device LIMIT $1::bigint) AS chosen
        """
      sleepers = PostgresStatement(
        "sleepers \(name)",
        """
        SELECT chosen.account, chosen.device, chosen.content, generation, newest,
          \(ListenerQueries.isConnected(besides: relay)), scope
        FROM \(chosen) LEFT JOIN LATERAL (
          SELECT generation, newest, connected_by, connected_until, scope
          FROM devices JOIN accounts USING (account)
          WHERE devices.account = chosen.account AND devices.device = chosen.device LIMIT 1
        ) AS held ON true
        ORDER BY chosen.account, chosen.device
        """)
      subscriptions = PostgresStatement(
        "subscriptions of sleepers \(name)",
        """
        SELECT chosen.account, chosen.device, held.id, held.content
        FROM \(chosen) CROSS JOIN LATERAL (
          SELECT id, content FROM subscriptions
          WHERE subscriptions.account = chosen.account AND subscriptions.device = chosen.device
          OFFSET 0
        ) AS held
        ORDER BY chosen.account, chosen.device, held.id
        """)
    }
  }

  private static let ofAccounts = Selection(
    "of accounts", "account = ANY ($2::bigint[])", relay: "$3")
  private static let following = Selection(
    "after", "(account, device) >= ($2::bigint, $3::bigint)", relay: "$4")
}

extension PostgresRow {
  /// Reads the id of a device from `account` and `device`, the first columns.
  var sleeperID: SleeperID {
    SleeperID(account: AccountID(rawValue: bits(0)), device: DeviceID(rawValue: bits(1)))
  }

  /// Reads a position from `generation` and `newest`.
  func mark(_ column: Int32) -> WakeMark {
    WakeMark(
      generation: UInt32(truncatingIfNeeded: integer(column)), sequence: integer(column + 1))
  }

  /// Reads the registrations of a device for wakes.
  func wakes(_ column: Int32) throws(PostgresFault) -> DeviceWakes {
    guard let wakes = DeviceWakes(storedText: text(column)) else {
      throw PostgresFault(
        cause: .damaged,
        message: "a device's registrations for wakes have an invalid format")
    }
    return wakes
  }

  /// Reads a key from `made_at` and `private_key`.
  var wakeKey: WakeKey { WakeKey(madeAt: integer(0), privateKey: bytes(1)) }
}
