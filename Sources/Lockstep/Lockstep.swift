import LockstepClient
import LockstepJSON
import LockstepModel
import LockstepSealing
import LockstepStorage
import LockstepWire
import Synchronization

#if os(Linux)
  import LockstepEventLoop
#endif

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A device of an account: records that are durable on this device at once, and in step with the
/// account's other devices as soon as there is a network.
///
/// ```swift
/// let lockstep = try await Lockstep.open(at: folder, relay: url, records: [Todo.self])
/// try await lockstep.save(Todo(title: "milk"))
/// for await todos in lockstep.live(Todo.self, where: { !$0.done }) { show(todos) }
/// ```
///
/// All calls are safe from any task. What a call has reported as saved survives a crash.
public final class Lockstep: Sendable {
  /// Options of `open`.
  public struct Options: Sendable {
    /// Accept only certificates signed by an authority in this PEM file; nil: those that the system
    /// trusts.
    public var authorities: URL?

    public init(authorities: URL? = nil) { self.authorities = authorities }
  }

  let engine: DeviceEngine
  let relay: RelayAddress
  let models: [any SyncedRecord.Type]

  private init(
    _ engine: DeviceEngine, _ relay: RelayAddress, _ models: [any SyncedRecord.Type]
  ) {
    self.engine = engine
    self.relay = relay
    self.models = models
  }

  /// Releases the home, as `close` does, without waiting.
  deinit { engine.stop() }

  /// Opens a home, and makes the folder if there is none. Works without a network, and before the
  /// device has joined an account.
  ///
  /// - Parameters:
  ///   - folder: The home: a folder of this device, for one process at a time.
  ///   - relay: Address of the relay, such as `https://relay.example:5625`.
  ///   - records: All types that are saved or read.
  ///   - options: Rarely needed.
  public static func open(
    at folder: URL, relay: URL, records: [any SyncedRecord.Type], options: Options = Options()
  ) async throws -> Lockstep {
    guard let address = RelayAddress(url: relay.absoluteString) else {
      throw LockstepError.invalidRelay(relay.absoluteString)
    }
    let apps = try RecordsApp.apps(records)
    let home = try HomeFolder(folder)
    for attempt in 1... {
      do {
        let engine = try await onThread {
          let trust = try trust(home, options)
          return try DeviceEngine.open(
            home, relay: address, apps: apps, AgentConfiguration(), trust: trust)
        }
        await engine.ready()
        return Lockstep(engine, address, records)
      } catch LockstepError.homeInUse where attempt < openAttempts {
        // An edit of a reader holds the home for a moment.
        try await Task.sleep(for: openPause)
      }
    }
    throw LockstepError.homeInUse(path: home.path)
  }

  private static let openAttempts = 20
  private static let openPause = Duration.milliseconds(25)

  private static func trust(_ home: HomeFolder, _ options: Options) throws -> Trust {
    do {
      guard let file = options.authorities else { return try HomeTrust.kept(in: home).trust }
      return try HomeTrust.file(file.path).trust
    } catch {
      throw LockstepError.home(path: home.path, reason: "\(error)")
    }
  }

  /// Stops, and waits until all that was reported is durable and the home is released. All
  /// sequences end, and further calls throw `LockstepError.closed`.
  public func close() async { await engine.close() }

  // MARK: account

  /// Makes this device the first of a new account. The relay must allow new accounts.
  ///
  /// - Parameters:
  ///   - deviceName: Name of this device, for people.
  ///   - sealed: With true, this device makes keys that the account's devices share, and the relay
  ///     stores only sealed records and files: it can read neither fields nor names nor types. If
  ///     all devices are lost, only `recoveryPhrase` brings the records back. With false, the relay
  ///     can read everything. Later, the command line alone can seal an account.
  /// - Throws: `CancellationError` as `join`; `alreadyJoined`; `otherAccount` if the account that
  ///   the records are from has revoked this device.
  public func createAccount(deviceName: String, sealed: Bool = true) async throws {
    try await join(nil, deviceName, sealed: sealed)
  }

