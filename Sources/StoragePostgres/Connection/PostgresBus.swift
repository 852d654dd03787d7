import CPostgres
import Glibc
import LockstepModel
import LockstepStorage

/// Receives notices about commits of the relays of a database, on a connection of its own.
/// For one thread, which `BusWakeup` wakes.
package final class PostgresBus {
  private let connection: PostgresConnection
  /// Number that identifies this relay's notices.
  package let relay: UInt64
  /// Number of sessions already reported to the caller of `wait`.
  private var openings = 0
  /// False if a notice that the store sent did not arrive: between relay and database is a pooler,
  /// which gives each transaction another session of the server.
  package private(set) var hearsStore = true
  /// Ends a wait from any thread.
  package let wakeup: BusWakeup

  /// Starts to listen. `relay`: the number that identifies this relay's beats.
  package init(_ address: PostgresAddress, relay: UInt64) throws(StorageError) {
    let connection = PostgresConnection(address)
    self.connection = connection
    self.relay = relay
    guard let wakeup = BusWakeup() else {
      throw .failed(
        path: address.shown, operation: "listen", detail: "no descriptor is left")
    }
    self.wakeup = wakeup
    connection.listens = true
    connection.sessionSetup = PostgresBus.listen
    try connection.perform("listen") { () throws(PostgresFault) in }
    openings = connection.openings
  }

  /// Throws `failed` unless both addresses lead to the same database of the same running server,
  /// and to the same schema in it; throws the errors of opening a store.
  package static func checkSameDatabase(
    _ address: PostgresAddress, as store: PostgresAddress
  ) throws(StorageError) {
    var found: [PostgresSession.DatabaseIdentity] = []
    for each in [store, address] {
      let connection = PostgresConnection(each)
      defer { connection.close() }
      found.append(
        try connection.perform("open") { () throws(PostgresFault) in
          try PostgresSession.identity(connection)
        })
    }
    guard found[0] == found[1] else {
      throw .failed(
        path: address.shown, operation: "serve as the bus",
        detail: "it is \(found[1].text), but the store \(store.shown) is \(found[0].text); "
          + "notifications cross neither servers nor databases")
    }
  }

  /// Listens to a channel of its own. Returns the statement that the store sends to it.
  func beginProbe() throws(StorageError) -> (
    statement: PostgresStatement, parameters: PostgresParameters
  ) {
    try runApart("LISTEN \(probeChannel)")
    let text = BusPayload.beatText(of: relay, after: 0)
    return (PostgresBus.notify, PostgresParameters().bind(probeChannel).bind(text))
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

  /// Returns the received notices, in order. Waits at most `milliseconds` for the first one.
  /// Returns an empty list if none arrived or `wakeup` was signalled. If the connection is lost,
  /// each call tries once to restore it.
  package func wait(milliseconds: Int64) -> [BusEvent] {
    let deadline = lockstep_postgres_milliseconds() + milliseconds
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
          connection.descriptor, false, wakeup.descriptor, deadline)
        wakeup.clear()
        if Int(ready) & LOCKSTEP_READABLE == 0 { return [] }
        if Int(ready) & LOCKSTEP_INTERRUPTED != 0 {
          return notices(from: try connection.notices(atMost: Limits.noticesAtOnce))
        }
      }
    } catch {
      connection.drop()
      return [.lost]
    }
  }

  private func notices(from payloads: [String]) -> [BusEvent] {
    payloads.compactMap { BusPayload(text: $0).map { .received($0) } }
  }

  /// Tells the other relays that this one listens, and the number of notices that it has sent.
  /// Returns false if the connection is lost; the next `wait` reports it.
  @discardableResult
  package func beat(after number: UInt64) -> Bool {
    guard connection.isOpen, connection.openings == openings else { return false }
    do throws(PostgresFault) {
      let (statement, parameters) = PostgresBus.notice(
        BusPayload.beatText(of: relay, after: number), to: connection.schema)
      _ = try connection.run(statement, parameters)
      return true
    } catch {
      connection.drop()
      return false
    }
  }

  private func reconnects(until deadline: Int64) -> Bool {
    do throws(PostgresFault) {
      try connection.open()
      return true
    } catch {
      connection.drop()
      _ = lockstep_postgres_wait(-1, false, wakeup.descriptor, deadline)
      wakeup.clear()
      return false
    }
  }

  /// Returns the statement that sends a notice to the relays whose tables are in this schema. It is
  /// a transaction of its own, after a commit and in the same round trip, and is not synced. NOTIFY
  /// holds a lock of the whole server until its transaction ends, so within the commit the relays
  /// would wait for the disk one after the other. If a crash loses the notice, or a full queue
  /// rejects it, other relays find the change by its number (`PeerLines`).
  static func notice(
    _ text: String, to schema: String
  ) -> (statement: PostgresStatement, parameters: PostgresParameters) {
    (notify, PostgresParameters().bind(channel(of: schema)).bind(text))
  }

  private static let notify = PostgresStatement(
    "notify",
    "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1::text, $2::text) IS NULL")

  /// Returns the channel's name, at most 63 bytes. Relays whose tables are in different schemas of
  /// one database use different channels.
  static func channel(of schema: String) -> String {
    let plain = "lockstep_" + schema
    if plain.utf8.count <= 63 { return plain }
    return "lockstep_"
      + HexText.text(
        schema.utf8.reduce(0xCBF2_9CE4_8422_2325) {
          ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3
        })
  }

  private static func listen(_ connection: PostgresConnection) throws(PostgresFault) {
    let channel = PostgresBus.channel(of: connection.schema)
    let quoted = channel.split(separator: "\"", omittingEmptySubsequences: false)
      .joined(separator: "\"\"")
    _ = try connection.run(PostgresStatement("", "LISTEN \"\(quoted)\""))
  }
}

/// Ends the wait of a `PostgresBus` on another thread: a descriptor that is readable after
/// `signal`.
package final class BusWakeup: Sendable {
  let descriptor: Int32

  init?() {
    descriptor = lockstep_postgres_event()
    if descriptor < 0 { return nil }
  }

  deinit { close(descriptor) }

  package func signal() {
    var one: UInt64 = 1
    _ = write(descriptor, &one, 8)
  }

  func clear() {
    var count: UInt64 = 0
    _ = read(descriptor, &count, 8)
  }
}
