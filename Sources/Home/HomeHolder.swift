import Lockstep
import LockstepApps
import LockstepClient
import LockstepCommandLine
import LockstepEventLoop
import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepRuntime
import LockstepSealing
import LockstepStorage
import LockstepStorageSQLite
import LockstepWire

/// Holds a home for as long as it runs: its store, its agent on a separate thread, the mirror of
/// its files, and the socket for requests of commands, including those of this process.
package final class HomeHolder {
  private let group: NodeGroup<HomeNode>
  private let mirror: VaultMirror
  private let names: HomeNames
  private let wakes: WakeKeeper?
  private let lock: DirectoryLock
  private let log: Log

  /// Returns nil if another process holds the home.
  ///
  /// - Parameters:
  ///   - rules: Merge rules of a further zone, which the home keeps from now on.
  ///   - wakes: Registers the device for wakes, and lets it sleep.
  package static func hold(
    _ folder: HomeFolder, _ configuration: AgentConfiguration = AgentConfiguration(), log: Log,
    rules: RuleTable? = nil, warnsOfPlainHTTP: Bool = false, wakes: WakeOptions? = nil
  ) throws(CommandFailure) -> HomeHolder? {
    guard
      let lock = try CommandFailure.wrap({ () throws(HomeFault) in try folder.lock() })
    else { return nil }
    do {
      let store = try SQLiteReplicaStore(home: folder.path)
      guard let identity = try store.identity() else {
        throw CommandFailure(
          localized(
            "the home {home} has not joined an account; see lockstep agent join "
              + "--help", ["home": folder.path]))
      }
      if warnsOfPlainHTTP { warn(ofRelay: identity.relay, log) }
      let mail = try Mailbox<VaultMessage>(isBlocking: true)
      let trust = try HomeTrust.of(folder).trust
      let helpers = Locked(BackgroundThreads())
      let settings = settings(of: folder, mail, helpers, trust, log)
      var homeRules = try HomeRules(of: folder)
      if let rules { try homeRules.store(rules) }
      let apps = AppCatalog.all(vaultSeal: VaultKeys.source(in: folder))
      var replica = Replica(store: store, apps: apps + homeRules.apps)
      try HomeKeys.makeDeviceKey(&replica)
      let group = try HomeGroup.make(
        folder, store: store, identity: identity, apps: apps + homeRules.apps,
        appZones: apps.map(\.zone) + [KeyRing.zone], configuration: configuration, settings)
      let scope = identity.credentials.scope
      let mirror = VaultMirror(folder, mail, scope: scope, log: log) { group.post($0) }
      let keeper = HomeNames(identity, trust, log: log) { group.post($0) }
      let wakeKeeper = try wakes.map { options throws(CommandFailure) in
        try WakeKeeper(folder, identity, trust, options, log: log) { group.post($0) }
      }
      helpers.withLock {
        $0 = BackgroundThreads(names: keeper, wakes: wakeKeeper) { group.post($0) }
      }
      return HomeHolder(
        group: group, mirror: mirror, names: keeper, wakes: wakeKeeper, lock: lock, log: log)
    } catch let failure as CommandFailure {
      throw failure
    } catch {
      throw CommandFailure(translated("\(error)"))
    }
  }

  private static func settings(
    of folder: HomeFolder, _ mail: Mailbox<VaultMessage>, _ helpers: Locked<BackgroundThreads>,
    _ trust: Trust, _ log: Log
  ) -> GroupSettings<HomeReport> {
    var settings = GroupSettings<HomeReport> { _, report in
      switch report {
      case .failed(let error): log.error("\(error)")
      case .stopped: mail.post(.stop)
      case .agentReport(let report):
        mail.post(.agentReport(report))
        let helpers = helpers.withLock { $0 }
        helpers.names?.handleReport(report)
        helpers.wakes?.handleReport(report)
      case .viewRequested:
        let helpers = helpers.withLock { $0 }
        helpers.names?.recordView()
        helpers.wakes?.recordView()
      case .mirrorRequest(let id, let request): mail.post(.request(id, request))
      case .wakesRequest(let id, let request):
        helpers.withLock { $0 }.handle(request, of: id, folder)
      }
    }
    settings.isLastReport = { report in
      if case .stopped = report { true } else { false }
    }
    settings.notice = { log.warning("\($0)") }
    settings.trust = trust
    if log.level == .trace { settings.trace = { log.trace($0) } }
    return settings
  }

  /// Threads that work beside the agent, once there are any.
  private struct BackgroundThreads: Sendable {
    var names: HomeNames?
    var wakes: WakeKeeper?
    var post: (@Sendable (HomeOrder) -> Void)?

    func handle(_ request: JSONValue, of client: ConnectionID, _ folder: HomeFolder) {
      if let wakes { return wakes.post(request, of: client) }
      // Not woken: what a `WakeAgent` reads as `none`.
      if request == WakeRequest.state { return answer(client, .success(.null)) }
      answer(
        client,
        .failure(
          localized(
            "this home's device is not woken by pushes; start lockstep agent run --wake --home "
              + "{home}", ["home": folder.path])))
    }

    private func answer(_ client: ConnectionID, _ reply: HomeReply) {
      post?(.answer(client, reply))
    }
  }

  private static func warn(ofRelay url: String, _ log: Log) {
    guard let relay = RelayAddress(url: url), let warning = PlainAddress.warning(ofRelay: relay)
    else { return }
    log.warning("\(warning)")
  }

  private init(
    group: NodeGroup<HomeNode>, mirror: VaultMirror, names: HomeNames, wakes: WakeKeeper?,
    lock: DirectoryLock, log: Log
  ) {
    self.group = group
    self.names = names
    self.wakes = wakes
    self.log = log
    self.mirror = mirror
    self.lock = lock
  }

  /// Runs until a signal arrives. Reports its state to the service manager that started it, if any.
  package func run(until signals: Signals) throws(CommandFailure) {
    try mirror.start()
    defer { mirror.stop() }
    names.start()
    defer { names.stop() }
    try wakes?.start()
    defer { wakes?.stop() }
    _ = try CommandFailure.wrap { () throws(SystemFault) in
      try group.run(signals, mainThreadHandler(try SystemdNotifier.ofThisProcess(log)))
    }
  }

  private func mainThreadHandler(_ manager: SystemdNotifier?) -> MainThreadHandler {
    guard let manager else { return MainThreadHandler() }
    var isReadySent = false
    let group = group
    return MainThreadHandler(
      handleSignal: { _ in manager.notifyStopping() },
      tick: { now in
        if !isReadySent { manager.notifyReady("keeping the home in sync") }
        isReadySent = true
        return manager.checkWatchdog(at: now, unresponsive: group.unresponsiveThreads) {
          group.pingThreads()
        }
      })
  }

  /// Runs on separate threads until `stop`.
  package func start() throws(CommandFailure) {
    try CommandFailure.wrap { () throws(SystemFault) in
      try group.start()
    }
    try mirror.start()
  }

  /// Completes the store's pending work and releases the home.
  package func stop() throws(CommandFailure) {
    mirror.stop()
    group.stop()
    _ = try CommandFailure.wrap { () throws(SystemFault) in
      try group.waitForEnd()
    }
  }
}
