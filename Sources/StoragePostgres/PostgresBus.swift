import CPostgres
import Glibc
import LockstepModel
import LockstepStorage

/// What a relay hears of the others.
package enum BusNotice: Hashable, Sendable {
  /// Another relay's commit.
  case moved(BusPayload.Movement)
  /// From here on nothing is heard.
  case lost
  /// From here on it is heard again; what came in between was missed. Whoever is told of this looks
  /// for movements itself.
  case back
}

/// Hears of the commits of the other relays of a database, on a connection of its own; for one
/// thread, which `BusWakeup` wakes.
package final class PostgresBus {
  private let connection: PostgresConnection
  private let relay: UInt64
  /// Sessions that whoever waits knows of.
  private var openings = 0
  /// Ends a wait from any thread.
  package let bell: BusWakeup

  /// Hears from here on. `relay`: whose notices are passed over.
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

  /// What is asked afterwards fails.
  package func close() { connection.close() }

  /// What came, in order; waits for the first of it, at most so long. Empty where nothing came or
  /// the bell rang. While the connection is lost each call tries to make it anew, once.
  package func wait(milliseconds: Int64) -> [BusNotice] {
    let deadline = lockstep_postgres_milliseconds() + milliseconds
    guard connection.isOpen || reconnects(until: deadline) else { return [] }
    guard connection.openings == openings else {
      openings = connection.openings
      return [.back]
    }
    do throws(PostgresFault) {
      while true {
        // What came with the answer to another question waits in memory, where no socket tells of
        // it; and what came may all be our own.
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

/// Ends the wait of a `PostgresBus` on another thread: a descriptor that can be read once it rang.
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
