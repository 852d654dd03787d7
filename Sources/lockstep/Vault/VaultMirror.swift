import LockstepClient
import LockstepEventLoop
import LockstepModel
import LockstepWire

/// What reaches the mirror's thread.
enum VaultMessage: Sendable {
  case told(AgentReport)
  /// By a command.
  case asked(ConnectionID, JSONValue)
  case stop
}

/// The thread that keeps a home's files the same as the account's, for as long as the home is held.
final class VaultMirror {
  private let mail: Mailbox<VaultMessage>
  private let begin: () throws(SystemFault) -> LoopThread
  private var thread: LoopThread?

  /// `post`: to the node of the home.
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

  /// What is under way is put down where it can be taken up again.
  func stop() {
    mail.post(.stop)
    thread?.join()
    thread = nil
  }
}
