import LockstepModel
import LockstepStorage

/// Accounts that are being moved, and steps of their moves (`AccountMove`).
final class Residences {
  private let queries: ZoneQueries
  private let remover: AccountRemover
  private let frozen: SQLiteStatement
  private let freeze: SQLiteStatement
  private let setLease: SQLiteStatement
  private let activate: SQLiteStatement
  private let insert: SQLiteStatement
  private let keepTokens: SQLiteStatement
  private let keepCodes: SQLiteStatement
  private let anyUncleared: SQLiteStatement
  private let setCleared: SQLiteStatement
  private let removals: [SQLiteStatement]
  /// Tables of accounts that have moved away.
  static let tablesOfDepartures = ["departed_devices", "departed_pairings", "departed"]

  /// Ends of all leases; nil: to be read again.
  private var leases: [AccountID: Int64]?

  init(
    _ connection: SQLiteConnection, queries: ZoneQueries, remover: AccountRemover
  ) throws(StorageError) {
    self.queries = queries
    self.remover = remover
    frozen = try connection.prepare(
      "SELECT account, moving_until FROM accounts WHERE moving_until IS NOT NULL")
    freeze = try connection.prepare(
      "UPDATE accounts SET moving_until = ?2, affairs = affairs + 1 WHERE account = ?1")
    setLease = try connection.prepare("UPDATE accounts SET moving_until = ?2 WHERE account = ?1")
    activate = try connection.prepare(
      "UPDATE accounts SET moving_until = NULL, affairs = affairs + 1 WHERE account = ?1")
    insert = try connection.prepare(
      "INSERT INTO departed (account, relay, move, version, cleared) VALUES (?, ?, ?, ?, 0)")
    keepTokens = try connection.prepare(
      """
      INSERT INTO departed_devices (account, token_hash)
      SELECT account, token_hash FROM devices WHERE account = ?
      """)
    keepCodes = try connection.prepare(
      """
      INSERT INTO departed_pairings (account, code_hash, expires_at)
      SELECT account, code_hash, expires_at FROM pairings WHERE account = ?
      """)
    anyUncleared = try connection.prepare(
      "SELECT account FROM departed WHERE cleared = 0 LIMIT 1")
    setCleared = try connection.prepare("UPDATE departed SET cleared = 1 WHERE account = ?")
    var removals: [SQLiteStatement] = []
    for table in Residences.tablesOfDepartures {
      removals.append(try connection.prepare("DELETE FROM \(table) WHERE account = ?"))
    }
    self.removals = removals
  }

  /// Refusal of the commits of an account that is being moved.
  func lease(of id: AccountID, wall: Int64) throws(StorageError) -> Refusal? {
    if leases == nil {
      let rows = try frozen.all { (AccountID(rawValue: $0.bits(0)), $0.integer(1)) }
      leases = Dictionary(rows) { first, _ in first }
    }
    guard let until = leases?[id], until > wall else { return nil }
    return StoreRefusals.moving
  }

  /// Must be called after each transaction that may have changed a lease, also if it failed.
  func forgetLeases() { leases = nil }

  func move(_ step: MoveStep, wall: Int64) throws(StorageError) -> CommitResult {
    leases = nil
    return switch step {
    case .freeze(let id, let milliseconds): try freeze(id, until: wall + milliseconds)
    case .renew(let move, let milliseconds):
      try setLease(wall + milliseconds, of: move, wall: wall)
    case .thaw(let move): try setLease(nil, of: move, wall: wall)
    case .depart(let move, let relay): try depart(move, to: relay, wall: wall)
    case .departAgain(let id, let relay, let move): try departAgain(id, to: relay, move: move)
    case .activate(let id, let move): try activate(id, move: move)
    case .abandon(let move): try abandon(move, wall: wall)
    case .clear(let id): try clear(id, wall: wall)
    }
  }

  /// Removes the account, or the entries of one that has moved away, in portions.
  func removeAccount(_ id: AccountID, wall: Int64) throws(StorageError) -> CommitResult {
    leases = nil
    guard try queries.residences.departure(of: id) != nil else {
      return try remover.removeAccount(id, wall: wall)
    }
    if case .removing = try clear(id, wall: wall) { return .removing }
    for removal in removals { try removal.bind(id.rawValue).run() }
    return .done
  }

  /// Clears a portion of one departed account whose mover has died.
  func clearAnyDeparture(wall: Int64) throws(StorageError) {
    guard let id = try anyUncleared.first({ AccountID(rawValue: $0.bits(0)) }) else { return }
    _ = try clear(id, wall: wall)
  }

  // MARK: Steps

  private func freeze(_ id: AccountID, until: Int64) throws(StorageError) -> CommitResult {
    guard let lease = try queries.residences.lease(of: id) else {
      return .refused(try unknown(id))
    }
    if lease.isArriving { return .refused(StoreRefusals.moving) }
    try freeze.bind(id.rawValue).bind(until).run()
    guard let frozen = try version(of: id) else {
      return .refused(StoreRefusals.unknownAccount)
    }
    return .frozen(frozen)
  }

  private func version(of id: AccountID) throws(StorageError) -> AccountVersion? {
    guard let head = try queries.head(of: id), let lease = try queries.residences.lease(of: id)
    else { return nil }
    return AccountVersion(account: id, token: head.token, membershipVersion: lease.version)
  }

  /// True if the account was frozen without a break since the move froze it.
  private func holds(_ move: AccountMove, wall: Int64) throws(StorageError) -> Bool {
    guard let lease = try queries.residences.lease(of: move.account),
      let until = lease.movingUntil
    else { return false }
    guard until > wall, !lease.isArriving else { return false }
    return try version(of: move.account) == move.frozen
  }

