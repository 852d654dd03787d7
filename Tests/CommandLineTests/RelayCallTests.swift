import LockstepClient
import LockstepEventLoop
import LockstepModel
import LockstepWire
import Stages
import TemporaryFolders
import Testing

@testable import LockstepCommandLine

struct RelayCallTests {
  @Test func anAccountHasAsManyDevicesAsWereAsked() throws {
    let folder = try TemporaryFolder()
    let relay = try ServingRelay(store: folder.path)
    let members = try RelayCall(relay: relay.address).account(devices: 3)
    #expect(Set(members.map(\.device)).count == 3)
    #expect(Set(members.map(\.account)).count == 1)
    try relay.stop()
  }

  @Test func aRefusalIsToldInTheRelaysWords() throws {
    let folder = try TemporaryFolder()
    let relay = try ServingRelay(store: folder.path, isOpen: false)
    let call = RelayCall(relay: relay.address)
    #expect(
      throws: CommandFailure(
        "This relay accepts no new accounts; ask its owner for a pairing code.")
    ) { try call.join(code: nil, deviceName: "phone") }
    try relay.stop()
  }

  @Test func wrappedKeysComeBackWhenTheirCodeIsUsed() throws {
    let folder = try TemporaryFolder()
    let relay = try ServingRelay(store: folder.path)
    let call = RelayCall(relay: relay.address)
    let first = try call.join(code: nil, deviceName: "phone")
    #expect(first.wrapped == nil)
    let request = PairingRequest(isReadOnly: true, wrapped: "_-A")
    let account = first.credentials.account
    for _ in 0..<2 {
      let offer = try call.pairingOffer(request, token: first.credentials.token)
      let again = try #require(
        try call.join(again: account, code: offer.code, deviceName: "laptop"))
      #expect(again.wrapped == "_-A" && again.credentials.scope.isReadOnly)
    }
    let plain = try call.pairingOffer(token: first.credentials.token)
    #expect(try call.join(code: plain.code, deviceName: "tablet").wrapped == nil)
    try relay.stop()
  }

  @Test func aRevokedDeviceIsNobodyAnyMore() throws {
    let folder = try TemporaryFolder()
    let relay = try ServingRelay(store: folder.path)
    let call = RelayCall(relay: relay.address)
    let members = try call.account(devices: 2)
    try call.revoke(members[1].device, token: members[0].token)
    #expect(throws: CommandFailure.self) { try call.pairingOffer(token: members[1].token) }
    #expect(throws: Never.self) { try call.pairingOffer(token: members[0].token) }
    try relay.stop()
  }

  @Test func whereNobodyListensNothingWasAsked() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/none.sock"
    let report = try RelayCall.outcome(
      of: HTTPCall(
        HTTPCallRequest("GET", path: ["v1", "time"]), toSocket: path, at: SystemClock.moment()))
    guard case .unreachable = report else {
      Issue.record("it ended with \(report)")
      return
    }
  }
}
