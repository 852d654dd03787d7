import LockstepModel
import LockstepRuntime
import LockstepStorage
import LockstepWire

/// The blocking side of a relay, as pure functions that a driver's worker runs.
///
/// For the commits lane a driver merges the waiting jobs of all nodes into one call. Then it sends,
/// in the order of the commits, the news to every node (including the one that asked), and right
/// after it the outcome to the requesting node.
@usableFromInline
package enum StoreWork {
  /// Result of one commit.
  @usableFromInline
  package struct Finished: Sendable {
    @usableFromInline package var outcome: StoreCommitOutcome
    /// For all nodes, before the outcome; nil if nothing changed for other nodes.
    @usableFromInline package var news: RelayNews?

    @usableFromInline
    package init(outcome: StoreCommitOutcome, news: RelayNews?) {
      self.outcome = outcome
      self.news = news
    }
  }

  /// Performs all `jobs` in one durable transaction. Returns one result per job, in order.
  ///
  /// `wall` is relay time, milliseconds since the Unix epoch. If the store fails, every job has
  /// that failure as its outcome, and nothing was done.
  @usableFromInline
  package static func commit(
    _ jobs: [StoreCommitJob], on store: some ZoneStore, wall: Int64
  ) -> [Finished] {
    do throws(StorageError) {
      let results = try store.commit(jobs.map(\.request), wall: wall)
      precondition(results.count == jobs.count, "a store must return one result per request")
      return results.indices.map { index in
        Finished(
          outcome: .success(results[index]), news: news(of: jobs[index], results[index]))
      }
    } catch {
      return jobs.map { _ in Finished(outcome: .failure(error), news: nil) }
    }
  }

  /// Performs a job by `perform`, which returns nil if it leaves the job to `commit`.
  package static func commitShort(
    _ job: StoreCommitJob, _ perform: (CommitRequest) -> CommitResult?
  ) -> Finished? {
    perform(job.request).map { result in
      Finished(outcome: .success(result), news: news(of: job, result))
    }
  }

  @usableFromInline
  package static func read(_ job: StoreReadJob, on store: some ZoneReader) -> StoreReadOutcome {
    do throws(StorageError) {
      switch job {
      case .read(let request): return .read(.success(try store.read(request)))
      case .page(let request, let form):
        let result = try store.read(request)
        if case .page(let page) = result { return .page(ReadPage(page, as: form)) }
        return .read(.success(result))
      case .dueWakes(let query, let keys, let wall):
        return dueWakes(query, keys: keys, wall: wall, on: store)
      }
    } catch {
      return .read(.failure(error))
    }
  }

  private static func dueWakes(
    _ query: SleeperQuery, keys: WakeKeyTimes, wall: Int64, on store: some ZoneReader
  ) -> StoreReadOutcome {
    do throws(StorageError) {
      return .dueWakes(.success(try store.dueWakes(query, keys: keys, wall: wall)))
    } catch {
      return .dueWakes(.failure(error))
    }
  }

  /// `pages`: the owner's pages, if there are any.
  @usableFromInline
  package static func perform(
    _ job: StoreFileJob, on store: some ChunkStore, pages: (any PageFolder)? = nil
  ) -> StoreFileOutcome {
    switch job {
    case .chunk(let request):
      do throws(StorageError) {
        return .chunk(.success(try store.perform(request)))
      } catch {
        return .chunk(.failure(error))
      }
    case .pageFile(let names):
      do throws(StorageError) {
        return .pageFile(.success(try pages?.entry(at: names) ?? .missing))
      } catch {
        return .pageFile(.failure(error))
      }
    }
  }

  private static func news(of job: StoreCommitJob, _ result: CommitResult) -> RelayNews? {
    let origin = job.origin
    return switch (job.request, result) {
    case (.save(let save), .saved(let outcome)) where !outcome.changed.isEmpty:
      .changed(
        AccountChange(
          account: save.account, zone: save.request.zone, origin: origin,
          since: outcome.answer.since, token: outcome.answer.token, records: outcome.changed,
          events: outcome.events))
    case (.deleteZone(let account, _, let zone, _), .zoneDeleted(let deletion))
    where deletion.since != deletion.token,
      (.deleteZoneRest(let account, _, let zone, _), .zoneDeleted(let deletion))
    where deletion.since != deletion.token:
      .changed(change(account, zone, deletion, by: origin))
    case (.revokeDevice(let account, let device), .done):
      .revoked(account, device, by: origin)
    case (.setPlan(let account, let plan), .done):
      .planChanged(account, plan)
    case (.putSubscription(let account, let device, _), .subscribed(let all, _)),
      (.removeSubscription(let account, let device, _), .subscribed(let all, _)):
      .subscribed(account, device, all)
    case (.removeAccount(let account), .done), (.removeAccount(let account), .removing):
      .accountRemoved(account)
    case (.move(.freeze(let account, _)), .frozen), (.move(.activate(let account, _)), .done),
      (.move(.departAgain(let account, _, _)), .done):
      .remoteMembershipChange(account)
    case (.move(.thaw(let move)), .done), (.move(.depart(let move, _)), .done):
      .remoteMembershipChange(move.account)
    // Nothing changed.
    case (.save, _), (.deleteZone, _), (.deleteZoneRest, _), (.revokeDevice, _), (.setPlan, _),
      (.putSubscription, _),
      (.removeSubscription, _), (.removeAccount, _):
      nil
    // Only the requesting client gets the result.
    case (.createAccount, _), (.issuePairing, _), (.redeemPairing, _), (.renameDevice, _),
      (.touchDevices, _), (.checkWritable, _), (.addChunk, _), (.renewChunks, _),
      (.confirmChunks, _), (.markChunksMissing, _), (.collectChunks, _), (.putWake, _),
      (.removeWake, _), (.verifyWake, _), (.claimWakes, _), (.reportWakes, _), (.addWakeKey, _),
      (.move, _):
      nil
    }
  }

  private static func change(
    _ account: AccountID, _ zone: Name, _ deletion: ZoneDeletion, by origin: CommitOrigin
  ) -> AccountChange {
    guard let records = deletion.changed else {
      return AccountChange(
        account: account, zone: zone, origin: origin, since: deletion.since, token: deletion.token)
    }
    return AccountChange(
      account: account, zone: zone, origin: origin, since: deletion.since, token: deletion.token,
      records: records, events: Array(repeating: .delete, count: records.count))
  }
}

