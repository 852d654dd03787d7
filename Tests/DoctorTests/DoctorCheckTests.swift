import LockstepClient
import LockstepHome
import LockstepJSON
import LockstepModel
import LockstepSealing
import Testing

@testable import LockstepDoctor

/// Thresholds of warnings and problems.
struct DoctorCheckTests {
  private let usual: [JSONMember] = [JSONMember("batchRecords", 400), JSONMember("uploads", 256)]

  /// Returns a probe's report that starts at 0; times in milliseconds.
  private func report(
    _ end: ProbeReport.End = .done, status: Int? = nil, body: String = "", lasted: Int64 = 0,
    _ change: (inout ProbeReport) -> Void = { _ in }
  ) -> ProbeReport {
    var report = ProbeReport(begun: Moment(instant: at(0), wall: 0))
    report.end = end
    report.ended = Moment(instant: at(lasted), wall: lasted)
    report.opened = at(0)
    report.status = status
    report.body = Array(body.utf8)
    change(&report)
    return report
  }

  private func at(_ milliseconds: Int64) -> Instant {
    Instant(nanoseconds: milliseconds * 1_000_000)
  }

  private func expect(
    _ check: DoctorCheck, _ verdict: DoctorCheck.Verdict, _ words: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(check.verdict == verdict, "\(check)", sourceLocation: sourceLocation)
    let said = check.seen + " " + (check.nextStep ?? "")
    #expect(said.contains(words), "\(check)", sourceLocation: sourceLocation)
    #expect(verdict == .ok || check.nextStep != nil, sourceLocation: sourceLocation)
  }

  // MARK: Relay

  @Test func aNameWithoutAnAddressIsAProblem() {
    expect(
      .name("relay.example", addresses: ["10.0.0.7"], fault: nil, nanoseconds: 1_000_000), .ok,
      "relay.example is 10.0.0.7")
    expect(
      .name("relay.example", addresses: [], fault: "not known", nanoseconds: 0), .problem,
      "not known")
  }

  @Test func aSlowConnectionIsAWarningAndNoneAProblem() {
    expect(.connection(report(), to: "r:1"), .ok, "0.00 ms")
    expect(.connection(report { $0.opened = at(1_000) }, to: "r:1"), .ok, "1000 ms")
    expect(.connection(report { $0.opened = at(1_001) }, to: "r:1"), .warning, "network")
    expect(
      .connection(report(.unreachable("Connection refused")) { $0.opened = nil }, to: "r:1"),
      .problem, "Connection refused")
  }

  @Test func aCertificateIsToBeRenewedInTime() {
    let day: Int64 = 86_400_000
    func tls(_ days: Int64) -> DoctorCheck {
      .security(
        report {
          $0.version = "TLSv1.3"
          $0.certificateEnd = days * day
        }, wall: 0)
    }
    expect(tls(14), .ok, "TLSv1.3")
    expect(tls(13), .warning, "13 more days, until 1970-01-14")
    expect(tls(2), .warning, "valid for 2 more days")
    let soon: [(Int64, String)] = [
      (2 * day - 1, "47 more hours"), (7_200_000, "2 more hours"), (3_600_000, "1 more hour,"),
      (3_599_999, "less than an hour"),
    ]
    for (end, text) in soon {
      let check = DoctorCheck.security(
        report {
          $0.version = "TLSv1.3"
          $0.certificateEnd = end
        }, wall: 0)
      expect(check, .warning, text)
    }
    expect(.security(report(.untrusted("it has expired")), wall: 0), .problem, "it has expired")
    expect(.security(report(.late), wall: 0), .problem, "within 6 s")
  }