  private func setLease(
    _ until: Int64?, of move: AccountMove, wall: Int64
  ) throws(StorageError) -> CommitResult {
    guard try holds(move, wall: wall) else { return .refused(StoreRefusals.moveLost) }
    try setLease.bind(move.account.rawValue).bind(until).run()
    return .done
  }

  private func depart(
    _ move: AccountMove, to relay: String, wall: Int64
  ) throws(StorageError) -> CommitResult {
    if try queries.residences.departure(of: move.account)?.move == move.id { return .done }
    guard try holds(move, wall: wall) else { return .refused(StoreRefusals.moveLost) }
    try depart(
      move.account,
      Departure(
        relay: relay, move: move.id, version: move.frozen.membershipVersion, isCleared: false))
    return .done
  }

  private func departAgain(
    _ id: AccountID, to relay: String, move: UInt64
  ) throws(StorageError) -> CommitResult {
    guard let lease = try queries.residences.lease(of: id) else {
      return .refused(try unknown(id))
    }
    if lease.isArriving { return .refused(StoreRefusals.moving) }
    try depart(
      id, Departure(relay: relay, move: move, version: lease.version, isCleared: false))
    return .done
  }

  private func depart(_ id: AccountID, _ departure: Departure) throws(StorageError) {
    try insert.bind(id.rawValue).bind(departure.relay).bind(departure.move)
      .bind(departure.version).run()
    try keepTokens.bind(id.rawValue).run()
    try keepCodes.bind(id.rawValue).run()
    try remover.removeAccess(to: id)
    try remover.removeRow(of: id)
  }

  private func activate(_ id: AccountID, move: UInt64) throws(StorageError) -> CommitResult {
    guard let lease = try queries.residences.lease(of: id), lease.move == move else {
      return .refused(StoreRefusals.notArriving)
    }
    if lease.isArriving { try activate.bind(id.rawValue).run() }
    return .done
  }

  private func abandon(_ move: AccountMove, wall: Int64) throws(StorageError) -> CommitResult {
    guard let lease = try queries.residences.lease(of: move.account), lease.isArriving else {
      return .done
    }
    let copy = try queries.head(of: move.account)
    guard lease.move == move.id || move.includes(copy, lease.version) else {
      return .refused(StoreRefusals.moveLost)
    }
    return try remover.removeAccount(move.account, wall: wall)
  }

  private func clear(_ id: AccountID, wall: Int64) throws(StorageError) -> CommitResult {
    guard let departure = try queries.residences.departure(of: id), !departure.isCleared else {
      return .done
    }
    guard try remover.removeRest(of: id, wall: wall) else { return .removing }
    try setCleared.bind(id.rawValue).run()
    return .done
  }

  private func unknown(_ id: AccountID) throws(StorageError) -> Refusal {
    try queries.residences.departure(of: id)?.refusal ?? StoreRefusals.unknownAccount
  }
}

/// Queries on the residence of accounts.
final class ResidenceQueries {
  struct Lease {
    var version: Int64
    var movingUntil: Int64?
    var move: UInt64

    var isArriving: Bool { movingUntil == .max }
  }

  private let lease: SQLiteStatement
  private let departure: SQLiteStatement
  private let relayOfToken: SQLiteStatement
  private let relayOfCode: SQLiteStatement

  init(_ connection: SQLiteConnection) throws(StorageError) {
    lease = try connection.prepare(
      "SELECT affairs, moving_until, move FROM accounts WHERE account = ?")
    departure = try connection.prepare(
      "SELECT account, relay, move, version, cleared FROM departed WHERE account = ?")
    relayOfToken = try connection.prepare(
      "SELECT relay FROM departed_devices JOIN departed USING (account) WHERE token_hash = ?")
    relayOfCode = try connection.prepare(
      """
      SELECT relay FROM departed_pairings JOIN departed USING (account)
      WHERE code_hash = ? AND expires_at > ?
      """)
  }

  func lease(of id: AccountID) throws(StorageError) -> Lease? {
    try lease.bind(id.rawValue).first { row in
      Lease(
        version: row.integer(0), movingUntil: row.isNull(1) ? nil : row.integer(1),
        move: row.bits(2))
    }
  }

  func departure(of id: AccountID) throws(StorageError) -> Departure? {
    try departure.bind(id.rawValue).first { SQLiteStoreSource.departure($0).departure }
  }

  func residence(of id: AccountID) throws(StorageError) -> AccountResidence {
    if let departure = try departure(of: id) { return .departed(departure) }
    guard let lease = try lease(of: id) else { return .unknown }
    switch lease.movingUntil {
    case nil: return .living(version: lease.version)
    case .max?: return .arriving(move: lease.move, version: lease.version)
    case let until?: return .moving(until: until, version: lease.version)
    }
  }

  /// Refusal of a token that no device has.
  func absence(ofToken hash: [UInt8]) throws(StorageError) -> Refusal {
    try relayOfToken.bind(hash).first { StoreRefusals.moved(to: $0.text(0)) }
      ?? StoreRefusals.unknownToken
  }

  /// Refusal of a pairing code that no account has.
  func absence(ofPairing hash: [UInt8], wall: Int64) throws(StorageError) -> Refusal {
    try relayOfCode.bind(hash).bind(wall).first { StoreRefusals.moved(to: $0.text(0)) }
      ?? StoreRefusals.badPairingCode
  }
}
