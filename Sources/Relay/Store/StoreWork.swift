import LockstepModel
public import LockstepStorage

/// The blocking side of a relay, as pure functions that a driver's worker runs.
///
/// For the commits lane a driver merges the waiting jobs of all nodes into one call. Then it sends,
/// in the order of the commits, the news to every node (including the one that asked), and right
/// after it the outcome to the node that asked.
public enum StoreWork {
  /// Result of one commit.
  public struct Finished: Sendable {
    public var outcome: StoreOutcome
    /// For all nodes, before the outcome; nil if nothing changed for other nodes.
    public var news: RelayNews?

    public init(outcome: StoreOutcome, news: RelayNews?) {
      self.outcome = outcome
      self.news = news
    }
  }

  /// Performs all `jobs` in one durable transaction. Returns one result per job, in order.
  ///
  /// `wall` is relay time, milliseconds since the Unix epoch. If the store fails, every job has
  /// that failure as its outcome, and nothing was done.
  public static func commit(
    _ jobs: [StoreJob], on store: some ZoneStore, wall: Int64
  ) -> [Finished] {
    var requests: [CommitRequest] = []
    var origins: [CommitOrigin] = []
    requests.reserveCapacity(jobs.count)
    origins.reserveCapacity(jobs.count)
    for job in jobs {
      guard case .commit(let request, let origin) = job else {
        preconditionFailure("a read was queued among the commits")
      }
      requests.append(request)
      origins.append(origin)
    }
    do throws(StorageError) {
      let results = try store.commit(requests, wall: wall)
      precondition(results.count == requests.count, "a store left a request unanswered")
      return results.indices.map { index in
        Finished(
          outcome: .committed(.success(results[index])),
          news: news(of: requests[index], results[index], by: origins[index]))
      }
    } catch {
      return requests.map { _ in Finished(outcome: .committed(.failure(error)), news: nil) }
    }
  }

  public static func read(_ job: StoreJob, on store: some ZoneReader) -> StoreOutcome {
    do throws(StorageError) {
      switch job {
      case .read(let request): return .read(.success(try store.read(request)))
      case .page(let request, let form):
        let result = try store.read(request)
        if case .page(let page) = result { return .page(ReadPage(page, as: form)) }
        return .read(.success(result))
      case .commit, .chunk: preconditionFailure("a commit was queued among the reads")
      }
    } catch {
      return .read(.failure(error))
    }
  }

  /// For the files lane.
  public static func chunk(_ job: StoreJob, on store: some ChunkStore) -> StoreOutcome {
    guard case .chunk(let request) = job else {
      preconditionFailure("the files were asked what the store knows")
    }
    do throws(StorageError) {
      return .chunk(.success(try store.perform(request)))
    } catch {
      return .chunk(.failure(error))
    }
  }

  private static func news(
    of request: CommitRequest, _ result: CommitResult, by origin: CommitOrigin
  ) -> RelayNews? {
    switch (request, result) {
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
    // Nothing changed.
    case (.save, _), (.deleteZone, _), (.deleteZoneRest, _), (.revokeDevice, _), (.setPlan, _),
      (.putSubscription, _),
      (.removeSubscription, _), (.removeAccount, _):
      nil
    // Only the client that asked gets the result.
    case (.createAccount, _), (.issuePairing, _), (.redeemPairing, _), (.renameDevice, _),
      (.touchDevices, _), (.checkWritable, _), (.addChunk, _), (.renewChunks, _),
      (.confirmChunks, _), (.markChunksMissing, _), (.collectChunks, _):
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
