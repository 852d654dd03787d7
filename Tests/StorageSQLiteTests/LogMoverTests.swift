import LockstepModel
import LockstepStorage
import StorageContract
import TemporaryFolders
import Testing

@testable import LockstepStorageSQLite

struct LogMoverTests {
  private let account = AccountID(rawValue: 1)

  private func storeWithMover(
    _ directory: TemporaryFolder
  ) throws -> (SQLiteZoneStore, Aside) {
    let store = try SQLiteZoneStore(directory: directory.path)
    _ = try store.commit([TestRequests.create(account)], wall: 0)
    let aside = Aside(try store.makeLogMover())
    store.moveLog(by: aside)
    return (store, aside)
  }

  private func save(_ names: ClosedRange<Int>, into store: SQLiteZoneStore) throws {
    for number in names {
      _ = try store.commit(
        [TestRequests.save("large \(number)", in: account, bytes: 1 << 20)], wall: 0)
    }
  }

  /// Moves the log when the test calls `work`.
  private final class Aside: LogFallback {
    let mover: LogMover
    var progress = LogProgress.idle
    var begun = 0
    var waits = 0

    init(_ mover: LogMover) { self.mover = mover }

    func takeProgress() -> LogProgress {
      defer { if !progress.isMoving { progress = .idle } }
      return progress
    }

    var isMoving: Bool { progress.isMoving }

    func start() -> Bool {
      begun += 1
      progress = .moving
      return true
    }

    func work() throws {
      progress = .moved(pages: try mover.move())
    }

    func wait() {
      waits += 1
      if case .moving = progress { progress = .moved(pages: 0) }
    }

    func close() { mover.close() }
  }

  /// Commits continue while the log is moved, and the next idle period moves the pages that they
  /// added.
  @Test func theLogIsMovedBesideTheCommits() throws {
    let directory = try TemporaryFolder()
    let (store, aside) = try storeWithMover(directory)
    try save(1...8, into: store)
    let waiting = store.connection.waitingPages
    #expect(waiting > Limits.logPages)
    try store.performMaintenance()
    try save(9...9, into: store)
    try store.performMaintenance()
    #expect(aside.begun == 1)
    #expect(store.connection.waitingPages > waiting, "it is not waited for")
    try aside.work()
    // All of it is moved, so the log is written from its beginning again; and the mover is started
    // again.
    try save(10...10, into: store)
    #expect(store.connection.waitingPages < 300)
    try save(11...15, into: store)
    try store.performMaintenance()
    #expect(aside.begun == 2)
    try aside.work()
    store.close()
    let again = try SQLiteZoneStore(directory: directory.path)
    for number in 1...15 {
      let key = RecordKey(zone: Name(trusted: "Z"), name: Name(trusted: "large \(number)"))
      guard case .record(let record) = try again.read(.record(account, key)) else {
        Issue.record("no record \(number)")
        continue
      }
      #expect(record.fields?.count ?? 0 >= 1 << 20)
    }
  }

  /// Pages that a reader kept in the log, and pages added meanwhile, are moved in an idle period.
  @Test func pagesLeftByTheMoverAreMovedInAnIdlePeriod() throws {
    let directory = try TemporaryFolder()
    let (store, aside) = try storeWithMover(directory)
    try save(1...8, into: store)
    let reader = try store.makeReader()
    try reader.connection.read { () throws(StorageError) in
      _ = try reader.read(.accountCount)
      do {
        try save(9...9, into: store)
        try store.performMaintenance()
        try aside.work()
      } catch {
        Issue.record(error)
      }
    }
    #expect(store.connection.waitingPages > Limits.logPages)
    try store.performMaintenance()
    #expect(store.connection.waitingPages == 0)
    store.close()
  }

  /// Saves `saves` times without an idle period. Returns the greatest number of pages that waited
  /// in the log.
  private func greatestLog(
    of store: SQLiteZoneStore, saves: Int, after each: () throws -> Void = {}
  ) throws -> Int {
    try store.connection.execute("PRAGMA synchronous = OFF")
    var greatest = 0
    for number in 0..<saves {
      try save(number...number, into: store)
      try each()
      greatest = max(greatest, store.connection.waitingPages)
    }
    return greatest
  }

  /// A store without idle periods moves its log too.
  @Test func commitsWithoutAPauseMoveTheLogToo() throws {
    let directory = try TemporaryFolder()
    let (store, aside) = try storeWithMover(directory)
    let greatest = try greatestLog(of: store, saves: 80) {
      if case .moving = aside.progress { try aside.work() }
    }
    #expect(aside.begun > 2)
    #expect(greatest < Limits.logPagesWithoutPause + 2 * 300)
    store.close()
  }

  /// The log is bounded even if the mover does not end: at the ceiling the store waits for it,
  /// because two concurrent checkpoints can lose commits.
  @Test func atTheCeilingTheMoverIsWaitedFor() throws {
    let directory = try TemporaryFolder()
    let (store, aside) = try storeWithMover(directory)
    var largest = 0
    let greatest = try greatestLog(of: store, saves: 70) {
      // The store moves its log itself only while the mover is idle.
      let waiting = store.connection.waitingPages
      if waiting < largest { #expect(aside.waits > 0 && !aside.progress.isMoving) }
      largest = max(largest, waiting)
    }
    #expect(aside.begun == 1)
    #expect(aside.waits == 1)
    #expect(greatest < Limits.logPagesMax + 300)
    store.close()
  }

  /// A backup keeps the log for a long time: the mover is not started again with every commit.
  @Test func aReaderThatStaysBeginsTheMoverSeldom() throws {
    let directory = try TemporaryFolder()
    let (store, aside) = try storeWithMover(directory)
    let reader = try store.makeReader()
    try reader.connection.read { () throws(StorageError) in
      _ = try reader.read(.accountCount)
      do {
        try save(1...8, into: store)
        for number in 100..<150 {
          _ = try store.commit(
            [TestRequests.save("small \(number)", in: account, bytes: 10)], wall: 0)
          try store.performMaintenance()
          if case .moving = aside.progress { try aside.work() }
        }
      } catch {
        Issue.record(error)
      }
    }
    #expect(aside.begun <= 2)
    try save(200...208, into: store)
    try store.performMaintenance()
    if case .moving = aside.progress { try aside.work() }
    try store.performMaintenance()
    #expect(store.connection.waitingPages < Limits.logPages, "once it is gone all is moved")
    store.close()
  }
}
