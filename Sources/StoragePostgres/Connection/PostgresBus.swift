import CPostgres
import Glibc
import LockstepModel
import LockstepStorage

/// Notice from the bus to a relay.
package enum BusNotice: Hashable, Sendable {
  /// Another relay's commit.
  case moved(BusPayload.Change)
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
  /// Number of sessions already reported to the caller of `wait`.
  private var openings = 0
  /// Ends a wait from any thread.
  package let wakeup: BusWakeup

  /// Starts to listen. `relay`: the relay whose own notices are ignored.
  package init(_ address: PostgresAddress, relay: UInt64) throws(StorageError) {
    let connection = PostgresConnection(address)
    self.connection = connection
    self.relay = relay
    guard let wakeup = BusWakeup() else {
      throw .failed(
        path: address.shown, operation: "listen", detail: "no descriptor is left")
    }
    self.wakeup = wakeup
    connection.sessionSetup = PostgresBus.listen
    try connection.perform("listen") { () throws(PostgresFault) in }
    openings = connection.openings
  }

  /// Closes the connection. Later requests fail.
  package func close() { connection.close() }

  /// Returns the received notices, in order. Waits at most `milliseconds` for the first one.
  /// Returns an empty list if none arrived or `wakeup` was signalled. If the connection is lost,
  /// each call tries once to restore it.
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

  private func notices(from payloads: [String]) -> [BusNotice] {
    payloads.flatMap { text -> [BusNotice] in
      guard let payload = BusPayload(text: text), payload.relay != relay else { return [] }
      return payload.changes.map { .moved($0) }
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

  private static func listen(_ connection: PostgresConnection) throws(PostgresFault) {
    let channel = BusPayload.channel(of: connection.schema)
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

/// Notice from a commit to the other relays of the database: the accounts with new tokens, and the
/// accounts whose devices, plan or subscriptions changed. Split into as many notices as needed.
///
///     1 <relay> <account>=<token> <account>! <account>=<token>! …
///
/// `1` is the format version; `relay` and `account` have sixteen hexadecimal digits; `!` marks
/// a membership change. A notice of another version is ignored, and of a truncated notice the
/// complete words count: a push is a hint, and a relay that missed a notice queries the versions.
package struct BusPayload: Hashable, Sendable {
  package struct Change: Hashable, Sendable {
    package var account: AccountID
    /// New token; nil if the account's token did not change.
    package var token: ChangeToken?
    package var hasMembershipChange: Bool
  }

  /// Sender; a relay ignores its own notices.
  package var relay: UInt64
  package var changes: [Change]

  /// `moved` and `membershipChanges`: each account once, in order.
  package init(
    relay: UInt64, moved: [(account: AccountID, token: ChangeToken)], membershipChanges: [AccountID]
  ) {
    self.relay = relay
    let changedMemberships = Set(membershipChanges)
    let known = Set(moved.map(\.account))
    changes =
      moved.map {
        Change(
          account: $0.account, token: $0.token,
          hasMembershipChange: changedMemberships.contains($0.account))
      }
      + membershipChanges.filter { !known.contains($0) }.map {
        Change(account: $0, token: nil, hasMembershipChange: true)
      }
  }

  /// Returns nil if the text is not a valid notice.
  package init?(text: String) {
    let words = text.split(separator: " ")
    guard words.count >= 2, words[0] == BusPayload.form, let relay = HexText.parse(String(words[1]))
    else { return nil }
    self.relay = relay
    changes = words.dropFirst(2).compactMap(BusPayload.change)
  }

  /// Texts of at most `Limits.noticeBytes` each; empty if there are no changes.
  package var texts: [String] {
    let head = "\(BusPayload.form) \(HexText.text(relay))"
    var texts: [String] = []
    var text = head
    for change in changes {
      let word = BusPayload.word(change)
      if text.utf8.count + 1 + word.utf8.count > Limits.noticeBytes {
        texts.append(text)
        text = head
      }
      text += " " + word
    }
    return changes.isEmpty ? [] : texts + [text]
  }

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

  private static let form = "1"

  private static func word(_ change: Change) -> String {
    change.account.text + (change.token.map { "=" + $0.text } ?? "")
      + (change.hasMembershipChange ? "!" : "")
  }

  private static func change(_ word: Substring) -> Change? {
    let hasMembershipChange = word.last == "!"
    let rest = hasMembershipChange ? word.dropLast() : word
    let sides = rest.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard let account = AccountID(text: String(sides[0])) else { return nil }
    var change = Change(account: account, token: nil, hasMembershipChange: hasMembershipChange)
    if sides.count == 2 {
      guard let token = ChangeToken(text: String(sides[1])) else { return nil }
      change.token = token
    }
    guard change.token != nil || hasMembershipChange else { return nil }
    return change
  }
}
