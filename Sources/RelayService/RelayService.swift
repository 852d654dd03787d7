import Glibc
import LockstepClient
import LockstepCommandLine
import LockstepEventLoop
import LockstepModel
import LockstepRelay
import LockstepRuntime
import LockstepStorage
import LockstepStoragePostgres
import LockstepWebPush
import LockstepWire

/// A relay in this process: its store, its listeners, one node per event loop, and their workers.
package struct RelayService {
  package var listen: PeerAddress
  var adminListen: PeerAddress?
  /// TLS certificate; nil for plain HTTP.
  package var certificate: ServerCertificate?
  package var store: StoreLocation
  package var bus: BusSettings
  /// Configuration of all nodes, including their number.
  package var configuration: RelayConfiguration
  /// True if the owner declares that the whole folder was restored from an older copy.
  package var isRestored: Bool
  package var log: Log
  /// Folder of the owner's pages, below `/pages/`; nil if there is none.
  package var pages: String?
  /// nil: no device is woken.
  var wakes: RelayWakes?
  /// Settings for a certificate of an authority, which takes the place of `certificate`; nil: none.
  var acme: RelayACME?

  /// Returns the path of the socket on which the relay on that store accepts its owner's commands.
  package static func controlSocket(inStore store: String) -> String {
    SocketPath.of("admin.sock", in: store)
  }

  /// Runs until a signal ends it. Throws if it cannot start.
  package func run() throws(CommandFailure) {
    do {
      try serve()
    } catch let failure as CommandFailure {
      throw failure
    } catch {
      throw CommandFailure("\(error)")
    }
  }

  private func serve() throws {
    // Before any thread starts: threads inherit the blocked signals.
    let signals = try Signals([SIGTERM, SIGINT] + RelayMainThreadHandler.signals)
    var (configuration, ownerConnections) = try prepareProcess()
    let store = try openStore(configuration.rules)
    let acme = try acme.map { try RelayACMEThread($0, log: log) }
    let certificate = acme?.certificate ?? certificate
    configuration.wakes = try wakes?.configuration(in: store.writer)
    let accounts = try accountCount(of: store)
    let metrics = StoreMetrics(accounts: accounts)
    store.observeSyncs { metrics.recordSync($0) }
    let publicListeners = try Listener.open(
      listen, listenerKind: .public, count: configuration.nodes,
      limiter: publicLimiter(configuration), certificate: certificate)
    configuration.ownURL = ownURL(of: publicListeners[0].address)
    let (admin, control) = try openOwnerListeners(ownerConnections)
    configuration.ownerURL = ownerURL(configuration, admin: admin?.address)
    let debugDump = DebugDump()
    let group = try NodeGroup<RelayNode>(count: configuration.nodes, settings(debugDump, metrics))
    let mainThreadHandler = RelayMainThreadHandler(
      of: group, nodes: configuration.nodes, debugDump: debugDump, log: log,
      startedAt: SystemClock.instant(), manager: try SystemdNotifier.ofThisProcess(log),
      status: "listening on \(url(of: publicListeners[0].address))")
    reloadOnSignal(certificate, acme, mainThreadHandler, group, configuration)
    let bus = try openBus(of: store)
    let files = try openFiles(
      of: store, configuration, keepsSessions: (bus as? PostgresBus)?.hearsStore)
    let sharesStore = bus != nil
    let measures = metrics.source(
      of: self.store, fault: store.fileFault, certificateEnd: { certificate?.end })
    let adminSessions = SharedAdminSessions()
    let shortSaves = makeShortSaves(store, configuration, metrics)
    let outbox = bus.map { BusOutbox($0.wakeup) }
    try startWorkers(of: group, on: store, outbox, metrics)
    try startFiles(of: group, on: files)
    for node in 0..<configuration.nodes {
      var configuration = configuration
      configuration.node = node
      configuration.sharesStore = sharesStore
      configuration.hosts = hosts(configuration, certificate)
      let owners = node == 0 ? [admin, control].compactMap(\.self) : []
      try group.add(
        RelayNode(
          configuration: configuration, secrets: Entropy.secrets,
          random: Entropy.seededRandom(), measures: measures, adminSessions: adminSessions),
        listeners: [publicListeners[node]] + owners,
        shortCommits: NodeRunner.ShortCommits(
          accepts: { job in shortSaves?.accepts(job) ?? false },
          perform: { job in shortSaves?.commit(job) }))
    }
    logStart(
      publicListeners[0].address, reachedAt: configuration.publicURL ?? configuration.ownURL,
      admin: admin?.address, accounts: accounts)
    var busThread: BusThread?
    if let bus, let outbox { busThread = try BusThread(bus, outbox, of: group, log: log) }
    defer { busThread?.end() }
    try acme?.start()
    defer { acme?.end() }
    log.reportEnd(try group.run(signals, mainThreadHandler.mainThreadHandler))
  }

  /// Returns nil if no other relay can share the store. Warns if notices do not arrive.
  private func openBus(of store: RelayStore) throws(StorageError) -> sending (any RelayBus)? {
    guard let opened = try store.makeBus(bus) else { return nil }
    guard let postgres = opened as? PostgresBus, !postgres.hearsStore else { return opened }
    let address = bus.address?.text ?? self.store.text
    log.warning(
      "notifications do not arrive at \(address), as behind a pooler in transaction mode, so "
        + "changes of other relays arrive some seconds later, and other relays may end uploads of "
        + "files; name the direct address of the database by --bus")
    return opened
  }

  private func openFiles(
    of store: RelayStore, _ configuration: RelayConfiguration, keepsSessions: Bool?
  ) throws(StorageError) -> sending any ChunkStore {
    try store.makeFiles(
      uploads: configuration.limits.uploads * configuration.nodes, bus: bus.address,
      keepsSessions: keepsSessions)
  }

  private func makeShortSaves(
    _ store: RelayStore, _ configuration: RelayConfiguration, _ metrics: StoreMetrics
  ) -> ShortSaves? {
    guard configuration.nodes == 1 else { return nil }
    return store.makeShortCommits().map { ShortSaves($0, metrics) }
  }

  private func openStore(_ rules: StoreRules) throws(StorageError) -> sending RelayStore {
    try RelayStore(store, rules: rules, isRestored: isRestored) { [log] in
      log.warning(
        "an older copy of the store was restored; devices bring back the newer changes that they "
          + "hold")
    }
  }

  /// Reloads the certificate on SIGHUP and sends its host names to the nodes.
  private func reloadOnSignal(
    _ certificate: ServerCertificate?, _ acme: RelayACMEThread?,
    _ mainThreadHandler: RelayMainThreadHandler, _ group: NodeGroup<RelayNode>,
    _ configuration: RelayConfiguration
  ) {
    guard let certificate else { return }
    if let acme {
      mainThreadHandler.reload = { acme.retry() }
      return
    }
    RelayCertificate.warn(of: certificate, log)
    mainThreadHandler.reload = {
      RelayCertificate.reload(certificate, log)
      let hosts = hosts(configuration, certificate)
      for node in 0..<configuration.nodes { group.post(.allowHosts(hosts), to: node) }
    }
  }

  /// Opens the owner's listeners with a limiter of their own, so that public connections cannot use
  /// up the owner's.
  private func openOwnerListeners(
    _ connections: Int
  ) throws(ListenFault) -> (admin: Listener?, control: Listener?) {
    let limiter = ConnectionLimiter(connections: connections)
    let admin = try adminListen.map { address throws(ListenFault) in
      try Listener.open(address, listenerKind: .admin, limiter: limiter)[0]
    }
    let control = try controlSocket.map { path throws(ListenFault) in
      try Listener.open(.local(path: path), listenerKind: .control, limiter: limiter)[0]
    }
    return (admin, control)
  }

  /// Nil for a database: its owner opens the database directly.
  private var controlSocket: String? {
    guard case .folder(let folder) = store else { return nil }
    return RelayService.controlSocket(inStore: folder)
  }

  private func settings(
    _ debugDump: DebugDump, _ metrics: StoreMetrics
  ) -> GroupSettings<RelayReport> {
    let log = log
    let unheard = UnheardRelays(log)
    var settings = GroupSettings<RelayReport> { node, report in
      switch report {
      case .accountEvent(let account, let event, let label):
        if event == .created { metrics.addAccounts(1) }
        if event == .removed { metrics.addAccounts(-1) }
        log.info(event, of: account, label: label)
      case .ownerSignedIn(let client):
        log.info("the owner signed in to the owner's page", [LogLine.Field("client", client.text)])
      case .storeFailed(let error): log.error("\(error)", [LogLine.Field("node", node)])
      case .disk(isLow: true, let free):
        log.error(
          "the store's disk is nearly full: no new data is accepted until space is free",
          [LogLine.Field("node", node), LogLine.Field("free", Int(clamping: free))])
      case .disk(isLow: false, let free):
        log.info(
          "the store's disk has free space again",
          [LogLine.Field("node", node), LogLine.Field("free", Int(clamping: free))])
      case .storeRecovered: log.info("the store works again", [LogLine.Field("node", node)])
      case .unheardRelays(let areThere): unheard.report(areThere, by: node)
      case .undeclaredProxy(let peer):
        log.warning(
          "requests from \(peer.text) have the header fields of a proxy; if it is yours, start "
            + "with --trust-proxy \(peer.text)", [LogLine.Field("peer", peer.text)])
      case .unknownHost(let refusal): log.warning("a request was refused: \(refusal.detail)")
      case .pushRejected(let service, let status):
        log.warning(
          "the push service \(service) rejects pushes (status \(status)), and its devices are not "
            + "woken; update the relay, or report it")
      case .pushKeyRefused(let service, let status):
        log.error(
          "the push service \(service) refuses the relay's key for several accounts (status "
            + "\(status)). Some services want --wake-contact; if the store was replaced, its key "
            + "was too, and devices subscribe again when their app is opened")
      case .answered(let note): log.debug("request", Self.fields(of: note))
      case .state(let state): debugDump.storeAnswer(node, state)
      case .status, .stopped: break
      }
    }
    settings.screen = AddressScreen { address, allowsLocal in
      AddressScope(address).refusal(allowsLocal: allowsLocal)
    }
    let limits = configuration.limits
    settings.limits.handshakesAtOnce = limits.handshakesAtOnce
    settings.limits.handshakeMilliseconds = Int64(limits.handshakeMilliseconds)
    settings.limits.stalledMilliseconds = Int64(limits.stalledMilliseconds)
    settings.isLastReport = { $0 == .stopped }
    settings.notice = { log.warning("\($0)") }
    if log.level == .trace { settings.trace = { log.trace($0) } }
    return settings
  }

  private static func fields(of note: AccessLogEntry) -> Log.Fields {
    [
      LogLine.Field("method", note.method), LogLine.Field("path", note.path),
      LogLine.Field("status", note.status), LogLine.Field("milliseconds", note.milliseconds),
      LogLine.Field("bytes", note.bytes), LogLine.Field("peer", note.peer.text),
      LogLine.Field("client", note.client.text),
    ]
  }

  private func startWorkers(
    of group: NodeGroup<RelayNode>, on store: sending RelayStore, _ outbox: BusOutbox?,
    _ metrics: StoreMetrics
  ) throws {
    let reader = try store.makeReader()
    try store.startLogThread()
    let log = log
    try group.addCommitWorker {
      NodeGroup<RelayNode>.CommitWorker.Context(
        portions: StoreWork.commitPortions, weigh: StoreWork.weight(of:)
      ) { assignments, moment in
        defer {
          if let outbox {
            let announcements = store.takeAnnouncements()
            outbox.add(announcements)
            for account in announcements.sleeping { group.broadcast(.sleepersMissed(account)) }
          }
        }
        return metrics.measureCommit(assignments.count) {
          StoreWork.commit(assignments.map(\.job), on: store.writer, wall: moment.wall)
        }.map { ($0.outcome, $0.news?.durable(at: SystemClock.instant())) }
      } performIdleWork: {
        do throws(StorageError) {
          try store.writer.performMaintenance()
        } catch {
          log.warning("\(error)")
        }
      }
    }
    try group.addReadWorker {
      NodeGroup<RelayNode>.ReadWorker.Context(
        portions: StoreWork.portions, weigh: StoreWork.weight(of:)
      ) { assignments, _ in
        reader.readTogether {
          assignments.map { assignment in
            let outcome = metrics.measureRead {
              StoreWork.read(assignment.job, on: reader)
            } took: {
              $0.recordReadDuration(nanoseconds: $1)
            }
            return (outcome, nil)
          }
        }
      }
    }
  }

  /// Starts the files worker. Chunks and the owner's pages have their own thread, so that other
  /// requests do not wait for them.
  private func startFiles(
    of group: NodeGroup<RelayNode>, on files: sending any ChunkStore
  ) throws {
    let folder = pages
    try group.addFileWorker {
      let pages = folder.map { OwnerPages($0) }
      return NodeGroup<RelayNode>.FileWorker.Context(
        portions: StoreWork.portions, weigh: StoreWork.weight(of:)
      ) { assignments, _ in
        assignments.map { (StoreWork.perform($0.job, on: files, pages: pages), nil) }
      }
    }
  }

  private func accountCount(of store: RelayStore) throws(StorageError) -> Int {
    guard case .count(let count) = try store.writer.read(.accountCount) else { return 0 }
    return count
  }

  /// Returns the hosts that the owner lists, and the names of this machine and of the certificate.
  private func hosts(
    _ configuration: RelayConfiguration, _ certificate: ServerCertificate?
  ) -> AllowedHosts {
    let own = OwnHosts.names(
      hostname: OwnHosts.hostname, listen: [listen, adminListen].compactMap(\.self))
    let names = acme?.configuration.names ?? []
    return configuration.hosts.adding(own + names + (certificate?.names ?? []))
  }

  private var isSecure: Bool { certificate != nil || acme != nil }

  private func url(of address: PeerAddress) -> String {
    "\(isSecure ? "https" : "http")://\(address.text)"
  }

  /// Returns the URL by which devices most probably reach the relay if its owner has set none: by
  /// the first name of the certificate, or by the address of this machine in its network.
  private func ownURL(of address: PeerAddress) -> String? {
    guard case .host(let host, let port) = address else { return nil }
    let names = acme?.configuration.names ?? certificate?.names ?? []
    let name = names.first { !$0.contains("*") }
    let isWildcard = host == "0.0.0.0" || host == "::"
    let reached = name ?? (isWildcard ? NetworkAddress.ofThisMachine() ?? "127.0.0.1" : host)
    return RelayAddress(host: reached, port: port, isSecure: isSecure).link
  }

  /// Returns the URL of the listener that serves the owner's page; nil if none does.
  private func ownerURL(_ configuration: RelayConfiguration, admin: PeerAddress?) -> String? {
    if configuration.hasPublicOwnerPage {
      return configuration.publicURL ?? configuration.ownURL
    }
    guard case .host(let host, let port) = admin else { return nil }
    let isWildcard = host == "0.0.0.0" || host == "::"
    let reached = isWildcard ? NetworkAddress.ofThisMachine() ?? "127.0.0.1" : host
    return RelayAddress(host: reached, port: port).link
  }

  private func logStart(
    _ address: PeerAddress, reachedAt publicURL: String?, admin: PeerAddress?, accounts: Int
  ) {
    if !isSecure, let warning = PlainAddress.warning(ofListening: address) {
      log.warning("\(warning)")
    }
    if let admin {
      if let warning = PlainAddress.warning(ofAdmin: admin) { log.warning("\(warning)") }
      let url = "http://\(admin.text)"
      log.announce(
        "metrics and health", [LogLine.Field("url", url)],
        block: "lockstep relay: metrics and health on \(url)")
    }
    if !configuration.isOpen && accounts == 0 {
      let command = "lockstep account create NAME --store \(store.text)"
      log.announce(
        "there is no account yet; create the first", [LogLine.Field("command", command)],
        block: "lockstep relay: there is no account yet. Create the first with\n  \(command)")
    }
    var isLocal = true
    if case .host(let host, _) = address { isLocal = PlainAddress.isLoopback(host) }
    if configuration.isOpen, !isLocal {
      log.warning(
        "whoever reaches this address can make an account (--open); without it, only you can: "
          + "lockstep account create NAME")
    }
    if case .host(_, let port) = address, isLocal, configuration.publicURL == nil {
      let advice = """
        only programs on this machine can reach it. For a phone in the same network, start it with \
        --listen 0.0.0.0:\(port) and use this machine's own address on the phone.
        """
      log.announce(advice, block: "lockstep relay: " + advice)
    }
    let url = url(of: address)
    log.announce(
      "listening", [LogLine.Field("url", url)], block: "lockstep relay: listening on \(url)")
    if let publicURL, publicURL != url {
      log.announce(
        "for devices", [LogLine.Field("url", publicURL)],
        block: "lockstep relay: devices and browsers reach it at \(publicURL)")
    }
  }

  private func publicLimiter(_ configuration: RelayConfiguration) -> ConnectionLimiter {
    ConnectionLimiter(
      connections: configuration.limits.connections,
      connectionsPerNetwork: configuration.limits.connectionsPerAddress,
      exempt: configuration.exempt + configuration.trustedProxies)
  }

  /// Sets up memory allocation and the limit of open files. Must run before any thread starts.
  private func prepareProcess() throws(CommandFailure) -> (RelayConfiguration, owner: Int) {
    Heap.mapLargeBlocks()
    let share = try allocateDescriptors(OpenFiles.raiseLimit() - (acme?.descriptors ?? 0))
    return (share.configuration, share.ownerConnections)
  }

  /// Fits the limits to the available descriptors, and logs if that is less than was asked for.
  private func allocateDescriptors(_ descriptors: Int) throws(CommandFailure) -> DescriptorShare {
    let wakesDevices = wakes != nil
    guard
      let share = DescriptorShare(
        of: descriptors, for: configuration, wakesDevices: wakesDevices)
    else {
      throw CommandFailure(
        "this process may open \(descriptors) files, and the relay needs at least "
          + "\(DescriptorShare.fewest(for: configuration, wakesDevices: wakesDevices)); raise that "
          + "limit (ulimit -n, LimitNOFILE)")
    }
    guard let advice = share.advice else { return share }
    // A warning only if the owner set the number; the default is only a ceiling.
    let isAskedFor = configuration.limits.connections != Limits.connections
    if isAskedFor || share.isSmall { log.warning(advice) } else { log.debug(advice) }
    return share
  }
}

