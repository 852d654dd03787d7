import Lockstep
import LockstepACME
import LockstepCommandLine
import LockstepEventLoop
import LockstepModel
import LockstepRuntime

/// Client of an authority in a relay's process: a loop of its own, so that no client of the relay
/// waits for it, and the relay's certificate, which it replaces.
final class RelayACMEThread {
  let certificate: ServerCertificate
  private let settings: RelayACME
  private let folder: RelayACMEFolder
  private let stored: ACMENode.Stored
  private let log: Log
  private var group: NodeGroup<ACMENode>?

  /// Opens the folder and its certificate. Starts nothing.
  init(_ settings: RelayACME, log: Log) throws(CommandFailure) {
    self.settings = settings
    self.log = log
    let folder = try RelayACMEFolder(settings.folder, settings.configuration)
    self.folder = folder
    stored = try folder.stored(log)
    let isMissing = stored.certificate == nil
    certificate = try CommandFailure.wrap { () throws(CertificateFault) in
      try ServerCertificate(managed: folder.certificatePath, isMissing: isMissing)
    }
  }

  /// Names that the certificate has, or will have.
  var names: [String] { settings.configuration.names }

  /// Starts the loop. Call it once, before any thread of the relay uses the certificate.
  func start() throws {
    var options = GroupSettings<ACMEReport> { [log] _, report in
      RelayACMEThread.write(report, to: log)
    }
    options.trust = settings.trust
    options.isLastReport = { $0 == .stopped }
    options.notice = { [log] in log.warning("\($0)") }
    let listeners = try settings.plainListen.map { address in
      try Listener.open(
        address, listenerKind: .public,
        limiter: ConnectionLimiter(
          connections: ACMELimits.plainConnections,
          connectionsPerNetwork: ACMELimits.plainConnectionsPerNetwork))
    }
    if let address = listeners?.first?.address {
      let url = "http://\(address.text)"
      log.announce(
        "redirects and challenges", [LogLine.Field("url", url)],
        block: "lockstep relay: redirects and challenges on \(url)")
    }
    let group = try NodeGroup<ACMENode>(count: 1, options)
    let (folder, certificate, log) = (folder, certificate, log)
    try group.add(
      ACMENode(
        settings.configuration, stored: stored, secrets: Entropy.secrets,
        random: Entropy.seededRandom()),
      listeners: listeners ?? [],
      performInline: { assignments, _ in
        assignments.map { assignment in
          guard case .commit(let job) = assignment.job else { return (.commit(.done), nil) }
          let outcome = RelayACMEThread.perform(job, in: folder, certificate, log)
          return (.commit(outcome), nil)
        }
      })
    try group.start()
    self.group = group
  }

  /// Attempts now what would be attempted later.
  func retry() { group?.post(.retry) }

  func end() {
    guard let group else { return }
    group.stop()
    do throws(SystemFault) {
      _ = try group.waitForEnd()
    } catch {
      log.warning("\(error)")
    }
    self.group = nil
  }

  private static func perform(
    _ job: ACMEJob, in folder: RelayACMEFolder, _ certificate: ServerCertificate, _ log: Log
  ) -> ACMEJobOutcome {
    do {
      switch job {
      case .saveAccount(let bytes): try folder.replace("account.json", by: bytes)
      case .saveProgress(let bytes): try folder.replace("progress.json", by: bytes)
      case .install(let bytes):
        try folder.install(bytes)
        try certificate.reload()
      case .validate(let name, let text): try certificate.validate(with: [(name, text)])
      case .endValidation: try certificate.validate(with: [])
      }
      return .done
    } catch {
      return .failed("\(error)")
    }
  }

  // MARK: log

  private static func write(_ report: ACMEReport, to log: Log) {
    switch report {
    case .accountMade(let url, let terms):
      log.info(
        "an account at the authority was made"
          + (terms.map { "; it agrees to the terms of service \($0)" } ?? ""),
        [LogLine.Field("account", url)])
    case .attempted(let kind):
      log.info("a certificate is requested", [LogLine.Field("challenge", kind.rawValue)])
    case .issued(let end, let renewal):
      log.info("there is a new certificate", times(end, renewal))
    case .kept(let end, let renewal):
      log.info("the stored certificate is used", times(end, renewal))
    case .failed(let fault, let retryAt):
      log.error(
        "there is no new certificate: \(fault). To attempt it earlier, send SIGHUP",
        [LogLine.Field("next", text(retryAt))])
    case .waits(let until, let byAuthority):
      log.info(
        byAuthority
          ? "no certificate is requested yet, as the authority has asked for a pause"
          : "no certificate is requested yet, as the last attempt failed; to attempt it now, send "
            + "SIGHUP",
        [LogLine.Field("next", text(until))])
    case .renewalInfoFailed(let fault):
      log.debug("the authority gives no renewal information: \(fault)")
    case .stopped: break
    }
  }

  private static func times(_ end: Int64, _ renewal: Int64) -> Log.Fields {
    [LogLine.Field("expires", text(end)), LogLine.Field("renewal", text(renewal))]
  }

  private static func text(_ wall: Int64) -> String { UniversalTime(wall).timestamp }
}
