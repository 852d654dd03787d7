import Glibc
import LockstepEventLoop
import LockstepModel
import LockstepRelay
import LockstepStorage
import LockstepWire

/// A relay in this process: its store, its listeners, one node per event loop, and their workers.
struct RelayService {
  var listen: PeerAddress
  var adminListen: PeerAddress?
  /// TLS certificate; nil for plain HTTP.
  var certificate: ServerCertificate?
  var store: StorePlace
  /// Configuration of all nodes, including their number.
  var configuration: RelayConfiguration
  /// True if the owner declares that the whole folder was restored from an older copy.
  var isRestored: Bool
  var log: Log

  /// Returns the path of the socket on which the relay on that store accepts its owner's commands.
  static func controlSocket(inStore store: String) -> String {
    SocketPath.of("admin.sock", in: store)
  }

  /// Runs until a signal ends it. Throws if it cannot start.
  func run() throws(CommandFailure) {
    do {
      // Before any thread starts: threads inherit the blocked signals.
      let signals = try Signals([SIGTERM, SIGINT] + RelayMainThreadHandler.signals)
      let (configuration, ownerConnections) = try prepareProcess()
      let store = try RelayStore(
        self.store, rules: configuration.rules, isRestored: isRestored
      ) { [log] in
        log.warning(
          "an older copy of the store was put back; devices bring back what they hold of the rest")
      }
      let accounts = try accountCount(of: store)
      let meter = StoreMetrics(accounts: accounts)
      store.observeSyncs { meter.synced($0) }
      let front = try Listener.open(
        listen, door: .front, count: configuration.nodes, gate: frontGate(configuration),
        certificate: certificate)
      let (admin, control) = try ownersDoors(ownerConnections)
      let board = DebugDump()
      let group = try NodeGroup<RelayNode>(count: configuration.nodes, settings(board, meter))
      let mainThreadHandler = RelayMainThreadHandler(
        of: group, nodes: configuration.nodes, board: board, log: log,
        startedAt: SystemClock.instant(), manager: try SystemdNotifier.ofThisProcess(log),
        status: "listening on \(url(of: front[0].address))")
      attend(to: certificate, mainThreadHandler, group, configuration)
      let files = try store.makeFiles(
        uploads: configuration.limits.uploads * configuration.nodes)
      let bus = try store.makeBus()
      let sharesStore = bus != nil
      let measures = meter.source(of: self.store, fault: store.fileFault)
      try startWorkers(of: group, on: store, meter)
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
            random: Entropy.seededRandom(), measures: measures),
          listeners: [front[node]] + owners)
      }
      announce(front[0].address, admin: admin?.address, accounts: accounts)
      var busThread: BusThread?
      if let bus { busThread = try BusThread(bus, of: group, log: log) }
      defer { busThread?.end() }
      let endings = try group.run(signals, mainThreadHandler.mainThreadHandler)
      if endings.contains(where: { $0 != .done }) {
        log.warning("stopped before all that was begun had ended")
      }
      log.info("stopped")
    } catch let failure as CommandFailure {
      throw failure
    } catch {
      throw CommandFailure("\(error)")
    }
  }

  /// Reloads the certificate on SIGHUP and sends its host names to the nodes.
  private func attend(
    to certificate: ServerCertificate?, _ mainThreadHandler: RelayMainThreadHandler,
    _ group: NodeGroup<RelayNode>, _ configuration: RelayConfiguration
  ) {
    guard let certificate else { return }
    RelayCertificate.warn(of: certificate, log)
    mainThreadHandler.reload = {
      RelayCertificate.reload(certificate, log)
      let hosts = hosts(configuration, certificate)
      for node in 0..<configuration.nodes { group.post(.allowHosts(hosts), to: node) }
    }
  }

  /// Opens the owner's listeners with a limiter of their own, so that front connections cannot use
  /// up the owner's.
  private func ownersDoors(
    _ connections: Int
  ) throws(ListenFault) -> (admin: Listener?, control: Listener?) {
    let gate = ConnectionLimiter(connections: connections)
    let admin = try adminListen.map { address throws(ListenFault) in
      try Listener.open(address, door: .admin, gate: gate)[0]
    }
    let control = try controlSocket.map { path throws(ListenFault) in
      try Listener.open(.local(path: path), door: .control, gate: gate)[0]
    }
    return (admin, control)
  }

  /// Nil for a database: its owner opens the database directly.
  private var controlSocket: String? {
    guard case .folder(let folder) = store else { return nil }
    return RelayService.controlSocket(inStore: folder)
  }

  private func settings(_ board: DebugDump, _ meter: StoreMetrics) -> GroupSettings<RelayReport> {
    let log = log
    var settings = GroupSettings<RelayReport> { node, report in
      switch report {
      case .accountMade(let account):
        meter.accounts(change: 1)
        log.info("an account was made", [.account(account)])
      case .planChanged(let account): log.info("an account has a new plan", [.account(account)])
      case .accountRemoved(let account):
        meter.accounts(change: -1)
        log.info("an account was removed", [.account(account)])
      case .deviceJoined(let account, let device):
        log.info("a device joined", [.device(device), .account(account)])
      case .deviceRevoked(let account, let device):
        log.info("a device was revoked", [.device(device), .account(account)])
      case .storeFailed(let error): log.error("\(error)", [LogLine.Field("node", node)])
      case .disk(isLow: true, let free):
        log.error(
          "the store's disk is nearly full: nothing new is taken until there is room",
          [LogLine.Field("node", node), LogLine.Field("free", Int(clamping: free))])
      case .disk(isLow: false, let free):
        log.info(
          "the store's disk has room again",
          [LogLine.Field("node", node), LogLine.Field("free", Int(clamping: free))])
      case .storeRecovered: log.info("the store works again", [LogLine.Field("node", node)])
      case .undeclaredProxy(let peer):
        log.warning(
          "requests from \(peer.text) say that they are passed on; if that is your proxy, start with "
            + "--trust-proxy \(peer.text)", [LogLine.Field("peer", peer.text)])
      case .unknownHost(let refusal): log.warning("a request was refused: \(refusal.detail)")
      case .answered(let note): log.debug("request", Self.fields(of: note))
      case .state(let state): board.answered(node, state)
      case .status, .stopped: break
      }
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

  private static func fields(of note: AccessNote) -> Log.Fields {
    [
      LogLine.Field("method", note.method), LogLine.Field("path", note.path),
      LogLine.Field("status", note.status), LogLine.Field("milliseconds", note.milliseconds),
      LogLine.Field("bytes", note.bytes), LogLine.Field("peer", note.peer.text),
      LogLine.Field("client", note.client.text),
    ]
  }

  private func startWorkers(
    of group: NodeGroup<RelayNode>, on store: sending RelayStore, _ meter: StoreMetrics
  ) throws {
    let reader = try store.makeReader()
    try store.workAside()
    let log = log
    try group.work(on: .commits) {
      NodeGroup<RelayNode>.WorkerContext(
        portions: StoreWork.commitPortions, weigh: StoreWork.weight(of:)
      ) { assignments, moment in
        meter.commit(assignments.count) {
          StoreWork.commit(assignments.map(\.job), on: store.writer, wall: moment.wall)
        }.map { ($0.outcome, $0.news?.durable(at: SystemClock.instant())) }
      } rest: {
        do throws(StorageError) {
          try store.writer.rest()
        } catch {
          log.warning("\(error)")
        }
      }
    }
    try group.work(on: .reads) {
      NodeGroup<RelayNode>.WorkerContext(
        portions: StoreWork.portions, weigh: StoreWork.weight(of:)
      ) { assignments, _ in
        assignments.map { assignment in
          let outcome = meter.fetch {
            StoreWork.read(assignment.job, on: reader)
          } took: {
            $0.wasRead(inNanoseconds: $1)
          }
          return (outcome, nil)
        }
      }
    }
  }

  /// Starts the files worker. Chunks have their own thread, so that other requests do not wait for
  /// them.
  private func startFiles(
    of group: NodeGroup<RelayNode>, on files: sending any ChunkStore
  ) throws {
    try group.work(on: .files) {
      NodeGroup<RelayNode>.WorkerContext(
        portions: StoreWork.portions, weigh: StoreWork.weight(of:)
      ) { assignments, _ in
        assignments.map { (StoreWork.chunk($0.job, on: files), nil) }
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
    return configuration.hosts.adding(own + (certificate?.names ?? []))
  }

  private func url(of address: PeerAddress) -> String {
    "\(certificate == nil ? "http" : "https")://\(address.text)"
  }

  private func announce(_ address: PeerAddress, admin: PeerAddress?, accounts: Int) {
    if certificate == nil, let warning = PlainAddress.warning(ofListening: address) {
      log.warning("\(warning)")
    }
    if let admin {
      if let warning = PlainAddress.warning(ofAdmin: admin) { log.warning("\(warning)") }
      let url = "http://\(admin.text)"
      log.tell(
        "metrics and health", [LogLine.Field("url", url)],
        block: "lockstep relay: metrics and health on \(url)")
    }
    if !configuration.isOpen && accounts == 0 {
      let command = "lockstep account create NAME --store \(store.text)"
      log.tell(
        "there is no account yet; make the first", [LogLine.Field("command", command)],
        block: "lockstep relay: there is no account yet. Make the first with\n  \(command)")
    }
    if case .host(let host, let port) = address, host.hasPrefix("127.") || host == "::1" {
      let advice = """
        only programs on this machine can reach it. For a phone in the same network, start it with \
        --listen 0.0.0.0:\(port) and use this machine's own address there.
        """
      log.tell(advice, block: "lockstep relay: " + advice)
    }
    let url = url(of: address)
    log.tell(
      "listening", [LogLine.Field("url", url)], block: "lockstep relay: listening on \(url)")
  }

  private func frontGate(_ configuration: RelayConfiguration) -> ConnectionLimiter {
    ConnectionLimiter(
      connections: configuration.limits.connections,
      connectionsPerNetwork: configuration.limits.connectionsPerAddress,
      exempt: configuration.exempt + configuration.trustedProxies)
  }

  /// Sets up memory allocation and the limit of open files. Must run before any thread starts.
  private func prepareProcess() throws(CommandFailure) -> (RelayConfiguration, owner: Int) {
    Heap.mapLargeBlocks()
    let share = try shareOfDescriptors(OpenFiles.raiseLimit())
    return (share.configuration, share.ownerConnections)
  }

  /// Fits the limits to the available descriptors, and logs if that is less than was asked for.
  private func shareOfDescriptors(_ descriptors: Int) throws(CommandFailure) -> DescriptorShare {
    guard let share = DescriptorShare(of: descriptors, for: configuration) else {
      throw CommandFailure(
        "this process may open \(descriptors) files, and the relay needs "
          + "\(DescriptorShare.fewest(for: configuration)) at least; raise that limit (ulimit -n, "
          + "LimitNOFILE)")
    }
    guard let words = share.words else { return share }
    // A warning only if the owner set the number; the default is only a ceiling.
    let isAskedFor = configuration.limits.connections != Limits.connections
    if isAskedFor || share.isSmall { log.warning(words) } else { log.debug(words) }
    return share
  }
}

extension LogLine.Field {
  static func account(_ account: AccountID) -> LogLine.Field { .init("account", account.text) }
  static func device(_ device: DeviceID) -> LogLine.Field { .init("device", device.text) }
}

extension PeerAddress {
  var text: String {
    switch self {
    case .host(let host, let port), .secure(let host, let port):
      host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    case .local(let path): path
    }
  }
}
