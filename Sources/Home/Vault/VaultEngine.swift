import CLinux
import Glibc
import Lockstep
import LockstepApps
import LockstepClient
import LockstepCommandLine
import LockstepCrypto
import LockstepEventLoop
import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepSealing
import LockstepTerminal
import LockstepWire

/// Keeps files on this disk the same as in the account. Checks a file after it was written or its
/// record changed, makes a plan (`VaultPlan`), and performs one step of it, until nothing is left
/// to do.
///
/// Runs on a separate thread and waits for the agent as for the disk. During every wait it answers
/// commands, reports its state, and can be stopped. It keeps nothing in memory alone that a crash
/// must not lose: agreed contents and pending replacements are written to the registry first.
final class VaultEngine {
  let home: HomeFolder
  /// Without the vault's zone, the engine neither reads nor watches any file; with read access
  /// alone, it only downloads.
  let scope: DeviceScope
  let log: Log
  let history: VaultHistory
  private let mail: Mailbox<VaultMessage>
  private let post: @Sendable (HomeOrder) -> Void

  var registry: VaultRegistry?
  var watcher: FileWatcher?
  var tracks: [String: VaultTrack] = [:]
  /// The vault's records on this device, by name.
  private var recordsByName: [Name: VaultRecord] = [:]
  /// Count of their possible changes, and its value when the records were last read.
  private var recordChangeCount = 1
  private var recordChangesRead = 0
  /// Names of records that changed since `recordsByName` was read.
  private var changedRecords: Set<Name> = []
  /// Seal with the home's keys, as last read; nil if the home has no usable keys.
  private var homeSeal: VaultSeal?
  var sync = AgentStatus()
  /// True once a value of `sync` was reported.
  private var isSyncKnown = false

  private var replies: [OrderID: [AgentReport]] = [:]
  private var orders = HomeOrder.firstNumber
  private var isStopping = false
  private var reportedState: JSONValue?
  private var reportedAt = Instant(nanoseconds: 0)

  init(
    _ home: HomeFolder, _ mail: Mailbox<VaultMessage>, scope: DeviceScope = .everything, log: Log,
    post: @escaping @Sendable (HomeOrder) -> Void
  ) {
    self.home = home
    self.scope = scope
    self.log = log
    self.mail = mail
    self.post = post
    history = VaultHistory(home: home)
  }

  var areRecordsStale: Bool { recordChangesRead != recordChangeCount }

  var now: Instant { SystemClock.instant() }
  var wall: Int64 { SystemClock.moment().wall }
  /// Relay time minus this machine's time, in milliseconds.
  var clockOffset: Int64 { sync.clockOffset ?? 0 }

  /// Runs until it is stopped.
  func run() {
    if scope.includes(VaultApp.zone) { begin() }
    // A command that has just opened the home asks which files it keeps.
    reportState()
    readKeys()
    while !isStopping {
      if tracks.isEmpty { giveFormerKey() }
      if isStopping { break }
      if let name = nextDue {
        performStep(name)
      } else {
        handleEvents(milliseconds: untilDue)
      }
      reportState()
    }
  }

  private func begin() {
    do throws(CommandFailure) {
      let registry = try VaultRegistry(home: home)
      self.registry = registry
      for entry in registry.entries {
        recover(entry)
        tracks[entry.name, default: VaultTrack()].scheduleCheck(at: now)
      }
      watchFolders()
    } catch {
      // The home's records are synced all the same; requests about files get an error.
      log.error("files are not synced: \(error.message ?? "")")
    }
  }

  // MARK: scheduling

  private var nextDue: String? {
    let now = now
    let due = tracks.filter { $0.value.due.map { $0 <= now } ?? false }
    return due.min { left, right in
      guard let first = left.value.due, let second = right.value.due else { return false }
      return first == second ? left.key < right.key : first < second
    }?.key
  }

  private var untilDue: Int64? {
    let now = now
    return tracks.values.compactMap(\.due).min().map { $0.milliseconds(since: now) + 1 }
  }

  /// Performs one step for one file.
  private func performStep(_ name: String) {
    tracks[name]?.due = nil
    tracks[name]?.touchedAt = nil
    let requested = tracks[name]?.checksRequested ?? 0
    do throws(VaultFault) {
      try step(name)
      // Otherwise another step follows.
      if tracks[name]?.due == nil { tracks[name]?.checksEnded = requested }
      tracks[name]?.restarts = 0
      tracks[name]?.retryMilliseconds = 0
    } catch {
      // The file may have been forgotten meanwhile.
      guard tracks[name] != nil else { return }
      switch error {
      case .stopping: break
      case .changed: restart(name)
      case .problem(let reason):
        if tracks[name]?.reason != reason {
          var event = VaultHistory.Event(.failed, name, at: wall)
          event.note = reason.english
          history.add(event)
          log.warning("\(name): \(reason.english)")
        }
        tracks[name]?.state = .error
        tracks[name]?.reason = reason
        tracks[name]?.checksEnded = requested
        retry(name)
      case .waiting(let reason):
        tracks[name]?.checksEnded = requested
        tracks[name]?.state = .syncing
        tracks[name]?.reason = reason
        retry(name)
      }
    }
  }

  /// Begins a file's step again after a concurrent change, a limited number of times.
  private func restart(_ name: String) {
    recordChangeCount += 1
    tracks[name]?.isSuspect = true
    tracks[name]?.restarts += 1
    guard tracks[name]?.restarts ?? 0 < Limits.vaultReads else {
      tracks[name]?.restarts = 0
      let requested = tracks[name]?.checksRequested ?? 0
      tracks[name]?.checksEnded = requested
      tracks[name]?.state = .error
      tracks[name]?.reason = LocalizedText(
        localized("it keeps changing while it is read; the device retries"))
      return retry(name)
    }
    tracks[name]?.scheduleCheck(at: now.advanced(milliseconds: Limits.vaultClosedMilliseconds))
  }

  private func retry(_ name: String) {
    let last = tracks[name]?.retryMilliseconds ?? 0
    let next = min(
      max(2 * last, Limits.vaultRetryMilliseconds), Limits.vaultRetryMaxMilliseconds)
    tracks[name]?.retryMilliseconds = next
    tracks[name]?.scheduleCheck(at: now.advanced(milliseconds: next))
  }

  // MARK: the agent

  /// Sends an order, and waits for the first report about it.
  func ask(_ make: (OrderID) -> AgentOrder) throws(VaultFault) -> AgentReport {
    try report(order(make))
  }

  /// Sends an order; `report` returns its result.
  func order(_ make: (OrderID) -> AgentOrder) -> OrderID {
    let id = OrderID(rawValue: orders)
    orders += 1
    replies[id] = []
    post(.agent(make(id)))
    return id
  }

  /// Waits for a report about an order. `isMore`: true if another report follows.
  func report(
    _ id: OrderID, isMore: (AgentReport) -> Bool = { _ in false }
  ) throws(VaultFault) -> AgentReport {
    while true {
      if isStopping { throw .stopping }
      if let first = replies[id]?.first {
        replies[id]?.removeFirst()
        if !isMore(first) { replies[id] = nil }
        return first
      }
      handleEvents(milliseconds: nil)
      reportState()
    }
  }

  /// Discards further reports about these orders.
  func abandon(_ ids: [OrderID]) {
    for id in ids { replies[id] = nil }
  }

  // MARK: events

