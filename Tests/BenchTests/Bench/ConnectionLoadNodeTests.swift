import LockstepClient
import LockstepModel
import LockstepSimulation
import LockstepStorage
import LockstepWire
import Stages
import Testing

@testable import LockstepBench

struct ConnectionLoadNodeTests {
  private let relay: VirtualRelay
  private let since: ChangeToken

  init() throws {
    relay = try VirtualRelay(accounts: 1, devices: 3)
    guard
      case .token(let since) = try relay.store.read(
        .newestToken(relay.credentials[0].account))
    else { throw Refusal(.notFound, "no such account") }
    self.since = since
  }

  private func crowd(_ members: [ConnectionLoadMember]) -> LoadStage<ConnectionLoadNode> {
    LoadStage(
      relay,
      ConnectionLoadNode(
        members, to: RelayAddress(host: "relay", port: 1), random: SeededRandom(seed: 5)))
  }

  private func token(_ device: Int) -> String { relay.credentials[device].token }

  @Test func itIsThereWhenEveryoneOfItStands() throws {
    let members: [ConnectionLoadMember] =
      Array(repeating: .silent, count: 300)
      + [.idle(token: token(0)), .idle(token: token(0)), .slow(token: token(1), since: since)]
    let stage = crowd(members)
    try stage.next(\.isReady)
    #expect(relay.status.connections == 303)
    #expect(relay.status.sockets == 3)
    stage.stop()
    #expect(stage.reports.contains { if case .stopped = $0 { true } else { false } })
  }

  @Test func whoTheRelayClosesComesAgain() throws {
    let stage = crowd([.silent, .silent, .idle(token: token(0))])
    try stage.next(\.isReady)
    stage.run(seconds: 2 * Limits.idleMilliseconds / 1_000 + 10)
    #expect(relay.status.connections == 3, "silent ones were closed, and opened anew")
    #expect(relay.status.connectionsOpened > 3)
    #expect(relay.status.sockets == 1, "a socket that answers pings stays")
  }

  @Test func aSlowReaderTakesOneReadASecond() throws {
    let stage = crowd([.slow(token: token(1), since: since)])
    try stage.next(\.isReady)
    let saver = LoadStage(
      relay, [LoadDevice(token: token(0), task: .save(rate: 50, recordBytes: 100))])
    try saver.next(\.isReady)
    let before = stage.reads
    stage.run(seconds: 10)
    #expect((8...12).contains(stage.reads - before), "paused from each read to the next second")
    saver.stop()
  }

  @Test func aRelayThatIsNotThereIsAFault() throws {
    relay.kill()
    let stage = crowd([.silent])
    #expect(try !stage.next(\.failure).isEmpty)
  }
}
