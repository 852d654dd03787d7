import LockstepModel
import LockstepStorage

/// Queries on the relay's tables, on the connection of the writer or of a reader. Each query is one
/// round trip, and its statements see one state of the database.
final class ZoneQueries {
  private let connection: PostgresConnection
  /// Relay whose own connections are omitted.
  private let relay: UInt64

  init(_ connection: PostgresConnection, relay: UInt64) {
    self.connection = connection
    self.relay = relay
  }

  func read(_ request: ReadRequest) throws(StorageError) -> ReadResult {
    try connection.perform("read") { () throws(PostgresFault) in
      let result = try answer(request)
      guard case .refused = result, let account = request.resident,
        case .departed(let departure) = try MoveQueries.residence(of: account, on: connection)
      else { return result }
      return .refused(departure.refusal)
    }
  }

  private func answer(_ request: ReadRequest) throws(PostgresFault) -> ReadResult {
    switch request {
    case .authenticate(let tokenHash): try AccountQueries.principal(tokenHash, on: connection)
    case .accountCount: try AccountQueries.count(on: connection)
    case .accounts(let after, let limit):
      try AccountQueries.list(after: after, limit: limit, on: connection)
    case .account(let account): try AccountQueries.summary(of: account, on: connection)
    case .devices(let account):
      try AccountQueries.devices(of: account, for: relay, on: connection)
    case .newestToken(let account): try token(of: account)
    case .zones(let account, let after, let within, let limit):
      try zones(of: account, after: after, within: within, limit: limit)
    case .record(let account, let key): try live(key, of: account)
    case .changes(let account, let since, let zones, let limit):
      try page(of: account, since: since, zones: zones, limit: limit)
    case .namedChunks(let account, let hashes, let zones):
      try ChunkQueries.named(hashes, in: zones, of: account, on: connection)
    case .chunk(let account, let hash): try ChunkQueries.chunk(hash, of: account, on: connection)
    case .fileUses(let files): try ChunkQueries.uses(of: files, on: connection)
    case .followAccounts(let accounts, let leaving, let node):
      try ListenerQueries.follow(
        accounts, leaving: leaving, as: relay, node: node, on: connection)
    case .wakes(let account, let device):
      try WakeQueries.statuses(
        of: SleeperID(account: account, device: device), on: connection)
    case .sleepers(let query): try WakeQueries.sleepers(query, for: relay, on: connection)
    case .wakeKeys: try WakeQueries.keys(on: connection)
    case .residence(let account):
      .residence(try MoveQueries.residence(of: account, on: connection))
    }
  }

  private func token(of account: AccountID) throws(PostgresFault) -> ReadResult {
    let head = try connection.run(ZoneQueries.head, PostgresParameters().bind(account.rawValue))
    return head.first { AccountHead($0, from: 0) }.map { .token($0.token) }
      ?? .refused(StoreRefusals.unknownAccount)
  }

  private func live(_ key: RecordKey, of account: AccountID) throws(PostgresFault) -> ReadResult {
    let rows = try connection.run(
      ZoneQueries.record,
      PostgresParameters().bind(account.rawValue).bind(key.zone.text).bind(key.name.text))
    let found = try rows.first { (row) throws(PostgresFault) in try row.record() }
    return found.map { .record($0) } ?? .refused(StoreRefusals.unknownRecord)
  }

  private func zones(
    of account: AccountID, after: Name?, within scope: [Name]?, limit: Int
  ) throws(PostgresFault) -> ReadResult {
    let count = max(1, min(limit, Limits.listedZones))
    let parameters = PostgresParameters().bind(account.rawValue)
    let rows = try connection.read { pipeline in
      pipeline.add(ZoneQueries.head, parameters)
      let range = parameters.bind(after?.text ?? "").bind(Int64(count + 1))
      if let scope {
        pipeline.add(ZoneQueries.zonesWithin, range.bind(scope.map(\.text)))
      } else {
        pipeline.add(ZoneQueries.zones, range)
      }
    }
    guard rows[0].count > 0 else { return .refused(StoreRefusals.unknownAccount) }
    let names = try rows[1].all { (row) throws(PostgresFault) in try row.name(0) }
    return .zones(Array(names.prefix(count)), more: names.count > count)
  }