  /// Waits for messages and for events of folders, and handles them. Waits without limit if
  /// `milliseconds` is nil; a home that watches no folder waits for messages only.
  func handleEvents(milliseconds: Int64?) {
    guard let watcher else {
      var messages: [VaultMessage] = []
      if milliseconds == 0 {
        mail.drain(into: &messages)
      } else {
        let end = milliseconds.map { now.advanced(milliseconds: $0) }
        _ = mail.waitForMessages(into: &messages, until: end)
      }
      for message in messages { handleMessage(message) }
      return
    }
    if milliseconds != 0 { watcher.wait(for: mail, milliseconds: milliseconds) }
    var messages: [VaultMessage] = []
    mail.drain(into: &messages)
    for message in messages { handleMessage(message) }
    do throws(SystemFault) {
      for event in try watcher.events() { handleFileEvent(event) }
    } catch {
      log.error("changes of files may be missed, because their events cannot be read: \(error)")
    }
  }

  /// Handles pending messages and events between two parts of longer work.
  func handlePendingEvents() throws(VaultFault) {
    handleEvents(milliseconds: 0)
    reportState()
    if isStopping { throw .stopping }
  }

  private func handleMessage(_ message: VaultMessage) {
    switch message {
    case .stop: isStopping = true
    case .request(let id, let request):
      let reply = answer(request)
      // Reported before the answer, so that the next query of the state includes this request.
      reportState()
      post(.answer(id, reply))
    case .agentReport(let report): handleReport(report)
    }
  }

  private func handleReport(_ report: AgentReport) {
    switch report {
    case .edited(let id, _), .read(let id, _), .chunkAdded(let id, _), .chunkRead(let id, _):
      if replies[id] != nil { replies[id]?.append(report) }
    case .statusRead(let id, let status):
      replies[id] = nil
      handleStatus(status)
    case .status(let status): handleStatus(status)
    case .changed(let records): handleChanges(records)
    case .chunkProgress(let progress):
      for name in tracks.keys where tracks[name]?.applyProgress(progress) ?? false { return }
    case .ready, .transacted, .joined, .moved, .answered, .switched, .stateRead, .synced,
      .storeFailed,
      .stopped, .milestone:
      break
    }
  }

  /// Reports the state of all files to the node: at once after a change, at intervals while only
  /// the number of bytes changes.
  func reportState() {
    let json = stateJSON
    guard json != reportedState else { return }
    let isLate = now.milliseconds(since: reportedAt) >= Limits.vaultProgressMilliseconds
    let isOther = reportedState.map(VaultEngine.withoutBytes) != VaultEngine.withoutBytes(json)
    guard isLate || isOther else { return }
    reportedState = json
    reportedAt = now
    post(.mirrorState(json))
  }

  private static func withoutBytes(_ json: JSONValue) -> JSONValue {
    .array((json["files"]?.array ?? []).map { $0.setting("bytesDone", to: nil) })
  }

  private var stateJSON: JSONValue {
    let entries = registry?.entries ?? []
    let files = entries.map { entry in
      (tracks[entry.name] ?? VaultTrack()).json(entry)
    }
    return ["files": .array(files)]
  }
}

/// Watched folders, and the handling of events in them.
extension VaultEngine {
  /// Watches the folders of all files. If one is missing, watches its nearest existing ancestor, so
  /// that its return is noticed.
  func watchFolders() {
    guard let registry, !registry.entries.isEmpty || watcher != nil else { return }
    guard let watcher = openedWatcher else { return }
    var wanted: Set<String> = []
    for entry in registry.entries {
      var folder = entry.folderPath
      while !isWatched(folder, by: watcher), folder != "/" {
        folder = FilePath.folder(of: folder)
      }
      wanted.insert(folder)
    }
    for folder in watcher.watched where !wanted.contains(folder) { watcher.unwatch(folder) }
  }

  /// Nil if the system provides none. A home without files needs none.
  private var openedWatcher: FileWatcher? {
    if let watcher { return watcher }
    do throws(SystemFault) {
      watcher = try FileWatcher()
    } catch {
      log.error("files cannot be watched: \(error)")
    }
    return watcher
  }

  /// Throws if changes in a folder would not be noticed.
  func requireWatch(of folder: String) throws(VaultFault) {
    guard let watcher = openedWatcher else {
      throw .problem(
        LocalizedText(
          localized(
            "cannot watch files: too many inotify instances; raise "
              + "fs.inotify.max_user_instances")))
    }
    if watcher.watched.contains(folder) { return }
    do throws(SystemFault) {
      try watcher.watch(folder)
    } catch {
      throw .problem(
        LocalizedText(
          localized(
            "the folder {folder} cannot be watched ({error}); make it readable, or raise "
              + "fs.inotify.max_user_watches", ["folder": folder, "error": error.text])))
    }
  }

  private func isWatched(_ folder: String, by watcher: FileWatcher) -> Bool {
    do throws(SystemFault) {
      try watcher.watch(folder)
      return true
    } catch {
      return false
    }
  }

  package func handleFileEvent(_ event: FileEvent) {
    guard let registry else { return }
    switch event.kind {
    case .overflow, .mounts, .folderGone:
      watchFolders()
      for entry in registry.entries { tracks[entry.name]?.handleEvent(event.kind, at: now) }
    case .written, .writing, .touched, .gone:
      let isOfFiles = registry.entries.contains { $0.folderPath == event.folder }
      for entry in registry.entries where entry.folderPath == event.folder {
        if let name = event.name, name == FilePath.name(of: entry.path) {
          tracks[entry.name]?.handleEvent(event.kind, at: now)
        }
      }
      if !isOfFiles { watchReturnedFolders() }
    }
  }

  /// Handles an event in an ancestor of missing folders.
  private func watchReturnedFolders() {
    guard let watcher, let registry else { return }
    let before = Set(watcher.watched)
    watchFolders()
    for entry in registry.entries where !before.contains(entry.folderPath) {
      tracks[entry.name]?.scheduleCheck(at: now)
    }
  }
}

/// Records of the account's files, and the progress of sent changes.
extension VaultEngine {
  /// Handles a new sync status.
  package func handleStatus(_ status: AgentStatus) {
    let wasInReach = sync.transport != nil
    sync = status
    if !isSyncKnown {
      isSyncKnown = true
      // Changes from before the home was closed, or the process killed, may not have been sent.
      let isUnsent = status.waiting > 0 || status.parkedCount > 0
      for name in tracks.keys { tracks[name]?.isUnsent = isUnsent }
    }
    if !wasInReach && status.transport != nil {
      for (name, track) in tracks where track.state == .syncing || track.state == .error {
        tracks[name]?.scheduleCheck(at: now)
      }
    }
    for (name, track) in tracks where track.isUnsent { updateUnsent(name) }
  }

  /// Updates the state of a sent change: at the relay, on its way, or refused.
  func updateUnsent(_ name: String) {
    guard let entry = registry?[name], tracks[name]?.isUnsent ?? false else { return }
    if let refusal = refusal(of: entry) {
      tracks[name]?.state = .error
      tracks[name]?.reason = refusal
      return
    }
    // An error without a retry was a refusal of the relay, which no longer applies.
    let wasRefused = tracks[name]?.state == .error && tracks[name]?.due == nil
    let state = tracks[name]?.state
    if sync.waiting == 0 {
      tracks[name]?.isUnsent = false
      tracks[name]?.upload = [:]
      if state == .uploading || wasRefused { markSynced(name) }
      return
    }
    guard state == .uploading || state == .synced || wasRefused else { return }
    tracks[name]?.state = .uploading
    tracks[name]?.reason = nil
    if case .offline(_, let reason) = sync.state {
      tracks[name]?.reason = LocalizedText(
        localized(
          "it is uploaded when the relay is reachable ({reason})",
          ["reason": translated(reason)]))
    }
  }

