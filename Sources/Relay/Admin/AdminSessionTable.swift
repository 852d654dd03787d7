import LockstepModel
import LockstepRuntime

/// Sign-in of the relay's owner to the owner's page: codes that each open one session, and the
/// sessions. All nodes of a process share one table, because each of them may get any request.
@usableFromInline
package protocol AdminSessionStore: Sendable {
  /// Performs `body` on the table; two calls never overlap.
  mutating func withTable<Result: Sendable>(
    _ body: (inout AdminSessionTable) -> Result
  ) -> Result
}

/// Codes and sessions in the memory of one process: a restart ends them. Only the hashes of codes
/// and tokens are kept.
@usableFromInline
package struct AdminSessionTable: Sendable {
  private struct Entry: Sendable {
    var hash: TokenHash
    var endsAt: Instant
  }

  /// In the order in which they were made.
  private var codes: [Entry] = []
  private var sessions: [Entry] = []

  @usableFromInline package init() {}

  /// Adds a code, which is valid for `Limits.adminCodeMilliseconds`, and once. Beyond
  /// `Limits.adminCodes` the oldest is forgotten.
  mutating func addCode(_ hash: TokenHash, at now: Instant) {
    codes.removeAll { $0.endsAt <= now }
    codes.append(
      Entry(hash: hash, endsAt: now.advanced(milliseconds: Limits.adminCodeMilliseconds)))
    if codes.count > Limits.adminCodes { codes.removeFirst() }
  }

  /// Begins a session for a valid code, which is used up. Returns false for any other code. Beyond
  /// `Limits.adminSessions` the oldest session ends.
  mutating func beginSession(
    _ token: TokenHash, byCode code: TokenHash, at now: Instant
  ) -> Bool {
    guard let index = AdminSessionTable.index(of: code, in: codes, at: now) else { return false }
    codes.remove(at: index)
    sessions.removeAll { $0.endsAt <= now }
    sessions.append(
      Entry(hash: token, endsAt: now.advanced(milliseconds: Limits.adminSessionMilliseconds)))
    if sessions.count > Limits.adminSessions { sessions.removeFirst() }
    return true
  }

  func hasSession(_ token: TokenHash, at now: Instant) -> Bool {
    AdminSessionTable.index(of: token, in: sessions, at: now) != nil
  }

  mutating func endSession(_ token: TokenHash) { sessions.removeAll { $0.hash == token } }

  /// Compares with all entries, so that the time does not show which one is equal.
  private static func index(of hash: TokenHash, in entries: [Entry], at now: Instant) -> Int? {
    var found: Int?
    for (index, entry) in entries.enumerated() where entry.hash == hash && entry.endsAt > now {
      found = index
    }
    return found
  }
}

/// The table of a relay with one node.
extension AdminSessionTable: AdminSessionStore {
  @usableFromInline
  package mutating func withTable<Result: Sendable>(
    _ body: (inout AdminSessionTable) -> Result
  ) -> Result {
    body(&self)
  }
}
