import Glibc
import Lockstep
import LockstepApps
import LockstepClient
import LockstepCommandLine
import LockstepJSON
import LockstepModel
import LockstepSealing
import Stages
import TemporaryFolders
import Testing

@testable import LockstepHome

/// Tests with two devices of an account, on a relay in this process.
struct VaultKeysTests {
  private final class Stage {
    let folder: TemporaryFolder
    let relay: ServingRelay
    let homes: [HomeFolder]
    let records: [VaultRecords]
    let tokens: [String]

    init() throws {
      folder = try TemporaryFolder()
      let path = folder.path
      relay = try ServingRelay(store: path + "/relay")
      let members = try RelayCall(relay: relay.address).account(devices: 2)
      homes = ["phone", "laptop"].map { HomeFolder(path: path + "/" + $0) }
      for home in homes where mkdir(home.path, 0o700) != 0 {
        throw CommandFailure("\(home.path) cannot be made")
      }
      let address = relay.address
      tokens = members.map(\.token)
      records = members.map { VaultRecords(HomeAccess(relay: address, token: $0.token)) }
    }

    /// Writes the account's record of its key from the second device, whatever it contains.
    func put(_ fields: JSONValue) throws {
      let call = RelayCall(relay: relay.address)
      let standing = try call.record(VaultApp.keyRecord, zone: VaultApp.zone, token: tokens[1])
      let mutation = Mutation(
        name: VaultApp.keyRecord, type: VaultApp.keyType, fields: fields.serialized(),
        modifiedAt: try call.time(), baseTag: standing?.tag ?? 0)
      let results = try call.save([mutation], zone: VaultApp.zone, token: tokens[1])
      guard case .saved? = results.first else { throw CommandFailure("it was not saved") }
    }

    func key(_ device: Int) throws -> VaultKey? { try VaultKeyFile(homes[device]).key() }

    func ensure(_ device: Int) throws -> VaultKey {
      try VaultKeys.ensure(homes[device], records[device])
    }

    func unlock(_ device: Int, _ code: JoinCode) throws -> VaultKey {
      try VaultKeys.unlock(code, homes[device], records[device])
    }