  /// Returns the relay's reason for the refusal of this file's change, or nil if there is none.
  private func refusal(of entry: VaultEntry) -> LocalizedText? {
    if sync.blockedZones.contains(VaultApp.zone) {
      return LocalizedText(
        localized("the account's plan does not include the vault; ask the relay's owner"))
    }
    if let refusal = sync.chunksRefused {
      return LocalizedText(
        localized("it cannot be uploaded: {reason}", ["reason": refusal.text]))
    }
    let record = recordName(of: entry)
    let parked = sync.parked.first { $0.key.zone == VaultApp.zone && $0.key.name == record }
    return parked.map { change in
      LocalizedText(
        localized("the relay refuses it: {reason}", ["reason": change.refusal.text]))
    }
  }

  /// Marks a file as synced: nothing is left to do for now.
  package func markSynced(_ name: String) {
    tracks[name]?.state = .synced
    tracks[name]?.reason = nil
    tracks[name]?.bytesDone = 0
    tracks[name]?.bytesInAll = 0
  }

  /// Handles changed records, of any device.
  package func handleChanges(_ records: [Record]) {
    // Of any type: a record of another type under a file's name is not a deletion of the file.
    let own = records.filter { $0.zone == VaultApp.zone }
    let areKeysNew = records.contains { $0.zone == KeyRing.zone }
    guard !own.isEmpty || areKeysNew else { return }
    if areKeysNew { readKeys() }
    if !own.isEmpty { recordChangeCount += 1 }
    for record in own { changedRecords.insert(record.name) }
    // Each of these files may have a new copy.
    for name in tracks.keys { tracks[name]?.scheduleCheck(at: now) }
  }

  // MARK: records

  /// Returns the seal of this file's record.
  package func seal(of entry: VaultEntry) throws(VaultFault) -> VaultSeal {
    if entry.isPlain { return .plain }
    guard let seal = homeSeal else {
      throw .problem(LocalizedText(VaultKeys.missing(in: home)))
    }
    return seal
  }

  /// Reads the home's keys, before each step: new ones may arrive at any time. Once the zone is
  /// sealed, its records are read again.
  func readKeys() {
    let wasOfZone = homeSeal?.isOfZone ?? false
    homeSeal = VaultKeys.source(in: home)()
    if !wasOfZone, homeSeal?.isOfZone ?? false { recordChangeCount += 1 }
  }

  package func recordName(of entry: VaultEntry) -> Name? {
    (entry.isPlain ? .plain : homeSeal).flatMap { recordName(of: entry.name, $0) }
  }

  /// Returns the name of the file's record, or of the one that it will have.
  func recordName(of file: String, _ seal: VaultSeal) -> Name? {
    let names = seal.recordNames(of: file)
    return names.first { recordsByName[$0] != nil } ?? names.last
  }

  /// Reads the vault's records if they have changed.
  func refreshRecords() throws(VaultFault) {
    guard areRecordsStale else { return }
    changedRecords = []
    // A command may request the same meanwhile, and must not get an earlier state.
    let known = recordChangeCount
    let answer = try ask { .readRecords($0, zone: VaultApp.zone, type: nil) }
    guard case .read(_, let result) = answer else { return }
    switch result {
    case .failure(let error): throw .problem(LocalizedText("\(error)"))
    case .success(let records):
      recordChangesRead = known
      readKeys()
      let seal = homeSeal
      recordsByName = [:]
      for record in records where !record.isDeleted {
        recordsByName[record.name] = VaultRecord(record, seal)
      }
    }
    if homeSeal?.isOfZone ?? false { try moveToSealedZone() }
    try adoptCopies()
  }

  /// Gives the account's devices the key that the vault had before its zone was sealed, in a home
  /// that keeps no file. In any other one, the next step for a file does.
  private func giveFormerKey() {
    guard registry != nil, areRecordsStale, VaultKeyFile(home).exists else { return }
    do throws(VaultFault) {
      try refreshRecords()
    } catch {
      log.debug("the key of the vault's older files was not given to other devices: \(error)")
    }
  }

  /// Keeps all files sealed, once the records of the zone are: also those that were added to be
  /// readable at the relay. Gives the key that the vault had before to the account's devices.
  private func moveToSealedZone() throws(VaultFault) {
    for entry in registry?.entries ?? [] where entry.isPlain {
      var sealed = entry
      sealed.isPlain = false
      try store(sealed)
    }
    guard scope.includesWrites(to: VaultApp.zone) else { return }
    let key: VaultKey?
    do throws(CommandFailure) {
      key = try VaultKeyFile(home).key()
    } catch {
      return
    }
    guard let key else { return }
    let recordKey = FormerVaultKey.recordKey(of: key)
    guard recordsByName[recordKey.name] == nil else { return }
    let fields = FormerVaultKey.fields(of: key)
    try edit(
      EditRequest(key: recordKey, type: VaultApp.keyType) { _ throws(EditRefusal) in fields })
  }

  /// Keeps the conflict copies of files that are kept here, beside these files.
  private func adoptCopies() throws(VaultFault) {
    let known = recordsByName.values.filter { $0.contents != nil }.sorted {
      $0.record.name < $1.record.name
    }
    for record in known {
      guard let file = record.contents?.manifest.file, registry?[file] == nil,
        let original = VaultFileResolver.original(ofCopy: file), let entry = registry?[original],
        entry.isPlain == record.isPlain, (registry?.entries.count ?? 0) < Limits.vaultFiles
      else { continue }
      try addCopy(named: file, of: entry)
    }
  }

  /// Adds a conflict copy beside its file to the kept files.
  package func addCopy(named name: String, of entry: VaultEntry) throws(VaultFault) {
    var copy = VaultEntry(name: name, path: FilePath.joined(entry.folderPath, name))
    copy.isPlain = entry.isPlain
    copy.isCopy = true
    try store(copy)
    tracks[name, default: VaultTrack()].scheduleCheck(at: now)
    var event = VaultHistory.Event(.conflict, entry.name, at: wall)
    event.note = name
    history.add(event)
  }

  package func store(_ entry: VaultEntry) throws(VaultFault) {
    do throws(CommandFailure) {
      try registry?.store(entry)
    } catch {
      throw .problem(LocalizedText(error.message ?? localized("the home cannot be written")))
    }
  }
}

/// State of a file, as just checked.
struct VaultFileState {
  var content: ChunkHash
  var signature: FileSignature
  var rights: FileInfo.FileRights
}

