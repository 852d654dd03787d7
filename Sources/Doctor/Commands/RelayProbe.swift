import LockstepClient
import LockstepCommandLine
import LockstepEventLoop
import LockstepHome
import LockstepJSON
import LockstepModel
import LockstepRelay
import LockstepWire
import Synchronization

/// Checks a relay from outside, as a device would: name and connection, the relay's answer, and
/// each transport separately.
struct RelayProbe {
  let relay: RelayAddress
  let trust: Trust
  /// Account to read; nil to create one, if the relay lets anyone do so.
  let member: HomeAccess?
  let isLong: Bool
  let progress: Progress

  private static let clockSamples = 3
  private static let zone = "lockstep-doctor"
  /// Requested wait of a long-poll in seconds, with and without a change meanwhile.
  private static let longPollSeconds = (changed: 5, unchanged: 1)

  /// Account and token for the transport checks.
  private struct ProbeAccount {
    var token: String
    /// Token of the account's second device, which makes changes; nil if none are made.
    var other: String?
    /// Change token up to which the account's home has read.
    var cursor: ChangeToken?
  }

  func checks() -> [DoctorCheck] {
    var checks = connectionChecks()
    if checks.contains(where: { $0.verdict == .problem }) { return checks }
    progress.show("requesting the limits of \(relay.url)")
    let limits = probe(.request(HTTPCallRequest("GET", path: ["v1", "limits"])))
    let answer = DoctorCheck.relay(limits, usual: Self.usualLimits)
    if answer.verdict == .problem, !relay.isSecure, limits.status == nil {
      progress.show("trying TLS at \(relay.authority)")
      var secure = relay
      secure.isSecure = true
      let handshake = Self.run(ProbePlan(secure, .connection), trust)
      if let check = DoctorCheck.plainAddress(handshake, url: relay.url, secureURL: secure.url) {
        return checks + [check]
      }
    }
    checks.append(answer)
    if answer.verdict == .problem { return checks }
    let times = (0..<Self.clockSamples).map { _ in
      probe(.request(HTTPCallRequest("GET", path: ["v1", "time"])))
    }
    checks += [.clock(times), .proxy(limits)]
    return checks + transportChecks()
  }

  // MARK: name and connection

  private func connectionChecks() -> [DoctorCheck] {
    progress.show("resolving \(relay.host)")
    let begun = SystemClock.instant()
    let found = HostResolver.addresses(of: relay.host)
    let took = SystemClock.instant().nanoseconds - begun.nanoseconds
    var checks = [
      DoctorCheck.name(
        relay.host, addresses: found.addresses, fault: found.fault, nanoseconds: took)
    ]
    if found.addresses.isEmpty { return checks }
    progress.show("connecting to \(relay.authority)")
    var plain = relay
    plain.isSecure = false
    checks.append(
      .connection(Self.run(ProbePlan(plain, .connection), trust), to: relay.authority))
    if relay.isSecure, checks.last?.verdict != .problem {
      checks.append(.security(probe(.connection), wall: SystemClock.moment().wall))
    }
    return checks
  }

  private static let usualLimits: [JSONMember] = {
    do throws(JSONFault) {
      return try JSONValue(parsing: LimitsInForce.encodedBody(RelayConfiguration())).members ?? []
    } catch {
      preconditionFailure("the program's own limits are not valid JSON: \(error)")
    }
  }()

  // MARK: transports

  private func transportChecks() -> [DoctorCheck] {
    if let member {
      return transportChecks(
        with: ProbeAccount(
          token: member.token, cursor: member.cursor.flatMap { ChangeToken(text: $0) }))
    }
    progress.show("creating a test account")
    let devices: [Credentials]
    let call = RelayCall(relay: relay, trust: trust)
    do throws(CommandFailure) {
      devices = try call.account(devices: 2)
    } catch {
      let message = error.message ?? "no account could be created"
      // The person who asks may be its owner, who knows that it is so.
      let isClosed = message.hasPrefix(RefusalCode.registrationClosed.title)
      return [
        .skipped(
          .transport, "account",
          isClosed ? "not tested with a new account, because this relay accepts none" : message,
          nextStep: "To test the transports, name the home of a device of this relay (--home DIR).")
      ]
    }
    var checks = transportChecks(
      with: ProbeAccount(token: devices[0].token, other: devices[1].token))
    do throws(CommandFailure) {
      for device in devices.reversed() { try call.revoke(device.device, token: devices[0].token) }
    } catch {
      checks.append(.leftDevices(error.message ?? "the relay did not answer"))
    }
    return checks
  }

