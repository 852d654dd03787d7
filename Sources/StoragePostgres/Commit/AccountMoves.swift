import LockstepModel
import LockstepStorage

/// Moves of accounts to and from other stores (`AccountMove`), by the database's clock.
extension CommitRun {
  func move(_ step: MoveStep) throws(PostgresFault) -> CommitResult {
    switch step {
    case .freeze(let id, let milliseconds): try freeze(id, milliseconds)
    case .renew(let move, let milliseconds): try setLease(of: move, milliseconds)
    case .thaw(let move): try setLease(of: move, nil)
    case .depart(let move, let relay): try depart(move, to: relay)
    case .departAgain(let id, let relay, let move): try departAgain(id, to: relay, move: move)
    case .activate(let id, let move): try activate(id, move: move)
    case .abandon(let move): try abandon(move)
    case .clear(let id): try clear(id)
    }
  }

  /// Residence of a locked account. The clock is read while the lock is held: that of the statement
  /// that waited for it may be older than a commit of another relay.
  private struct Residence {
    var version: Int64
    var movingUntil: Int64?
    var move: UInt64
    var now: Int64

    var isArriving: Bool { movingUntil == .max }
  }

  private func residence(of id: AccountID) throws(PostgresFault) -> Residence? {
    guard accounts[id] != nil else { return nil }
    let changes = membershipChanges[id] ?? 0
    return try query { $0.add(MoveQueries.lease, PostgresParameters().bind(id.rawValue)) }[0]
      .first { row in
        Residence(
          version: row.integer(0) + changes, movingUntil: row.isNull(1) ? nil : row.integer(1),
          move: row.bits(2), now: row.integer(3))
      }
  }

  /// True if the account was frozen without a break since the move froze it.
  private func holds(_ move: AccountMove) throws(PostgresFault) -> Bool {
    guard let found = try residence(of: move.account), let until = found.movingUntil else {
      return false
    }
    return until > found.now && !found.isArriving
      && found.version == move.frozen.membershipVersion
      && accounts[move.account]?.head.token == move.frozen.token
  }

  private func freeze(
    _ id: AccountID, _ milliseconds: Int64
  ) throws(PostgresFault) -> CommitResult {
    guard let found = try residence(of: id), let head = accounts[id]?.head else {
      return .refused(try unknown(id))
    }
    if found.isArriving { return .refused(StoreRefusals.moving) }
    write(MoveQueries.setLease, PostgresParameters().bind(id.rawValue).bind([milliseconds]))
    recordMembershipChange(of: id)
    return .frozen(
      AccountVersion(account: id, token: head.token, membershipVersion: found.version + 1))
  }

  /// Ends the lease if `milliseconds` is nil.
  private func setLease(
    of move: AccountMove, _ milliseconds: Int64?
  ) throws(PostgresFault) -> CommitResult {
    guard try holds(move) else { return .refused(StoreRefusals.moveLost) }
    write(
      MoveQueries.setLease, PostgresParameters().bind(move.account.rawValue).bind([milliseconds]))
    return .done
  }

  private func depart(
    _ move: AccountMove, to relay: String
  ) throws(PostgresFault) -> CommitResult {
    if accounts[move.account] == nil {
      let found = try departures(of: [move.account])[move.account]
      return found?.move == move.id ? .done : .refused(StoreRefusals.moveLost)
    }
    guard try holds(move) else { return .refused(StoreRefusals.moveLost) }
    depart(
      move.account,
      Departure(
        relay: relay, move: move.id, version: move.frozen.membershipVersion, isCleared: false))
    return .done
  }

  private func departAgain(
    _ id: AccountID, to relay: String, move: UInt64
  ) throws(PostgresFault) -> CommitResult {
    guard let found = try residence(of: id) else { return .refused(try unknown(id)) }
    if found.isArriving { return .refused(StoreRefusals.moving) }
    depart(
      id, Departure(relay: relay, move: move, version: found.version, isCleared: false))
    return .done
  }

  private func depart(_ id: AccountID, _ departure: Departure) {
    discardLookup()
    let parameters = PostgresParameters().bind(id.rawValue)
    write(
      MoveQueries.insert,
      parameters.bind(departure.relay).bind(departure.move).bind(departure.version))
    write(MoveQueries.keepTokens, parameters)
    write(MoveQueries.keepCodes, parameters)
    removeAccess(to: id)
    write(AccountWriter.remove, parameters)
    accounts.remove(id)
  }

  private func activate(_ id: AccountID, move: UInt64) throws(PostgresFault) -> CommitResult {
    guard let found = try residence(of: id), found.move == move else {
      return .refused(StoreRefusals.notArriving)
    }
    guard found.isArriving else { return .done }
    write(MoveQueries.setLease, PostgresParameters().bind(id.rawValue).bind([nil as Int64?]))
    recordMembershipChange(of: id)
    return .done
  }

  private func abandon(_ move: AccountMove) throws(PostgresFault) -> CommitResult {
    guard let found = try residence(of: move.account), found.isArriving else { return .done }
    let copy = accounts[move.account]?.head
    guard found.move == move.id || move.includes(copy, found.version) else {
      return .refused(StoreRefusals.moveLost)
    }
    return try removeAccount(move.account)
  }

  private func clear(_ id: AccountID) throws(PostgresFault) -> CommitResult {
    let parameters = PostgresParameters().bind(id.rawValue)
    // An account that has come back has no such row.
    guard try query({ $0.add(MoveQueries.lockUncleared, parameters) })[0].count == 1 else {
      return .done
    }
    discardLookup()
    guard try removePortion(of: id) else { return .removing }
    write(MoveQueries.setCleared, parameters)
    return .done
  }

