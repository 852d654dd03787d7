import StorageSQLite
import Testing

@testable import lockstep

struct AccountMakerTests {
  @Test func theRunningRelayMakesTheAccount() throws {
    let folder = try TemporaryFolder()
    let store = try folder.longFolder()
    let relay = try ServingRelay(store: store, isOpen: false)
    let made = try AccountMaker(store: store).make("mum")
    #expect(made.isByRelay)
    let credentials = try RelayCall(relay: relay.address).join(
      code: made.offer.pairing.code, deviceName: "phone")
    #expect(credentials.account == made.offer.account)
    try relay.stop()
  }

  @Test func whereNoRelayRunsTheStoreIsWritten() throws {
    let folder = try TemporaryFolder()
    let store = folder.path + "/new"
    let made = try AccountMaker(store: store).make("mum")
    #expect(!made.isByRelay)
    let relay = try ServingRelay(store: store, isOpen: false)
    let credentials = try RelayCall(relay: relay.address).join(
      code: made.offer.pairing.code, deviceName: "phone")
    #expect(credentials.account == made.offer.account)
    try relay.stop()
  }

  @Test func aLabelThatIsTooLongIsRefusedEitherWay() throws {
    let folder = try TemporaryFolder()
    let label = String(repeating: "a", count: 256)
    let refusal = CommandFailure(
      "An account's label may have at most 255 bytes, and no control characters.")
    #expect(throws: refusal) { try AccountMaker(store: folder.path).make(label) }
    let relay = try ServingRelay(store: folder.path)
    #expect(throws: refusal) { try AccountMaker(store: folder.path).make(label) }
    try relay.stop()
  }

  @Test func aStoreThatIsHeldBySomethingElseIsNamed() throws {
    let folder = try TemporaryFolder()
    let lock = try DirectoryLock(directory: folder.path)
    #expect {
      _ = try AccountMaker(store: folder.path, attempts: 2).make("mum")
    } throws: { error in
      (error as? CommandFailure)?.message?.hasPrefix("the store \(folder.path) is in use") == true
    }
    lock.release()
  }
}
