import Glibc
import LockstepCommandLine
import LockstepEventLoop
import LockstepGateway
import LockstepModel
import LockstepRelayService
import LockstepRuntime

/// A gateway in this process: its listeners and its node.
struct GatewayService {
  var listen: PeerAddress
  var adminListen: PeerAddress?
  /// TLS certificate; nil for plain HTTP.
  var certificate: ServerCertificate?
  var configuration: GatewayConfiguration
  /// Authorities that are trusted for APNs.
  var trust: Trust
  var log: Log

  /// Runs until a signal ends it. Throws if it cannot start.
  func run() throws(CommandFailure) {
    do {
      // Before any thread starts: threads inherit the blocked signals.
      let signals = try Signals([SIGTERM, SIGINT, SIGHUP])
      Heap.mapLargeBlocks()
      OpenFiles.raiseLimit()
      let listener = try Listener.open(
        listen, listenerKind: .public,
        limiter: ConnectionLimiter(
          connections: GatewayLimits.connections,
          connectionsPerNetwork: GatewayLimits.connectionsPerNetwork,
          exempt: configuration.trustedProxies),
        certificate: certificate)[0]
      let admin = try adminListen.map { address throws(ListenFault) in
        try Listener.open(
          address, listenerKind: .admin,
          limiter: ConnectionLimiter(connections: GatewayLimits.ownerConnections))[0]
      }
      let group = try NodeGroup<GatewayNode>(count: 1, settings)
      try group.add(
        GatewayNode(configuration), listeners: [listener, admin].compactMap(\.self))
      logStart(listener.address, admin: admin?.address)
      log.reportEnd(try group.run(signals, try mainThreadHandler(of: group, listener.address)))
    } catch let failure as CommandFailure {
      throw failure
    } catch {
      throw CommandFailure("\(error)")
    }
  }

  private var settings: GroupSettings<GatewayReport> {
    let log = log
    var settings = GroupSettings<GatewayReport> { _, report in
      switch report {
      case .apns(let report): GatewayService.write(report, to: log)
      case .stopped: break
      }
    }
    settings.trust = trust
    settings.isLastReport = { $0 == .stopped }
    settings.notice = { log.warning("\($0)") }
    return settings
  }

  private static func write(_ report: APNsReport, to log: Log) {
    switch report {
    case .connected(let environment):
      log.info("connected to APNs", [field(environment)])
    case .lost(let environment, let reason, let milliseconds):
      log.warning(
        "the connection to APNs is lost: \(reason)",
        [field(environment), LogLine.Field("retryMilliseconds", milliseconds)])
    case .goingAway(let environment, let code):
      log.info(
        "APNs ends the connection", [field(environment), LogLine.Field("code", Int(code))])
    case .tooManyTokens(let environment, let milliseconds):
      log.error(
        "APNs has had too many provider tokens of the team; check that no other server makes them "
          + "with this key, or use a key of its own for each",
        [field(environment), LogLine.Field("pauseMilliseconds", milliseconds)])
    case .clockWrong(let environment):
      log.error(
        "APNs refuses a new provider token as expired; check this machine's clock",
        [field(environment)])
    case .notAuthorized(let environment, let reason):
      log.error(
        "APNs does not accept the key; check --apns-key, --key-id, --team and --topic",
        [field(environment), LogLine.Field("reason", reason)])
    case .rejected(let environment, let status, let reason):
      log.error(
        "APNs refuses a push; update the gateway, or report the reason to its makers",
        [
          field(environment), LogLine.Field("status", status), LogLine.Field("reason", reason),
        ])
    }
  }

  private static func field(_ environment: APNsEnvironment) -> LogLine.Field {
    LogLine.Field("environment", environment.name)
  }

  private func mainThreadHandler(
    of group: NodeGroup<GatewayNode>, _ address: PeerAddress
  ) throws(SystemFault) -> MainThreadHandler {
    let (log, certificate) = (log, certificate)
    let manager = try SystemdNotifier.ofThisProcess(log)
    var isReady = false
    return MainThreadHandler(
      handleSignal: { number in
        switch number {
        case SIGTERM, SIGINT: manager?.notifyStopping()
        case SIGHUP:
          guard let certificate else { return log.info("SIGHUP: there is nothing to reload") }
          if let manager {
            manager.notifyReload { RelayCertificate.reload(certificate, log) }
          } else {
            RelayCertificate.reload(certificate, log)
          }
        default: break
        }
      },
      tick: { now in
        if !isReady { manager?.notifyReady("listening on \(address.text)") }
        isReady = true
        return manager?.checkWatchdog(at: now, unresponsive: group.unresponsiveThreads) {
          group.pingThreads()
        }
      })
  }

  private func logStart(_ address: PeerAddress, admin: PeerAddress?) {
    if let certificate { RelayCertificate.warn(of: certificate, log) }
    if let admin {
      if let warning = PlainAddress.warning(ofAdmin: admin) { log.warning("\(warning)") }
      let url = "http://\(admin.text)"
      log.announce(
        "metrics and health", [LogLine.Field("url", url)],
        block: "lockstep gateway: metrics and health on \(url)")
    }
    let url = "\(certificate == nil ? "http" : "https")://\(address.text)"
    log.announce(
      "listening", [LogLine.Field("url", url), LogLine.Field("public", configuration.origin)],
      block: "lockstep gateway: listening on \(url) for \(configuration.origin)")
  }
}
