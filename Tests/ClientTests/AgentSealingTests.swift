import LockstepModel
import LockstepSealing
import LockstepStorage
import LockstepWire
import Testing

@testable import LockstepClient

/// Devices of one account that seal a zone: the relay stores and pushes what it cannot read.
struct AgentSealingTests {
  private func seal(_ device: TestDevice, _ keys: ZoneKeys) throws -> Result<Bool, EditFailure>? {
    let id = try device.order { .seal($0, .zones([keys])) }
    for case .switched(id, let result) in device.reports { return result }
    return nil
  }

  @Test(arguments: [Transport.webSocket, .longPoll, .poll])
  func aSealedNoteReachesTheOtherDevice(_ transport: Transport) throws {
    let stage = try Stage()
    let phone = try stage.device(1, transports: [transport])
    let laptop = try stage.device(2)
    try stage.run()
    for device in [phone, laptop] { #expect(try seal(device, sealKeys([1]))?.get() == true) }
    #expect(try seal(phone, sealKeys([1]))?.get() == false)
    try stage.run(40_000)
    try laptop.edit(.note("diary", "a secret"))
    try stage.run(40_000)
    #expect(try phone.text("diary") == "a secret")
    try phone.edit(.delete("diary"))
    try phone.edit(.note("list", "another secret"))
    try stage.run(40_000)
    #expect(try laptop.record("diary")?.isDeleted == true)
    #expect(try laptop.text("list") == "another secret")
    for device in [phone, laptop] { #expect(device.status.state == .inSync) }
    let sent = stage.relay.saves.flatMap(\.mutations)
    #expect(Set(sent.map(\.name)).count == 2)
    for mutation in sent {
      let fields = String(decoding: mutation.fields ?? [], as: UTF8.self)
      let text = "\(mutation.name.text) \(mutation.type?.text ?? "") \(fields)"
      for word in ["diary", "list", "secret", "text", "Note"] { #expect(!text.contains(word)) }
      #expect(!mutation.isDelete)
    }
  }

  @Test func aZoneWhoseRecordsTheRelayCanReadIsNotSealed() throws {
    let stage = try Stage()
    let phone = try stage.device(1)
    try stage.run()
    try phone.edit(.note("open", "for all"))
    try stage.run()
    guard case .failure(.refused) = try seal(phone, sealKeys([1])) else {
      Issue.record("sealed")
      return
    }
    try phone.edit(.note("more", "for all"))
    try stage.run()
    #expect(try stage.relay.record("more")?.text == "for all")
  }

  @Test func aDeviceThatJoinsAgainWithOtherKeysStaysAsItWas() throws {
    let stage = try Stage()
    let phone = try stage.device(1)
    try stage.run()
    #expect(try seal(phone, sealKeys([1]))?.get() == true)
    try phone.edit(.note("diary", "a secret"))
    try stage.run()
    let other = TestDevice.identity(phone.id, DeviceScope(zones: [TestApp.zone]))
    let refused = try phone.order { .join($0, other, JoinedKeys(.zones([sealKeys([2])]))) }
    guard case .failure(.refused)? = joined(phone, refused) else {
      Issue.record("joined with other keys")
      return
    }
    #expect(try phone.store.identity()?.credentials.scope == .everything)
    try phone.edit(.note("diary", "more"))
    try stage.run()
    #expect(phone.status.state == .inSync)
    let again = try phone.order { .join($0, other, JoinedKeys(.zones([sealKeys([1, 2])]))) }
    #expect(try joined(phone, again)?.get() == other)
    try stage.run()
    #expect(try phone.text("diary") == "more")
    #expect(phone.status.state == .inSync)
  }

  private func joined(
    _ device: TestDevice, _ order: OrderID
  ) -> Result<HomeIdentity, EditFailure>? {
    for case .joined(order, let result) in device.reports { return result }
    return nil
  }
}