/// Weights of requests to the store: the owner of each, and its cost in records of up to a KiB. An
/// account's connections take turns, and so do accounts; requests of one connection stay in order.
extension StoreWork {
  @usableFromInline package static let portions = WorkPortions(
    cost: Limits.portionCost, lightCost: Limits.lightCost)

  /// For commits, which wait for the disk: an account that takes much of the time is deferred.
  /// Reads only take turns here: of pages, the only slow ones, few are under way (`ReadLimiter`).
  @usableFromInline package static let commitPortions = WorkPortions(
    cost: Limits.portionCost, lightCost: Limits.lightCost,
    pace: pace(
      freeCost: Limits.freeCost, nanosecondsPerCost: Limits.decodeNanosecondsPerCost,
      burstMicroseconds: Limits.commitBurstMicroseconds,
      microsecondsPerSecond: Limits.commitMicrosecondsPerSecond,
      longRest: Limits.putOffCommitLongRest))

  /// For pages of changes: one per turn, whatever its size.
  static let pagePortions = WorkPortions(
    cost: 1, lightCost: 1,
    pace: pace(
      burstMicroseconds: Limits.readBurstMicroseconds,
      microsecondsPerSecond: Limits.readMicrosecondsPerSecond,
      longRest: Limits.putOffReadLongRest))

  private static func pace(
    freeCost: Int = 0, nanosecondsPerCost: Int64 = 0, burstMicroseconds: Int,
    microsecondsPerSecond: Int, longRest: Int
  ) -> WorkPace {
    WorkPace(
      freeCost: freeCost, nanosecondsPerCost: nanosecondsPerCost,
      burstMicroseconds: burstMicroseconds, microsecondsPerSecond: microsecondsPerSecond,
      pauseFactor: Limits.putOffRest, shortMicroseconds: Limits.putOffShortMicroseconds,
      longPauseFactor: longRest, quietMilliseconds: Limits.putOffQuietMilliseconds,
      patienceMilliseconds: Limits.putOffPatienceMilliseconds, owners: Limits.rateLimitKeys)
  }

