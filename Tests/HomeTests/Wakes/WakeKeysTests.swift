import Lockstep
import LockstepCommandLine
import LockstepCrypto
import LockstepJSON
import LockstepModel
import TemporaryFolders
import Testing

@testable import LockstepHome

/// The file with the keys of a device that is woken.
struct WakeKeysTests {
  /// Secrets that count up, so that no two are alike.
  private final class Source: @unchecked Sendable {
    private var next: UInt8 = 0
    var secrets: SecretSource {
      SecretSource { count in
        self.next += 1
        return [UInt8](repeating: self.next, count: count)
      }
    }
  }

  private let source = Source()
  private let folder: TemporaryFolder
  private let home: HomeFolder

  init() throws {
    folder = try TemporaryFolder()
    home = HomeFolder(path: folder.path)
  }

  @Test func theKeysLastAndOnlyTheirOwnerMayReadThem() throws {
    let made = try WakeKeys(in: home, secrets: source.secrets)
    let read = try WakeKeys(in: home, secrets: source.secrets)
    #expect(read.name == made.name && read.token == made.token && read.push.auth == made.push.auth)
    #expect(read.push.key.scalar == made.push.key.scalar)
    #expect(try folder.rights("wake.json") == 0o600)
    let parts = made.name.split(separator: ".", omittingEmptySubsequences: false)
    #expect(parts.count == 4)
    #expect(parts.allSatisfy { part in part.first.map { $0.isLetter } ?? false })
  }

  private func wakeKey(_ byte: UInt8) -> String {
    Base64.encodeURL([UInt8](repeating: byte, count: 65))
  }

  @Test func anotherKeyOfTheRelayGetsAnotherToken() throws {
    var keys = try WakeKeys(in: home, secrets: source.secrets)
    let first = keys.token
    try keys.use("a.b", wakeKey: wakeKey(1), secrets: source.secrets)
    #expect(keys.token == first)
    try keys.use("a.b", wakeKey: wakeKey(1), secrets: source.secrets)
    #expect(keys.token == first)
    try keys.use("a.b", wakeKey: wakeKey(2), secrets: source.secrets)
    #expect(keys.token != first)
    let read = try #require(try WakeKeys(storedIn: home))
    #expect(read.token == keys.token && read.distributor == "a.b")
  }

  @Test(arguments: ["", "{}", #"{"name":"a","token":"b","key":"AA","auth":"AA"}"#])
  func aDamagedFileSaysWhatToDo(_ text: String) throws {
    try folder.write(text, to: "wake.json")
    let failure = #expect(throws: CommandFailure.self) {
      try WakeKeys(in: home, secrets: source.secrets)
    }
    #expect(failure?.message?.contains("remove it") == true)
  }

  /// libdbus ends the process at a name that is not valid.
  @Test(arguments: [
    ("name", "no name"), ("name", "dev..lockstep"), ("token", "short"),
    ("token", String(repeating: "a", count: 101)), ("token", "twenty characters, but"),
    ("distributor", "org.unifiedpush.Distributor.1"), ("distributor", "x y"), ("wakeKey", "AA"),
  ])
  func namesThatABusDoesNotTakeAreDamage(_ member: String, _ text: String) throws {
    var keys = try WakeKeys(in: home, secrets: source.secrets)
    try keys.use("a.b", wakeKey: wakeKey(1), secrets: source.secrets)
    let stored = try JSONValue(parsing: folder.bytes("wake.json"))
    let members = try #require(stored.members).map { each in
      each.name == member ? JSONMember(member, .string(text)) : each
    }
    try folder.write(JSONValue.object(members).serialized(), to: "wake.json")
    let failure = #expect(throws: CommandFailure.self) { try WakeKeys(storedIn: home) }
    #expect(failure?.message?.contains("remove it") == true)
    guard case .unknown(let problem) = WakeRegistrationEnd(in: home) else {
      Issue.record("what a damaged file names cannot be ended")
      return
    }
    #expect(problem.reason.contains("not known"))
  }

  @Test func withoutKeysNothingIsToBeEnded() throws {
    #expect(WakeRegistrationEnd(in: home) == .notRegistered)
    _ = try WakeKeys(in: home, secrets: source.secrets)
    #expect(WakeRegistrationEnd(in: home) == .notRegistered)
  }

  @Test func aHomeMayHaveNone() throws {
    #expect(try WakeKeys(storedIn: home) == nil)
    try WakeKeys.remove(from: home)
    _ = try WakeKeys(in: home, secrets: source.secrets)
    try WakeKeys.remove(from: home)
    #expect(try WakeKeys(storedIn: home) == nil)
  }
}