/// One step for one file: check the file and its record, and execute the plan.
extension VaultEngine {
  /// Performs one step. If more is left to do, makes the file due at once.
  package func step(_ name: String) throws(VaultFault) {
    readKeys()
    try refreshRecords()
    guard let known = registry?[name] else { return }
    if try completeSwap(of: known) { tracks[name]?.isSuspect = true }
    let file = try checkFile(name)
    guard let entry = registry?[name] else { return }
    let seal = try seal(of: entry)
    guard let key = recordName(of: entry.name, seal) else {
      throw .problem(
        LocalizedText(
          localized(
            "{file} is not a valid record name; forget it, and add it with --name",
            ["file": entry.name])))
    }
    let record = recordsByName[key]?.record
    let contents = try contents(of: entry, isThere: file != nil, in: recordsByName[key])
    let isOverruled = record != nil && contents == nil
    let isExposed =
      file != nil && file?.content == contents?.manifest.sha256
      && contents.map(seal.isExposed) ?? false && scope.includesWrites(to: VaultApp.zone)
    let plan =
      isOverruled || isExposed
      ? .push
      : VaultPlan(
        agreed: entry.agreed, file: file.map { version($0) },
        record: record.flatMap { record in
          contents.map { .init($0.manifest.sha256, at: record.modifiedAt) }
        }, isCopied: file.map { isCopied($0.content, of: entry) } ?? false)
    if plan != .deleteRecord { tracks[name]?.goneSince = nil }
    tracks[name]?.size = file.map { Int($0.signature.bytes) }
    if let reason = refusal(of: plan) {
      // Without a retry: only a new version of the file or the record changes it.
      tracks[name]?.state = .error
      tracks[name]?.reason = reason
      return
    }
    switch plan {
    case .inSync: return try completeSync(of: entry, file)
    case .push: try push(entry, seal, over: record, contents)
    case .pull: try pull(entry, seal, record, contents, over: file)
    case .removeFile: try remove(entry)
    case .deleteRecord: return try delete(entry, record)
    case .keepBoth(.record):
      try copyFile(entry, seal, file, at: (file?.signature.modifiedAt ?? 0) + clockOffset)
    // Named by the record's time, so that all devices make the same copy.
    case .keepEmptied: try copyFile(entry, seal, file, at: record?.modifiedAt ?? 0)
    case .keepBoth(.file): try copyRecord(entry, seal, record, contents)
    }
    tracks[name]?.scheduleCheck(at: now)
  }

  /// Returns the reason that this device must not perform the plan; nil if it may.
  private func refusal(of plan: VaultPlan) -> LocalizedText? {
    if scope.includesWrites(to: VaultApp.zone) { return nil }
    switch plan {
    case .inSync, .pull, .removeFile: return nil
    case .push, .deleteRecord, .keepBoth, .keepEmptied:
      return LocalizedText(
        localized(
          "{reason}; or move the file away: the account's version then comes",
          ["reason": scope.explanation(ofEditIn: VaultApp.zone)]))
    }
  }

  private func version(_ file: VaultFileState) -> VaultPlan.Version {
    VaultPlan.Version(file.content, at: file.signature.modifiedAt + clockOffset)
  }

  /// Returns the account's version of the file. Returns nil if there is none, or if a person has
  /// ordered that the file replaces a record that is not valid for it.
  private func contents(
    of entry: VaultEntry, isThere: Bool, in record: VaultRecord?
  ) throws(VaultFault) -> VaultSeal.Contents? {
    guard let record else { return nil }
    do throws(VaultRecord.Mismatch) {
      return try record.version(of: entry.name, isPlain: entry.isPlain)
    } catch {
      if isThere, tracks[entry.name]?.replaceable == record.record { return nil }
      throw .problem(
        LocalizedText(
          localized(
            "{reason}; the file is unchanged; to replace the record with this device's version, "
              + "add the file again (lockstep vault add)", ["reason": VaultEngine.reason(error)])))
    }
  }

  private static func reason(_ mismatch: VaultRecord.Mismatch) -> String {
    switch mismatch {
    case .otherType:
      localized(
        "the account's record is not a file's record: another program, or the relay, has written "
          + "it")
    case .notSealed:
      localized(
        "the account's record is not sealed: a device without the vault's key, or the relay, has "
          + "written it")
    case .sealed: localized("the account's record is sealed, and this file is not")
    case .unreadable: localized("this device cannot read the account's record")
    }
  }

  /// True if the account has a conflict copy of the file with this content.
  private func isCopied(_ content: ChunkHash, of entry: VaultEntry) -> Bool {
    recordsByName.values.contains { record in
      guard record.isPlain == entry.isPlain, let manifest = record.contents?.manifest else {
        return false
      }
      return manifest.sha256 == content
        && VaultFileResolver.original(ofCopy: manifest.file) == entry.name
    }
  }

  // MARK: state of a file

  /// Returns the state of the file, or nil if it is missing from an existing folder.
  private func checkFile(_ name: String) throws(VaultFault) -> VaultFileState? {
    guard var entry = registry?[name] else { return nil }
    guard case .folder(let mark) = FileInfo(entry.folderPath) else {
      throw .problem(
        LocalizedText(
          localized(
            "the folder {folder} is not there; restore it, or forget the file (lockstep vault "
              + "forget)", ["folder": entry.folderPath])))
    }
    try requireWatch(of: entry.folderPath)
    switch FileInfo(entry.path) {
    case .absent: return nil
    case .folder:
      throw .problem(
        LocalizedText(
          localized(
            "{path} is a folder; move it away, or forget the file", ["path": entry.path])))
    case .unsupported(let reason): throw .problem(reason)
    case .file(let signature, let rights):
      guard signature.bytes <= Int64(ContentChunker.bytesMax) else {
        throw .problem(
          LocalizedText(
            localized(
              "it has {size}; the limit is {limit}",
              [
                "size": ByteCount.text(signature.bytes),
                "limit": ByteCount.text(Int64(ContentChunker.bytesMax)),
              ])))
      }
      if let seen = entry.seen, seen.signature == signature, entry.folder == mark,
        tracks[name]?.isSuspect == false
      {
        return VaultFileState(content: seen.content, signature: signature, rights: rights)
      }
      tracks[name]?.state = .syncing
      tracks[name]?.reason = nil
      tracks[name]?.isSuspect = false
      let (content, read) = try FileContent.hash(entry.path) { () throws(VaultFault) in
        try handlePendingEvents()
      }
      guard read == signature else { throw .changed }
      // The system's clock for files is coarse: a later write may leave the same time as a recent
      // one.
      let age = wall - max(signature.modified, signature.changed) / 1_000_000
      let isOld = age > Limits.vaultClosedMilliseconds / 2
      // A command may have made the mirror forget the file while it was read.
      guard let current = registry?[name] else { throw .changed }
      entry = current
      entry.seen = isOld ? .init(signature: signature, content: content) : nil
      entry.folder = mark
      try store(entry)
      return VaultFileState(content: content, signature: signature, rights: rights)
    }
  }

  // MARK: steps without transfers

  private func completeSync(of entry: VaultEntry, _ file: VaultFileState?) throws(VaultFault) {
    if file == nil, entry.isCopy {
      try forget([entry.name])
      return
    }
    var entry = entry
    if entry.agreed != file?.content {
      entry.agreed = file?.content
      entry.isHeld = false
      try store(entry)
    }
    guard tracks[entry.name]?.isUnsent ?? false else { return markSynced(entry.name) }
    if tracks[entry.name]?.state != .error { tracks[entry.name]?.state = .uploading }
    updateUnsent(entry.name)
  }

  /// Removes a file that was deleted on another device and not changed here.
  private func remove(_ entry: VaultEntry) throws(VaultFault) {
    var entry = entry
    tracks[entry.name]?.state = .syncing
    let swap = FileSwap(
      path: entry.path, temporary: temporary(entry), incoming: nil, expected: entry.agreed)
    entry.swap = swap
    try store(entry)
    let result: Result<FileSwap.End, VaultFault> = captured { () throws(VaultFault) in
      try swap.remove()
    }
    // The swap stays in the registry until the replaced content is safe.
    if case .success(.kept(let place)) = result { try keepAsCopy(place, of: entry) }
    entry.swap = nil
    if case .success(let end) = result, end != .changed {
      (entry.agreed, entry.isHeld, entry.seen) = (nil, false, nil)
    }
    try store(entry)
    switch try result.get() {
    case .changed: throw .changed
    case .kept: break
    case .done: history.add(.init(.removed, entry.name, at: wall))
    }
  }

