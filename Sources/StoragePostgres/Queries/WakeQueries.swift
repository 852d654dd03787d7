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
    let found = try rows[0].all { (row) throws(PostgresFault) in
      Sleeper(
        id: row.sleeperID, wakes: try row.wakes(2), newest: row.mark(3),
        subscriptions: subscriptions[row.sleeperID] ?? [], isConnectedElsewhere: row.bool(5))
    }
    return .sleepers(found, next: found.count == query.limit ? found.last?.id : nil)
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
    init(_ name: String, _ condition: String, relay: String) {
      let rows = """
        FROM wakes JOIN devices USING (account, device) JOIN accounts USING (account)
        WHERE \(condition) ORDER BY account, device LIMIT $1::bigint
        """
      sleepers = PostgresStatement(
        "sleepers \(name)",
        """
        SELECT account, device, content, generation, newest,
          connected_by <> \(relay)::bigint AND connected_until > clock_timestamp()
        \(rows)
        """)
      subscriptions = PostgresStatement(
        "subscriptions of sleepers \(name)",
        """
        SELECT account, device, id, content FROM (SELECT account, device \(rows)) AS chosen
        JOIN subscriptions USING (account, device) ORDER BY account, device, id
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