  @usableFromInline
  package static func weight(of job: StoreCommitJob) -> WorkWeight {
    WorkWeight(
      owner: owner(of: job.request), line: job.origin.connection?.rawValue ?? 0,
      cost: cost(of: job.request))
  }

  @usableFromInline
  package static func weight(of job: StoreReadJob) -> WorkWeight {
    WorkWeight(owner: owner(of: job.request), cost: cost(of: job.request))
  }

  @usableFromInline
  package static func weight(of job: StoreFileJob) -> WorkWeight {
    switch job {
    case .chunk(let request): weight(of: request)
    // One at a time: each may hold a large file.
    case .pageFile: WorkWeight(cost: Limits.portionCost)
    }
  }

  // MARK: files

  /// Returns the weight of a request to the chunk store. The requests of one file form a line, so
  /// that its bytes come in order and its removal after them.
  private static func weight(of request: ChunkRequest) -> WorkWeight {
    switch request {
    case .append(let file, let bytes): WorkWeight(of: file, cost: 1 + bytes.count >> 10)
    case .read(let file, _, let count): WorkWeight(of: file, cost: 1 + max(0, count) >> 10)
    // Waits for the disk.
    case .finish(let file, _): WorkWeight(of: file, cost: Limits.lightCost)
    case .remove(let files): WorkWeight(of: files.first, cost: 1 + files.count)
    case .removeAll(let account): WorkWeight(owner: account.rawValue, cost: Limits.portionCost)
    case .list(_, let limit): WorkWeight(cost: 1 + max(0, limit))
    }
  }

  // MARK: commits

  private static func owner(of request: CommitRequest) -> UInt64 {
    switch request {
    case .createAccount(let account, _, _, _, _), .issuePairing(let account, _),
      .renameDevice(let account, _, _), .revokeDevice(let account, _),
      .deleteZone(let account, _, _, _), .deleteZoneRest(let account, _, _, _),
      .putSubscription(let account, _, _),
      .removeSubscription(let account, _, _), .setPlan(let account, _),
      .removeAccount(let account), .addChunk(let account, _, _, _), .renewChunks(let account, _),
      .putWake(let account, _, _, _, _), .removeWake(let account, _, _),
      .verifyWake(let account, _, _, _):
      account.rawValue
    case .save(let commit): commit.account.rawValue
    case .move(let step): step.account.rawValue
    case .redeemPairing, .touchDevices, .checkWritable, .confirmChunks, .markChunksMissing,
      .collectChunks, .claimWakes, .reportWakes, .addWakeKey:
      0
    }
  }

  private static func cost(of request: CommitRequest) -> Int {
    switch request {
    case .save(let commit):
      // Each hash in a record is looked up.
      max(
        1,
        commit.request.mutations.reduce(0) {
          $0 + 1 + ($1.fields?.count ?? 0) >> 10 + $1.chunks.count
        })
    case .touchDevices(let sightings): 1 + sightings.count
    case .claimWakes(let ids, _): 1 + ids.count
    case .reportWakes(let reports): 1 + reports.count
    case .renewChunks(_, let hashes): 1 + hashes.count
    case .confirmChunks(let files), .markChunksMissing(let files): 1 + files.count
    case .collectChunks(let count): 1 + count
    // One portion each, however many records there are.
    case .deleteZone, .deleteZoneRest, .removeAccount, .move: Limits.portionCost
    case .createAccount, .issuePairing, .redeemPairing, .renameDevice, .revokeDevice,
      .putSubscription, .removeSubscription, .setPlan, .addChunk, .checkWritable, .putWake,
      .removeWake, .verifyWake, .addWakeKey:
      1
    }
  }

  // MARK: reads

  private static func owner(of request: ReadRequest) -> UInt64 {
    switch request {
    case .zones(let account, _, _, _), .chunk(let account, _), .account(let account),
      .namedChunks(let account, _, _),
      .changes(let account, _, _, _), .record(let account, _), .newestToken(let account),
      .devices(let account), .wakes(let account, _), .residence(let account):
      account.rawValue
    case .authenticate, .accounts, .fileUses, .accountCount, .followAccounts, .sleepers, .wakeKeys:
      0
    }
  }