  /// Deletes the record of a file that was deleted here. Not at once, because an editor may be
  /// about to create it again.
  private func delete(_ entry: VaultEntry, _ base: Record?) throws(VaultFault) {
    guard let base else { return }
    if let mark = entry.folder, FileInfo(entry.folderPath) != .folder(mark) {
      throw .problem(
        LocalizedText(
          localized(
            "{path} is gone, and its folder is another one than before: if a disk is not mounted, "
              + "mount it; if the file was deleted, forget it (lockstep vault forget)",
            ["path": entry.path])))
    }
    tracks[entry.name]?.state = .syncing
    let since = tracks[entry.name]?.goneSince ?? now
    tracks[entry.name]?.goneSince = since
    let end = since.advanced(milliseconds: Limits.vaultGoneMilliseconds)
    guard end <= now else {
      tracks[entry.name]?.scheduleCheck(at: end)
      return
    }
    try edit(
      EditRequest(key: base.key, type: base.type) { context throws(EditRefusal) in
        try VaultEngine.require(context.current, is: base)
        return nil
      })
    var entry = entry
    (entry.agreed, entry.isHeld, entry.seen) = (nil, false, nil)
    try store(entry)
    tracks[entry.name]?.isUnsent = true
    history.add(.init(.deleted, entry.name, at: wall))
    tracks[entry.name]?.scheduleCheck(at: now)
  }

  /// Makes a conflict copy of the file, because the account's version is newer and keeps the name.
  /// The copy is a record; its file follows from the record, as on every device. `modifiedAt`: time
  /// in the copy's name.
  private func copyFile(
    _ entry: VaultEntry, _ seal: VaultSeal, _ file: VaultFileState?, at modifiedAt: Int64
  ) throws(VaultFault) {
    guard let file else { throw .changed }
    let name = VaultFileResolver.conflictName(of: entry.name, modifiedAt: modifiedAt)
    let cut = try cut(entry, as: name, seal, known: [:])
    guard cut.manifest.sha256 == file.content else { throw .changed }
    let copy = recordName(of: name, seal).map {
      ($0, seal.fields(of: cut.manifest, chunks: cut.chunks))
    }
    try save(copy, of: cut.manifest, entry)
    var entry = entry
    // The file's content is safe now: the account's version may replace it.
    (entry.agreed, entry.isHeld) = (file.content, false)
    try store(entry)
    tracks[entry.name]?.isUnsent = true
  }

  /// Makes a conflict copy of the account's version, because the file is newer and keeps the name.
  private func copyRecord(
    _ entry: VaultEntry, _ seal: VaultSeal, _ record: Record?, _ contents: VaultSeal.Contents?
  ) throws(VaultFault) {
    guard let record, var contents else { throw .changed }
    let file = VaultFileResolver.conflictName(of: entry.name, modifiedAt: record.modifiedAt)
    let copy = seal.copy(of: contents, as: file)
    contents.manifest.file = file
    try save(copy, of: contents.manifest, entry)
    var entry = entry
    (entry.agreed, entry.isHeld) = (contents.manifest.sha256, false)
    try store(entry)
    tracks[entry.name]?.isUnsent = true
  }

  /// `copy`: name and fields of the copy's record; nil if it can have none.
  private func save(
    _ copy: (name: Name, fields: JSONValue)?, of manifest: VaultManifest, _ entry: VaultEntry
  ) throws(VaultFault) {
    guard let (name, fields) = copy else {
      throw .problem(
        LocalizedText(
          localized(
            "{file} is not a valid record name; give the file a shorter name",
            ["file": manifest.file])))
    }
    if let existing = recordsByName[name] {
      let contents = captured { () throws(VaultRecord.Mismatch) in
        try existing.version(of: manifest.file, isPlain: entry.isPlain)
      }
      guard case .success(let contents) = contents else {
        throw .problem(
          LocalizedText(
            localized(
              "the conflict copy {file} cannot be read on this device, or is sealed differently",
              ["file": manifest.file])))
      }
      if contents.manifest.sha256 == manifest.sha256 { return }
    }
    let base = recordsByName[name]?.record
    let key = RecordKey(zone: VaultApp.zone, name: name)
    try edit(
      EditRequest(key: key, type: VaultApp.fileType) { context throws(EditRefusal) in
        try VaultEngine.require(context.current, is: base)
        return fields
      })
    recordChangeCount += 1
  }

  /// Keeps content that another program wrote between check and replacement, as a conflict copy.
  func keepAsCopy(_ place: String, of entry: VaultEntry) throws(VaultFault) {
    guard case .file(let signature, _) = FileInfo(place) else { return }
    let at = signature.modifiedAt + clockOffset
    for attempt in 0..<100 {
      let name = VaultFileResolver.conflictName(of: entry.name, modifiedAt: at + Int64(attempt))
      let path = FilePath.joined(entry.folderPath, name)
      if linux_rename_new(place, path) == 0 { return try addCopy(named: name, of: entry) }
      guard errno == EEXIST else {
        throw .problem(
          LocalizedText(
            localized(
              "{path} has another version of the file and cannot be renamed; move it yourself",
              ["path": place])))
      }
    }
    throw .problem(
      LocalizedText(
        localized(
          "{path} has another version of the file; rename it yourself", ["path": place])))
  }

  // MARK: shared by the steps

  /// Changes a record durably.
  package func edit(_ request: EditRequest) throws(VaultFault) {
    guard case .edited(_, let result) = try ask({ .edit($0, request) }) else { return }
    recordChangeCount += 1
    switch result {
    case .success: _ = order { .readStatus($0) }
    case .failure(.refused(VaultEngine.recordChanged)): throw .changed
    case .failure(.stopping): throw .stopping
    case .failure(let failure): throw .problem(LocalizedText(failure.explanation))
    }
  }

  private static let recordChanged = EditRefusal("the record has just changed; try again")

  /// Throws unless the record is the one on which the plan was made.
  package static func require(_ current: Record?, is base: Record?) throws(EditRefusal) {
    guard current?.fields == base?.fields else { throw recordChanged }
  }

  /// Returns a path beside the file that no other program uses, the same after every start.
  package func temporary(_ entry: VaultEntry) -> String {
    let digest = SHA256.hash(Array("\(home.path)\n\(entry.name)".utf8))
    let own = String((ChunkHash(bytes: digest)?.text ?? "").prefix(12))
    let name = CopyName.text("." + FilePath.name(of: entry.path), ".lockstep-" + own)
    return FilePath.joined(entry.folderPath, name)
  }

  /// Repairs the state after a crash during a replacement, or while the new file was written.
  func recover(_ entry: VaultEntry) {
    do throws(VaultFault) {
      if try !completeSwap(of: entry) { unlink(temporary(entry)) }
    } catch {
      log.error("\(entry.path): \(error)")
    }
  }

  /// Completes an unfinished replacement. Returns false if there was none.
  func completeSwap(of entry: VaultEntry) throws(VaultFault) -> Bool {
    guard let swap = entry.swap else { return false }
    if case .kept(let place) = swap.recover() { try keepAsCopy(place, of: entry) }
    var entry = registry?[entry.name] ?? entry
    entry.swap = nil
    try store(entry)
    return true
  }

  func captured<Value, Fault: Error>(
    _ body: () throws(Fault) -> Value
  ) -> Result<Value, Fault> {
    do throws(Fault) {
      return .success(try body())
    } catch {
      return .failure(error)
    }
  }
}

/// Upload of a file: it is read once and split, and its new chunks are stored in the home before
/// the record that names them is changed.
extension VaultEngine {
  /// A split file, as its record will describe it.
  package struct Cut {
    package var manifest: VaultManifest
    /// Names of its chunks at the relay.
    package var chunks: [ChunkHash]
    var signature: FileSignature
    /// Bytes of the chunks that were not known before, by their names at the relay.
    package var new: [ChunkHash: Int]
  }