  /// Clears a portion of one departed account whose mover has died.
  func clearAnyDeparture() throws(PostgresFault) {
    let found = try query { $0.add(MoveQueries.lockAnyUncleared) }[0].first { $0.bits(0) }
    guard let found else { return }
    _ = try clear(AccountID(rawValue: found))
  }

  /// Removes the entries of an account that has moved away, once it is cleared.
  func forgetDeparture(of id: AccountID) throws(PostgresFault) -> CommitResult {
    guard try !departures(of: [id]).isEmpty else { return .refused(StoreRefusals.unknownAccount) }
    if case .removing = try clear(id) { return .removing }
    for removal in MoveQueries.removals { write(removal, PostgresParameters().bind(id.rawValue)) }
    return .done
  }

  func departures(of ids: [AccountID]) throws(PostgresFault) -> [AccountID: Departure] {
    let found = try query {
      $0.add(MoveQueries.departures, PostgresParameters().bind(ids.map(\.rawValue)))
    }[0].all(StoreRow.departure)
    return Dictionary(found.map { ($0.account, $0.departure) }) { first, _ in first }
  }

  private func unknown(_ id: AccountID) throws(PostgresFault) -> Refusal {
    try departures(of: [id])[id]?.refusal ?? StoreRefusals.unknownAccount
  }

  /// Refusal of a pairing code that no account has.
  func absence(ofPairing codeHash: [UInt8]) throws(PostgresFault) -> Refusal {
    let relay = try query {
      $0.add(MoveQueries.relayOfCode, PostgresParameters().bind(codeHash).bind(wall))
    }[0].first { $0.text(0) }
    return relay.map(StoreRefusals.moved) ?? StoreRefusals.badPairingCode
  }
}

/// Queries and statements on the residence of accounts.
enum MoveQueries {
  static func residence(
    of id: AccountID, on connection: PostgresConnection
  ) throws(PostgresFault) -> AccountResidence {
    let rows = try connection.read { pipeline in
      pipeline.add(lease, PostgresParameters().bind(id.rawValue))
      pipeline.add(departures, PostgresParameters().bind([id.rawValue]))
    }
    if let departed = rows[1].first(StoreRow.departure) { return .departed(departed.departure) }
    return rows[0].first { row in
      let version = row.integer(0)
      guard !row.isNull(1) else { return .living(version: version) }
      return row.integer(1) == .max
        ? .arriving(move: row.bits(2), version: version)
        : .moving(until: row.integer(1), version: version)
    } ?? .unknown
  }

  /// Refusal of a token that no device has.
  static func absence(
    ofToken tokenHash: [UInt8], on connection: PostgresConnection
  ) throws(PostgresFault) -> Refusal {
    try connection.run(relayOfToken, PostgresParameters().bind(tokenHash))
      .first { StoreRefusals.moved(to: $0.text(0)) } ?? StoreRefusals.unknownToken
  }

  private static let now = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
  static let lease = PostgresStatement(
    "lease",
    "SELECT affairs, moving_until, move, \(now) FROM accounts WHERE account = $1::bigint")
  static let setLease = PostgresStatement(
    "set lease",
    """
    UPDATE accounts SET moving_until = \(now) + ($2::bigint[])[1] WHERE account = $1::bigint
    """)
  static let departures = PostgresStatement(
    "departures",
    """
    SELECT \(StoreRow.columns(of: .departed)) FROM departed WHERE account = ANY ($1::bigint[])
    """)
  static let insert = PostgresStatement(
    "depart",
    """
    INSERT INTO departed (account, relay, move, version)
    VALUES ($1::bigint, $2::text, $3::bigint, $4::bigint)
    """)
  static let keepTokens = PostgresStatement(
    "keep tokens",
    """
    INSERT INTO departed_devices (account, token_hash)
    SELECT account, token_hash FROM devices WHERE account = $1::bigint
    """)
  static let keepCodes = PostgresStatement(
    "keep codes",
    """
    INSERT INTO departed_pairings (account, code_hash, expires_at)
    SELECT account, code_hash, expires_at FROM pairings WHERE account = $1::bigint
    """)
  static let lockUncleared = PostgresStatement(
    "lock departure",
    "SELECT account FROM departed WHERE account = $1::bigint AND NOT cleared FOR UPDATE")
  static let lockAnyUncleared = PostgresStatement(
    "lock any departure",
    "SELECT account FROM departed WHERE NOT cleared LIMIT 1 FOR UPDATE SKIP LOCKED")
  static let setCleared = PostgresStatement(
    "set cleared", "UPDATE departed SET cleared = true WHERE account = $1::bigint")
  private static let relayOfToken = PostgresStatement(
    "relay of token",
    """
    SELECT relay FROM departed_devices JOIN departed USING (account) WHERE token_hash = $1::bytea
    """)
  static let relayOfCode = PostgresStatement(
    "relay of code",
    """
    SELECT relay FROM departed_pairings JOIN departed USING (account)
    WHERE code_hash = $1::bytea AND (expires_at > $2::bigint) IS TRUE
    """)
  static let removals = ["departed_devices", "departed_pairings", "departed"].map { table in
    PostgresStatement("remove \(table)", "DELETE FROM \(table) WHERE account = $1::bigint")
  }
}
