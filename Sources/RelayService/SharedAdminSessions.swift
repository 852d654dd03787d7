import LockstepEventLoop
import LockstepRelay

/// Sign-ins of the relay's owner, for the nodes of a process, each of which has its own thread.
final class SharedAdminSessions: AdminSessionStore {
  private let table = Locked(AdminSessionTable())

  func withTable<Result: Sendable>(_ body: (inout AdminSessionTable) -> Result) -> Result {
    table.withLock { body(&$0) }
  }
}