  @Test func onlyARelayIsOne() {
    func relay(_ body: String, status: Int = 200, signs: [String] = []) -> DoctorCheck {
      .relay(report(status: status, body: body) { $0.proxyHeaders = signs }, usual: usual)
    }
    expect(relay(#"{"batchRecords":400,"uploads":256}"#), .ok, "usual limits")
    expect(relay(#"{"batchRecords":400,"uploads":9}"#), .ok, "uploads 9")
    expect(relay(#"{"batchRecords":400}"#), .warning, "no uploads")
    expect(relay(#"{"batchRecords":400,"uploads":256,"more":1}"#), .warning, "more")
    expect(relay("<html>", signs: ["Server: x"]), .problem, "Server: x")
    expect(relay("{}"), .problem, "no Lockstep relay")
    expect(relay("", status: 404), .problem, "404")
    expect(.relay(report(.broken("no HTTP")), usual: usual), .problem, "no HTTP")
  }

  @Test(
    arguments: [
      (29_999, .ok), (-29_999, .ok), (30_000, .warning), (-30_000, .warning),
      (86_399_999, .warning), (86_400_000, .problem), (-86_400_000, .problem),
    ] as [(Int64, DoctorCheck.Verdict)])
  func aClockIsJudgedByHowFarItIsOff(_ milliseconds: Int64, _ verdict: DoctorCheck.Verdict) {
    let wall: Int64 = 1_000_000_000
    let told = report(status: 200, body: #"{"time":\#(wall + milliseconds)}"#) {
      $0.ended.wall = wall
    }
    let check = DoctorCheck.clock([told])
    expect(check, verdict, milliseconds > 0 ? "behind" : "ahead of")
    #expect(check.figures.first?.value == .number(JSONNumber(milliseconds)))
  }

  @Test func theShortestWayTellsTheTimeBest() {
    let slow = report(status: 200, body: #"{"time":90000}"#, lasted: 2_000)
    let fast = report(status: 200, body: #"{"time":10}"#, lasted: 20)
    expect(.clock([slow, fast]), .ok, "give or take 11.0 ms")
    #expect(fast.clockOffset?.offset == 0, "it was told half way")
    expect(.clock([report(status: 200, body: "{}"), report(.late)]), .skipped, "did not report")
    expect(
      .clock([report(status: 200, body: #"{"time":9223372036854775807}"#)]), .skipped, "not report")
  }

  // MARK: Ladder

  @Test func withoutAPollNothingSyncs() {
    expect(.poll(report(status: 200)), .ok, "answered")
    expect(.poll(report(status: 401)), .problem, "join")
    expect(.poll(report(status: 402)), .problem, "plan")
    expect(.poll(report(status: 502)), .problem, "502")
    expect(.poll(report(.late)), .problem, "within 6 s")
  }

  @Test func aLongPollMustWaitAndBeToldAtOnce() {
    let empty = #"{"since":"5c1f09aa.1","token":"5c1f09aa.1","more":false,"changes":[]}"#
    expect(
      .longPoll(report(status: 200, body: empty, lasted: 999), hasChange: false), .ok, "nothing is")
    expect(
      .longPoll(report(status: 200, body: empty, lasted: 20), hasChange: false), .warning,
      "did not wait")
    func told(_ milliseconds: Int64?) -> DoctorCheck {
      .longPoll(
        report(status: 200, lasted: 300) {
          $0.changeRequested = milliseconds.map { _ in at(300) }
          $0.changeReported = milliseconds.map { at(300 + $0) }
        }, hasChange: true)
    }
    expect(told(2_000), .ok, "2000 ms")
    expect(told(2_001), .warning, "60 s")
    expect(told(nil), .warning, "did not wait")
    expect(
      .longPoll(report(.late) { $0.changeRequested = at(300) }, hasChange: true), .warning,
      "did not end the wait")
    expect(.longPoll(report(status: 504), hasChange: false), .warning, "504")
  }

  @Test func aStreamThatIsHeldBackIsAWarning() {
    func stream(_ first: Int64?, _ push: Int64?, _ end: ProbeReport.End = .done) -> DoctorCheck {
      .events(
        report(end, status: 200) {
          $0.welcomed = first.map(at)
          $0.changeRequested = at(0)
          $0.changeReported = push.map(at)
        }, hasChange: true)
    }
    expect(stream(2_000, 2_000), .ok, "the event for a change")
    expect(stream(2_001, 10), .warning, "late")
    expect(stream(10, 2_001), .warning, "late")
    expect(stream(10, nil, .late), .warning, "none for a change")
    expect(stream(nil, nil, .late), .warning, "proxy_buffering off")
    expect(stream(nil, nil, .broken("cut")), .warning, "cut")
    expect(
      .events(report(status: 200) { $0.welcomed = at(1) }, hasChange: false), .ok,
      "nothing is written")
  }

  @Test func aSocketIsJudgedByHowFarItCame() {
    func socket(
      _ upgrade: Int64?, _ welcome: Int64?, _ time: Int64?, push: Int64? = 3,
      _ end: ProbeReport.End = .broken("it was cut")
    ) -> DoctorCheck {
      .socket(
        report(end) {
          $0.answered = upgrade.map(at)
          $0.welcomed = welcome.map(at)
          $0.timeAnswered = time.map(at)
          $0.changeRequested = at(0)
          $0.changeReported = push.map(at)
        }, hasChange: true)
    }
    expect(socket(1, 2, 3, .done), .ok, "notice of a change after 3.00 ms")
    expect(socket(nil, nil, nil), .warning, "it was not opened: it was cut")
    expect(socket(1, nil, nil), .warning, "no welcome")
    expect(socket(1, 2, nil), .warning, "no answer to the time request")
    expect(socket(1, 2, 3, push: nil), .warning, "no notice of a change")
    expect(socket(1, 2, 3, push: 2_001), .warning, "late")
  }

  @Test func anIdleSocketMayBeCut() {
    func idle(_ end: ProbeReport.End, seconds: Int64) -> DoctorCheck {
      .idle(report(end, lasted: seconds * 1_000) { $0.idleSince = at(0) })
    }
    expect(idle(.done, seconds: 75), .ok, "75 s")
    expect(idle(.broken("reset"), seconds: 60), .warning, "after 60 s: reset")
    expect(.idle(report(.late)), .skipped, "no WebSocket was open")
  }

  // MARK: Home

  private func home(
    _ name: String, _ change: (inout HomeFindings) -> Void
  ) throws -> DoctorCheck {
    var home = HomeFindings(folder: "phone", relayTime: 100_000)
    home.lastSync = 99_000
    change(&home)
    return try #require(DoctorCheck.checks(of: home).first { $0.name == name })
  }

  @Test func aHomeThatIsWellIsOkThroughout() {
    var home = HomeFindings(folder: "phone", relayTime: 100_000)
    home.lastSync = 99_000
    #expect(DoctorCheck.checks(of: home).allSatisfy { $0.verdict == .ok })
  }

  @Test func whatWaitsIsJudgedByWhoKeepsTheHome() throws {
    expect(
      try home("waiting") { $0.waiting = 2 }, .warning, "lockstep agent sync --home phone")
    func kept(_ since: Int64) throws -> DoctorCheck {
      try home("waiting") {
        $0.holder = .process
        $0.waiting = 1
        $0.waitingSince = since
      }
    }
    expect(try kept(40_000), .ok, "1 change waits, the oldest for 60 s")
    expect(try kept(39_999), .warning, "safe in the home")
    expect(try home("waiting") { $0.undecided = 1 }, .warning, "1 record waits for you")
  }

  @Test func sealedRecordsAreNamedAndWhatTheDeviceCannotReadOfThem() throws {
    expect(try home("keys") { _ in }, .ok, "knows of no sealed records")
    let keys = try accountKeys()
    let words = try #require(keys.current?.checkWords)
    func sealed(_ change: (inout SealingState) -> Void) throws -> DoctorCheck {
      try home("keys") {
        $0.sealing = SealingState(keys)
        change(&$0.sealing)
      }
    }
    expect(try sealed { _ in }, .ok, "sealed, and this device has the keys: \(words)")
    let zones = ["Memos", "Habits"].compactMap { keys.keys(of: Name(trusted: $0)) }
    expect(try sealed { $0.held = .zones(zones) }, .ok, "the keys of Habits, Memos alone")
    if case .account(let account, _) = keys {
      let some = ZoneSet.only([Name(trusted: "Timer"), Name(trusted: "Memos")])
      expect(
        try sealed { $0.held = .account(account, some) }, .ok, "records of Memos, Timer are sealed")
    }
    let altered = try sealed { $0.unreadable = [.altered, .notSealed, .altered] }
    expect(altered, .warning, "somebody has changed them at the relay")
    #expect(
      altered.seen.hasSuffix(
        "it cannot read 3 records at the relay: 2 changed since it was sealed, "
          + "1 not sealed, although its zone is"))
    let newer = try sealed {
      $0.unreadable = [.unknownKey("00000000000000ff")]
      $0.hasMoreUnreadable = true
    }
    expect(newer, .warning, "lockstep agent key restore --home phone")
    #expect(newer.seen.contains("more than 1 record at the relay"))
  }

  @Test func aDeviceWithoutTheKeysIsAProblem() throws {
    let locked = try home("keys") { $0.sealing.isAccountLocked = true }
    expect(locked, .problem, "lockstep agent join --home phone --code -")
    #expect(locked.seen.hasPrefix("the account's records are sealed"))
    let zones = try home("keys") { $0.sealing.lockedZones = [Name(trusted: "Memos")] }
    expect(zones, .problem, "lockstep agent pair")
    #expect(zones.seen.hasPrefix("records of Memos are sealed"))
    #expect(zones.figures.contains(JSONMember("lockedZones", ["Memos"])))
  }

  private func accountKeys() throws -> SealingKeys {
    let generation = try #require(KeyGeneration(secret: [UInt8](repeating: 7, count: 32)))
    let keys = try #require(
      AccountKeys(nameSecret: generation.secret, generations: [generation]))
    return .account(keys, .all(but: []))
  }

  @Test func whatAHomeMayUseIsShownAndWhatItCannotSendIsAWarning() throws {
    let reader = DeviceScope(zones: ["Memos", "Timer"].map { Name(trusted: $0) }, isReadOnly: true)
    let fine = try home("scope") { $0.scope = reader }
    expect(fine, .ok, "it may read Memos and Timer, and nothing else of the account")
    #expect(fine.figures.first { $0.name == "scope" }?.value == reader.json)
    let stuck = try home("scope") {
      $0.scope = DeviceScope(zones: [Name(trusted: "Timer")])
      $0.waitingOutside = 2
      $0.zonesOutside = ["Habits", "Memos"].map { Name(trusted: $0) }
    }
    expect(stuck, .warning, "2 changes in Habits, Memos cannot be sent: it may read and change")
    expect(stuck, .warning, "lockstep agent pair --zones Habits,Memos,Timer on")
    expect(stuck, .warning, "lockstep agent join --home phone")
    let still = try home("scope") {
      $0.scope = DeviceScope(zones: nil, isReadOnly: true)
      $0.waitingOutside = 1
      $0.zonesOutside = [Name(trusted: "Memos")]
    }
    expect(still, .warning, "1 change in Memos cannot be sent: it may read everything")
    expect(still, .warning, "lockstep agent pair on a device")
  }

  @Test func whatKeepsAHomeFromSyncing() throws {
    expect(try home("holder") { $0.holder = .silent }, .problem, "does not answer")
    expect(try home("store") { $0.damages = ["page 3"] }, .problem, "page 3")
    expect(try home("sync") { $0.lastSync = nil }, .warning, "never")
    expect(try home("sync") { $0.fault = "offline" }, .warning, "by itself; lockstep")
    expect(
      try home("sync") {
        $0.fault = "revoked"
        $0.isFailed = true
      }, .problem, "revoked")
    expect(try home("secrets") { $0.exposed = ["vault.key"] }, .warning, "vault.key")
    expect(.noHome("there is none"), .problem, "there is none")
  }

  // MARK: Wakes

  private func wakes(
    _ statuses: [WakeStatus]?, _ change: (inout WakesFindings) -> Void = { _ in }
  ) -> DoctorCheck {
    var findings = WakesFindings(relayTime: 10 * 3_600_000)
    findings.statuses = statuses
    change(&findings)
    return .wakes(findings)
  }

  private func wake(_ id: String, verifiedAt: Int64?, fault: WakeFault? = nil) -> WakeStatus {
    WakeStatus(id: Name(trusted: id), verifiedAt: verifiedAt, fault: fault)
  }

  @Test func wakesAreJudgedByTheirLastProof() {
    expect(wakes([]), .ok, "not used")
    expect(
      wakes([wake("agent", verifiedAt: 7 * 3_600_000)]), .ok, "works, last proved 3 h ago")
    expect(wakes([wake("agent", verifiedAt: nil)]), .warning, "never verified")
    expect(
      wakes([wake("app", verifiedAt: 0), wake("page", verifiedAt: 0, fault: .notAllowed)]),
      .warning, "--wake-allow")
    expect(wakes(nil) { $0.fault = "it is away" }, .skipped, "it is away")
  }

  @Test func whatTheAgentSaysIsShownWhileTheRelayIsAway() {
    let check = wakes(nil) {
      $0.fault = "it is away"
      $0.problem = WakeProblem("no distributor", nextStep: "Start one.")
    }
    expect(check, .warning, "it is away")
    expect(check, .warning, "no distributor")
    expect(check, .warning, "Start one.")
  }

  @Test func aDeviceThatCannotBeWokenIsNotWell() {
    expect(wakes([]) { $0.hasKeys = true }, .warning, "agent wake off")
    expect(
      wakes([wake("agent", verifiedAt: 0)]) {
        $0.problem = WakeProblem("no distributor", nextStep: "Start one.")
      }, .warning, "Start one.")
  }

  // MARK: Machine

  @Test func roomIsJudgedByWhatALogTakes() {
    expect(.disk(.home, of: "x", free: 256 << 20), .ok, "256.0 MiB")
    expect(.disk(.home, of: "x", free: (256 << 20) - 1), .warning, "Free some")
    expect(.disk(.home, of: "x", free: 16 << 20), .warning, "16.0 MiB")
    expect(.disk(.home, of: "x", free: (16 << 20) - 1), .problem, "Free some")
    expect(.disk(.home, of: "x", free: nil), .skipped, "df x")
  }

  @Test func openFilesAreJudgedByWhatRunsHere() {
    expect(.openFiles(soft: 256, hard: 256, needed: nil), .ok, "256")
    expect(.openFiles(soft: 10, hard: 255, needed: nil), .warning, "ulimit -n")
    expect(.openFiles(soft: 1_024, hard: 999, needed: 1_000), .warning, "LimitNOFILE")
    expect(.openFiles(soft: 1_024, hard: 1_000, needed: 1_000), .ok, "opens 1000")
  }

  @Test func aStoreThatIsNotWholeIsAProblem() {
    expect(.relayStore("1 account", faults: []), .ok, "1 account")
    expect(.relayStore("", faults: ["one", "two"]), .problem, "one, and 1 more")
    expect(.noRelayStore("none"), .problem, "--store")
    expect(.leftDevices("gone"), .warning, "gone")
  }

  // MARK: Database

  @Test func aDatabaseIsJudgedByWhatARelayNeedsOfIt() {
    func store(_ accounts: Int?, isOlderCopy: Bool = false) -> DoctorCheck {
      .database("db", server: "15.18", accounts: accounts, isOlderCopy: isOlderCopy)
    }
    expect(store(1), .ok, "db: PostgreSQL 15.18, 1 account")
    expect(store(nil), .warning, "A relay creates them")
    expect(store(2, isOlderCopy: true), .warning, "devices bring back")
    expect(.noDatabase("it is away"), .problem, "psql")
    expect(.durability(lossy: []), .ok, "survive a crash")
    expect(.durability(lossy: ["fsync"]), .warning, "ALTER SYSTEM SET fsync = on")
    expect(.durability(lossy: ["a", "b"]), .warning, "a and b are off")
    expect(.databaseConnections(free: 4, of: 97), .ok, "4 of 97")
    expect(.databaseConnections(free: 3, of: 97), .warning, "max_connections")
  }
}
