import Glibc
import LockstepCommandLine
import LockstepEventLoop
import LockstepModel
import LockstepRelay
import LockstepStorage
import LockstepStoragePostgres
import LockstepStorageSQLite

/// Moves a store's log on a new thread each time: about once a second, under load.
final class LogThread: LogFallback {
  /// During a move, only that thread uses the mover.
  private final class Handover: @unchecked Sendable {
    let mover: LogMover
    let progress = Locked(LogProgress.idle)

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

  private let handover: Handover
  private var thread: LoopThread?

  init(_ mover: LogMover) { handover = Handover(mover) }

  func takeProgress() -> LogProgress {
    let progress = handover.progress.withLock { progress in
      let found = progress
      if !found.isMoving { progress = .idle }
      return found
    }
    if !progress.isMoving { join() }
    return progress
  }

  var isMoving: Bool { handover.progress.withLock { $0.isMoving } }

  func start() -> Bool {
    handover.progress.withLock { $0 = .moving }
    do throws(SystemFault) {
      thread = try LoopThread("log", .patient) { [handover] in handover.move() }
      return true
    } catch {
      handover.progress.withLock { $0 = .idle }
      return false
    }
  }

  func wait() { join() }

  func close() {
    join()
    handover.mover.close()
  }

  private func join() {
    thread?.join()
    thread = nil
  }
}

/// Single saves that a relay's only node commits on its own thread while the store is not in use:
/// that saves two hand-overs between threads. Not if the disk is slow, because connections wait
/// meanwhile.
final class ShortSaves: Sendable {
  private struct Pause {
    /// Saves that are left to the worker before the next attempt.
    var left = 0
    /// Length of the next pause. It doubles while the disk is slow.
    var length = Limits.shortCommitPause
  }

  private let commits: SQLiteShortCommits
  private let metrics: StoreMetrics
  private let pause = Locked(Pause())

  init(_ commits: SQLiteShortCommits, _ metrics: StoreMetrics) {
    self.commits = commits
    self.metrics = metrics
  }

  /// True for a save of few records, unless one took long lately.
  func accepts(_ job: StoreCommitJob) -> Bool {
    guard case .save(let commit) = job.request,
      commit.request.mutations.count <= Limits.shortCommitRecords
    else { return false }
    return pause.withLock { pause in
      guard pause.left > 0 else { return true }
      pause.left -= 1
      return false
    }
  }

  /// Performs a job; returns nil if the worker has to do it.
  func commit(_ job: StoreCommitJob) -> (StoreCommitOutcome, RelayNews?)? {
    let begun = SystemClock.moment()
    let finished = StoreWork.commitShort(job) { commits.commit($0, wall: begun.wall) }
    let end = SystemClock.instant()
    let nanoseconds = end.nanoseconds - begun.instant.nanoseconds
    adapt(isSlow: nanoseconds > Limits.shortCommitNanoseconds, isDone: finished != nil)
    guard let finished else { return nil }
    metrics.recordCommit(1, nanoseconds: nanoseconds)
    return (finished.outcome, finished.news?.durable(at: end))
  }

  private func adapt(isSlow: Bool, isDone: Bool) {
    pause.withLock { pause in
      if isSlow {
        pause.left = pause.length
        pause.length = min(2 * pause.length, Limits.shortCommitPauseMax)
      } else if isDone {
        pause.length = Limits.shortCommitPause
      }
    }
  }
}
