import LockstepClient
import LockstepModel
import LockstepRelay
import LockstepSimulation
import LockstepStorage
import LockstepWire
import Testing

@testable import LockstepDoctor

/// Single connections to a relay in virtual time.
struct ProbeNodeTests {
  private let relay: VirtualRelay
  private let address = RelayAddress(host: "relay", port: 1)

  init() throws { relay = try VirtualRelay(accounts: 1, devices: 2) }

  private var token: String { relay.credentials[0].token }

  /// Returns a save of one record by the other device.
  private func change(_ number: UInt64) throws -> HTTPCallRequest {
    let zone = try #require(Name("Z"))
    let mutation = Mutation(
      name: try #require(Name("r\(number)")), type: zone, fields: Array("{}".utf8), modifiedAt: 0,
      baseTag: nil)
    let request = SaveRequest(
      id: BatchID(high: 1, low: number), zone: zone, atomic: false, mutations: [mutation])
    return HTTPCallRequest(
      "POST", path: ["v1", "zones", "Z", "records"], token: relay.credentials[1].token,
      body: request.encodedBody())
  }

  private func newest() throws -> ChangeToken {
    guard
      case .token(let token) = try relay.store.read(.newestToken(relay.credentials[0].account))
    else { throw Refusal(.notFound, "no such account") }
    return token
  }

  private func probe(
    _ kind: ProbePlan.Kind, change: HTTPCallRequest? = nil, idleMilliseconds: Int64 = 0
  ) throws -> ProbeReport {
    var plan = ProbePlan(address, kind, change: change)
    plan.idleMilliseconds = idleMilliseconds
    let clock = relay.clock
    let environment = relay.environment
    let driver = NodeDriver(
      name: "probe", environment: environment, clock: { clock },
      node: ProbeNode(
        plan, random: SeededRandom(seed: 7), at: clock.moment(at: environment.timeline.now)))
    var reports: [ProbeReport] = []
    driver.onReport = { reports.append($0) }
    driver.begin()
    withExtendedLifetime(driver) {
      let end = environment.timeline.now + Span.seconds(120)
      while reports.isEmpty, environment.timeline.step(until: end) {}
      // Later events are not reported.
      let later = environment.timeline.now + Span.seconds(20)
      while environment.timeline.step(until: later) {}
    }
    #expect(reports.count == 1)
    return try #require(reports.first)
  }

  @Test func aConnectionAloneIsOverOnceItStands() throws {
    let report = try probe(.connection)
    #expect(report.end == .done)
    #expect(try #require(report.nanoseconds(report.begun.instant, report.opened)) > 0)
    #expect(report.status == nil)
  }

  @Test func aRelayThatIsNotThereIsUnreachable() throws {
    relay.kill()
    #expect(try probe(.connection).end == .unreachable("connection refused"))
  }

  @Test func anAnswerIsKeptWithItsTime() throws {
    let report = try probe(.request(HTTPCallRequest("GET", path: ["v1", "time"])))
    #expect(report.end == .done && report.status == 200 && report.proxyHeaders.isEmpty)
    let offset = try #require(report.clockOffset)
    #expect(abs(offset.offset) <= offset.error, "one clock for both")
    #expect(DoctorCheck.clock([report]).verdict == .ok)
  }

  @Test func aBadTokenIsAnAnswerToo() throws {
    let report = try probe(
      .request(HTTPCallRequest("GET", path: ["v1", "changes"], token: "unknown")))
    #expect(report.status == 401)
    #expect(DoctorCheck.poll(report).verdict == .problem)
  }

  @Test func aSocketIsGreetedAskedAndTold() throws {
    let newest = try newest()
    let quiet = try probe(.socket(token: token))
    #expect(quiet.end == .done && quiet.token == newest)
    #expect(DoctorCheck.socket(quiet, hasChange: false).verdict == .ok)
    let told = try probe(.socket(token: token), change: try change(1))
    #expect(told.end == .done)
    #expect(try #require(told.pushNanoseconds) > 0)
    #expect(DoctorCheck.socket(told, hasChange: true).verdict == .ok)
  }

  @Test func aSocketWithABadTokenDoesNotOpen() throws {
    let report = try probe(.socket(token: "unknown"))
    guard case .broken = report.end else {
      Issue.record("it ended with \(report.end)")
      return
    }
    #expect(DoctorCheck.socket(report, hasChange: false).verdict == .warning)
  }

  @Test func anIdleSocketAnswersPings() throws {
    let report = try probe(
      .socket(token: token), idleMilliseconds: DoctorThresholds.idleMilliseconds)
    #expect(report.end == .done && report.pings >= 2)
    let check = DoctorCheck.idle(report)
    #expect(check.verdict == .ok && check.seen.contains("for 75 s"), "\(check)")
  }

  @Test func aStreamBeginsAtOnceAndTellsOfAChange() throws {
    let newest = try newest()
    let quiet = try probe(.events(token: token))
    #expect(quiet.end == .done && quiet.token == newest)
    let told = try probe(.events(token: token), change: try change(1))
    #expect(told.end == .done && told.token == newest, "it began before the change")
    #expect(DoctorCheck.events(told, hasChange: true).verdict == .ok)
  }

  @Test func aLongPollWaitsForTheChangeOrForItsTime() throws {
    let quiet = try probe(.longPoll(token: token, since: try newest(), seconds: 1))
    #expect(DoctorCheck.longPoll(quiet, hasChange: false).verdict == .ok)
    #expect(try #require(quiet.nanoseconds(quiet.opened, quiet.ended.instant)) >= Span.seconds(1))
    let told = try probe(
      .longPoll(token: token, since: try newest(), seconds: 5), change: try change(1))
    #expect(told.end == .done)
    #expect(DoctorCheck.longPoll(told, hasChange: true).verdict == .ok)
  }

  @Test func aChangeThatIsRefusedIsTold() throws {
    var bad = try change(1)
    bad.token = "unknown"
    #expect(
      try probe(.events(token: token), change: bad).end
        == .broken("the save of the change was answered with status 401"))
  }
}
