import LockstepEventLoop

/// Whether somebody wants long work to end (SIGINT, SIGTERM): asked in between, so that the work
/// can leave everything as it was.
final class Interruption {
  private let isAsked: () -> Bool
  private(set) var isWanted = false

  init(isAsked: @escaping () -> Bool) { self.isAsked = isAsked }

  /// Of this process. Make it before there is anything that an interruption would leave behind.
  convenience init() throws(CommandFailure) {
    let signals = try AgentCommand.signals()
    self.init {
      do throws(SystemFault) {
        return try !signals.take().isEmpty
      } catch {
        // Who cannot be told to end had better end.
        return true
      }
    }
  }

  /// False once it is wanted.
  func goesOn() -> Bool {
    isWanted = isWanted || isAsked()
    return !isWanted
  }

  /// `work` is what is ended: "the backup".
  func check(_ work: String) throws(CommandFailure) {
    guard goesOn() else { throw Interruption.failure(work) }
  }

  static func failure(_ work: String) -> CommandFailure {
    CommandFailure("\(work) was interrupted; nothing was changed")
  }
}
