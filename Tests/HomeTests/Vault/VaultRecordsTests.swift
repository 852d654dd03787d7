import LockstepApps
import LockstepClient
import LockstepCommandLine
import LockstepModel
import Stages
import TemporaryFolders
import Testing

@testable import LockstepHome

struct VaultRecordsTests {
  @Test func recordsComeAndGoPastTheOutbox() throws {
    let folder = try TemporaryFolder()
    let relay = try ServingRelay(store: folder.path)
    let call = RelayCall(relay: relay.address)
    let token = try call.join(code: nil, deviceName: "phone").credentials.token
    let name = Name(trusted: "code/a b%2F")
    #expect(try call.record(name, zone: VaultApp.zone, token: token) == nil)
    let mutation = Mutation(
      name: name, type: VaultApp.keyType, fields: Array("{}".utf8), modifiedAt: try call.time(),
      baseTag: 0)
    guard case .saved? = try call.save([mutation], zone: VaultApp.zone, token: token).first,
      case .conflict? = try call.save([mutation], zone: VaultApp.zone, token: token).first
    else {
      Issue.record("it was not saved, or saved twice")
      return
    }
    #expect(try call.record(name, zone: VaultApp.zone, token: token)?.type == VaultApp.keyType)
    let records = VaultRecords(HomeAccess(relay: relay.address, token: token))
    // Another program wrote a record that contains no key.
    #expect(throws: CommandFailure.self) { try records.wrapped(name) }
    try records.remove(name)
    #expect(try call.record(name, zone: VaultApp.zone, token: token) == nil)
    #expect(try records.wrapped(name) == nil)
    try relay.stop()
  }

  @Test func aKeyRecordOfAnotherProgramIsSaidToBeUnreadable() throws {
    let folder = try TemporaryFolder()
    let relay = try ServingRelay(store: folder.path)
    let call = RelayCall(relay: relay.address)
    let token = try call.join(code: nil, deviceName: "phone").credentials.token
    let records = VaultRecords(HomeAccess(relay: relay.address, token: token))
    let mutation = Mutation(
      name: VaultApp.keyRecord, type: VaultApp.keyType, fields: Array("{}".utf8), modifiedAt: 0,
      baseTag: 0)
    _ = try call.save([mutation], zone: VaultApp.zone, token: token)
    #expect(throws: CommandFailure.self) { try records.keyID() }
    let key = try #require(VaultKey(bytes: Array(0..<16)))
    #expect(throws: CommandFailure.self) { try records.announce(key) }
    try relay.stop()
  }
}