  /// `contents`: description of the file in its record; nil if there is none.
  package func push(
    _ entry: VaultEntry, _ seal: VaultSeal, over base: Record?, _ contents: VaultSeal.Contents?
  ) throws(VaultFault) {
    let name = entry.name
    var known: [ChunkHash: ChunkHash] = [:]
    if entry.isHeld, let contents, contents.manifest.sha256 == entry.agreed,
      seal.sharesChunks(with: contents)
    {
      known = Dictionary(zip(contents.manifest.chunks, contents.chunks)) { first, _ in first }
    }
    tracks[name]?.state = .syncing
    tracks[name]?.reason = nil
    let cut = try cut(entry, as: name, seal, known: known)
    let fields = seal.fields(of: cut.manifest, chunks: cut.chunks)
    guard let recordName = recordName(of: name, seal) else { throw .changed }
    let key = RecordKey(zone: VaultApp.zone, name: recordName)
    // Before the edit, because the agent begins to send the chunks at once.
    let bytes = cut.new.values.reduce(0, +)
    tracks[name]?.upload = cut.new.mapValues { VaultTrack.Part(bytes: $0) }
    tracks[name]?.bytesDone = 0
    tracks[name]?.bytesInAll = bytes
    try edit(
      EditRequest(key: key, type: VaultApp.fileType) { context throws(EditRefusal) in
        try VaultEngine.require(context.current, is: base)
        return fields
      })
    tracks[name]?.state = .uploading
    tracks[name]?.isUnsent = true
    guard var entry = registry?[name] else { return }
    (entry.agreed, entry.isHeld) = (cut.manifest.sha256, true)
    entry.seen = entry.seen?.signature == cut.signature ? entry.seen : nil
    try store(entry)
    var event = VaultHistory.Event(.sent, name, at: wall)
    (event.bytes, event.chunks) = (bytes, cut.new.count)
    history.add(event)
    log.info("\(name): \(cut.new.count) new chunks of \(bytes) bytes")
  }

  /// Reads the file, and stores the chunks in the home that are not `known` (names at the relay by
  /// the hash of the content).
  package func cut(
    _ entry: VaultEntry, as name: String, _ seal: VaultSeal, known: [ChunkHash: ChunkHash]
  ) throws(VaultFault) -> Cut {
    guard case .file(let signature, _) = FileInfo(entry.path) else { throw .changed }
    var place = ContentChunker.Sizes.place(forBytes: Int(signature.bytes))
    while place < ContentChunker.Sizes.classes.count {
      var sizes = ContentChunker.Sizes.classes[place]
      sizes.most = min(sizes.most, seal.chunkBytesMax)
      if let cut = try cut(entry, as: name, seal, sizes, known) {
        guard case .file(cut.signature, _) = FileInfo(entry.path) else { throw .changed }
        return cut
      }
      place += 1
    }
    throw .problem(
      LocalizedText(
        localized("it has more chunks than a record can list; split it, or forget it")))
  }

  /// Returns nil if there are more chunks than a record may name.
  private func cut(
    _ entry: VaultEntry, as name: String, _ seal: VaultSeal, _ sizes: ContentChunker.Sizes,
    _ known: [ChunkHash: ChunkHash]
  ) throws(VaultFault) -> Cut? {
    let file = try FileContent(entry.path)
    let signature = try file.signature
    let digest = SHA256()
    var count: Int64 = 0
    var chunker = ContentChunker(seed: seal.chunkSeed, sizes: sizes)
    var buffer = ChunkBuffer(self, seal, known)
    do throws(VaultFault) {
      while true {
        let bytes = try file.read(FileContent.readBytes)
        if bytes.isEmpty { break }
        count += Int64(bytes.count)
        if count > signature.bytes { throw .changed }
        digest.update(bytes)
        chunker.add(bytes)
        while let chunk = chunker.next() { try buffer.add(chunk) }
        guard buffer.contents.count < Limits.chunksPerRecord else {
          buffer.abandon()
          return nil
        }
        try handlePendingEvents()
      }
      if let last = chunker.finish() { try buffer.add(last) }
      let chunks = try buffer.finish()
      guard try file.signature == signature, let sha256 = ChunkHash(bytes: digest.finish()),
        buffer.contents.count <= Limits.chunksPerRecord
      else { throw .changed }
      return Cut(
        manifest: VaultManifest(
          file: name, size: Int(signature.bytes), sha256: sha256, chunks: buffer.contents),
        chunks: chunks, signature: signature, new: buffer.new)
    } catch {
      buffer.abandon()
      throw error
    }
  }
}

/// Chunks of one file that are being stored in the home, a few at a time.
struct ChunkBuffer {
  /// Hashes of the chunks' contents, in order.
  private(set) var contents: [ChunkHash] = []
  private(set) var new: [ChunkHash: Int] = [:]
  private let engine: VaultEngine
  private let seal: VaultSeal
  /// Names at the relay, by the hash of the content.
  private var names: [ChunkHash: ChunkHash]
  /// Chunks that were given to the agent and are not reported yet.
  private var pending: [(order: OrderID, content: ChunkHash, bytes: Int)] = []
  /// Content hashes of the waiting chunks.
  private var pendingContents: Set<ChunkHash> = []

  init(_ engine: VaultEngine, _ seal: VaultSeal, _ known: [ChunkHash: ChunkHash]) {
    self.engine = engine
    self.seal = seal
    names = known
  }

  mutating func add(_ chunk: [UInt8]) throws(VaultFault) {
    guard let content = ChunkHash(bytes: SHA256.hash(chunk)) else { return }
    contents.append(content)
    if names[content] != nil || pendingContents.contains(content) { return }
    // The agent accepts one more than this.
    while pending.count >= Limits.chunkAdds - 1 { try waitForFirst() }
    let sealed = seal.sealed(chunk)
    pending.append((engine.order { .addChunk($0, sealed) }, content, sealed.count))
    pendingContents.insert(content)
  }

  /// Waits until the home has all chunks. Returns their names at the relay, in order.
  mutating func finish() throws(VaultFault) -> [ChunkHash] {
    while !pending.isEmpty { try waitForFirst() }
    return contents.compactMap { names[$0] }
  }

  mutating func abandon() {
    engine.abandon(pending.map(\.order))
    pending = []
  }

  private mutating func waitForFirst() throws(VaultFault) {
    let first = pending[0]
    guard case .chunkAdded(_, let result) = try engine.report(first.order) else { return }
    pending.removeFirst()
    pendingContents.remove(first.content)
    switch result {
    case .success(let name):
      names[first.content] = name
      new[name] = first.bytes
    case .failure(let failure): throw failure.fault
    }
  }
}

extension ChunkFailure {
  /// Fault of the file that contains the chunk.
  package var fault: VaultFault {
    switch self {
    case .tooLarge(let bytes):
      .problem(
        LocalizedText(
          localized(
            "a chunk has {bytes} bytes, which is too large", ["bytes": String(bytes)])))
    case .busy: .waiting(LocalizedText(localized("the home is busy with other chunks")))
    case .notJoined:
      .problem(
        LocalizedText(localized("this home has not joined an account; join one first")))
    case .unavailable:
      .waiting(LocalizedText(localized("some of its chunks are not at the relay yet")))
    case .damaged:
      .waiting(
        LocalizedText(
          localized("some of its chunks are damaged in this home and are downloaded again")))
    case .refused(let refusal): .problem(LocalizedText(refusal.text))
    case .unreachable(let reason):
      .waiting(
        LocalizedText(
          localized(
            "the relay cannot be reached ({reason})",
            ["reason": translated(reason)])))
    case .storage(let error): .problem(LocalizedText("\(error)"))
    case .stopping: .stopping
    }
  }
}

