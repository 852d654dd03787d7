import LockstepApps
import LockstepClient
import LockstepEventLoop
import LockstepModel
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
  let log: Log
  let history: VaultHistory
  private let mail: Mailbox<VaultMessage>
  private let post: @Sendable (HomeOrder) -> Void

  var registry: VaultRegistry?
  var watcher: FileWatcher?
  var tracks: [String: VaultTrack] = [:]
  /// The vault's records on this device, by name.
  var shelf: [Name: VaultRecord] = [:]
  /// Count of their possible changes, and its value when the records were last read.
  var shelfChanges = 1
  var shelfRead = 0
  /// Names of records that changed since `shelf` was read.
  var moved: Set<Name> = []
  var sync = SyncStatus()
  /// True once a value of `sync` was reported.
  var isSyncKnown = false

  private var replies: [OrderID: [AgentReport]] = [:]
  private var orders = HomeOrder.firstNumber
  private var isStopping = false
  private var told: JSONValue?
  private var toldAt = Instant(nanoseconds: 0)

  init(
    _ home: HomeFolder, _ mail: Mailbox<VaultMessage>, log: Log,
    post: @escaping @Sendable (HomeOrder) -> Void
  ) {
    self.home = home
    self.log = log
    self.mail = mail
    self.post = post
    history = VaultHistory(home: home)
  }

  var isShelfStale: Bool { shelfRead != shelfChanges }

  var now: Instant { SystemClock.instant() }
  var wall: Int64 { SystemClock.moment().wall }
  /// Relay time minus this machine's time, in milliseconds.
  var clockOffset: Int64 { sync.clockOffset ?? 0 }

  /// Runs until it is stopped.
  func run() {
    do throws(CommandFailure) {
      let registry = try VaultRegistry(home: home)
      self.registry = registry
      for entry in registry.entries {
        recover(entry)
        tracks[entry.name, default: VaultTrack()].wakes(at: now)
      }
      watchFolders()
    } catch {
      // The home's records are synced all the same; requests about files get an error.
      log.error("files are not kept in step: \(error.message ?? "")")
    }
    tell()
    while !isStopping {
      if let name = nextDue {
        work(name)
      } else {
        pump(milliseconds: untilDue)
      }
      tell()
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
  private func work(_ name: String) {
    tracks[name]?.due = nil
    tracks[name]?.isCheckAwaited = false
    tracks[name]?.touchedAt = nil
    do throws(VaultFault) {
      try step(name)
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
          event.note = reason
          history.add(event)
          log.warning("\(name): \(reason)")
        }
        tracks[name]?.state = .error
        tracks[name]?.reason = reason
        retry(name)
      case .waiting(let reason):
        tracks[name]?.state = .syncing
        tracks[name]?.reason = reason
        retry(name)
      }
    }
  }

  /// Begins a file's step again after a concurrent change, a limited number of times.
  private func restart(_ name: String) {
    shelfChanges += 1
    tracks[name]?.isSuspect = true
    tracks[name]?.restarts += 1
    guard tracks[name]?.restarts ?? 0 < Limits.vaultReads else {
      tracks[name]?.restarts = 0
      tracks[name]?.state = .error
      tracks[name]?.reason = "it keeps changing while it is read; it is tried again"
      return retry(name)
    }
    tracks[name]?.wakes(at: now.advanced(milliseconds: Limits.vaultClosedMilliseconds))
  }

  private func retry(_ name: String) {
    let last = tracks[name]?.retryMilliseconds ?? 0
    let next = min(
      max(2 * last, Limits.vaultRetryMilliseconds), Limits.vaultRetryMaxMilliseconds)
    tracks[name]?.retryMilliseconds = next
    tracks[name]?.wakes(at: now.advanced(milliseconds: next))
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
      pump(milliseconds: nil)
      tell()
    }
  }

  /// Discards further reports about these orders.
  func abandon(_ ids: [OrderID]) {
    for id in ids { replies[id] = nil }
  }

  // MARK: events

  /// Waits for messages and for events of folders, and handles them. Waits without limit if
  /// `milliseconds` is nil; a home that watches no folder waits for messages only.
  func pump(milliseconds: Int64?) {
    guard let watcher else {
      var messages: [VaultMessage] = []
      if milliseconds == 0 {
        mail.take(into: &messages)
      } else {
        let end = milliseconds.map { now.advanced(milliseconds: $0) }
        _ = mail.waitForMessages(into: &messages, until: end)
      }
      for message in messages { take(message) }
      return
    }
    if milliseconds != 0 { watcher.wait(for: mail, milliseconds: milliseconds) }
    var messages: [VaultMessage] = []
    mail.take(into: &messages)
    for message in messages { take(message) }
    do throws(SystemFault) {
      for event in try watcher.events() { take(event) }
    } catch {
      log.error("files are not watched any more: \(error)")
    }
  }

  /// Handles pending messages and events between two parts of longer work.
  func breathe() throws(VaultFault) {
    pump(milliseconds: 0)
    tell()
    if isStopping { throw .stopping }
  }

  private func take(_ message: VaultMessage) {
    switch message {
    case .stop: isStopping = true
    case .asked(let id, let request):
      let reply = answer(request)
      // Reported before the answer, so that the next query of the state includes this request.
      tell()
      post(.answer(id, reply))
    case .told(let report): take(report)
    }
  }

  private func take(_ report: AgentReport) {
    switch report {
    case .edited(let id, _), .read(let id, _), .chunkAdded(let id, _), .chunkRead(let id, _):
      if replies[id] != nil { replies[id]?.append(report) }
    case .statusRead(let id, let status):
      replies[id] = nil
      take(status)
    case .status(let status): take(status)
    case .changed(let records): take(records)
    case .chunkProgress(let progress):
      for name in tracks.keys where tracks[name]?.progressed(progress) ?? false { return }
    case .ready, .told, .switched, .synced, .storeFailed, .stopped, .milestone: break
    }
  }

  /// Reports the state of all files to the node: at once after a change, at intervals while only
  /// the number of bytes changes.
  func tell() {
    let json = standing
    guard json != told else { return }
    let isLate = now.milliseconds(since: toldAt) >= Limits.vaultProgressMilliseconds
    guard isLate || told.map(VaultEngine.withoutBytes) != VaultEngine.withoutBytes(json) else {
      return
    }
    told = json
    toldAt = now
    post(.stands(json))
  }

  private static func withoutBytes(_ json: JSONValue) -> JSONValue {
    .array((json["files"]?.array ?? []).map { $0.setting("bytesDone", to: nil) })
  }

  private var standing: JSONValue {
    let entries = registry?.entries ?? []
    let files = entries.map { entry in
      (tracks[entry.name] ?? VaultTrack()).json(entry)
    }
    return ["files": .array(files)]
  }
}
