import LockstepModel
import LockstepStorage
import LockstepWire
import Testing

@testable import LockstepClient

/// An account moves to another relay, and its devices follow.
struct AgentMoveTests {
  private static func moved(to host: String) -> Refusal {
    Refusal(.accountMoved, "elsewhere", relay: "http://\(host):5625")
  }

  /// The account has left this relay for the next one in the list.
  private func move(_ stage: Stage, _ device: TestDevice, _ hosts: [String: String]) {
    device.relayHosts = ["relay", "b", "c", "d"]
    stage.relay.onReceive = { connection in
      guard let next = hosts[connection.host] else { return nil }
      if !connection.isSocket { return .refuse(Self.moved(to: next)) }
      connection.send(.error(id: nil, Self.moved(to: next)))
      return .close(code: 4421)
    }
  }

  private func address(_ device: TestDevice) throws -> String? {
    try device.store.identity()?.relay
  }

  @Test(arguments: [[.webSocket], [.longPoll], [.poll]] as [[Transport]])
  func aDeviceFollowsAndItsUnsentChangeArrives(_ transports: [Transport]) throws {
    let stage = try Stage()
    let device = try stage.device(1, transports: transports)
    try stage.run()
    move(stage, device, ["relay": "b"])
    try device.edit(.note("a", "mine"))
    try stage.run(60_000)
    #expect(try stage.relay.record("a")?.text == "mine")
    #expect(device.status.state == .inSync)
    #expect(try address(device) == "http://b:5625")
    #expect(device.reports.contains { if case .moved = $0 { true } else { false } })
    // After a restart, it asks the new relay first.
    let tried = device.tried.count
    try device.restart()
    try stage.run(5_000)
    #expect(device.tried[tried...].allSatisfy { $0 == .host("b", port: 5625) })
    #expect(device.status.state == .inSync)
  }

