import LockstepClient
import LockstepEventLoop
import LockstepModel
import LockstepWire

/// Messages to the mirror's thread.
enum VaultMessage: Sendable {
  case told(AgentReport)
  /// Request of a command.
  case asked(ConnectionID, JSONValue)
  case stop
}

/// Thread that keeps a home's files the same as the account's while the home is held.
final class VaultMirror {
  private let mail: Mailbox<VaultMessage>
  private let begin: () throws(SystemFault) -> LoopThread
  private var thread: LoopThread?

  /// `post`: sends an order to the home's node.
  init(
    _ home: HomeFolder, _ mail: Mailbox<VaultMessage>, log: Log,
    post: @escaping @Sendable (HomeOrder) -> Void
  ) {
    self.mail = mail
    begin = { () throws(SystemFault) -> LoopThread in
      try LoopThread("vault") { VaultEngine(home, mail, log: log, post: post).run() }
    }
  }

  func start() throws(CommandFailure) {
    do throws(SystemFault) {
      thread = try begin()
    } catch {
      throw CommandFailure("\(error)")
    }
  }

  /// Stops the thread. Unfinished work is stored such that it can be resumed.
  func stop() {
    mail.post(.stop)
    thread?.join()
    thread = nil
  }
}
