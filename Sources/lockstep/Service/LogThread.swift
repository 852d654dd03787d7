import LockstepEventLoop
import LockstepStorage
import LockstepStorageSQLite

/// Moves a store's log on a new thread each time: about once a second, under load.
final class LogThread: LogFallback {
  /// During a move, only that thread uses the mover.
  private final class Desk: @unchecked Sendable {
    let mover: LogMover
    let progress = Locked(LogProgress.resting)

    init(_ mover: LogMover) { self.mover = mover }

    func move() {
      do throws(StorageError) {
        let pages = try mover.move()
        progress.withLock { $0 = .moved(pages: pages) }
      } catch {
        progress.withLock { $0 = .failed(error) }
      }
    }
  }

  private let desk: Desk
  private var thread: LoopThread?

  init(_ mover: LogMover) { desk = Desk(mover) }

  func take() -> LogProgress {
    let progress = desk.progress.withLock { progress in
      let found = progress
      if !found.isMoving { progress = .resting }
      return found
    }
    if !progress.isMoving { join() }
    return progress
  }

  func begin() -> Bool {
    desk.progress.withLock { $0 = .moving }
    do throws(SystemFault) {
      thread = try LoopThread("log", .patient) { [desk] in desk.move() }
      return true
    } catch {
      desk.progress.withLock { $0 = .resting }
      return false
    }
  }

  func wait() { join() }

  func close() {
    join()
    desk.mover.close()
  }

  private func join() {
    thread?.join()
    thread = nil
  }
}
