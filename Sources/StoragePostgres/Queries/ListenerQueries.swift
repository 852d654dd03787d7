import LockstepModel
import LockstepStorage

/// The relays that hold devices of each account, so that a commit is announced only to these.
///
///     listeners    account · relay · node
///     relays       relay · seen_at
///
/// A node of a relay registers its accounts, and then reads their versions. A relay that has
/// committed reads the listeners. So of a commit and a registration at the same time, either the
/// one finds the listener, or the other the commit; neither waits for the other.
///
/// Each check of a relay also tells it which others use the store, so that it notices if it does
/// not hear one of them.
///
/// Both tables are unlogged: nothing of this is synced or sent to standbys, and a crash or a
/// failover empties them. A relay that commits and has another session than before, or no longer
/// finds itself in them, lets all relays register again. So does each relay for itself, at its
/// check of each minute.
///
/// A command of the owner is not a relay, and may not know on which bus they are. It leaves the
/// time of its commit as that of relay 0.
enum ListenerQueries {
  /// Registers a node of a relay as a listener of `accounts`, removes it from those of `leaving`,
  /// and returns the versions of `accounts`. Removes relays that have not registered for long.
  static func follow(
    _ accounts: [AccountID], leaving: [AccountID], as relay: UInt64, node: Int,
    on connection: PostgresConnection
  ) throws(PostgresFault) -> ReadResult {
    let listener = PostgresParameters().bind(relay)
    var pipeline = PostgresPipeline()
    pipeline.add(.begin)
    let registration = pipeline.add(isRegistered, listener)
    pipeline.add(see, listener)
    if !leaving.isEmpty {
      pipeline.add(leave, listener.bind(Int64(node)).bind(leaving.sorted().map(\.rawValue)))
    }
    let bits = accounts.sorted().map(\.rawValue)
    pipeline.add(register, listener.bind(Int64(node)).bind(bits))
    let dead = pipeline.add(findDead)
    let others = pipeline.add(findOthers, listener)
    pipeline.add(.commit)
    let versions = pipeline.add(AccountQueries.versions, PostgresParameters().bind(bits))
    let rows = try connection.run(pipeline)
    remove(rows[dead].all { $0.bits(0) }, on: connection)
    return .accountVersions(
      AccountQueries.versions(rows[versions]),
      relays: rows[others].all { RelaySighting(relay: $0.bits(0), seenAt: $0.integer(1)) },
      wasRegistered: rows[registration].first { $0.bool(0) } ?? false)
  }

  /// Returns the condition that a device's entry `connected_by`, `connected_until` shows it
  /// connected to another relay than `relay`, a parameter. A report holds for two minutes; then
  /// only while the relay that made it is seen, so that it need not be repeated each minute.
  static func isConnected(besides relay: String) -> String {
    """
    (connected_by <> \(relay)::bigint AND (connected_until > clock_timestamp()
      OR connected_until > clock_timestamp()
        - interval '\(Limits.trustedReportMilliseconds - Limits.connectedMilliseconds) milliseconds'
      AND EXISTS (SELECT FROM relays WHERE relays.relay = connected_by
        AND relays.seen_at > clock_timestamp()
          - interval '\(Limits.connectedMilliseconds) milliseconds')))
    """
  }

  /// Finds the other relays that listen to these accounts, the accounts with registrations for
  /// wakes, and this relay itself: rows with an account and a relay, an account alone, and a relay
  /// alone.
  static func find(
    _ accounts: [AccountID], besides relay: UInt64, in pipeline: inout PostgresPipeline
  ) -> Int {
    pipeline.add(select, PostgresParameters().bind(accounts.map(\.rawValue)).bind(relay))
  }

  /// Forgets relays. If that fails, a later check does it, of this relay or another one.
  private static func remove(_ relays: [UInt64], on connection: PostgresConnection) {
    guard !relays.isEmpty else { return }
    do throws(PostgresFault) {
      _ = try connection.run(removeDead, PostgresParameters().bind(relays))
    } catch {
      if error.endsSession { connection.drop() }
    }
  }

  // MARK: Statements

  /// False if this relay was forgotten, or if a command committed since its last check, or so
  /// shortly before that the check may not have found it.
  private static let isRegistered = PostgresStatement(
    "is registered",
    """
    SELECT EXISTS (SELECT FROM relays AS own WHERE own.relay = $1::bigint AND NOT EXISTS (
      SELECT FROM relays AS command
      WHERE command.relay = 0 AND command.seen_at > own.seen_at - interval '5 seconds'))
    """)
  /// Lets all relays check their accounts within a minute.
  static let recordCommand = PostgresStatement(
    "record command",
    """
    INSERT INTO relays AS known (relay, seen_at) VALUES (0, clock_timestamp())
    ON CONFLICT (relay) DO UPDATE SET seen_at = excluded.seen_at
    """)
  /// Each check of a relay registers, so a living one is seen every minute.
  private static let see = PostgresStatement(
    "see relay",
    """
    INSERT INTO relays AS known (relay, seen_at) VALUES ($1::bigint, clock_timestamp())
    ON CONFLICT (relay) DO UPDATE SET seen_at = excluded.seen_at
    WHERE known.seen_at < excluded.seen_at - interval '2 seconds'
    """)
  private static let findOthers = PostgresStatement(
    "other relays",
    """
    SELECT relay, (extract(epoch FROM seen_at) * 1000)::bigint FROM relays
    WHERE relay NOT IN (0, $1::bigint) AND seen_at > clock_timestamp()
      - interval '\(Limits.seenRelayMilliseconds) milliseconds'
    ORDER BY relay LIMIT \(Limits.lines)
    """)
  private static let register = PostgresStatement(
    "register listener",
    """
    INSERT INTO listeners (account, relay, node)
    SELECT account, $1::bigint, $2::bigint FROM unnest($3::bigint[]) AS asked (account)
    ON CONFLICT DO NOTHING
    """)
  private static let leave = PostgresStatement(
    "leave",
    """
    DELETE FROM listeners WHERE account = ANY ($3::bigint[]) AND relay = $1::bigint
      AND node = $2::bigint
    """)
  private static let select = PostgresStatement(
    "listeners",
    """
    SELECT DISTINCT account, relay FROM listeners
    WHERE account = ANY ($1::bigint[]) AND relay <> $2::bigint
    UNION ALL
    SELECT DISTINCT account, NULL::bigint FROM wakes WHERE account = ANY ($1::bigint[])
    UNION ALL
    SELECT NULL::bigint, relay FROM relays WHERE relay = $2::bigint
    """)
  private static let findDead = PostgresStatement(
    "dead relays",
    """
    SELECT relay FROM relays
    WHERE seen_at < clock_timestamp() - interval '\(Limits.deadRelayMilliseconds) milliseconds'
    """)
  /// A relay that checks its accounts in this moment stays.
  private static let removeDead = PostgresStatement(
    "remove relays",
    """
    WITH gone AS (
      DELETE FROM relays WHERE relay = ANY ($1::bigint[])
        AND seen_at < clock_timestamp() - interval '\(Limits.deadRelayMilliseconds) milliseconds'
      RETURNING relay)
    DELETE FROM listeners USING gone WHERE listeners.relay = gone.relay
    """)
}
