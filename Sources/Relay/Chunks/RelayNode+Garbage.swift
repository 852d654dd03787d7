import LockstepModel
import LockstepStorage
import LockstepWire

/// How files go that nobody needs: at the start those that a crash left without an owner, and then,
/// now and again, chunks that no record names any more. The look through all files tells besides
/// which of them stand after an older copy of the store was put back. The first node of a process
/// sees to it, a portion at a time. The store forgets a chunk before its file is removed, never the
/// other way round, so that whatever an account has can be read.
extension RelayNode {
  /// Looks through the files that stood when the relay started, from where it stopped.
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

  /// What `files` hold, by their place.
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
    if !askCommit(.vouchForChunks(doubted), for: .vouching(through: files.last)) {
      scheduleCollection(Limits.collectMilliseconds)
    }
  }

  /// The files are vouched for, up to this one; where they are not, the portion is looked at anew.
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

  // MARK: chunks that no record names

  private mutating func scheduleCollection(_ milliseconds: Int64) {
    timers.schedule(.collection, at: moment.instant.advanced(milliseconds: milliseconds))
  }

  /// It is time again.
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
    // A full portion: there are more, and others' commits go between.
    let isFull = files.count >= Limits.collectedChunks
    scheduleCollection(isFull ? Limits.collectPauseMilliseconds : Limits.collectMilliseconds)
  }

  // MARK: files

  /// The files are not needed. What cannot be removed now is, later or with the next start.
  mutating func removeFiles(_ files: [ChunkFile]) {
    if !ask(.chunk(.remove(files)), for: .removal(files)) { keepLeftover(files) }
  }

  /// All files of an account that was removed. What cannot be removed is with the next start.
  mutating func removeFiles(of account: AccountID) {
    _ = ask(.chunk(.removeAll(of: account)), for: .removal([]))
  }

  /// The files are removed when the store has committed something again. What is too much to be
  /// remembered waits for the next start.
  mutating func keepLeftover(_ files: [ChunkFile]) {
    leftovers += files.prefix(max(0, Limits.collectedChunks - leftovers.count))
  }

  /// A commit has come through.
  mutating func removeLeftovers() {
    if leftovers.isEmpty { return }
    let files = leftovers
    leftovers = []
    removeFiles(files)
  }
}