  /// Joins the account that issued the code (`pairingCode`). Records of this device, also those
  /// made before, are merged with those of the account.
  ///
  /// Of a code of 24 letters, only the first half is sent. The second half opens the account's
  /// keys, which takes a tenth of a second and 64 MiB of memory. With a code that carries no keys,
  /// such as one of the relay's owner, the device joins a sealed account without them: its status
  /// is `needsKeys`.
  ///
  /// A device that its account has revoked joins that account again: its records stay, and its
  /// unsent changes are sent.
  ///
  /// - Parameters:
  ///   - code: A code, or the link that contains it; only a link to the relay of `open`, or to the
  ///     one to which the account has moved.
  ///   - deviceName: Name of this device, for people.
  ///   - sealed: As in `createAccount`, for a code of the relay's owner to an account that has no
  ///     other device and no records yet; without effect in any other account.
  /// - Throws: `CancellationError` if the task is cancelled before the relay's answer: the home has
  ///   not joined, and the device that the relay may have made is revoked. The code may be used up.
  ///   `alreadyJoined`; `otherAccount` if this device was revoked, and the code is of another
  ///   account than its records. `invalidCode` if the code is mistyped or of another relay: nothing
  ///   was sent. `keysNotOpened` if the second half is wrong or missing, or the relay withholds the
  ///   keys: the device has not joined, and needs a new code.
  public func join(code: String, deviceName: String, sealed: Bool = true) async throws {
    let typed = try TypedCode(code)
    if let other = typed.relay, other != relay, other.url != engine.identity?.relay {
      throw LockstepError.invalidCode(
        reason: "the link is of the relay \(other.url), and this home was opened for \(relay.url): "
          + "open it for that relay")
    }
    if typed.code.carriesKeys, typed.code.secret == nil {
      throw LockstepError.invalidCode(
        reason: "that link has the first half of the code alone: type the whole code, which has "
          + "24 letters and digits; nothing was sent")
    }
    try await join(typed.code, deviceName, sealed: sealed)
  }

  private func join(
    _ code: JoinCode?, _ deviceName: String, sealed: Bool
  ) async throws {
    let former = try engine.beginJoining()
    defer { engine.endJoining() }
    // The account of a device that was revoked may have moved.
    let place = former.flatMap { RelayAddress(url: $0.relay) } ?? relay
    let client = RelayClient(relay: place, trust: engine.trust)
    let home = engine.folder
    @Sendable func discard(_ device: RelayClient.NewDevice) { client.discard(device.credentials) }
    let device = try await Self.onThread(isCancellable: true, undo: discard) {
      let held = try DeviceKeys.held(in: home).keys
      return try client.newDevice(
        code: code, deviceName: deviceName, former: former?.credentials, held, sealsNew: sealed)
    }
    // A former relay of the account may have sent the device on.
    let identity = HomeIdentity(
      relay: client.relay.url, credentials: device.credentials, deviceName: deviceName)
    let report = try await engine.perform({ .join($0, identity, device.keys) })
    guard case .joined(_, let result) = report else { throw LockstepError.closed }
    guard case .failure(let failure) = result else { return }
    if case .refused = failure {
      // The home keeps the keys that it has, and is no device of the account.
      try await Self.onThread { discard(device) }
    }
    throw LockstepError(failure)
  }

  /// Returns a new code with which another device joins the account. The other device gets at most
  /// what this one has, and keeps that for as long as it is paired.
  ///
  /// If this device has keys, the code has 24 letters, and carries the keys of the other device's
  /// zones. Its second half must not reach the relay: give it to the person or the device that
  /// joins alone, and not to a page of the relay. Otherwise the code has 12 letters.
  ///
  /// - Parameters:
  ///   - zones: Zones that the other device may know of, 1 to 16; nil: those of this device, with
  ///     all future ones if this device has the whole account. A zone need not have records yet.
  ///   - access: With `.read`, the other device can change nothing; with `.readWrite`, it can
  ///     change what this device can change.
  ///   - expiresIn: Time for which the code is valid, in whole seconds: 10 seconds to 10 minutes;
  ///     nil: 10 minutes.
  /// - Throws: `refused` if this device lacks one of the zones itself, or a parameter is out of its
  ///   range; `invalidZone` if a zone cannot be a name, or is that of the account's keys;
  ///   `keysMissing` if the account is sealed and this device does not have its keys.
  public func pairingCode(
    zones: [String]? = nil, access: Scope.Access = .readWrite, expiresIn: Duration? = nil
  ) async throws -> String {
    var request = PairingRequest(
      isReadOnly: access == .read ? true : nil, expiresIn: expiresIn?.components.seconds)
    request.zones = try zones?.map { zone in
      guard let name = Name(zone), name != KeyRing.zone else {
        throw LockstepError.invalidZone(zone)
      }
      return name
    }
    guard let own = engine.identity?.credentials else { throw LockstepError.notJoined }
    let home = engine.folder
    return try await relayCall { [request] call, token throws(LockstepError) in
      let held = try DeviceKeys.held(in: home)
      if held.isLocked { throw DeviceKeys.missing }
      let secret = JoinSecret(word: DevicePlatform.secrets.word())
      let keys = held.keys?.limited(to: request.scope(within: own.scope))
      var request = request
      request.wrapped = try DeviceKeys.wrapped(keys, of: own.account, secret)
      let offer = try call.pairingOffer(request, token: token)
      guard keys != nil, let code = JoinCode(offer: offer.code, secret: secret) else {
        return offer.code
      }
      return code.text
    }
  }