  /// Reads the rows together with the account's head: the request alone determines the rows, unless
  /// the head refuses it.
  private func page(
    of account: AccountID, since: ChangeToken?, zones: ZoneSelection, limit: Int
  ) throws(PostgresFault) -> ReadResult {
    let parameters = PostgresParameters().bind(account.rawValue)
    let count = max(1, min(limit, Limits.pageRecords))
    var range = parameters.bind(since?.sequence ?? 0).bind(since?.pinned ?? .max)
      .bind(Int64(count + 1))
    let pages: Pages
    switch zones {
    case .all: pages = ZoneQueries.pages.all
    case .zone(let zone):
      pages = ZoneQueries.pages.zone
      range = range.bind(zone.text)
    case .scope(let zones):
      pages = ZoneQueries.pages.scope
      range = range.bind(zones.map(\.text))
    }
    let isSnapshot = since == nil || since?.pinned != nil
    let rows = try connection.read { pipeline in
      pipeline.add(ZoneQueries.head, parameters)
      pipeline.add(ZoneQueries.tokenRange, ZoneQueries.tokenRange(of: since, of: account))
      pipeline.add(isSnapshot ? pages.snapshot : pages.changes, range)
      if isSnapshot || zones != .all {
        pipeline.add(ZoneQueries.scanned, parameters.bind(since?.sequence ?? 0))
      }
      if since == nil { pipeline.add(ZoneQueries.gaps, parameters.bind(Int64(0))) }
    }
    guard let head = rows[0].first({ HeadRow($0) }) else {
      return .refused(StoreRefusals.unknownAccount)
    }
    let tokenRange = TokenRange(rows[1])
    var plan: PagePlan
    do throws(Refusal) {
      plan = try PagePlan(
        since: since, zones: zones, limit: limit, head: head.head,
        endedAt: since?.generation == head.head.generation ? nil : tokenRange.endedAt,
        gap: since.flatMap { head.head.gap(of: $0, in: head.run, find: tokenRange.gap) })
    } catch {
      return .refused(error)
    }
    if plan.isSparse { plan.endScan(at: rows[3].first { $0.integer(0) }) }
    for index in 0..<rows[2].count where !plan.addRecord(try rows[2][index].record()) { break }
    guard let first = plan.gapsAfter else { return .page(plan.page()) }
    // Gaps have ascending tags, so a gap that was added since is after the page.
    let known =
      since == nil
      ? rows[4] : try connection.read { $0.add(ZoneQueries.gaps, parameters.bind(first)) }[0]
    let gaps = known.all { TagGap(after: $0.integer(0), through: $0.integer(1)) }
    return .page(plan.page(gaps: head.head.gaps(gaps, in: head.run, account)))
  }

  // MARK: Statements

  static let head = PostgresStatement(
    "head",
    """
    SELECT generation, newest, forgotten, run, range_start, (SELECT run FROM opening WHERE one)
    FROM accounts WHERE account = $1::bigint
    """)
  /// Base data of a token: one row for each of its tags.
  static let tokenRange = PostgresStatement(
    "ground",
    """
    SELECT (SELECT ended_at FROM lineage WHERE account = $1::bigint AND generation = $2::bigint),
      gap.after_tag, gap.through_tag
    FROM unnest($3::bigint[]) AS asked (tag) LEFT JOIN LATERAL (
      SELECT after_tag, through_tag FROM gaps
      WHERE account = $1::bigint AND through_tag >= asked.tag ORDER BY through_tag LIMIT 1
    ) AS gap ON true
    """)

  private static let gaps = PostgresStatement(
    "gaps",
    """
    SELECT after_tag, through_tag FROM gaps WHERE account = $1::bigint AND through_tag > $2::bigint
    ORDER BY through_tag
    """)

  /// Returns the tag of the last row that one scan from a tag on reads.
  static let scanned = PostgresStatement("scanned", scan("$1::bigint", "$2::bigint"))

  static func tokenRange(of token: ChangeToken?, of account: AccountID) -> PostgresParameters {
    PostgresParameters().bind(account.rawValue).bind(Int64(token?.generation ?? 0))
      .bind(token?.tags ?? [])
  }

