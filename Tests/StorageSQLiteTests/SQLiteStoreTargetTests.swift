import LockstepModel
import LockstepStorage
import StorageContract
import TemporaryFolders
import Testing

@testable import LockstepStorageSQLite

struct SQLiteStoreTargetTests {
  private func source(_ place: TemporaryFolder) throws -> SQLiteStoreSource {
    try SQLiteStoreSource(directory: place.path, retirement: .random(in: 1 ... .max))
  }

  private func target(_ place: TemporaryFolder) throws -> SQLiteStoreTarget {
    try SQLiteStoreTarget(directory: place.path)
  }

  /// Closes the store and returns the one that its content was moved to. Both hold the same
  /// content.
  private func moved(
    _ store: any ZoneStore, from old: inout TemporaryFolder, rules: StoreRules
  ) throws -> any ZoneStore {
    (store as? SQLiteZoneStore)?.close()
    let new = try TemporaryFolder()
    let dump = try StoreDump.move(try source(old), to: try target(new))
    #expect(try StoreDump(try source(new)) == dump)
    old = new
    let next = try SQLiteZoneStore(directory: new.path, rules: rules)
    #expect(!next.wasRestored)
    return next
  }

  /// Each time a story reopens its store, the store has been moved.
  @Test(arguments: ZoneStory.all) func holdsInAnotherPlace(_ story: ZoneStory) throws {
    var place = try TemporaryFolder()
    let first = try SQLiteZoneStore(directory: place.path, rules: story.rules)
    let scene = ZoneScene(first) { store in
      try moved(store, from: &place, rules: story.rules)
    } copying: { store in
      // An older copy is put back in the store's present folder.
      let copy = try StoreCopy(try #require(store as? SQLiteZoneStore))
      return { store in
        (store as? SQLiteZoneStore)?.close()
        try copy.putBack(in: place)
        return try SQLiteZoneStore(directory: place.path, rules: story.rules)
      }
    }
    try story.tell(scene)
  }

  @Test(arguments: 1...4 as ClosedRange<UInt64>) func walksInStepWithTheReference(
    seed: UInt64
  ) throws {
    var place = try TemporaryFolder()
    var walk = ZoneWalk(seed: seed)
    let first = try SQLiteZoneStore(directory: place.path, rules: ZoneWalk.rules)
    try walk.lead(first, steps: 700) { store in
      try moved(store, from: &place, rules: ZoneWalk.rules)
    }
  }

  // MARK: Older copies

  private let account = AccountID(rawValue: 5)

  private func fill(_ place: TemporaryFolder) throws {
    let store = try SQLiteZoneStore(directory: place.path)
    _ = try store.commit(
      [TestRequests.create(account), TestRequests.save("a", in: account)], wall: 1)
    store.close()
  }

  private func token(_ store: SQLiteZoneStore) throws -> ChangeToken {
    guard case .token(let token) = try store.read(.newestToken(account)) else {
      throw StorageError.failed(path: "", operation: "read", detail: "there is no token")
    }
    return token
  }

  @Test func theStoreThatWasLeftIsAnOlderCopy() throws {
    let (old, new) = (try TemporaryFolder(), try TemporaryFolder())
    try fill(old)
    try StoreDump.move(try source(old), to: try target(new))
    let moved = try SQLiteZoneStore(directory: new.path)
    #expect(!moved.wasRestored)
    #expect(try token(moved) == ChangeToken(generation: 1, sequence: 1))
    let left = try SQLiteZoneStore(directory: old.path)
    #expect(left.wasRestored)
    #expect(try token(left).generation != 1)
  }

  @Test func anOlderCopyStaysOneWhereItIsMoved() throws {
    let (old, new) = (try TemporaryFolder(), try TemporaryFolder())
    let next = try TemporaryFolder()
    try fill(old)
    try StoreDump.move(try source(old), to: try target(new))
    // Moves the abandoned source once more.
    let again = try source(old)
    #expect(again.isOlderCopy)
    try StoreDump.move(again, to: try target(next))
    #expect(try SQLiteZoneStore(directory: next.path).wasRestored)
  }

  // MARK: Refusals

  @Test func aStoreThatLacksSomethingIsNotFinished() throws {
    let (old, new) = (try TemporaryFolder(), try TemporaryFolder())
    try fill(old)
    let source = try source(old)
    let target = try target(new)
    while let rows = try source.next() { if rows.table != .batches { try target.insert(rows) } }
    let fault = #expect(throws: StorageError.self) {
      try target.finish(source.totals, isOlderCopy: false)
    }
    #expect("\(try #require(fault))".contains("0 of 1 batches are there"))
    target.abandon()
  }

  @Test func whereNoStoreIsNothingIsRead() throws {
    let empty = try TemporaryFolder()
    #expect(throws: StorageError.self) { try source(empty) }
    #expect(throws: StorageError.self) { try source(empty) }
    #expect(!SQLiteZoneStore.exists(in: empty.path))
  }

  @Test func recordsOfAnySizeCome() throws {
    let (old, new) = (try TemporaryFolder(), try TemporaryFolder())
    let store = try SQLiteZoneStore(directory: old.path)
    var requests = [TestRequests.create(account)]
    for index in 0..<30 {
      requests.append(TestRequests.save("large\(index)", in: account, bytes: 900_000))
    }
    for index in 0..<2_100 { requests.append(TestRequests.save("small\(index)", in: account)) }
    _ = try store.commit(requests, wall: 1)
    store.close()
    let source = try source(old)
    let target = try target(new)
    var portions: [Int] = []
    while let rows = try source.next() {
      if rows.table == .records { portions.append(rows.count) }
      try target.insert(rows)
    }
    #expect(portions.reduce(0, +) == 2_130)
    #expect(portions.prefix(3).allSatisfy { $0 == 10 } && portions.count == 6)
    try target.finish(source.totals, isOlderCopy: source.isOlderCopy)
  }
}
