import Glibc
import LockstepEventLoop

/// Request to stop long work (SIGINT, SIGTERM). The work polls it between steps, so that it can
/// leave everything as it was.
package final class Interruption {
  private let poll: () -> Bool
  private(set) var isRequested = false

  package init(poll: @escaping () -> Bool) { self.poll = poll }

  /// Uses this process's signals. Create it before anything exists that an interruption would leave
  /// behind.
  package convenience init() throws(CommandFailure) {
    let signals = try Self.signals()
    self.init {
      do throws(SystemFault) {
        return try !signals.receive().isEmpty
      } catch {
        // Work that cannot be interrupted must not continue.
        return true
      }
    }
  }

  /// Returns this process's signals that end a command.
  package static func signals(_ numbers: [Int32] = [SIGTERM, SIGINT]) throws(CommandFailure)
    -> Signals
  {
    return try CommandFailure.wrap { () throws(SystemFault) in
      try Signals(numbers)
    }
  }

  /// Returns false once an interruption is requested.
  package func canContinue() -> Bool {
    isRequested = isRequested || poll()
    return !isRequested
  }

  /// Throws if an interruption is requested. `work`: name of the work, such as "the backup".
  package func check(_ work: String) throws(CommandFailure) {
    guard canContinue() else { throw Interruption.failure(work) }
  }

  package static func failure(_ work: String) -> CommandFailure {
    CommandFailure("\(work) was interrupted; nothing was changed")
  }
}