  private static func scan(_ account: String, _ after: String) -> String {
    """
    SELECT tag FROM records WHERE account = \(account) AND tag > \(after)
    ORDER BY tag OFFSET \(Limits.scannedRecords - 1) LIMIT 1
    """
  }

  private static let record = PostgresStatement(
    "record",
    """
    SELECT \(RecordRow.columns) FROM records
    WHERE account = $1::bigint AND zone = $2::text AND name = $3::text AND fields IS NOT NULL
    """)
  private static let zones = PostgresStatement(
    "zones",
    """
    SELECT zone FROM zones WHERE account = $1::bigint AND zone > $2::text
    ORDER BY zone LIMIT $3::bigint
    """)
  private static let zonesWithin = PostgresStatement(
    "zones within",
    """
    SELECT zone FROM zones
    WHERE account = $1::bigint AND zone > $2::text AND zone = ANY ($4::text[])
    ORDER BY zone LIMIT $3::bigint
    """)

  private struct Pages {
    let changes: PostgresStatement
    let snapshot: PostgresStatement

    init(_ name: String, _ condition: String) {
      // If no rows are skipped, the scan reads only the rows that it returns.
      let bound = "AND tag <= coalesce((\(scan("$1::bigint", "$2::bigint"))), $3::bigint)"
      changes = PostgresStatement(
        "changes \(name)", Pages.sql(condition.isEmpty ? "" : "\(bound) \(condition)"))
      snapshot = PostgresStatement(
        "snapshot \(name)", Pages.sql("\(bound) \(condition) AND fields IS NOT NULL"))
    }

    /// Returns at most the bytes of a page, plus the first record that does not fit: their lengths
    /// are known without reading them. `PagePlan` counts slightly more for each, and so never lacks
    /// a record.
    private static func sql(_ condition: String) -> String {
      """
      SELECT \(RecordRow.columns) FROM (
        SELECT *, sum(coalesce(octet_length(fields), 0) + 2 * coalesce(octet_length(chunks), 0))
          OVER (ORDER BY tag ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
        FROM (
          SELECT * FROM records
          WHERE account = $1::bigint AND tag > $2::bigint AND tag <= $3::bigint \(condition)
          ORDER BY tag LIMIT $4::bigint
        ) AS range
      ) AS page WHERE coalesce(before, 0) <= \(Limits.pageBytes) ORDER BY tag
      """
    }
  }

  private static let pages = (
    all: Pages("all", ""), zone: Pages("zone", "AND zone = $5::text"),
    scope: Pages("scope", "AND zone = ANY ($5::text[])")
  )
}

/// An account's complete head, and the run of the store.
struct HeadRow {
  var head: AccountHead
  var run: UInt64

  init(_ row: PostgresRow) {
    head = AccountHead(row, from: 0)
    head.run = row.bits(3)
    head.rangeStart = row.integer(4)
    run = row.bits(5)
  }
}

/// The rows of `ZoneQueries.tokenRange`.
struct TokenRange {
  /// The tag at which the token's generation ended.
  var endedAt: ChangeTag?
  private var gaps: [TagGap] = []

  init(_ rows: PostgresRows) {
    for (end, gap) in rows.all({ row in
      (
        row.isNull(0) ? nil : row.integer(0),
        row.isNull(1) ? nil : TagGap(after: row.integer(1), through: row.integer(2))
      )
    }) {
      endedAt = end
      if let gap { gaps.append(gap) }
    }
  }

  /// Returns the gap that contains a tag of the token.
  func gap(at tag: ChangeTag) -> TagGap? { gaps.first { $0.contains(tag) } }
}

extension PostgresConnection {
  /// Runs several statements on one state of the database, in one round trip. Returns only the rows
  /// of the statements that `fill` adds.
  func read(
    _ fill: (inout PostgresPipeline) -> Void
  ) throws(PostgresFault) -> [PostgresRows] {
    var pipeline = PostgresPipeline()
    pipeline.add(.beginReading)
    fill(&pipeline)
    pipeline.add(.commit)
    return Array(try run(pipeline).dropFirst().dropLast())
  }
}
