import LockstepModel
import LockstepStorage
import LockstepStorageSQLite
import TemporaryFolders
import Testing

@testable import LockstepRelayService

struct LogThreadTests {
  @Test func whatTheThreadDidIsToldOnce() throws {
    let directory = try TemporaryFolder()
    let store = try SQLiteZoneStore(directory: directory.path, opening: 1)
    let thread = LogThread(try store.makeLogMover())
    for _ in 0..<3 {
      #expect(thread.start())
      var told: [String] = []
      while told.last != "resting" {
        switch thread.takeProgress() {
        case .moving: continue
        case .moved: told.append("moved")
        case .failed: told.append("failed")
        case .idle: told.append("resting")
        }
      }
      #expect(told == ["moved", "resting"])
    }
    thread.close()
    store.close()
  }

  /// Closing a store waits for the move of its log.
  @Test func closingWaitsForTheThread() throws {
    for number: UInt64 in 1...5 {
      let directory = try TemporaryFolder()
      let store = try SQLiteZoneStore(directory: directory.path, opening: number)
      let thread = LogThread(try store.makeLogMover())
      store.moveLog(by: thread)
      #expect(thread.start())
      store.close()
      let again = try SQLiteZoneStore(directory: directory.path, opening: number + 1)
      #expect(!again.wasRestored)
      again.close()
    }
  }
}
