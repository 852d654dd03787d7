import LockstepClient
import LockstepEventLoop
import LockstepModel
import LockstepRelay
import LockstepTools
import LockstepWire
import Synchronization

/// Checks a relay from outside, as a device would: name and connection, the relay's answer, and
/// each transport separately.
struct RelayProbe {
  let relay: RelayAddress
  let trust: Trust
  /// Account to read; nil to create one, if the relay lets anyone do so.
  let member: HomeMember?
  let isLong: Bool
  let progress: Progress

  private static let clockQuestions = 3
  private static let zone = "lockstep-doctor"
  /// Requested wait of a long-poll in seconds, with and without a change meanwhile.
  private static let longPollSeconds = (changed: 5, unchanged: 1)

  /// Account and token for the transport checks.
  private struct Trial {
    var token: String
    /// Token of the account's second device, which makes changes; nil if none are made.
    var other: String?
    /// Change token up to which the account's home has read.
    var cursor: ChangeToken?
  }

  func checks() -> [DoctorCheck] {
    var checks = way()
    if checks.contains(where: { $0.verdict == .problem }) { return checks }
    progress.show("asking who answers at \(relay.url)")
    let limits = probe(.request(HTTPCallRequest("GET", path: ["v1", "limits"])))
    let answer = DoctorCheck.relay(limits, usual: Self.usualLimits)
    checks.append(answer)
    if answer.verdict == .problem { return checks }
    let times = (0..<Self.clockQuestions).map { _ in
      probe(.request(HTTPCallRequest("GET", path: ["v1", "time"])))
    }
    checks += [.clock(times), .proxy(limits)]
    return checks + trial()
  }

  // MARK: name and connection

  private func way() -> [DoctorCheck] {
    progress.show("looking for \(relay.host)")
    let begun = SystemClock.instant()
    let found = NameQuestion.addresses(of: relay.host)
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
      preconditionFailure("the program's own limits are no JSON: \(error)")
    }
  }()

  // MARK: transports

  private func trial() -> [DoctorCheck] {
    if let member {
      return ladder(
        Trial(token: member.token, cursor: member.cursor.flatMap { ChangeToken(text: $0) }))
    }
    progress.show("making an account for the trial")
    let devices: [Credentials]
    let call = RelayCall(relay: relay, trust: trust)
    do throws(CommandFailure) {
      devices = try call.account(devices: 2)
    } catch {
      return [
        .skipped(
          .ladder, "account", error.message ?? "no account could be made",
          nextStep: "Name the home of a device of this relay (--home DIR), so that the ways to it "
            + "can be tried.")
      ]
    }
    var checks = ladder(Trial(token: devices[0].token, other: devices[1].token))
    do throws(CommandFailure) {
      for device in devices.reversed() { try call.revoke(device.device, token: devices[0].token) }
    } catch {
      checks.append(.leftDevices(error.message ?? "the relay did not answer"))
    }
    return checks
  }

  private func ladder(_ trial: Trial) -> [DoctorCheck] {
    progress.show("trying a poll")
    var request = HTTPCallRequest("GET", path: ["v1", "changes"], token: trial.token)
    request.query = [RequestTarget.QueryItem(name: "limit", value: "1")]
    let poll = DoctorCheck.poll(probe(.request(request)))
    if poll.verdict == .problem { return [poll] }
    let isTold = trial.other != nil
    progress.show("trying a WebSocket")
    let socket = probe(.socket(token: trial.token), change(by: trial.other))
    progress.show("trying a stream of events")
    let events = probe(.events(token: trial.token), change(by: trial.other))
    progress.show("trying a long-poll")
    var checks = [
      DoctorCheck.socket(socket, isTold: isTold), .events(events, isTold: isTold),
      longPoll(trial, since: events.token ?? socket.token), poll,
    ]
    if isLong {
      progress.show(
        "seeing whether an idle WebSocket stands for "
          + "\(DoctorThresholds.idleMilliseconds / 1_000) s")
      var plan = ProbePlan(relay, .socket(token: trial.token))
      plan.idleMilliseconds = DoctorThresholds.idleMilliseconds
      checks.append(.idle(Self.run(plan, trust)))
    }
    return checks
  }

  private func longPoll(_ trial: Trial, since told: ChangeToken?) -> DoctorCheck {
    var since = told ?? trial.cursor
    // The changes of the trial have advanced the account's token since.
    if trial.other != nil {
      do throws(CommandFailure) {
        since = try RelayCall(relay: relay, trust: trust).newestToken(trial.token)
      } catch {
        since = nil
      }
    }
    guard let since else {
      return .skipped(
        .ladder, "long-poll", "it is not known where the account stands",
        nextStep: "See what is said of the other ways first.")
    }
    let seconds =
      trial.other == nil ? Self.longPollSeconds.unchanged : Self.longPollSeconds.changed
    return .longPoll(
      probe(
        .longPoll(token: trial.token, since: since, seconds: seconds), change(by: trial.other)),
      isTold: trial.other != nil)
  }

  /// Returns a request that saves a new record each time, in the account made for the trial.
  private func change(by token: String?) -> HTTPCallRequest? {
    guard let token, let zone = Name(Self.zone) else { return nil }
    var random = Entropy.seededRandom()
    let id = BatchID(random: &random)
    guard let name = Name(id.text) else { return nil }
    let mutation = Mutation(
      name: name, type: zone, fields: Array("{}".utf8), modifiedAt: 0, baseTag: nil)
    let request = SaveRequest(id: id, zone: zone, atomic: false, mutations: [mutation])
    return HTTPCallRequest(
      "POST", path: ["v1", "zones", Self.zone, "records"], token: token,
      body: request.encodedBody())
  }

  // MARK: one connection

  private func probe(
    _ question: ProbePlan.Question, _ change: HTTPCallRequest? = nil
  ) -> ProbeReport {
    Self.run(ProbePlan(relay, question, change: change), trust)
  }

  /// Runs one probe on its own event loop until it has ended.
  static func run(_ plan: ProbePlan, _ trust: Trust = .system) -> ProbeReport {
    let outcome = Mutex<ProbeReport?>(nil)
    var fault = "it was interrupted"
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
