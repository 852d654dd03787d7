import LockstepModel
import LockstepStorage

/// Deletion of old rows in a commit. It never waits for another relay: rows locked by another relay
/// are skipped, and deleted by that relay or later.
enum Forgetting {
  /// Deletes at most `count` each of old batches, old tombstones and expired codes, oldest first.
  static func add(
    _ count: Int, rules: StoreRules, wall: Int64, to pipeline: inout PostgresPipeline
  ) {
    let old = PostgresParameters().bind(wall - rules.historyMilliseconds).bind(Int64(count))
    pipeline.add(batches, old)
    pipeline.add(tombstones, old)
    pipeline.add(codes, PostgresParameters().bind(wall).bind(Int64(count)))
  }

  /// Locks the account, because its row counts the batches.
  private static let batches = PostgresStatement(
    "forget batches",
    """
    WITH old AS MATERIALIZED (
      SELECT account, device, batch_high, batch_low FROM batches WHERE made_at < $1::bigint
      ORDER BY made_at, number LIMIT $2::bigint),
    held AS MATERIALIZED (
      SELECT account FROM accounts WHERE account = ANY (ARRAY(SELECT account FROM old))
      ORDER BY account FOR UPDATE SKIP LOCKED),
    gone AS (
      DELETE FROM batches USING old, held
      WHERE old.account = held.account AND batches.account = old.account
        AND batches.device = old.device AND batches.batch_high = old.batch_high
        AND batches.batch_low = old.batch_low
      RETURNING batches.account,
        \(Limits.rowBytes) + coalesce(octet_length(batches.words), 0) AS bytes)
    UPDATE accounts SET record_bytes = record_bytes - fewer.bytes,
      batch_count = batch_count - fewer.batches
    FROM (SELECT account, sum(bytes)::bigint AS bytes, count(*) AS batches FROM gone
      GROUP BY account) AS fewer
    WHERE accounts.account = fewer.account
    """)

  /// Locks the account first: a commit that holds the lock bases its decisions on these rows.
  private static let tombstones = PostgresStatement(
    "forget tombstones",
    """
    WITH old AS MATERIALIZED (
      SELECT account, zone, name, tag FROM records WHERE deleted_at < $1::bigint
      ORDER BY deleted_at, account, tag LIMIT $2::bigint),
    held AS MATERIALIZED (
      SELECT account FROM accounts WHERE account = ANY (ARRAY(SELECT account FROM old))
      ORDER BY account FOR UPDATE SKIP LOCKED),
    gone AS (
      DELETE FROM records USING old, held
      WHERE old.account = held.account AND records.account = old.account
        AND records.zone = old.zone AND records.name = old.name AND records.tag = old.tag
      RETURNING records.account, records.tag, \(RecordRow.storedBytes) AS bytes)
    UPDATE accounts SET forgotten = greatest(forgotten, last.tag),
      record_bytes = record_bytes - last.bytes, record_count = record_count - last.records
    FROM (SELECT account, max(tag) AS tag, sum(bytes)::bigint AS bytes, count(*) AS records
      FROM gone GROUP BY account) AS last
    WHERE accounts.account = last.account
    """)

  private static let codes = PostgresStatement(
    "forget codes",
    """
    WITH old AS (
      SELECT account, number FROM pairings WHERE expires_at <= $1::bigint
      ORDER BY expires_at LIMIT $2::bigint FOR UPDATE SKIP LOCKED)
    DELETE FROM pairings USING old
    WHERE pairings.account = old.account AND pairings.number = old.number
    """)
}