  @Test func aDeviceThatWasAwayFollowsAtItsHandshake() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    try stage.run()
    device.isCutOff = true
    try device.cut()
    try device.edit(.note("a", "mine"))
    try stage.run(5_000)
    move(stage, device, ["relay": "b"])
    device.isCutOff = false
    try stage.run(60_000)
    #expect(try stage.relay.record("a")?.text == "mine")
    #expect(device.status.transport == .webSocket)
    #expect(try address(device) == "http://b:5625")
  }

  @Test func anAnswerThatArrivesInPiecesIsFollowedAsWell() throws {
    let stage = try Stage()
    let device = try stage.device(1, transports: [.webSocket])
    try stage.run()
    device.answerBytes = 7
    move(stage, device, ["relay": "b"])
    try device.cut()
    try stage.run(5_000)
    #expect(try address(device) == "http://b:5625")
    #expect(device.status.state == .inSync)
  }

  @Test func aChainOfMovesIsFollowed() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    try stage.run()
    move(stage, device, ["relay": "b", "b": "c", "c": "d"])
    try device.edit(.note("a", "mine"))
    try stage.run(10_000)
    #expect(try stage.relay.record("a")?.text == "mine")
    #expect(try address(device) == "http://d:5625")
  }

  @Test func relaysThatPointAtEachOtherAreAskedEverMoreRarely() throws {
    let stage = try Stage()
    let device = try stage.device(1, transports: [.poll])
    try stage.run()
    move(stage, device, ["relay": "b", "b": "relay"])
    try device.edit(.note("a", "mine"))
    try stage.run(60_000)
    guard case .offline(_, let reason) = device.status.state else {
      Issue.record("it says \(device.status.state)")
      return
    }
    #expect(reason.contains("http://relay:5625") && reason.contains("http://b:5625"))
    #expect(device.status.waiting == 1)
    let before = device.tried.count
    try stage.run(600_000)
    // The longest backoff is 30 s, and on average half of that passes.
    #expect(device.tried.count - before < 120)
    // One of them takes the account in again.
    move(stage, device, ["relay": "b"])
    try stage.run(60_000)
    #expect(try stage.relay.record("a")?.text == "mine")
    #expect(try address(device) == "http://b:5625")
    #expect(device.status.state == .inSync)
  }

  @Test(arguments: [
    nil, "", "ftp://b", "http://b:5625/path", "http://relay:5625", "javascript:alert(1)",
  ])
  func anAddressThatIsNoneIsNotFollowed(_ relay: String?) throws {
    let stage = try Stage()
    let device = try stage.device(1)
    try stage.run()
    device.relayHosts = ["relay", "b"]
    stage.relay.onReceive = { connection in
      guard !connection.isSocket else { return .close(code: 4421) }
      return .refuse(Refusal(.accountMoved, "elsewhere", relay: relay))
    }
    try device.edit(.note("a", "mine"))
    try stage.run(60_000)
    guard case .offline = device.status.state else {
      Issue.record("it says \(device.status.state)")
      return
    }
    #expect(try address(device) == "http://relay:5625")
    #expect(device.tried.allSatisfy { $0 == .host("relay", port: 5625) })
    stage.relay.onReceive = nil
    try stage.run(60_000)
    #expect(try stage.relay.record("a")?.text == "mine")
  }

  @Test func aRelayWithTLSDoesNotLeadToOneWithout() throws {
    let secure = try #require(RelayAddress(url: "https://a.example"))
    #expect(throws: MoveFault.self) { try secure.successor(Self.moved(to: "b")) }
    let refusal = Refusal(.accountMoved, "", relay: "https://b.example")
    #expect(try secure.successor(refusal).url == "https://b.example:443")
    let plain = try #require(RelayAddress(url: "http://a"))
    #expect(try plain.successor(refusal).isSecure)
  }

  @Test func theNewAddressIsUsedOnlyOnceItIsDurable() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    try stage.run()
    move(stage, device, ["relay": "b"])
    device.isWorkerStuck = true
    stage.relay.cutAll()
    try device.cut()
    try stage.run(20_000)
    #expect(!device.tried.contains(.host("b", port: 5625)))
    try device.restart()
    try device.edit(.note("a", "mine"))
    try stage.run(20_000)
    #expect(try stage.relay.record("a")?.text == "mine")
  }

  @Test func aMovingAccountKeepsItsSocketAndIsTriedAgain() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    try stage.run()
    var refused = 0
    let moving = Refusal(.accountMoving, "in a moment", retryAfterMilliseconds: 1_000)
    stage.relay.onMessage = { message in
      guard case .save(let request) = message, refused < 3 else { return nil }
      refused += 1
      return .reply([.error(id: request.id.text, moving)])
    }
    let sockets = device.tried.count
    try device.edit(.note("a", "mine"))
    try stage.run(30_000)
    #expect(refused == 3)
    #expect(try stage.relay.record("a")?.text == "mine")
    #expect(device.tried.count == sockets)
    #expect(device.status.state == .inSync)
  }

  @Test func aChunkFollowsOnItsOwnConnection() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    try stage.run()
    device.relayHosts = ["relay", "b"]
    stage.relay.onReceive = { connection in
      // The socket does not learn of the move.
      connection.host == "relay" && !connection.isSocket ? .refuse(Self.moved(to: "b")) : nil
    }
    let bytes = TestChunk.bytes(300_000)
    let one = try device.addChunk(bytes).get()
    _ = try device.edit(.album("a", [one]))
    try stage.run(30_000)
    #expect(try stage.relay.record("a") != nil)
    #expect(try address(device) == "http://b:5625")
    #expect(device.status.state == .inSync)
  }

  @Test func aDownloadGoesOnAtTheNewRelay() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    let bytes = TestChunk.bytes(1_000_000)
    let hash = try TestChunk.hash(bytes)
    _ = try stage.relay.storeChunk(hash, bytes)
    try stage.run()
    move(stage, device, ["relay": "b"])
    let read = try device.order { .readChunk($0, hash, offset: 0, count: .max) }
    try stage.run(30_000)
    #expect(try device.read(read)?.get().flatMap(\.bytes) == bytes)
    #expect(try address(device) == "http://b:5625")
  }

  @Test func theHomeRemembersWhichAddressesTheAccountHasLeft() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    try stage.run()
    move(stage, device, ["relay": "b"])
    try stage.run(1_000)
    try device.cut()
    try stage.run(10_000)
    let former = FormerRelays(try device.store.value(FormerRelays.key))
    #expect(former.contains("http://relay:5625") && !former.contains("http://b:5625"))
    // And back.
    move(stage, device, ["b": "relay"])
    try device.cut()
    try stage.run(10_000)
    let later = FormerRelays(try device.store.value(FormerRelays.key))
    #expect(later.contains("http://b:5625") && !later.contains("http://relay:5625"))
    #expect(try address(device) == "http://relay:5625")
  }
}