  private static func cost(of request: ReadRequest) -> Int {
    switch request {
    // Skipped rows are read in the index alone.
    case .changes(_, let since, let zones, let limit):
      1 + max(0, min(limit, Limits.pageRecords))
        + (zones != .all || since?.pinned != nil ? Limits.scannedRecords >> 5 : 0)
    case .zones(_, _, _, let limit), .accounts(_, let limit): 1 + max(0, limit)
    case .fileUses(let files): 1 + files.count
    // The lists of chunks of these zones are read.
    case .namedChunks(_, let hashes, _): Limits.portionCost + hashes.count
    case .followAccounts(let accounts, let leaving, _): 1 + accounts.count + leaving.count
    // Of each, some changes may be read.
    case .sleepers: Limits.portionCost
    case .authenticate, .chunk, .account, .record, .newestToken, .devices, .accountCount, .wakes,
      .wakeKeys, .residence:
      1
    }
  }
}

extension WorkWeight {
  fileprivate init(of file: ChunkFile?, cost: Int) {
    self.init(owner: file?.account.rawValue ?? 0, line: file?.number ?? 0, cost: cost)
  }
}

/// A job that a relay node requests of the store, and its outcome.
@usableFromInline package typealias StoreJob = ByLane<StoreCommitJob, StoreReadJob, StoreFileJob>
@usableFromInline
package typealias StoreOutcome = ByLane<StoreCommitOutcome, StoreReadOutcome, StoreFileOutcome>

/// A commit that a relay node requests. A driver runs it, as all jobs of `Store…Job`, on another
/// thread (`StoreWork`), so that a node never waits.
@usableFromInline
package struct StoreCommitJob: Sendable, Hashable {
  @usableFromInline package var request: CommitRequest
  @usableFromInline package var origin: CommitOrigin

  @usableFromInline
  package init(_ request: CommitRequest, by origin: CommitOrigin) {
    self.request = request
    self.origin = origin
  }
}

/// A read that a relay node requests.
@usableFromInline
package enum StoreReadJob: Sendable, Hashable {
  case read(ReadRequest)
  /// A page of changes, encoded by the worker.
  case page(ReadRequest, as: PageForm)
  /// A look for devices that are to be woken; `keys`: those under which the relay sends;
  /// `wall`: the time of the request.
  case dueWakes(SleeperQuery, keys: WakeKeyTimes, wall: Int64)

  @usableFromInline
  package var request: ReadRequest {
    switch self {
    case .read(let request), .page(let request, _): request
    case .dueWakes(let query, _, _): .sleepers(query)
    }
  }
}

/// Work on files that a relay node requests.
@usableFromInline
package enum StoreFileJob: Sendable, Hashable {
  case chunk(ChunkRequest)
  /// A file of the owner's folder of pages, by its names.
  case pageFile([String])
}

/// The connection and the node of this process that requested a commit, so that a device is not
/// pushed its own saves.
@usableFromInline
package struct CommitOrigin: Sendable, Hashable {
  /// The node's number in this process.
  @usableFromInline package var node: Int
  /// nil if the node itself requested it.
  @usableFromInline package var connection: ConnectionID?

  @usableFromInline
  package init(node: Int, connection: ConnectionID?) {
    self.node = node
    self.connection = connection
  }
}

/// The outcome of a `StoreCommitJob`. A failure, also of the jobs below, means that nothing at all
/// was done.
@usableFromInline package typealias StoreCommitOutcome = Result<CommitResult, StorageError>

/// The outcome of a `StoreReadJob`.
@usableFromInline
package enum StoreReadOutcome: Sendable, Hashable {
  case read(Result<ReadResult, StorageError>)
  /// The requested page. If there is none, `read` gives the reason.
  case page(ReadPage)
  case dueWakes(Result<DueWakes, StorageError>)

  /// Nanoseconds for reading and encoding a page; 0 for everything else.
  var nanoseconds: Int64 { if case .page(let page) = self { page.nanoseconds } else { 0 } }

  /// Records the duration of a read in its page, for the node.
  @usableFromInline
  package mutating func recordReadDuration(nanoseconds: Int64) {
    guard case .page(var page) = self else { return }
    page.nanoseconds = nanoseconds
    self = .page(page)
  }
}

/// The outcome of a `StoreFileJob`.
@usableFromInline
package enum StoreFileOutcome: Sendable, Hashable {
  case chunk(Result<ChunkResult, StorageError>)
  case pageFile(Result<PageFolderEntry, StorageError>)
}
