import Glibc
import Lockstep
import LockstepClient
import LockstepCommandLine
import LockstepHome
import LockstepModel
import LockstepStorage
import LockstepStorageSQLite
import TemporaryFolders
import Testing

@testable import LockstepDoctor

struct HomeProbeTests {
  private let progress = Progress(isShown: false) { _ in }
  private let log = Log("test", level: .error, sink: Log.Sink { _ in })

  /// Returns a home that has joined a relay that does not run.
  private func home(
    in folder: TemporaryFolder, scope: DeviceScope = .everything
  ) throws -> HomeFolder {
    let home = HomeFolder(path: try folder.longFolder())
    let store = try SQLiteReplicaStore(home: home.path)
    try store.write([
      .setIdentity(
        HomeIdentity(
          relay: "http://127.0.0.1:1",
          credentials: Credentials(
            account: AccountID(rawValue: 1), device: DeviceID(rawValue: 2), token: "secret",
            scope: scope),
          deviceName: "phone")),
      .setValue(key: "sync.last", "1000"),
    ])
    store.close()
    return home
  }

  private func check(_ name: String, of home: HomeFolder) throws -> DoctorCheck {
    try #require(HomeProbe(home, progress: progress).checks.first { $0.name == name })
  }

  @Test func aHomeThatNobodyHoldsTellsWhoItIs() throws {
    let folder = try TemporaryFolder()
    let home = try home(in: folder)
    let look = HomeProbe(home, progress: progress)
    #expect(look.member?.relay.url == "http://127.0.0.1:1" && look.member?.token == "secret")
    #expect(
      look.checks.map(\.name) == ["store", "holder", "waiting", "sync", "keys", "secrets", "disk"])
    #expect(look.checks.allSatisfy { $0.verdict != .problem }, "\(look.checks)")
    #expect(look.checks[0].seen.contains("phone's, at http://127.0.0.1:1"))
    #expect(look.checks[3].seen.contains("last in sync"))
    let lock = try home.lock()
    #expect(lock != nil, "it let go of the home again")
  }

  @Test func aHomeThatIsLockedTellsWhichZones() throws {
    let folder = try TemporaryFolder()
    let home = try home(in: folder)
    let store = try SQLiteReplicaStore(home: home.path)
    try store.write([.setValue(key: "seal.locked", #"{"plain":["Vault"],"zones":[]}"#)])
    store.close()
    let keys = try check("keys", of: home)
    #expect(keys.verdict == .problem && keys.seen.hasPrefix("the account's records are sealed"))
  }

  @Test func damagedMergeRulesAreNamed() throws {
    let folder = try TemporaryFolder()
    let home = try home(in: folder)
    try HomeFile.replace(home.rules, by: Array("{\"tables\":".utf8))
    let rules = try check("rules", of: home)
    #expect(rules.verdict == .problem)
    #expect(rules.seen.contains("rules.json") && rules.seen.contains("remove the file"))
  }

  @Test func whatWaitsIsCountedButForZonesThatAreOff() throws {
    let folder = try TemporaryFolder()
    let home = try home(in: folder)
    let store = try SQLiteReplicaStore(home: home.path)
    try putChanges(in: ["timer", "memo", "memo"], store)
    #expect(try check("waiting", of: home).seen.hasPrefix("3 changes wait"))
    try store.write([.setValue(key: "zones.off", #"[{"zone":"memo","since":null}]"#)])
    #expect(try check("waiting", of: home).seen.hasPrefix("1 change waits"))
    store.close()
  }

  private func putChanges(in zones: [String], _ store: SQLiteReplicaStore) throws {
    let type = try #require(Name("T"))
    for (number, zone) in zones.enumerated() {
      let key = RecordKey(
        zone: try #require(Name(zone)), name: try #require(Name("r\(number)")))
      try store.write([
        .putEntry(
          OutboxEntry(
            number: Int64(number), key: key, type: type, fields: nil, modifiedAt: 1,
            isStampTrusted: true, base: nil, state: .waiting))
      ])
    }
  }

  @Test func whatTheScopeKeepsBackIsApartFromWhatIsSent() throws {
    let folder = try TemporaryFolder()
    let home = try home(in: folder, scope: DeviceScope(zones: [try #require(Name("timer"))]))
    #expect(try check("scope", of: home).verdict == .ok)
    let store = try SQLiteReplicaStore(home: home.path)
    try putChanges(in: ["timer", "memo", "memo"], store)
    #expect(try check("waiting", of: home).seen.hasPrefix("1 change waits"))
    let scope = try check("scope", of: home)
    #expect(scope.verdict == .warning && scope.seen.hasPrefix("2 changes in memo cannot be sent"))
    #expect(scope.nextStep?.contains("--zones memo,timer ") == true)
    store.close()
  }

  @Test func whoHoldsItIsAskedHowItIs() throws {
    let folder = try TemporaryFolder()
    let home = try home(in: folder)
    let session = try HomeSession(home, log: log)
    #expect(try check("holder", of: home).seen.contains("keeps it in sync"))
    try session.close()
    let lock = try home.lock()
    #expect(try check("holder", of: home).verdict == .problem, "it is held and nobody answers")
    lock?.release()
    #expect(try check("holder", of: home).verdict == .ok)
  }

  @Test func aFileThatOthersMayReadIsNamed() throws {
    let folder = try TemporaryFolder()
    let home = try home(in: folder)
    #expect(HomeProbe.exposed(in: home).isEmpty)
    try folder.write("key", to: "key")
    #expect(symlink(folder.path + "/key", home.path + "/vault.key") == 0)
    #expect(chmod(folder.path + "/key", 0o640) == 0)
    #expect(HomeProbe.exposed(in: home) == ["vault.key"])
    #expect(try check("secrets", of: home).verdict == .warning)
  }

  @Test func whatIsNoHomeIsAProblem() throws {
    let folder = try TemporaryFolder()
    let home = HomeFolder(path: folder.path)
    #expect(try check("store", of: home).verdict == .problem)
    try folder.write("nonsense, and no database", to: "replica.sqlite")
    let check = try check("store", of: home)
    #expect(check.verdict == .problem && check.seen.contains("damaged"), "\(check)")
    #expect(HomeProbe(home, progress: progress).member == nil)
  }
}
