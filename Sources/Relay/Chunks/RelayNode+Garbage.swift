import LockstepModel
import LockstepStorage
import LockstepWire

/// Removes files that are not needed: at the start those that a crash left without an owner, then,
/// at intervals, chunks that no record references. The sweep of all files also finds which of them
/// exist after an older copy of the store was restored. The first node of a process does this, one
/// portion at a time. The store forgets a chunk before its file is removed, never the reverse, so
/// that every chunk of an account can be read.
extension RelayNode {
  /// Sweeps the files that existed when the relay started, from where it stopped.
  mutating func sweep() {
    let portion = ChunkRequest.list(after: sweptThrough, limit: Limits.collectedChunks)
    if !ask(.chunk(portion), for: .sweep) { scheduleCollection(Limits.collectMilliseconds) }
  }

  mutating func sweepListed(_ result: Result<ChunkResult, Refusal>) {
    guard stage == .running else { return }
    guard case .success(.files(let files)) = result else {
      scheduleCollection(Limits.collectMilliseconds)
      return
    }
    isSwept = files.isEmpty
    if isSwept || !ask(.read(.fileUses(files)), for: .sweepCheck(files)) {
      scheduleCollection(Limits.collectMilliseconds)
    }
  }

  /// Handles the uses of `files`, which come in the same order.
  mutating func sweepChecked(_ files: [ChunkFile], _ result: Result<ReadResult, Refusal>) {
    guard stage == .running else { return }
    guard case .success(.fileUses(let uses)) = result, uses.count == files.count else {
      scheduleCollection(Limits.collectMilliseconds)
      return
    }
    let unused = zip(files, uses).filter { $0.1 == .none }.map(\.0)
    if !unused.isEmpty { removeFiles(unused) }
    let doubted = zip(files, uses).filter { $0.1 == .doubted }.map(\.0)
    if doubted.isEmpty { return sweepOn(after: files.last) }
    if !askCommit(.confirmChunks(doubted), for: .vouching(through: files.last)) {
      scheduleCollection(Limits.collectMilliseconds)
    }
  }

  /// Handles the commit that confirmed files up to `last`; if it failed, sweeps the portion again.
  mutating func vouched(through last: ChunkFile?, _ result: Result<CommitResult, Refusal>) {
    guard stage == .running else { return }
    if case .success = result {
      sweepOn(after: last)
    } else {
      scheduleCollection(Limits.collectMilliseconds)
    }
  }

  private mutating func sweepOn(after last: ChunkFile?) {
    sweptThrough = last
    sweep()
  }

  // MARK: chunks that no record references

  private mutating func scheduleCollection(_ milliseconds: Int64) {
    timers.schedule(.collection, at: moment.instant.advanced(milliseconds: milliseconds))
  }

  /// Runs the next collection, or continues the sweep.
  mutating func collect() {
    if !isSwept {
      sweep()
      return
    }
    if !askCommit(.collectChunks(atMost: Limits.collectedChunks), for: .collection) {
      scheduleCollection(Limits.collectMilliseconds)
    }
  }

  mutating func collected(_ result: Result<CommitResult, Refusal>) {
    var files: [ChunkFile] = []
    if case .success(.collected(let found)) = result { files = found }
    if !files.isEmpty { removeFiles(files) }
    guard stage == .running else { return }
    // A full portion: there are more, and other commits come between two portions.
    let isFull = files.count >= Limits.collectedChunks
    scheduleCollection(isFull ? Limits.collectPauseMilliseconds : Limits.collectMilliseconds)
  }

  // MARK: files

  /// Removes unneeded files. If that fails now, they are removed later or after the next start.
  mutating func removeFiles(_ files: [ChunkFile]) {
    if !ask(.chunk(.remove(files)), for: .removal(files)) { keepLeftover(files) }
  }

  /// Removes all files of an account that was removed. If that fails, the next start removes them.
  mutating func removeFiles(of account: AccountID) {
    _ = ask(.chunk(.removeAll(of: account)), for: .removal([]))
  }

  /// Keeps the files for removal after the next successful commit. Files beyond the limit wait for
  /// the next start.
  mutating func keepLeftover(_ files: [ChunkFile]) {
    leftovers += files.prefix(max(0, Limits.collectedChunks - leftovers.count))
  }

  /// Removes the kept files after a successful commit.
  mutating func removeLeftovers() {
    if leftovers.isEmpty { return }
    let files = leftovers
    leftovers = []
    removeFiles(files)
  }
}
