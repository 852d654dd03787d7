import LockstepEventLoop

/// Request to stop long work (SIGINT, SIGTERM). The work polls it between steps, so that it can
/// leave everything as it was.
final class Interruption {
  private let isAsked: () -> Bool
  private(set) var isWanted = false

  init(isAsked: @escaping () -> Bool) { self.isAsked = isAsked }

  /// Uses this process's signals. Create it before anything exists that an interruption would leave
  /// behind.
  convenience init() throws(CommandFailure) {
    let signals = try AgentCommand.signals()
    self.init {
      do throws(SystemFault) {
        return try !signals.take().isEmpty
      } catch {
        // Work that cannot be interrupted must not continue.
        return true
      }
    }
  }

  /// Returns false once an interruption is requested.
  func goesOn() -> Bool {
    isWanted = isWanted || isAsked()
    return !isWanted
  }

  /// Throws if an interruption is requested. `work`: name of the work, such as "the backup".
  func check(_ work: String) throws(CommandFailure) {
    guard goesOn() else { throw Interruption.failure(work) }
  }

  static func failure(_ work: String) -> CommandFailure {
    CommandFailure("\(work) was interrupted; nothing was changed")
  }
}
