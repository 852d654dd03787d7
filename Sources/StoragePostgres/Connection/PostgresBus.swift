import CPostgres
import Glibc
import LockstepModel
import LockstepStorage

/// Sends and receives notices about commits of the relays of a database, on a connection of its
/// own.
///
/// There is a channel for notices to all relays, and one for each relay. NOTIFY holds a lock of the
/// whole server until its transaction ends, so a relay's notices are sent together, and not within
/// its commits: these would wait for each other.
package final class PostgresBus: RelayBus {
  private let connection: PostgresConnection
  package let relay: UInt64
  /// Number of sessions already reported to the caller of `wait`.
  private var openings = 0
  /// False if a notice that the store sent did not arrive: between relay and database is a pooler,
  /// which gives each transaction another session of the server.
  package private(set) var hearsStore = true
  private let waker: PostgresWakeup
  /// Reason for which `send` has lost the connection; the next `wait` reports it.
  private var lostBySending: String?

  /// Starts to listen. `relay`: the number that identifies this relay.
  package init(_ address: PostgresAddress, relay: UInt64) throws(StorageError) {
    let connection = PostgresConnection(address)
    self.connection = connection
    self.relay = relay
    guard let waker = PostgresWakeup() else {
      throw .failed(
        path: address.shown, operation: "listen", detail: "no descriptor is left")
    }
    self.waker = waker
    connection.listens = true
    connection.sessionSetup = { (session) throws(PostgresFault) in
      try PostgresBus.listen(session, relay)
    }
    try connection.perform("listen") { () throws(PostgresFault) in }
    openings = connection.openings
  }

  package var wakeup: any BusWakeup { waker }

  /// Throws `failed` unless both addresses lead to the same database of the same running server,
  /// and to the same schema in it; throws the errors of opening a store.
  package static func checkSameDatabase(
    _ address: PostgresAddress, as store: PostgresAddress
  ) throws(StorageError) {
    let (found, of) = (try identity(of: address), try identity(of: store))
    guard found == of else {
      throw .failed(
        path: address.shown, operation: "serve as the bus",
        detail: "it is \(found.text), but the store \(store.shown) is \(of.text); "
          + "notifications cross neither servers nor databases")
    }
  }

  /// True if both addresses lead to the same database of the same running server, and to the same
  /// schema in it. Throws the errors of opening a store.
  package static func isSameDatabase(
    _ one: PostgresAddress, _ other: PostgresAddress
  ) throws(StorageError) -> Bool {
    try identity(of: one) == identity(of: other)
  }

  private static func identity(
    of address: PostgresAddress
  ) throws(StorageError) -> PostgresSession.DatabaseIdentity {
    let connection = PostgresConnection(address)
    defer { connection.close() }
    return try connection.perform("open") { () throws(PostgresFault) in
      try PostgresSession.identity(connection)
    }
  }

  /// Listens to a channel of its own. Returns the statement that the store sends to it.
  func beginProbe() throws(StorageError) -> (
    statement: PostgresStatement, parameters: PostgresParameters
  ) {
    try runApart("LISTEN \(probeChannel)")
    let texts = BusPayload.texts(of: BusPayload.Beat(last: 0), from: relay)
    return PostgresBus.notices(texts.map { (channel: probeChannel, text: $0) })
  }

  /// Waits for the notice that the store has sent: `hearsStore`.
  func endProbe() throws(StorageError) {
    let deadline = lockstep_postgres_milliseconds() + Limits.busProbeMilliseconds
    hearsStore = false
    while !hearsStore, lockstep_postgres_milliseconds() < deadline {
      let left = deadline - lockstep_postgres_milliseconds()
      for case .received(let payload) in wait(milliseconds: left) where payload.relay == relay {
        hearsStore = true
      }
    }
    guard !hearsStore, connection.isPooled else {
      return try runApart("UNLISTEN \(probeChannel)")
    }
    // The pooler gives the session, and the notices in it, to other programs.
    connection.sessionSetup = nil
    try runApart("UNLISTEN *")
  }

  private var probeChannel: String { "lockstep_probe_" + HexText.text(relay) }

  private func runApart(_ sql: String) throws(StorageError) {
    _ = try connection.perform("listen") { () throws(PostgresFault) in
      try connection.run(PostgresStatement("", sql)).count
    }
    openings = connection.openings
  }

  /// Closes the connection. Later requests fail.
  package func close() { connection.close() }

  package func wait(milliseconds: Int64) -> [BusEvent] {
    let deadline = lockstep_postgres_milliseconds() + milliseconds
    if let reason = lostBySending {
      lostBySending = nil
      return [.lost(reason)]
    }
    guard connection.isOpen || reconnects(until: deadline) else { return [] }
    guard connection.openings == openings else {
      openings = connection.openings
      return [.back]
    }
    do throws(PostgresFault) {
      while true {
        // Notices that arrived with the answer to another statement are in memory, so the socket is
        // not readable for them. All that was received may be malformed.
        let received = notices(from: try connection.notices(atMost: Limits.noticesAtOnce))
        if !received.isEmpty { return received }
        let ready = lockstep_postgres_wait(
          connection.descriptor, false, waker.descriptor, deadline)
        waker.clear()
        if Int(ready) & LOCKSTEP_READABLE == 0 { return [] }
        if Int(ready) & LOCKSTEP_INTERRUPTED != 0 {
          return notices(from: try connection.notices(atMost: Limits.noticesAtOnce))
        }
      }
    } catch {
      connection.drop()
      return [.lost(error.message)]
    }
  }

  private func notices(from payloads: [String]) -> [BusEvent] {
    payloads.compactMap { BusPayload(text: $0).map { .received($0) } }
  }

  /// The server may refuse messages, as when its queue is full.
  @discardableResult
  package func send(_ messages: [BusMessage]) -> Bool {
    guard connection.isOpen, connection.openings == openings else { return false }
    if messages.isEmpty { return true }
    do throws(PostgresFault) {
      let (statement, parameters) = PostgresBus.notices(
        messages.map {
          (channel: PostgresBus.channel(of: connection.schema, $0.receiver), text: $0.text)
        })
      _ = try connection.run(statement, parameters, within: Limits.busSendMilliseconds)
      return true
    } catch {
      if error.endsSession || !connection.isOpen {
        connection.drop()
        lostBySending = error.message
      }
      return false
    }
  }

  private func reconnects(until deadline: Int64) -> Bool {
    do throws(PostgresFault) {
      try connection.open()
      return true
    } catch {
      connection.drop()
      _ = lockstep_postgres_wait(-1, false, waker.descriptor, deadline)
      waker.clear()
      return false
    }
  }

  /// Returns the statement that sends texts to all relays whose tables are in this schema, for a
  /// command that has no bus. It is a transaction of its own, after a commit and in the same round
  /// trip. If a crash loses a notice, or a full queue rejects it, other relays find the change by
  /// its number (`PeerLines`).
  static func notices(
    _ texts: [String], to schema: String
  ) -> (statement: PostgresStatement, parameters: PostgresParameters) {
    notices(texts.map { (channel: channel(of: schema, .all), text: $0) })
  }

  /// Returns the statement that sends each text to its channel. Its transaction is not synced.
  private static func notices(
    _ messages: [(channel: String, text: String)]
  ) -> (statement: PostgresStatement, parameters: PostgresParameters) {
    (notify, PostgresParameters().bind(messages.map(\.channel)).bind(messages.map(\.text)))
  }

  private static let notify = PostgresStatement(
    "notify",
    """
    SELECT set_config('synchronous_commit', 'off', true),
      bool_and(pg_notify(channel, message) IS NULL)
    FROM unnest($1::text[], $2::text[]) AS messages (channel, message)
    """)

  /// Returns the channel's name, at most 63 bytes. Relays whose tables are in different schemas of
  /// one database use different channels.
  static func channel(of schema: String, _ receiver: BusMessage.Receiver) -> String {
    let plain = "lockstep_" + schema
    let name =
      plain.utf8.count <= 46
      ? plain
      : "lockstep_" + HexText.text(StableHash.of(schema))
    return switch receiver {
    case .all: plain.utf8.count <= 63 ? plain : name
    case .relay(let relay): name + "_" + HexText.text(relay)
    }
  }

  private static func listen(
    _ connection: PostgresConnection, _ relay: UInt64
  ) throws(PostgresFault) {
    for receiver in [BusMessage.Receiver.all, .relay(relay)] {
      let channel = PostgresBus.channel(of: connection.schema, receiver)
      let quoted = channel.split(separator: "\"", omittingEmptySubsequences: false)
        .joined(separator: "\"\"")
      _ = try connection.run(PostgresStatement("", "LISTEN \"\(quoted)\""))
    }
  }
}

/// A descriptor that is readable after `signal`.
private final class PostgresWakeup: BusWakeup {
  let descriptor: Int32

  init?() {
    descriptor = lockstep_postgres_event()
    if descriptor < 0 { return nil }
  }

  deinit { close(descriptor) }

  func signal() {
    var one: UInt64 = 1
    _ = write(descriptor, &one, 8)
  }

  func clear() {
    var count: UInt64 = 0
    _ = read(descriptor, &count, 8)
  }
}

/// Hash of a text that is the same in all processes (FNV-1a).
enum StableHash {
  static func of(_ text: String) -> UInt64 {
    text.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
  }
}
