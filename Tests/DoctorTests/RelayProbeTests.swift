import LockstepClient
import LockstepCommandLine
import LockstepEventLoop
import LockstepHome
import LockstepModel
import Stages
import TemporaryFolders
import Testing

@testable import LockstepDoctor

/// Checks of a relay in this process, over loopback.
struct RelayProbeTests {
  private let progress = Progress(isShown: false) { _ in }

  private func checks(of address: RelayAddress, as member: HomeAccess? = nil) -> [DoctorCheck] {
    RelayProbe(relay: address, trust: .system, member: member, isLong: false, progress: progress)
      .checks()
  }

  private func names(_ checks: [DoctorCheck]) -> [String] { checks.map(\.name) }

  @Test func anOpenRelayIsTriedWithAnAccountThatIsGoneAfterwards() throws {
    let folder = try TemporaryFolder()
    let relay = try ServingRelay(store: folder.path)
    let checks = checks(of: relay.address)
    #expect(
      names(checks) == [
        "name", "connection", "relay", "clock", "proxy", "websocket", "events", "long-poll", "poll",
      ])
    #expect(checks.allSatisfy { $0.verdict != .problem && $0.verdict != .skipped }, "\(checks)")
    try relay.stop()
  }

  @Test func aPersonsAccountIsOnlyRead() throws {
    let folder = try TemporaryFolder()
    let relay = try ServingRelay(store: folder.path)
    let call = RelayCall(relay: relay.address)
    let device = try call.account(devices: 2)[0]
    let before = try call.newestToken(device.token)
    let checks = checks(
      of: relay.address, as: HomeAccess(relay: relay.address, token: device.token))
    #expect(checks.allSatisfy { $0.verdict != .problem && $0.verdict != .skipped }, "\(checks)")
    #expect(checks.contains { $0.seen.contains("nothing is written") })
    #expect(try call.newestToken(device.token) == before)
    #expect(try call.devices(token: device.token).devices.count == 2)
    try relay.stop()
  }

  @Test func aRelayThatIsNotOpenIsTriedOnlyWithAHome() throws {
    let folder = try TemporaryFolder()
    let relay = try ServingRelay(store: folder.path, isOpen: false)
    let last = try #require(checks(of: relay.address).last)
    #expect(last.name == "account" && last.verdict == .skipped)
    #expect(last.nextStep?.contains("--home") == true)
    try relay.stop()
  }

  @Test func aDeviceThatWasRevokedIsToldToJoinAgain() throws {
    let folder = try TemporaryFolder()
    let relay = try ServingRelay(store: folder.path)
    let member = HomeAccess(relay: relay.address, token: "unknown")
    let last = try #require(checks(of: relay.address, as: member).last)
    #expect(last.name == "poll" && last.verdict == .problem)
    try relay.stop()
  }

  @Test func whereNobodyListensThatIsTheOnlyWord() throws {
    let folder = try TemporaryFolder()
    let relay = try ServingRelay(store: folder.path)
    let address = relay.address
    try relay.stop()
    let checks = checks(of: address)
    #expect(names(checks) == ["name", "connection"])
    #expect(checks.map(\.verdict) == [.ok, .problem])
  }

  @Test func aNameIsAskedOfTheSystem() {
    #expect(HostResolver.addresses(of: "127.0.0.1").addresses == ["127.0.0.1"])
    #expect(HostResolver.addresses(of: "::1").addresses == ["::1"])
    let none = HostResolver.addresses(of: "no-such-host.invalid")
    #expect(none.addresses.isEmpty && none.fault != nil)
  }
}