  private func transportChecks(with account: ProbeAccount) -> [DoctorCheck] {
    progress.show("testing a poll")
    var request = HTTPCallRequest("GET", path: ["v1", "changes"], token: account.token)
    request.query = [RequestTarget.QueryItem(name: "limit", value: "1")]
    let poll = DoctorCheck.poll(probe(.request(request)))
    if poll.verdict == .problem { return [poll] }
    let hasChange = account.other != nil
    progress.show("testing a WebSocket")
    let socket = probe(.socket(token: account.token), change(by: account.other))
    progress.show("testing an event stream")
    let events = probe(.events(token: account.token), change(by: account.other))
    progress.show("testing a long-poll")
    var checks = [
      DoctorCheck.socket(socket, hasChange: hasChange), .events(events, hasChange: hasChange),
      longPoll(account, since: events.token ?? socket.token), poll,
    ]
    if isLong {
      progress.show(
        "checking whether an idle WebSocket stays open for "
          + "\(DoctorThresholds.idleMilliseconds / 1_000) s")
      var plan = ProbePlan(relay, .socket(token: account.token))
      plan.idleMilliseconds = DoctorThresholds.idleMilliseconds
      checks.append(.idle(Self.run(plan, trust)))
    }
    return checks
  }

  private func longPoll(_ account: ProbeAccount, since token: ChangeToken?) -> DoctorCheck {
    var since = token ?? account.cursor
    // The test changes have advanced the account's token since.
    if account.other != nil {
      do throws(CommandFailure) {
        since = try RelayCall(relay: relay, trust: trust).newestToken(account.token)
      } catch {
        since = nil
      }
    }
    guard let since else {
      return .skipped(
        .transport, "long-poll", "the newest change token of the account is not known",
        nextStep: "See the checks of the other transports first.")
    }
    let seconds =
      account.other == nil ? Self.longPollSeconds.unchanged : Self.longPollSeconds.changed
    return .longPoll(
      probe(
        .longPoll(token: account.token, since: since, seconds: seconds), change(by: account.other)),
      hasChange: account.other != nil)
  }

  /// Returns a request that saves a new record each time, in the test account.
  private func change(by token: String?) -> HTTPCallRequest? {
    guard let token, let zone = Name(Self.zone) else { return nil }
    var random = Entropy.seededRandom()
    let id = BatchID(random: &random)
    guard let name = Name(id.text) else { return nil }
    let mutation = Mutation(
      name: name, type: zone, fields: Array("{}".utf8), modifiedAt: 0, baseTag: 0)
    let request = SaveRequest(id: id, zone: zone, atomic: false, mutations: [mutation])
    return HTTPCallRequest(
      "POST", path: ["v1", "zones", Self.zone, "records"], token: token,
      body: request.encodedBody())
  }

  // MARK: one connection

  private func probe(
    _ kind: ProbePlan.Kind, _ change: HTTPCallRequest? = nil
  ) -> ProbeReport {
    Self.run(ProbePlan(relay, kind, change: change), trust)
  }

  /// Runs one probe on its own event loop until it has ended.
  static func run(_ plan: ProbePlan, _ trust: Trust = .system) -> ProbeReport {
    let outcome = Mutex<ProbeReport?>(nil)
    var fault = "the probe was interrupted"
    let begun = SystemClock.moment()
    do throws(SystemFault) {
      var settings = GroupSettings<ProbeReport> { _, report in
        outcome.withLock { $0 = report }
      }
      settings.isLastReport = { _ in true }
      settings.trust = trust
      // A probe measures time, so each event must carry the time at which it happened.
      settings.clock = .eachEvent
      let group = try NodeGroup<ProbeNode>(count: 1, settings)
      try group.add(ProbeNode(plan, random: Entropy.seededRandom(), at: begun))
      _ = try group.run()
    } catch {
      fault = "\(error)"
    }
    if let report = outcome.withLock({ $0 }) { return report }
    var report = ProbeReport(begun: begun)
    report.end = .unreachable(fault)
    return report
  }
}