/// Download of a file: its chunks are written to a file beside it, which then replaces it.
extension VaultEngine {
  /// Maximum number of chunks requested at a time; each may be in memory.
  private static let ahead = 4

  package func pull(
    _ entry: VaultEntry, _ seal: VaultSeal, _ record: Record?, _ contents: VaultSeal.Contents?,
    over file: VaultFileState?
  ) throws(VaultFault) {
    guard let record, let contents else { throw .changed }
    let name = entry.name
    let manifest = contents.manifest
    if file != nil, try FileContent(entry.path).hasWriters {
      throw .waiting(
        LocalizedText(
          localized(
            "another program has it open for writing; it is replaced once that program closes it"))
      )
    }
    tracks[name]?.state = .downloading
    tracks[name]?.reason = nil
    tracks[name]?.bytesDone = 0
    tracks[name]?.bytesInAll = manifest.size
    let fresh = try FreshFile(temporary(entry))
    var reader = ChunkFetcher(self, seal, contents)
    do throws(VaultFault) {
      while let chunk = try reader.next(ahead: VaultEngine.ahead) {
        try fresh.add(chunk)
        tracks[name]?.bytesDone = fresh.bytes
        // A newer version has arrived meanwhile, or the file was forgotten.
        if changedRecords.contains(record.name) || registry?[name] == nil { throw .changed }
        try handlePendingEvents()
      }
    } catch {
      reader.abandon()
      throw error
    }
    guard fresh.bytes == manifest.size, try fresh.finish(file?.rights ?? .new) == manifest.sha256
    else {
      fresh.discard()
      throw .problem(
        LocalizedText(
          localized(
            "the account's version is damaged; add it again on a device with an intact copy")))
    }
    try replace(entry, with: fresh, manifest, over: file)
    var event = VaultHistory.Event(.received, name, at: wall)
    (event.bytes, event.chunks) = (manifest.size, manifest.chunks.count)
    event.device = record.device.text
    history.add(event)
    log.info("\(name): \(manifest.size) bytes received")
  }

  private func replace(
    _ entry: VaultEntry, with fresh: FreshFile, _ manifest: VaultManifest,
    over file: VaultFileState?
  ) throws(VaultFault) {
    guard var entry = registry?[entry.name], isUnchanged(file, at: entry.path) else {
      fresh.discard()
      throw .changed
    }
    let swap = FileSwap(
      path: entry.path, temporary: fresh.path, incoming: manifest.sha256,
      expected: file?.content)
    entry.swap = swap
    do throws(VaultFault) {
      try store(entry)
    } catch {
      fresh.discard()
      throw error
    }
    let result: Result<FileSwap.End, VaultFault> = captured { () throws(VaultFault) in
      try swap.replace()
    }
    // The swap stays in the registry until the replaced content is safe.
    if case .success(.kept(let place)) = result { try keepAsCopy(place, of: entry) }
    entry.swap = nil
    if case .success(let end) = result, end != .changed {
      (entry.agreed, entry.isHeld, entry.seen) = (manifest.sha256, true, nil)
      if case .folder(let mark) = FileInfo(entry.folderPath) { entry.folder = mark }
    }
    try store(entry)
    if try result.get() == .changed { throw .changed }
  }

  private func isUnchanged(_ file: VaultFileState?, at path: String) -> Bool {
    switch FileInfo(path) {
    case .absent: file == nil
    case .file(let signature, _): file?.signature == signature
    case .folder, .unsupported: false
    }
  }
}

/// Chunks of one file, in order, from the home or the relay.
struct ChunkFetcher {
  private let engine: VaultEngine
  private let seal: VaultSeal
  private let contents: VaultSeal.Contents
  private var orders: [OrderID] = []
  /// Index of the next chunk to request, and of the next one to return.
  private var requested = 0
  private var returned = 0

  init(_ engine: VaultEngine, _ seal: VaultSeal, _ contents: VaultSeal.Contents) {
    self.engine = engine
    self.seal = seal
    self.contents = contents
  }

  /// Returns the next chunk in the clear; nil after the last. `ahead`: chunks to request
  /// beforehand.
  mutating func next(ahead: Int) throws(VaultFault) -> [UInt8]? {
    while orders.count < ahead, requested < contents.chunks.count {
      let hash = contents.chunks[requested]
      orders.append(
        engine.order { .readChunk($0, hash, offset: 0, count: Limits.chunkBytes) })
      requested += 1
    }
    guard returned < requested else { return nil }
    let sealed = try readChunk(orders[0])
    orders.removeFirst()
    guard let chunk = seal.opened(sealed, of: contents),
      ChunkHash(bytes: SHA256.hash(chunk)) == contents.manifest.chunks[returned]
    else {
      throw .problem(
        LocalizedText(
          localized(
            "the account's version is damaged; add it again on a device with an intact copy")))
    }
    returned += 1
    return chunk
  }

  mutating func abandon() {
    engine.abandon(orders)
    orders = []
  }

  private func readChunk(_ order: OrderID) throws(VaultFault) -> [UInt8] {
    var bytes: [UInt8] = []
    while true {
      let report = try engine.report(order) { report in
        if case .chunkRead(_, .success(let portion)) = report { return !portion.isLast }
        return false
      }
      guard case .chunkRead(_, let result) = report else { return bytes }
      switch result {
      case .success(let portion):
        bytes += portion.bytes
        if portion.isLast { return bytes }
      case .failure(let failure): throw failure.fault
      }
    }
  }
}

/// Requests of commands to the mirror. Each is answered at once, even during other work; bytes are
/// transferred afterwards.
///
///     {"do": "add", "path": absolute, "name": in the vault, "plain": bool}
///     {"do": "forget", "name": …}
///     {"do": "look"}                              check all files now
extension VaultEngine {
  package func answer(_ request: JSONValue) -> HomeReply {
    // The mirror's thread has no language of its own.
    let language = Language(ofRequest: request)
    do throws(VaultRefusal) {
      return .success(
        try language { () throws(VaultRefusal) in try perform(request) })
    } catch {
      return .failure(error.reason)
    }
  }

  private func perform(_ request: JSONValue) throws(VaultRefusal) -> JSONValue {
    guard scope.includes(VaultApp.zone) else {
      throw VaultRefusal(scope.explanation(ofEditIn: VaultApp.zone))
    }
    guard registry != nil else {
      throw VaultRefusal(
        localized(
          "{path} cannot be used; see the log of lockstep agent run", ["path": home.vault]))
    }
    switch request["do"]?.string {
    case "add": return try add(request)
    case "forget": return try forget(request)
    case "look":
      readKeys()
      for name in tracks.keys {
        tracks[name]?.scheduleCheck(at: now)
        tracks[name]?.checksRequested += 1
      }
      return ["files": .number(JSONNumber(Int64(tracks.count)))]
    default: throw VaultRefusal(localized("the vault does not know that request"))
    }
  }

  /// Refusal: nothing was done. A sentence for a person.
  struct VaultRefusal: Error {
    let reason: String
    init(_ reason: String) { self.reason = reason }
  }

  // MARK: add