extension Log {
  /// Logs a change of an account, with the owner's name for it.
  fileprivate func info(_ event: AccountEvent, of account: AccountID, label: String) {
    var fields: Fields = [.account(account)]
    if !label.isEmpty { fields.append(LogLine.Field("label", label)) }
    switch event {
    case .created: info("an account was created", fields)
    case .planChanged: info("an account has a new plan", fields)
    case .removed: info("an account was removed", fields)
    case .deviceJoined(let device): info("a device joined", [.device(device)] + fields)
    case .deviceRevoked(let device): info("a device was revoked", [.device(device)] + fields)
    }
  }
}

extension LogLine.Field {
  package static func account(_ account: AccountID) -> LogLine.Field {
    .init("account", account.text)
  }
  package static func device(_ device: DeviceID) -> LogLine.Field { .init("device", device.text) }
}

/// Tasks of the relay's main thread while the loops run: handles signals, and reports the state of
/// the loops on request.
final class RelayMainThreadHandler {
  private let group: NodeGroup<RelayNode>
  private let nodes: Int
  private let debugDump: DebugDump
  private let log: Log
  private let startedAt: Instant
  /// Nil if no service manager wants to be notified.
  private let manager: SystemdNotifier?
  private var isReadySent = false
  private var heap = HeapWatch(slackBytes: Limits.heapSlackBytes)
  private var nextHeapCheck: Instant
  /// Status that the manager shows for a running relay.
  private let status: String
  /// Reads again what may change while the relay runs (SIGHUP); nil if there is nothing.
  var reload: (() -> Void)?