  /// A device of the account.
  public struct Device: Identifiable, Hashable, Sendable {
    public let id: String
    public let name: String
    /// True for this device.
    public let isCurrent: Bool
    /// Relay time when the device was last connected, in milliseconds since the Unix epoch.
    public let lastSeen: Int64
    /// Part of the account that the device may use.
    public let scope: Scope

    init(_ device: LockstepModel.Device, own: DeviceID?) {
      id = device.id.text
      name = device.description.deviceName
      isCurrent = device.id == own
      lastSeen = device.lastSeen
      scope = Scope(device.scope)
    }
  }

  /// Returns the devices of the account; a device whose scope is not the whole account gets itself
  /// alone. Needs the relay.
  public func devices() async throws -> [Device] {
    let own = engine.identity?.credentials.device
    return try await relayCall { call, token throws(LockstepError) in
      try call.devices(token: token).devices.map { Device($0, own: own) }
    }
  }

  /// Revokes a device: it can no longer read or change anything of the account. A device whose
  /// scope is not the whole account can revoke itself alone.
  ///
  /// In a sealed account, this device first makes new keys, which the revoked one does not get:
  /// with those that it has, it can read nothing that is written from then on. The other devices
  /// get them with their next sync. If this fails, the device is not revoked: try again. A recovery
  /// phrase that was written down before is void.
  ///
  /// - Returns: Devices that cannot get the new keys, and have to be paired again: those for a part
  ///   of the account, and those that have never synced.
  @discardableResult
  public func revoke(_ device: Device) async throws -> [Device] {
    guard let id = DeviceID(text: device.id) else {
      throw LockstepError.refused(reason: "there is no device \(device.id); list the devices again")
    }
    let others = try await makeNewKeys(without: id)
    try await relayCall { call, token throws(LockstepError) in
      try call.revoke(id, token: token)
    }
    return others
  }

  /// Leaves the account: removes this device from it, and all data from the home. The account and
  /// its other devices are not affected. Afterwards this `Lockstep` is closed, and the folder can
  /// be opened as a new home.
  ///
  /// - Parameter discardingUnsent: Leaves also with changes that were not sent, which are lost, and
  ///   without the relay. The account then lists this device until another one revokes it.
  /// - Throws: `unsentChanges`, or the reason why the relay cannot be asked; then nothing is
  ///   changed.
  public func leave(discardingUnsent: Bool = false) async throws {
    guard !engine.hasEnded else { throw LockstepError.closed }
    let waiting = status.waiting
    guard waiting == 0 || discardingUnsent else {
      throw LockstepError.unsentChanges(count: waiting)
    }
    if let identity = engine.identity {
      do {
        try await relayCall { call, token throws(LockstepError) in
          try call.revoke(identity.credentials.device, token: token)
        }
      } catch LockstepError.revoked {
        // Another device has removed this one before.
      } catch  where discardingUnsent {
        // It was said to leave without the relay.
      }
    }
    try await engine.closeRemovingData()
  }

  func relayCall<Value: Sendable>(
    _ body: @escaping @Sendable (RelayClient, String) throws(LockstepError) -> Value
  ) async throws -> Value {
    guard !engine.hasEnded else { throw LockstepError.closed }
    guard let identity = engine.identity else { throw LockstepError.notJoined }
    let place = RelayAddress(url: identity.relay) ?? relay
    let call = RelayClient(relay: place, trust: engine.trust)
    return try await Self.onThread(isCancellable: true) {
      try body(call, identity.credentials.token)
    }
  }

