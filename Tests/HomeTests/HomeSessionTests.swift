import Lockstep
import LockstepClient
import LockstepCommandLine
import LockstepModel
import LockstepStorage
import LockstepStorageSQLite
import Stages
import TemporaryFolders
import Testing

@testable import LockstepHome

struct HomeSessionTests {
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
          deviceName: "phone"))
    ])
    return home
  }

  @Test func aCommandHoldsAHomeThatNobodyHolds() throws {
    let folder = try TemporaryFolder()
    let home = try home(in: folder)
    let session = try HomeSession(home, log: log)
    #expect(session.isHolder)
    #expect(try session.send(.timer(.start(length: 60_000))).row == "focus 01:00")
    try session.close()
    let lock = try home.lock()
    #expect(lock != nil)
  }

  @Test func theNextCommandAsksTheOneThatHoldsIt() throws {
    let folder = try TemporaryFolder()
    let home = try home(in: folder)
    let holder = try #require(try HomeHolder.hold(home, log: log))
    try holder.start()
    #expect(try HomeHolder.hold(home, log: log) == nil)
    let session = try HomeSession(home, log: log)
    #expect(!session.isHolder)
    #expect(try session.send(.status)["deviceName"]?.string == "phone")
    #expect(throws: CommandFailure.self) { try session.send(.timer(.pause)) }
    try session.close()
    try holder.stop()
  }

  @Test func aPressOutlivesTheProcessThatTookIt() throws {
    let folder = try TemporaryFolder()
    let home = try home(in: folder)
    let first = try HomeSession(home, log: log)
    _ = try first.send(.timer(.start(length: 60_000)))
    _ = try first.send(.timer(.pause))
    try first.close()
    let second = try HomeSession(home, log: log)
    #expect(try second.send(.screen)["view"]?["isPaused"]?.bool == true)
    try second.close()
  }

  @Test func anAppOfAnotherZoneIsRefusedWithTheNextStep() throws {
    let folder = try TemporaryFolder()
    let scope = DeviceScope(zones: [Name(trusted: "Memos")], isReadOnly: true)
    let session = try HomeSession(try home(in: folder, scope: scope), log: log)
    #expect(try session.scope() == scope)
    let timer = CommandFailure(scope.explanation(ofEditIn: Name(trusted: "Timer")))
    #expect(throws: timer) { try session.send(.timer(.start(length: 60_000))) }
    #expect(throws: timer) { try session.send(.screen) }
    #expect(throws: timer) {
      try session.requireScope(Name(trusted: "Timer"), forChanges: false)
    }
    let memos = Name(trusted: "Memos")
    #expect(throws: Never.self) { try session.requireScope(memos, forChanges: false) }
    #expect(throws: CommandFailure(scope.explanation(ofEditIn: memos))) {
      try session.requireScope(memos, forChanges: true)
    }
    // A zone that the device does not have can be switched off all the same.
    let off = try session.send(.setSyncing(zone: Name(trusted: "Timer"), false))
    #expect(off["changed"]?.bool == true)
    try session.close()
  }

  @Test func aFolderThatIsNoHomeIsToldSo() throws {
    let folder = try TemporaryFolder()
    let home = HomeFolder(path: folder.path)
    #expect(throws: HomeSession.noHome(home)) { _ = try HomeSession(home, log: log) }
    _ = try SQLiteReplicaStore(home: home.path)
    #expect {
      _ = try HomeSession(home, log: log)
    } throws: { error in
      (error as? CommandFailure)?.message?.contains("has not joined an account") == true
    }
  }
}