  init(
    of group: NodeGroup<RelayNode>, nodes: Int, debugDump: DebugDump, log: Log, startedAt: Instant,
    manager: SystemdNotifier?, status: String
  ) {
    self.group = group
    self.nodes = nodes
    self.debugDump = debugDump
    self.log = log
    self.startedAt = startedAt
    self.manager = manager
    self.status = status
    nextHeapCheck = startedAt.advanced(milliseconds: Limits.heapCheckMilliseconds)
  }

  /// Signals that are handled besides SIGTERM and SIGINT.
  static let signals = [SIGHUP, SIGUSR1]

  var mainThreadHandler: MainThreadHandler {
    MainThreadHandler(handleSignal: { self.handleSignal($0) }, tick: { self.tick(at: $0) })
  }

  private func handleSignal(_ number: Int32) {
    switch number {
    case SIGTERM, SIGINT: manager?.notifyStopping()
    case SIGHUP:
      if let manager { manager.notifyReload { reloadNow() } } else { reloadNow() }
    case SIGUSR1: requestState(at: SystemClock.instant())
    default: break
    }
  }

  private func reloadNow() {
    guard let reload else {
      log.info("SIGHUP: there is nothing to reload; other settings need a restart")
      return
    }
    reload()
  }

  private func requestState(at now: Instant) {
    guard debugDump.begin(nodes: nodes, at: now) else { return }
    group.pingThreads()
    for node in 0..<nodes { group.post(.reportState, to: node) }
  }

  private func tick(at now: Instant) -> Instant? {
    if let findings = debugDump.findings(busyLanes: group.unresponsiveThreads.lanes, at: now) {
      let (uptime, process) = (now.milliseconds(since: startedAt), getpid())
      log.announce(
        "state", findings.fields(uptime: uptime, process: process),
        block: findings.block(uptime: uptime, process: process))
    }
    // The loops run: all listeners are served from now on.
    if !isReadySent {
      manager?.notifyReady(status)
      isReadySent = true
    }
    if nextHeapCheck <= now {
      if heap.shouldTrim(freeBytes: Heap.freeBytes) { Heap.trim() }
      nextHeapCheck = now.advanced(milliseconds: Limits.heapCheckMilliseconds)
    }
    let watch = manager?.checkWatchdog(at: now, unresponsive: group.unresponsiveThreads) {
      group.pingThreads()
    }
    return [debugDump.nextPoll(at: now), watch, nextHeapCheck].compactMap(\.self).min()
  }
}