  /// Runs a call that blocks on a thread of its own.
  ///
  /// - Parameters:
  ///   - isCancellable: Throws `CancellationError` as soon as the task is cancelled; the call goes
  ///     on nevertheless.
  ///   - undo: Called on the thread with the value of a call whose task was cancelled before.
  static func onThread<Value: Sendable>(
    isCancellable: Bool = false, undo: (@Sendable (Value) -> Void)? = nil,
    _ body: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    let waiting = Mutex<CheckedContinuation<Value, any Error>?>(nil)
    @Sendable func finish(_ result: Result<Value, any Error>) {
      let continuation = waiting.withLock { waiting in
        defer { waiting = nil }
        return waiting
      }
      if let continuation { return continuation.resume(with: result) }
      if case .success(let value) = result { undo?(value) }
    }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        waiting.withLock { $0 = continuation }
        do {
          try DevicePlatform.startThread("lockstep call") { finish(Result { try body() }) }
        } catch {
          finish(.failure(LockstepError.storage(reason: "\(error)")))
        }
        if isCancellable && Task.isCancelled { finish(.failure(CancellationError())) }
      }
    } onCancel: {
      if isCancellable { finish(.failure(CancellationError())) }
    }
  }

  // MARK: edits

  /// Saves a record, new or changed. Durable when the call returns.
  public func save<Record: SyncedRecord>(_ record: Record) async throws {
    try await edit { edits in try edits.save(record) }
  }

  /// Changes a record as it stands now, which may be newer than what the caller has read.
  ///
  /// - Throws: `LockstepError.noSuchRecord`, and what `change` throws; then nothing is changed.
  public func update<Record: SyncedRecord>(
    _ type: Record.Type, id: String, _ change: @escaping @Sendable (inout Record) throws -> Void
  ) async throws {
    try await edit { edits in try edits.update(type, id: id, change) }
  }

  /// Deletes a record. Does nothing if there is none.
  public func delete<Record: SyncedRecord>(_ type: Record.Type, id: String) async throws {
    try await edit { edits in try edits.delete(type, id: id) }
  }

  /// Makes several changes, all or none. They are durable when the call returns, and other devices
  /// get those of one zone together (up to 400).
  ///
  /// - Parameter body: Runs where the records are stored: it must be short, and must not wait.
  /// - Throws: What `body` throws; then nothing is changed.
  public func transaction(_ body: @escaping @Sendable (Transaction) throws -> Void) async throws {
    try await edit { edits in
      try Transaction.run(body, on: edits)
    }
  }

  private func edit(_ body: @escaping @Sendable (RecordEdits) throws -> Void) async throws {
    try Task.checkCancellation()
    try await engine.transact(models, body)
  }

  // MARK: reading

  /// Returns all records of a type, by id. Records that do not decode are left out; `changes` gives
  /// their errors.
  public func records<Record: SyncedRecord>(_ type: Record.Type) async throws -> [Record] {
    let (zone, name) = try names(type)
    let report = try await engine.perform({ .readRecords($0, zone: zone, type: name) })
    return Record.decodable(try read(report))
  }

  /// Returns a record; nil if there is none.
  ///
  /// - Throws: `LockstepError.undecodable`.
  public func record<Record: SyncedRecord>(_ type: Record.Type, id: String) async throws -> Record?
  {
    let (zone, name) = try names(type)
    guard let recordName = Name(id) else { return nil }
    let key = RecordKey(zone: zone, name: recordName)
    let report = try await engine.perform({ .readRecord($0, key) })
    return try read(report).first { $0.type == name }.flatMap { try Record.decoded($0) }
  }

  private func read(_ report: AgentReport) throws(LockstepError) -> [LockstepModel.Record] {
    guard case .read(_, let result) = report else { throw .closed }
    switch result {
    case .success(let records): return records
    case .failure(let error): throw LockstepError(error)
    }
  }

  /// Returns the sync state of a record.
  public func syncState<Record: SyncedRecord>(_ type: Record.Type, id: String) async throws
    -> SyncState
  {
    let (zone, _) = try names(type)
    guard let name = Name(id) else { throw LockstepError.invalidID(id) }
    let key = RecordKey(zone: zone, name: name)
    let report = try await engine.perform({ .readState($0, key) })
    guard case .stateRead(_, let result) = report else { throw LockstepError.closed }
    switch result {
    case .success(.synced): return .synced
    case .success(.waiting): return .waiting
    case .success(.parked(let refusal)): return .refused(refusal.detail)
    case .success(.asking): return .needsDecision
    case .failure(let error): throw LockstepError(error)
    }
  }

  /// Returns the records that `isIncluded` selects, in the order of `isBefore` and then of their
  /// ids, and again after every change.
  public func live<Record: SyncedRecord>(
    _ type: Record.Type, where isIncluded: @escaping @Sendable (Record) -> Bool = { _ in true },
    sortedBy isBefore: (@Sendable (Record, Record) -> Bool)? = nil
  ) -> LiveQuery<Record> {
    LiveQuery(
      LiveSource(
        engine, zone: type.zone, type: type.recordType, where: isIncluded, sortedBy: isBefore))
  }

  func names(_ type: any SyncedRecord.Type) throws(LockstepError) -> (
    zone: Name, type: Name
  ) {
    guard models.contains(where: { $0 == type }), let zone = Name(type.zone),
      let name = Name(type.recordType)
    else { throw .unknownModel(type: "\(type)") }
    return (zone, name)
  }

  // MARK: status

  /// The sync status now.
  public var status: SyncStatus { engine.status }

  /// Returns the status now, and after each change. A device is reported as in sync only after it
  /// has stayed so for 300 ms, so that an indicator does not flicker with every edit.
  public var statusUpdates: StatusUpdates { StatusUpdates(engine) }

  /// Syncs now, and returns when all is synced, nothing more can be done, or the time has passed.
  /// For a launch in the background.
  public func sync(within duration: Duration = .seconds(20)) async throws -> SyncOutcome {
    guard engine.identity != nil else { throw LockstepError.notJoined }
    let changed = Mutex(false)
    // Beyond it, times do not fit their types.
    let longestSync = Duration.seconds(24 * 3_600)
    let own = engine.identity?.credentials.device
    let listener = engine.listen { report in
      if case .changed(let records) = report, records.contains(where: { $0.device != own }) {
        changed.withLock { $0 = true }
      }
    }
    defer { engine.stopListening(listener) }
    let status = try await withThrowingTaskGroup(of: SyncStatus?.self) { group in
      group.addTask { [engine] in
        do throws(LockstepError) {
          let report = try await engine.perform({ .syncNow($0) }, isCancellable: true)
          guard case .synced(_, let status) = report else { return nil }
          return SyncStatus(status, hasJoined: true)
        } catch {
          if Task.isCancelled { return nil }
          throw error
        }
      }
      group.addTask {
        try await Task.sleep(for: min(duration, longestSync))
        return nil
      }
      defer { group.cancelAll() }
      return try await group.next() ?? nil
    }
    try Task.checkCancellation()
    guard let status, status.state != .offline, status.state != .failed,
      status.state != .syncing
    else {
      return .offline(status?.reason ?? self.status.reason ?? "the relay did not answer in time")
    }
    return changed.withLock { $0 } ? .newData : .nothingNew
  }
}