  private func add(_ request: JSONValue) throws(VaultRefusal) -> JSONValue {
    guard let given = request["path"]?.string, given.hasPrefix("/") else {
      throw VaultRefusal(localized("the file needs an absolute path"))
    }
    guard let path = FilePath.absolute(given) else {
      throw VaultRefusal(
        localized(
          "the folder {folder} is not there; create it, then try again",
          ["folder": FilePath.folder(of: given)]))
    }
    let name = request["name"]?.string ?? FilePath.name(of: path)
    guard VaultManifest.isName(name) else {
      throw VaultRefusal(
        localized(
          "\u{201C}{name}\u{201D} is no name for a file; give one with --name", ["name": name]))
    }
    if let existing = try existingEntry(name, path) {
      try allowOverwrite(existing)
      return VaultEngine.json(existing)
    }
    let isThere = try checkFile(at: path)
    var entry = VaultEntry(name: name, path: path)
    entry.isPlain = try isPlain(name, wanted: request["plain"]?.bool ?? false, isThere, path)
    if entry.isPlain, VaultSeal.plain.recordName(of: name) == nil {
      throw VaultRefusal(
        localized(
          "a file that is not sealed cannot be named {name} in the vault, because that name is "
            + "reserved; choose another with --name", ["name": name]))
    }
    do throws(VaultFault) {
      try store(entry)
    } catch {
      throw VaultRefusal(VaultEngine.sentence(error))
    }
    tracks[name] = VaultTrack()
    tracks[name]?.scheduleCheck(at: now)
    watchFolders()
    return VaultEngine.json(entry)
  }

  /// Lets a file that is added again replace the current record, if that is not a valid record of
  /// this file.
  private func allowOverwrite(_ entry: VaultEntry) throws(VaultRefusal) {
    do throws(VaultFault) {
      try refreshRecords()
    } catch {
      throw VaultRefusal(VaultEngine.sentence(error))
    }
    guard let name = recordName(of: entry), let record = recordsByName[name] else { return }
    do throws(VaultRecord.Mismatch) {
      _ = try record.version(of: entry.name, isPlain: entry.isPlain)
    } catch {
      tracks[entry.name]?.replaceable = record.record
      tracks[entry.name]?.state = .syncing
      tracks[entry.name]?.reason = nil
      tracks[entry.name]?.scheduleCheck(at: now)
    }
  }

  private static func json(_ entry: VaultEntry) -> JSONValue {
    ["name": .string(entry.name), "path": .string(entry.path), "plain": .bool(entry.isPlain)]
  }

  /// Returns the entry if the same file is kept already.
  private func existingEntry(_ name: String, _ path: String) throws(VaultRefusal) -> VaultEntry? {
    let entries = registry?.entries ?? []
    if let entry = registry?[name] {
      if entry.path == path { return entry }
      throw VaultRefusal(
        localized(
          "{file} is synced already, at {path}; give this file another name with --name, or forget "
            + "that one first (lockstep vault forget)", ["file": name, "path": entry.path]))
    }
    if let entry = entries.first(where: { $0.path == path }) {
      throw VaultRefusal(
        localized(
          "{path} is synced already, as {file}", ["path": path, "file": entry.name]))
    }
    let ownFolder = FilePath.real(home.path) ?? home.path
    if path.hasPrefix(ownFolder + "/") {
      throw VaultRefusal(
        localized("{path} is in the home itself; move the file elsewhere", ["path": path]))
    }
    guard entries.count < Limits.vaultFiles else {
      throw VaultRefusal(
        localized(
          "{count} files are synced already, the limit; forget some (lockstep vault forget)",
          ["count": String(Limits.vaultFiles)]))
    }
    return nil
  }

  private func checkFile(at path: String) throws(VaultRefusal) -> Bool {
    switch FileInfo(path) {
    case .absent: return false
    case .folder:
      throw VaultRefusal(
        localized("{path} is a folder; add the files in it one by one", ["path": path]))
    case .unsupported(let reason): throw VaultRefusal(reason.current)
    case .file(let signature, _):
      guard signature.bytes <= Int64(ContentChunker.bytesMax) else {
        throw VaultRefusal(
          localized(
            "{path} has {size}; the limit is {limit}",
            [
              "path": path, "size": ByteCount.text(signature.bytes),
              "limit": ByteCount.text(Int64(ContentChunker.bytesMax)),
            ]))
      }
      do throws(VaultFault) {
        _ = try FileContent(path)
      } catch {
        throw VaultRefusal(VaultEngine.sentence(error))
      }
      return true
    }
  }

  /// True if the file's record is unencrypted: as in the account, otherwise as requested. An
  /// unencrypted record may come from outside the account, and must not make a file unencrypted
  /// that a person wants sealed.
  private func isPlain(
    _ name: String, wanted: Bool, _ isThere: Bool, _ path: String
  ) throws(VaultRefusal) -> Bool {
    readKeys()
    do throws(VaultFault) {
      try refreshRecords()
    } catch {
      throw VaultRefusal(VaultEngine.sentence(error))
    }
    if wanted, homeSeal?.isOfZone ?? false {
      throw VaultRefusal(
        localized(
          "the account's records are sealed, and so are all files of its vault; add the file "
            + "without --plain"))
    }
    let existing = recordsByName.values.filter {
      $0.contents.map { $0.manifest.file.utf8.elementsEqual(name.utf8) } ?? false
    }
    if existing.contains(where: { !$0.isPlain }) { return false }
    if !existing.isEmpty {
      guard wanted else {
        throw VaultRefusal(
          localized(
            "the account's file {file} is not sealed: the relay's owner can read it, and may have "
              + "put it there; add it with --plain if that is meant, or under another --name",
            ["file": name]))
      }
      return true
    }
    guard isThere else {
      throw VaultRefusal(
        localized(
          "there is no file {path}, and the account has none called {file}; see lockstep vault "
            + "list", ["path": path, "file": name]))
    }
    guard scope.includesWrites(to: VaultApp.zone) else {
      throw VaultRefusal(scope.explanation(ofEditIn: VaultApp.zone))
    }
    if !wanted && homeSeal == nil {
      throw VaultRefusal(VaultKeys.missing(in: home))
    }
    return wanted
  }

  private static func sentence(_ fault: VaultFault) -> String {
    switch fault {
    case .problem(let reason), .waiting(let reason): reason.current
    case .changed: localized("the file was changed just now; try again")
    case .stopping: localized("this home is being closed; try again")
    }
  }

  // MARK: forget

  private func forget(_ request: JSONValue) throws(VaultRefusal) -> JSONValue {
    guard let name = request["name"]?.string, let entry = registry?[name] else {
      throw VaultRefusal(
        localized("this home syncs no file of that name; see lockstep vault status"))
    }
    let original = VaultFileResolver.original(ofCopy: name)
    if entry.isCopy, let original, registry?[original] != nil {
      throw VaultRefusal(
        localized(
          "{copy} is a conflict copy of {file}; delete the file to remove it on all devices",
          ["copy": name, "file": original]))
    }
    let copies = (registry?.entries ?? []).filter { copy in
      copy.isCopy && isCopy(copy.name, of: name)
    }
    do throws(VaultFault) {
      try forget([name] + copies.map(\.name))
    } catch {
      throw VaultRefusal(VaultEngine.sentence(error))
    }
    return VaultEngine.json(entry)
  }

  /// True for a copy, or a copy of a copy.
  private func isCopy(_ copy: String, of name: String) -> Bool {
    var copy = copy
    while let original = VaultFileResolver.original(ofCopy: copy) {
      if original == name { return true }
      copy = original
    }
    return false
  }

  /// Removes files from the registry. The files themselves stay, and are no longer watched.
  package func forget(_ names: [String]) throws(VaultFault) {
    do throws(CommandFailure) {
      try registry?.remove(names)
    } catch {
      throw .problem(LocalizedText(error.message ?? localized("the home cannot be written")))
    }
    for name in names { tracks[name] = nil }
    watchFolders()
  }
}
