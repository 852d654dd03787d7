import LockstepModel
import LockstepStorage
public import LockstepWire

/// Weights of requests to the store: the owner of each, and its cost in records of up to a KiB. An
/// account's connections take turns, and so do accounts; requests of one connection stay in order.
extension StoreWork {
  public static let portions = WorkPortions(
    cost: Limits.portionCost, lightCost: Limits.lightCost)

  /// For commits, which wait for the disk: an account that takes much of the time is deferred.
  /// Reads only take turns here: of pages, the only slow ones, few are under way (`ReadLimiter`).
  public static let commitPortions = WorkPortions(
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
      rest: Limits.putOffRest, shortMicroseconds: Limits.putOffShortMicroseconds,
      longRest: longRest, quietMilliseconds: Limits.putOffQuietMilliseconds,
      patienceMilliseconds: Limits.putOffPatienceMilliseconds, owners: Limits.countedAskers)
  }

  public static func weight(of job: StoreJob) -> WorkWeight {
    switch job {
    case .commit(let request, let origin):
      WorkWeight(
        owner: owner(of: request), line: origin.connection?.rawValue ?? 0, cost: cost(of: request))
    case .read(let request), .page(let request, _):
      WorkWeight(owner: owner(of: request), cost: cost(of: request))
    case .chunk(let request): weight(of: request)
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
      .removeAccount(let account), .addChunk(let account, _, _, _), .renewChunks(let account, _):
      account.rawValue
    case .save(let commit): commit.account.rawValue
    case .redeemPairing, .touchDevices, .checkWritable, .confirmChunks, .markChunksMissing,
      .collectChunks:
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
    case .renewChunks(_, let hashes): 1 + hashes.count
    case .confirmChunks(let files), .markChunksMissing(let files): 1 + files.count
    case .collectChunks(let count): 1 + count
    // One portion each, however many records there are.
    case .deleteZone, .deleteZoneRest, .removeAccount: Limits.portionCost
    case .createAccount, .issuePairing, .redeemPairing, .renameDevice, .revokeDevice,
      .putSubscription, .removeSubscription, .setPlan, .addChunk, .checkWritable:
      1
    }
  }

  // MARK: reads

  private static func owner(of request: ReadRequest) -> UInt64 {
    switch request {
    case .zones(let account, _, _), .chunk(let account, _), .account(let account),
      .changes(let account, _, _, _), .record(let account, _), .newestToken(let account),
      .devices(let account):
      account.rawValue
    case .authenticate, .accounts, .fileUses, .accountCount, .movements: 0
    }
  }

  private static func cost(of request: ReadRequest) -> Int {
    switch request {
    // Skipped rows are read in the index alone.
    case .changes(_, let since, let zone, let limit):
      1 + max(0, min(limit, Limits.pageRecords))
        + (zone != nil || since?.pinned != nil ? Limits.scannedRecords >> 5 : 0)
    case .zones(_, _, let limit), .accounts(_, let limit): 1 + max(0, limit)
    case .fileUses(let files): 1 + files.count
    case .movements(let accounts): 1 + accounts.count
    case .authenticate, .chunk, .account, .record, .newestToken, .devices, .accountCount: 1
    }
  }
}

extension WorkWeight {
  fileprivate init(of file: ChunkFile?, cost: Int) {
    self.init(owner: file?.account.rawValue ?? 0, line: file?.number ?? 0, cost: cost)
  }
}
