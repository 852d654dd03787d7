import LockstepJSON
import LockstepModel
import LockstepRuntime
import LockstepSealing
import LockstepStorage

/// Id of an order, chosen by the caller and repeated in the reports about the order.
package struct OrderID: Hashable, Sendable {
  package let rawValue: UInt64
  package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// Order of a user or program to an agent. All except `syncNow` work without a reachable relay.
package enum AgentOrder: Sendable {
  /// Changes one record. Reported as `edited`, and then `changed`, once it is durable.
  case edit(OrderID, EditRequest)
  /// Makes several edits in one transaction, all or none. The script runs on the replica's worker:
  /// it must be short, must not wait, and may run on a state that is newer than any report.
  /// Reported as `transacted`, and then `changed`, once they are durable.
  case transact(OrderID, EditScript)
  /// Makes the home a device of an account, and connects. Edits that were made before are sent.
  /// Reported as `joined`: all of it is done, or nothing.
  case join(OrderID, HomeIdentity, JoinedKeys = JoinedKeys())
  /// A user's order to an app, in the app's own format (`App.outcome`): all its changes are made in
  /// one transaction, or none. Reported as `answered`, and then `changed`.
  case perform(OrderID, app: String, JSONValue)
  /// A query to an app (`App.view`), reported as `answered`.
  case show(OrderID, app: String, JSONValue)
  /// Stores the user's names of the account's devices for `AppState.deviceNames`. At most
  /// `Limits.devicesPerAccount`; nothing is reported.
  case nameDevices([DeviceID: String])
  /// Switches the sync of a zone off, or on again. While it is off, its changes are neither sent
  /// nor applied; conflicts are resolved once it is on. Stored in the home. Reported as `switched`.
  case setSyncing(OrderID, zone: Name, Bool)
  /// Seals the zones that these keys have: from now on, only sealed records of them are taken and
  /// sent. Refused if a zone is sealed with a key that is not among these, or has plain records and
  /// `plain` refuses them. Stored in the home, and never undone. Reported as `switched`.
  ///
  /// `deviceSecret`: random bytes for this device's own key (`Replica.makeDeviceKey`), if it has
  /// none.
  case seal(
    OrderID, SealingKeys, plain: PlainRecords = .refused, deviceSecret: [UInt8]? = nil)
  /// The user accepts the records of an app that other devices have made (`AgentStatus.questions`).
  /// Reported as `switched`. `wipes`: they are deleted on all devices. In a zone that is not
  /// sealed, whoever asks for that deletes them at the relay instead (`DELETE /v1/zones/{zone}`).
  case answerRestore(OrderID, app: String, wipes: Bool = false)
  /// Reads one record. Reported as `read`: empty if there is none, or it is deleted.
  case readRecord(OrderID, RecordKey)
  /// Reads the sync state of one record. Reported as `stateRead`.
  case readState(OrderID, RecordKey)
  /// Reads the records of one type in one zone, or of all types (nil), by name. Reported as `read`.
  case readRecords(OrderID, zone: Name, type: Name?)
  /// Reads all records that the device holds, tombstones included, by zone and name. Reported as
  /// `read`.
  case readAll(OrderID)
  /// Reported as `statusRead`.
  case readStatus(OrderID)
  /// A user's decision on a conflict that no rule decides (`AgentStatus.asking`): the local version
  /// is saved, or the relay's accepted. Reported as `edited`.
  case decide(OrderID, RecordKey, keepLocal: Bool)
  /// Stores a chunk of a file, at most `Limits.chunkBytes` long, in the home. Reported as
  /// `chunkAdded`, with its hash, once it is durable. A record that names it is sent after the
  /// chunk. A chunk that no record names is kept for `AgentConfiguration.chunkKeepMilliseconds`.
  case addChunk(OrderID, [UInt8])
  /// Reads at most `count` bytes of a chunk from `offset` on: from the home, or else from the
  /// relay, and then keeps it in the home. Reported as `chunkRead`, in portions.
  case readChunk(OrderID, ChunkHash, offset: Int, count: Int)
  /// Syncs at once, regardless of the backoff. Reported as `synced` when the device is in sync, has
  /// failed, or the timeout has passed; the status shows which.
  case syncNow(OrderID)
  /// Behaves as without a network, until `goOnline`.
  case goOffline
  case goOnline
  /// Closes the connections as soon as all is synced, until `wake`, or until something waits for
  /// the relay: a local change, a read of a chunk, a manual sync. The relay is told up to which
  /// position the device has everything. For devices that are woken by pushes.
  case sleep
  /// Connects, and stays connected.
  case wake
  /// Closes the connections, finishes the running jobs of the store, and reports `stopped`.
  case stop
}

/// Keys of a device that joins an account.
package struct JoinedKeys: Hashable, Sendable {
  /// Keys of sealed zones, as in `AgentOrder.seal`; nil: those that the home has.
  package var held: SealingKeys?
  /// Zones of the account that are sealed, for a home without any keys: it is locked for them, and
  /// for no others, until it has keys. nil: not known.
  package var sealed: ZoneSet?
  /// Random bytes for the device's own key (`Replica.makeDeviceKey`), if it has none.
  package var deviceSecret: [UInt8]?

  package init(
    _ held: SealingKeys? = nil, sealed: ZoneSet? = nil, deviceSecret: [UInt8]? = nil
  ) {
    self.held = held
    self.sealed = sealed
    self.deviceSecret = deviceSecret
  }
}

/// Report of an agent to its user or program.
package enum AgentReport: Sendable {
  /// The home was read; the status describes its content. Reported once, first.
  case ready(AgentStatus)
  /// The edit is durable, and this is the record now; or the edit was not made.
  case edited(OrderID, Result<Record, EditFailure>)
  /// The edits are durable, and these are the records now, each once; or none was made.
  case transacted(OrderID, Result<[Record], EditFailure>)
  /// The home is a device of the account; or nothing was changed.
  case joined(OrderID, Result<HomeIdentity, EditFailure>)
  /// The account has moved to another relay, whose address the home has now.
  case moved(HomeIdentity)
  /// Result of an app; that of an order is durable. Or nothing was done.
  case answered(OrderID, Result<AppView, EditFailure>)
  /// The setting applies, also after restarts; true if it was different before.
  case switched(OrderID, Result<Bool, EditFailure>)
  /// Shown records have changed, by this device or another: the records in their present state,
  /// deleted ones without fields. All that is reported is durable. Each change is reported once.
  case changed([Record])
  case read(OrderID, Result<[Record], StorageError>)
  case stateRead(OrderID, Result<RecordSyncState, StorageError>)
  case statusRead(OrderID, AgentStatus)
  /// The chunk is durable, under this hash; or it was not stored.
  case chunkAdded(OrderID, Result<ChunkHash, ChunkFailure>)
  /// The next portion of the requested bytes, in order. After a failure nothing more follows:
  /// `damaged` means that the earlier portions were not the chunk.
  case chunkRead(OrderID, Result<ChunkPortion, ChunkFailure>)
  /// Reported periodically during a transfer, and at its end.
  case chunkProgress(ChunkProgress)
  /// Only if the configuration asks for it.
  case milestone(Milestone)
  /// The status has changed (its counters alone do not count).
  case status(AgentStatus)
  case synced(OrderID, AgentStatus)
  /// The device's own store failed. Nothing that was reported is lost; the agent has stopped
  /// syncing.
  case storeFailed(StorageError)
  case stopped
}

/// Sync state of one record.
package enum RecordSyncState: Hashable, Sendable {
  /// The relay has the record as it is shown, or neither has it.
  case synced
  /// A local change waits for the relay.
  case waiting
  /// The relay refused a local change for good.
  case parked(Refusal)
  /// A user must decide between the local change and this version of the relay.
  case asking(Record)
}

/// Reason that an edit was not made. Nothing was changed, except after a disk failure
/// (`StorageError.failed`): then the result is unknown until the home is opened again.
package enum EditFailure: Error, Hashable, Sendable {
  case refused(EditRefusal)
  /// The fields are larger than `Limits.recordBytes`.
  case tooLarge(bytes: Int)
  /// The outbox is full (`Limits.outboxRecords`, `outboxBytes`).
  case outboxFull
  /// The home has not joined an account.
  case notJoined
  /// The device was paired for other zones than this one, or may change nothing.
  case outOfScope(Name, DeviceScope)
  /// `decide` named a record that needs no decision.
  case nothingToDecide
  /// The app first asks the user about `count` records that other devices have made
  /// (`AgentOrder.answerRestore`).
  case restoreFirst(app: String, count: Int)
  case storage(StorageError)
  /// The agent is stopping.
  case stopping
}

/// A job of an agent for a worker: on the replica, or on the files of its home.
package typealias AgentJob = ByLane<ReplicaJob, Never, ChunkRequest>

/// Result of an `AgentJob`.
package typealias AgentOutcome = ByLane<
  ReplicaOutcome, Never, Result<ChunkResult, StorageError>
>

/// Blocking part of an agent, which a driver's workers run, each lane in its own order. Commits are
/// done by the replica itself (`Replica.perform`).
package enum AgentWork {
  package static func perform(
    _ request: ChunkRequest, on files: some ChunkStore
  ) -> Agent.FileOutcome {
    do throws(StorageError) {
      return .success(try files.perform(request))
    } catch {
      return .failure(error)
    }
  }

  /// Performs any job, if one thread serves both lanes.
  package static func perform<Store>(
    _ job: AgentJob, on replica: inout Replica<Store>, files: some ChunkStore
  ) -> AgentOutcome {
    switch job {
    case .commit(let job): .commit(replica.perform(job))
    case .file(let request): .file(perform(request, on: files))
    }
  }
}
