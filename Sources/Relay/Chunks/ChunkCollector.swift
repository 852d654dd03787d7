import LockstepModel
import LockstepStorage

/// Removal of files that are not needed: at the start those that a crash left without an owner,
/// then, at intervals, chunks that no record references. The sweep of all files also finds which of
/// them exist after an older copy of the store was restored. The first node of a process does this,
/// one portion at a time. The store forgets a chunk before its file is removed, never the reverse,
/// so that every chunk of an account can be read.
///
/// A pure value: it names the next request, and is told the result.
struct ChunkCollector: Sendable {
  enum Request: Hashable, Sendable {
    /// → check, wait
    case list(after: ChunkFile?)
    /// → confirm, list, wait
    case check([ChunkFile])
    /// Confirms files that were doubted. → list, wait
    case confirm([ChunkFile], through: ChunkFile?)
    /// → wait
    case collect
    /// No request for this number of milliseconds. → list, collect
    case wait(Int64)
  }

  /// Last file that was swept since the start, and whether the sweep is complete.
  private var sweptThrough: ChunkFile?
  private var isSwept = false
  /// Files to remove after the next successful commit.
  private var leftovers: [ChunkFile] = []

  /// The request that runs the next collection, or continues the sweep from where it stopped.
  var next: Request { isSwept ? .collect : .list(after: sweptThrough) }

  /// The wait after a request that failed, or that could not be sent.
  static let retry = Request.wait(Limits.collectMilliseconds)

  /// Handles the list of files that existed when the relay started; nil if it failed.
  mutating func handleList(_ files: [ChunkFile]?) -> Request {
    guard let files else { return ChunkCollector.retry }
    isSwept = files.isEmpty
    return isSwept ? .wait(Limits.collectMilliseconds) : .check(files)
  }

  /// Handles the uses of `files`, which come in the same order; nil if the read failed.
  mutating func handleCheck(
    _ files: [ChunkFile], _ uses: [FileUse]?
  ) -> (unused: [ChunkFile], Request) {
    guard let uses, uses.count == files.count else { return ([], ChunkCollector.retry) }
    let unused = zip(files, uses).filter { $0.1 == .none }.map(\.0)
    let unverified = zip(files, uses).filter { $0.1 == .unverified }.map(\.0)
    if !unverified.isEmpty { return (unused, .confirm(unverified, through: files.last)) }
    sweptThrough = files.last
    return (unused, .list(after: sweptThrough))
  }

  /// Handles the commit that confirmed files up to `last`; if it failed, the portion is swept
  /// again.
  mutating func handleConfirmation(through last: ChunkFile?, isDone: Bool) -> Request {
    guard isDone else { return ChunkCollector.retry }
    sweptThrough = last
    return .list(after: last)
  }

  /// Handles the number of chunks that a collection found.
  func handleCollection(_ count: Int) -> Request {
    // A full portion: there are more, and other commits come between two portions.
    let isFull = count >= Limits.collectedChunks
    return .wait(isFull ? Limits.collectPauseMilliseconds : Limits.collectMilliseconds)
  }

  /// Keeps the files for removal after the next successful commit. Files beyond the limit wait for
  /// the next start.
  mutating func keepLeftover(_ files: [ChunkFile]) {
    leftovers += files.prefix(max(0, Limits.collectedChunks - leftovers.count))
  }

  /// Returns the kept files, which are then not kept any more.
  mutating func drainLeftovers() -> [ChunkFile] {
    let files = leftovers
    leftovers = []
    return files
  }
}