    /// Returns a code of the first device, which has the key.
    func code(expiresIn milliseconds: Int64 = 600_000) throws -> JoinCode {
      let code = try #require(
        JoinCode(offer: "7Q2M-0XKD-9RTA", secret: JoinSecret(word: 0x1234_5678_9ABC_DEF0)))
      try VaultKeys.storeWrapped(
        try #require(try key(0)), code, expiresAt: try records[0].time() + milliseconds,
        records[0], removing: [])
      return code
    }
  }

  private func reason(_ body: () throws -> Void) -> String {
    do {
      try body()
      return ""
    } catch {
      return (error as? CommandFailure)?.message ?? "\(error)"
    }
  }

  @Test func theFirstDeviceMakesTheKeyAndTheSecondIsToldHowToGetIt() throws {
    let stage = try Stage()
    #expect(try stage.records[0].keyID() == nil)
    let key = try stage.ensure(0)
    #expect(try stage.ensure(0) == key && (try stage.records[1].keyID()) == key.id)
    #expect(try VaultKeys.seal(in: stage.homes[0])?.chunkSeed == VaultSeal(key).chunkSeed)
    let told = reason { _ = try stage.ensure(1) }
    #expect(told.contains("agent pair") && told.contains("vault unlock"), "\(told)")
    #expect(try stage.key(1) == nil && VaultKeys.seal(in: stage.homes[1])?.isOfZone == nil)
    #expect(VaultKeys.source(in: stage.homes[0])()?.chunkSeed == VaultSeal(key).chunkSeed)
    #expect(VaultKeys.source(in: stage.homes[1])()?.isOfZone == nil)
    try stage.relay.stop()
  }

  /// A device without the vault's key, or the relay, has declared that there is a key.
  @Test(arguments: ["0123456789abcdef", nil])
  func aKeyThatNobodyHasIsReplacedByThisDevices(squatted: String?) throws {
    let stage = try Stage()
    let fields: JSONValue = squatted.map { ["key": .string($0)] } ?? [:]
    try stage.put(fields)
    let id = squatted ?? VaultRecords.unreadable
    let told = reason { _ = try stage.ensure(0) }
    #expect(told.contains("vault new-key --instead-of \(id)"), "\(told)")
    #expect(try stage.key(0) == nil)
    // Only the named key is replaced.
    let other = reason {
      _ = try VaultKeys.replace("ffffffffffffffff", stage.homes[0], stage.records[0])
    }
    #expect(other.contains(id), "\(other)")
    #expect(try stage.key(0) == nil)
    let key = try VaultKeys.replace(id, stage.homes[0], stage.records[0])
    #expect(try stage.key(0) == key)
    #expect(try stage.ensure(0) == key)
    #expect(try stage.records[1].keyID() == key.id)
    // The false key is declared again after the key was made: the key stays, and so does the data
    // that it seals.
    try stage.put(["key": "fedcba9876543210"])
    let refusal = reason { _ = try stage.code() }
    #expect(refusal.contains("--instead-of fedcba9876543210"), "\(refusal)")
    #expect(try VaultKeys.replace("fedcba9876543210", stage.homes[0], stage.records[0]) == key)
    _ = try stage.code()
    #expect(
      reason { _ = try VaultKeys.replace(key.id, stage.homes[0], stage.records[0]) }
        .contains("nothing to replace"))
    try stage.relay.stop()
  }

  /// One device has drawn a key and not declared it when the other completes all steps.
  @Test func twoFirstDevicesMakeOneKey() throws {
    let stage = try Stage()
    let drawn = try #require(VaultKey(bytes: Array(0..<16)))
    _ = try VaultKeyFile(stage.homes[0]).storeNew(drawn)
    let key = try stage.ensure(1)
    #expect(reason { _ = try stage.ensure(0) }.contains("has a key already"))
    #expect(try stage.key(0) == nil && VaultKeyFile(stage.homes[0]).newKey() == nil)
    #expect(try stage.records[0].announce(drawn) == key.id)
    try stage.relay.stop()
  }

  @Test func aCrashAfterTheRelayKnewIsMendedByTheNextWhoAsks() throws {
    let stage = try Stage()
    let drawn = try #require(VaultKey(bytes: Array(0..<16)))
    _ = try VaultKeyFile(stage.homes[0]).storeNew(drawn)
    #expect(try stage.records[0].announce(drawn) == drawn.id)
    #expect(try stage.ensure(0) == drawn)
    #expect(try stage.key(0) == drawn && VaultKeyFile(stage.homes[0]).newKey() == nil)
    try stage.relay.stop()
  }

  @Test func withNoRelayInReachNoKeyIsMadeAndNothingIsLost() throws {
    let stage = try Stage()
    try stage.relay.stop()
    #expect(reason { _ = try stage.ensure(0) }.contains("relay in reach"))
    #expect(try stage.key(0) == nil)
  }

  @Test func aCodeBringsTheKeyToOneDevice() throws {
    let stage = try Stage()
    let key = try stage.ensure(0)
    let code = try stage.code()
    #expect(try stage.unlock(1, code) == key)
    #expect(try stage.key(1) == key)
    #expect(try stage.records[0].wrapped(try #require(code.recordName)) == nil)
    #expect(reason { _ = try stage.unlock(1, code) }.contains("no vault's key waits"))
    // A second code changes nothing on a device that has the key already.
    #expect(try stage.unlock(1, try stage.code()) == key)
    try stage.relay.stop()
  }

  @Test func aWrongSecretIsRefusedAndNothingIsLost() throws {
    let stage = try Stage()
    let key = try stage.ensure(0)
    let code = try stage.code()
    let wrong = try #require(JoinCode(offer: code.relayPart, secret: JoinSecret(word: 1)))
    #expect(reason { _ = try stage.unlock(1, wrong) }.contains("second half"))
    #expect(try stage.key(1) == nil)
    let half = try #require(JoinCode(typed: code.relayPart))
    #expect(reason { _ = try stage.unlock(1, half) }.contains("relay's half alone"))
    #expect(try stage.unlock(1, code) == key)
    try stage.relay.stop()
  }

  @Test func anExpiredCodeOpensNothingAndGoesWithTheNext() throws {
    let stage = try Stage()
    _ = try stage.ensure(0)
    let code = try stage.code(expiresIn: -1)
    #expect(reason { _ = try stage.unlock(1, code) }.contains("has expired"))
    let next = try #require(JoinCode(offer: "0000-1111-2222", secret: JoinSecret(word: 1)))
    let expired = try #require(code.recordName)
    try VaultKeys.storeWrapped(
      try #require(try stage.key(0)), next, expiresAt: try stage.records[0].time() + 1_000,
      stage.records[0], removing: [expired])
    #expect(try stage.records[1].wrapped(expired) == nil)
    #expect(try stage.records[1].wrapped(try #require(next.recordName)) != nil)
    try stage.relay.stop()
  }

  @Test func aPhraseBringsTheKeyBackAndNoOtherKeyTakesItsPlace() throws {
    let stage = try Stage()
    let key = try stage.ensure(0)
    let other = try #require(VaultKey(bytes: Array(0..<16)))
    let refused = reason { try VaultKeys.restore(other, stage.homes[1], stage.records[1]) }
    #expect(refused.contains("another vault") && refused.contains(key.id))
    #expect(try stage.key(1) == nil)
    try VaultKeys.restore(key, stage.homes[1], stage.records[1])
    try VaultKeys.restore(key, stage.homes[1], stage.records[1])
    #expect(try stage.key(1) == key)
    try stage.relay.stop()
  }

  @Test func aPhraseMakesTheAccountsKeyWhereItHasNone() throws {
    let stage = try Stage()
    let key = try #require(VaultKey(bytes: Array(0..<16)))
    try VaultKeys.restore(key, stage.homes[1], stage.records[1])
    #expect(try stage.records[0].keyID() == key.id && (try stage.key(1)) == key)
    #expect(reason { _ = try stage.ensure(0) }.contains("has a key already"))
    try stage.relay.stop()
  }

  /// A device with another key than the account's gives it to no other device, and no phrase
  /// replaces it.
  @Test func aHomeWithAnotherKeyKeepsItToItself() throws {
    let stage = try Stage()
    let key = try stage.ensure(0)
    let other = try #require(VaultKey(bytes: Array(0..<16)))
    try VaultKeyFile(stage.homes[1]).store(other)
    let code = try stage.code()
    #expect(reason { _ = try stage.unlock(1, code) }.contains("another vault's key already"))
    let refused = reason { try VaultKeys.restore(key, stage.homes[1], stage.records[1]) }
    #expect(refused.contains("another vault's key already"))
    #expect(try stage.key(1) == other)
    let given = reason {
      try VaultKeys.storeWrapped(other, code, expiresAt: .max, stage.records[1], removing: [])
    }
    #expect(given.contains("is not the one of the account's vault"))
    // The device with the right key is not affected.
    #expect(try stage.unlock(0, code) == key)
    try stage.relay.stop()
  }
}
