import CPostgres
import Glibc
import LockstepModel
import LockstepStorage

/// Notice from the bus to a relay.
package enum BusNotice: Hashable, Sendable {
  /// Another relay's commit.
  case moved(BusPayload.Movement)
  /// The connection is lost; no notices arrive until `back`.
  case lost
  /// The connection is restored; notices in between were missed. The receiver must query movements.
  case back
}

/// Receives notices about commits of the other relays of a database, on a connection of its own.
/// For one thread, which `BusWakeup` wakes.
package final class PostgresBus {
  private let connection: PostgresConnection
  private let relay: UInt64
  /// Number of sessions that the caller of `wait` knows about.
  private var openings = 0
  /// Ends a wait from any thread.
  package let bell: BusWakeup

  /// Starts to listen. `relay`: the relay whose own notices are ignored.
  package init(_ address: PostgresAddress, relay: UInt64) throws(StorageError) {
    let connection = PostgresConnection(address)
    self.connection = connection
    self.relay = relay
    guard let bell = BusWakeup() else {
      throw .failed(
        path: address.shown, operation: "listen", detail: "no descriptor is left")
    }
    self.bell = bell
    connection.greeting = PostgresBus.listen
    try connection.perform("listen") { () throws(PostgresFault) in }
    openings = connection.openings
  }

  /// Closes the connection. Later requests fail.
  package func close() { connection.close() }

  /// Returns the received notices, in order. Waits at most `milliseconds` for the first one.
  /// Returns an empty list if none arrived or `bell` was rung. If the connection is lost, each call
  /// tries once to restore it.
  package func wait(milliseconds: Int64) -> [BusNotice] {
    let deadline = lockstep_postgres_milliseconds() + milliseconds
    guard connection.isOpen || reconnects(until: deadline) else { return [] }
    guard connection.openings == openings else {
      openings = connection.openings
      return [.back]
    }
    do throws(PostgresFault) {
      while true {
        // Notices that arrived with the answer to another statement are in memory, so the socket is
        // not readable for them. All received notices may be this relay's own.
        let heard = notices(from: try connection.notices(atMost: Limits.noticesAtOnce))
        if !heard.isEmpty { return heard }
        let ready = lockstep_postgres_wait(
          connection.descriptor, false, bell.descriptor, deadline)
        bell.hush()
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

  private func notices(from payloads: [String]) -> [BusNotice] {
    payloads.flatMap { text -> [BusNotice] in
      guard let payload = BusPayload(text: text), payload.relay != relay else { return [] }
      return payload.movements.map { .moved($0) }
    }
  }

  private func reconnects(until deadline: Int64) -> Bool {
    do throws(PostgresFault) {
      try connection.open()
      return true
    } catch {
      connection.drop()
      _ = lockstep_postgres_wait(-1, false, bell.descriptor, deadline)
      bell.hush()
      return false
    }
  }

  private static func listen(_ connection: PostgresConnection) throws(PostgresFault) {
    let channel = BusPayload.channel(of: connection.schema)
    let quoted = channel.split(separator: "\"", omittingEmptySubsequences: false)
      .joined(separator: "\"\"")
    _ = try connection.run(PostgresStatement("", "LISTEN \"\(quoted)\""))
  }
}

/// Ends the wait of a `PostgresBus` on another thread: a descriptor that is readable after `ring`.
package final class BusWakeup: Sendable {
  let descriptor: Int32

  init?() {
    descriptor = lockstep_postgres_event()
    if descriptor < 0 { return nil }
  }

  deinit { close(descriptor) }

  package func ring() {
    var one: UInt64 = 1
    _ = write(descriptor, &one, 8)
  }

  func hush() {
    var count: UInt64 = 0
    _ = read(descriptor, &count, 8)
  }
}