extension LockstepError {
  package init(_ failure: EditFailure) {
    switch failure {
    case .refused(let refusal): self = .refused(reason: refusal.reason)
    case .tooLarge(let bytes): self = .recordTooLarge(bytes: bytes, limit: Limits.recordBytes)
    case .outboxFull: self = .outboxFull
    case .notJoined: self = .notJoined
    case .outOfScope(let zone, let scope): self = .outOfScope(zone: zone.text, scope: .init(scope))
    case .nothingToDecide: self = .nothingToDecide(id: "")
    case .restoreFirst(let app, let count):
      self = .refused(reason: "\(app) first asks about \(count) records of other devices")
    case .storage(let error): self = LockstepError(error)
    case .stopping: self = .closed
    }
  }
}

extension HomeFolder {
  /// - Throws: `home` for a URL that names no file, and for a path that is no folder.
  init(_ folder: URL) throws(LockstepError) {
    guard folder.isFileURL else {
      throw .home(
        path: folder.absoluteString, reason: "it is no file URL; make one with URL(filePath:)")
    }
    self.init(path: folder.path)
    if HomeFile.isRegular(path) {
      throw .home(path: path, reason: "it is a file; name a folder, or a path where none is yet")
    }
  }
}

extension Lockstep {
  /// Returns the changes of the records of a type from now on, by this device and others.
  public func changes<Record: SyncedRecord>(_ type: Record.Type) -> RecordChanges<Record> {
    RecordChanges(ChangeSource(engine))
  }
}
