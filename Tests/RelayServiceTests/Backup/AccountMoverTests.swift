import Foundation
import LockstepCommandLine
import LockstepCrypto
import LockstepEventLoop
import LockstepModel
import LockstepStorage
import LockstepStorageFiles
import LockstepStorageSQLite
import Stages
import Testing

@testable import LockstepRelayService
@testable import LockstepStoragePostgres

/// An account moves from one store to another, and its devices find it there.
struct AccountMoverTests {
  private let stage: BackupStage
  private let account: AccountID
  private static let relayAddress = "https://b.example"
  private static let token = [UInt8](repeating: 1, count: 32)
  private static let device = DeviceID(rawValue: 1)

  init() throws {
    stage = try BackupStage()
    try stage.fill()
    account = stage.account
  }

  /// Reason for which a move ended as if it had been killed.
  private static let killed = CommandFailure("killed")

  private func mover(
    _ from: StoreLocation, _ to: StoreLocation, departsAgain: Bool = false,
    goesOn: @escaping () -> Bool = { true },
    reach: @escaping (AccountMover.Point) throws(CommandFailure) -> Void = {
      _ throws(CommandFailure) in
    }
  ) throws(CommandFailure) -> AccountMover {
    AccountMover(
      account, from: try MoveCell(from), to: try MoveCell(to), relay: Self.relayAddress,
      departsAgain: departsAgain, progress: BackupStage.silence,
      interruption: Interruption { !goesOn() }, reach: reach)
  }

  /// Makes an empty store beside the first.
  private func makeFolder(_ name: String) throws -> StoreLocation {
    let path = stage.directory.path(name)
    try SQLiteZoneStore(directory: path, opening: .random(in: 1 ... .max)).close()
    return .folder(path)
  }

  private func withStore<Value>(
    _ place: StoreLocation, _ body: (any ZoneStore, any ChunkStore) throws -> Value
  ) throws -> Value {
    let store = try RelayStore(place, rules: StoreRules())
    let files = try store.makeFiles(uploads: 1)
    let result = Result { try body(store.writer, files) }
    (store.writer as? PostgresZoneStore)?.close()
    (store.writer as? SQLiteZoneStore)?.close()
    (files as? PostgresChunkStore)?.close()
    return try result.get()
  }

  private static func save(
    _ name: String, in store: any ZoneStore, batch: UInt64 = .random(in: 0 ... .max)
  ) throws -> CommitResult {
    let mutation = Mutation(
      name: Name(trusted: name), type: Name(trusted: "T"), fields: Array("{}".utf8), modifiedAt: 1,
      baseTag: nil)
    let request = SaveRequest(
      id: BatchID(high: 2, low: batch), zone: Name(trusted: "Z"), atomic: false,
      mutations: [mutation])
    let save = SaveCommit(
      account: AccountID(rawValue: 1), device: device, request: request,
      digest: [UInt8](repeating: 7, count: 32))
    return try #require(try store.commit([.save(save)], wall: 1_000).first)
  }

  private func names(in store: any ZoneStore, since: ChangeToken? = nil) throws -> [String] {
    let result = try store.read(.changes(account, since: since, zones: .all, limit: 1_000))
    guard case .page(let page) = result else {
      Issue.record("\(result)")
      return []
    }
    return page.changes.map(\.name.text)
  }

  /// The account lives there, with its device, its record and its chunk.
  private func expectHome(_ place: StoreLocation, records: [String] = ["r7"]) throws {
    try withStore(place) { store, files in
      let signedIn = try store.read(.authenticate(tokenHash: Self.token))
      guard case .principal(let principal) = signedIn else {
        Issue.record("\(signedIn)")
        return
      }
      #expect(principal.account == account)
      #expect(try names(in: store).sorted() == records.sorted())
      try expectLiving(store)
      for file in try chunkFiles(in: store) {
        let bytes = try files.perform(.read(file, offset: 0, count: 10))
        #expect(bytes == .bytes(Array("piece".utf8)))
      }
      guard case .saved = try Self.save("probe", in: store) else {
        Issue.record("the account does not work")
        return
      }
    }
  }

  private func expectLiving(_ store: any ZoneStore) throws {
    let residence = try store.read(.residence(account))
    guard case .residence(.living) = residence else {
      Issue.record("\(residence)")
      return
    }
  }

  private func chunkFiles(in store: any ZoneStore) throws -> [ChunkFile] {
    guard
      case .page(let page) = try store.read(
        .changes(account, since: nil, zones: .all, limit: 10))
    else { return [] }
    return try page.changes.flatMap(\.chunks).compactMap { hash in
      guard case .chunk(let chunk) = try store.read(.chunk(account, hash)) else { return nil }
      return chunk.file
    }
  }

  /// The store sends the account's devices away.
  private func expectDeparted(_ place: StoreLocation) throws {
    try withStore(place) { store, _ in
      let moved = StoreRefusals.moved(to: Self.relayAddress)
      let signedIn = try store.read(.authenticate(tokenHash: Self.token))
      let saved = try Self.save("late", in: store)
      #expect(signedIn == .refused(moved) && saved == .refused(moved))
    }
  }

  // MARK: Folders

  @Test func anAccountMovesWithItsRecordsDevicesAndFiles() throws {
    let (old, new) = (StoreLocation.folder(stage.store), try makeFolder("new"))
    let outcome = try mover(old, new).run()
    #expect(outcome.totals[.devices] == 1 && outcome.totals[.chunks] == 1)
    #expect(outcome.lost.isEmpty && !outcome.isContinued)
    try expectHome(new)
    try expectDeparted(old)
    for place in [stage.store, stage.directory.path("new")] {
      #expect(try stage.inspect(place).faults.isEmpty)
    }
    // The same command again changes nothing.
    #expect(try mover(old, new).run().isContinued)
    try expectHome(new, records: ["r7", "probe"])
  }

  @Test(arguments: AccountMover.Point.allCases)
  func aKilledMoveIsCompletedByTheSameCommand(_ point: AccountMover.Point) throws {
    try killAndRepeat(point, .folder(stage.store), try makeFolder("new"))
  }

  private func killAndRepeat(
    _ point: AccountMover.Point, _ old: StoreLocation, _ new: StoreLocation
  ) throws {
    #expect(throws: Self.killed) {
      _ = try mover(
        old, new,
        reach: { reached throws(CommandFailure) in
          if reached == point { throw Self.killed }
        }
      ).move()
    }
    let isOver = [.departed, .activated, .cleared].contains(point)
    #expect(try mover(old, new).run().isContinued == isOver)
    try expectHome(new)
    try expectDeparted(old)
  }

  @Test func anInterruptedMoveLeavesTheAccountWhereItWas() throws {
    let (old, new) = (StoreLocation.folder(stage.store), try makeFolder("new"))
    var questions = 0
    while true {
      var left = questions
      do throws(CommandFailure) {
        _ = try mover(
          old, new,
          goesOn: {
            left -= 1
            return left >= 0
          }
        ).run()
        break
      } catch {
        #expect(error == Interruption.failure("the move"))
      }
      try withStore(old) { store, _ in
        try expectLiving(store)
        guard case .saved = try Self.save("r7", in: store) else { throw Self.killed }
      }
      try withStore(new) { store, _ in
        let residence = try store.read(.residence(account))
        #expect(residence == .residence(.unknown))
      }
      questions += 1
    }
    #expect(questions > 5)
    try expectDeparted(old)
  }

  @Test func anAccountMovesThereAndBackAndKeepsItsCursors() throws {
    let (old, new) = (StoreLocation.folder(stage.store), try makeFolder("new"))
    var token: ChangeToken?
    func follow(_ place: StoreLocation, _ name: String) throws {
      try withStore(place) { store, _ in
        guard case .saved(let outcome) = try Self.save(name, in: store) else {
          Issue.record("\(name) was not saved")
          return
        }
        if let token {
          #expect(outcome.answer.token.sequence > token.sequence)
          #expect(outcome.answer.token.generation == token.generation)
          #expect(try names(in: store, since: token) == [name])
        }
        token = outcome.answer.token
      }
    }
    try follow(old, "a")
    _ = try mover(old, new).run()
    try follow(new, "b")
    _ = try mover(new, old).run()
    try follow(old, "c")
    try expectDeparted(new)
    _ = try mover(old, new).run()
    try follow(new, "d")
    try expectHome(new, records: ["a", "b", "c", "d", "r7"])
  }

  @Test func aLabelAndALivingAccountOfTheTargetStay() throws {
    let (old, new) = (StoreLocation.folder(stage.store), try makeFolder("new"))
    try withStore(new) { store, _ in
      let other = CommitRequest.createAccount(
        AccountID(rawValue: 2), generation: 1, label: "ADA", device: nil, pairing: nil)
      let made = try store.commit([other], wall: 0)
      #expect(made == [.done])
    }
    let taken = #expect(throws: CommandFailure.self) { _ = try mover(old, new).run() }
    #expect(taken?.message?.contains("has the label of this one already") == true)
    try withStore(new) { store, _ in
      _ = try store.commit([.removeAccount(AccountID(rawValue: 2))], wall: 0)
    }
    try expectHome(old)
  }

  @Test func aSourceThatWasRestoredDepartsAgain() throws {
    let (old, new) = (StoreLocation.folder(stage.store), try makeFolder("new"))
    let copy = stage.directory.path("copy")
    try FileManager.default.copyItem(atPath: stage.store, toPath: copy)
    _ = try mover(old, new).run()
    let restored = StoreLocation.folder(copy)
    let refused = #expect(throws: CommandFailure.self) { _ = try mover(restored, new).run() }
    #expect(refused?.message?.contains("--repeat-departure") == true)
    _ = try mover(restored, new, departsAgain: true).run()
    try expectDeparted(restored)
    try expectHome(new)
  }

  /// The mover was killed when the account had departed, and then the entry in the source was
  /// removed, or the source restored.
  @Test(arguments: [false, true])
  func aCopyThatNothingActivatesBecomesTheAccount(isRestored: Bool) throws {
    let (old, new) = (StoreLocation.folder(stage.store), try makeFolder("new"))
    let copy = stage.directory.path("copy")
    try FileManager.default.copyItem(atPath: stage.store, toPath: copy)
    #expect(throws: Self.killed) {
      _ = try mover(
        old, new,
        reach: { point throws(CommandFailure) in if point == .departed { throw Self.killed } }
      ).move()
    }
    if !isRestored {
      try withStore(old) { store, _ in
        while try store.commit([.removeAccount(account)], wall: 0) == [.removing] {}
      }
    }
    let source = isRestored ? StoreLocation.folder(copy) : old
    let refused = #expect(throws: CommandFailure.self) { _ = try mover(source, new).run() }
    #expect(refused?.message?.contains("--repeat-departure") == true)
    _ = try mover(source, new, departsAgain: true).run()
    try expectHome(new)
    if isRestored { try expectDeparted(source) }
  }

  @Test func theOlderOfTwoLivingAccountsIsNotKept() throws {
    let (old, new) = (StoreLocation.folder(stage.store), try makeFolder("new"))
    _ = try mover(old, new).run()
    let copy = stage.directory.path("copy")
    try FileManager.default.copyItem(atPath: stage.directory.path("new"), toPath: copy)
    _ = try mover(new, old).run()
    // The other store was restored to when it had the account.
    let restored = StoreLocation.folder(copy)
    let refused = #expect(throws: CommandFailure.self) {
      _ = try mover(old, restored, departsAgain: true).run()
    }
    #expect(refused?.message?.contains("may be the older copy") == true)
    try expectHome(old)
  }

  @Test func anotherStoreDoesNotReplaceTheAddressesOfAccountsThatLeft() throws {
    let (old, new) = (StoreLocation.folder(stage.store), try makeFolder("new"))
    _ = try mover(old, new).run()
    let move = StoreMove(
      from: new, to: old, wall: 0, opening: 1, progress: BackupStage.silence,
      interruption: Interruption { false })
    let refused = #expect(throws: CommandFailure.self) { _ = try move.run() }
    #expect(refused?.message?.contains("have moved away") == true)
    try expectDeparted(old)
  }

  /// Has no room for any chunk.
  private final class FullChunkStore: ChunkStore {
    func perform(_ request: ChunkRequest) throws(StorageError) -> ChunkResult {
      .refused(Refusal(.quotaExceeded, "it is full"))
    }
  }

  @Test func aChunkThatTheTargetDoesNotTakeIsNoLostChunk() throws {
    try withStore(.folder(stage.store)) { store, files in
      let file = try #require(try chunkFiles(in: store).first)
      let copy = ChunkCopy(source: files, isFolder: true, target: FullChunkStore(), place: "new")
      let chunk = ExportedChunk(
        hash: try #require(ChunkHash(bytes: Self.token)),
        stored: StoredChunk(file: file, bytes: 5), uses: 1, leaseUntil: 0, isUnverified: false)
      #expect(throws: StorageError.self) { _ = try copy.copy(chunk, to: file) }
    }
  }

  @Test func anEmptyChunkIsFoundWhereItWasCopiedBefore() throws {
    try withStore(try makeFolder("new")) { _, files in
      let file = ChunkFile(account: account, number: 9)
      let copy = ChunkCopy(source: nil, isFolder: true, target: files, place: "new")
      #expect(try !copy.isThere(file, bytes: 0))
      #expect(try files.perform(.append(file, [])) == .done)
      let hash = try #require(ChunkHash(bytes: SHA256.hash([])))
      #expect(try files.perform(.finish(file, expecting: hash)) == .done)
      #expect(try copy.isThere(file, bytes: 0))
      #expect(try !copy.isThere(file, bytes: 1))
    }
  }

  // MARK: Databases

  private static let server = ProcessInfo.processInfo.environment["LOCKSTEP_POSTGRES"]
  private static let need: Comment =
    "LOCKSTEP_POSTGRES names no server: run this by scripts/with-postgres"

  private static func run(_ sql: String, at address: PostgresAddress) throws {
    let session = PostgresConnection(address)
    defer { session.close() }
    try session.perform("test") { () throws(PostgresFault) in
      _ = try session.run(PostgresStatement("", sql), within: 60_000)
    }
  }

  /// Creates two databases, the first with the account, for the duration of `body`.
  private func withDatabases(
    _ body: (_ old: PostgresAddress, _ new: PostgresAddress) throws -> Void
  ) throws {
    let url = try PostgresAddress(try #require(Self.server))
    let name = "test_" + String(UInt64.random(in: 0 ... .max), radix: 36)
    let names = [name + "a", name + "b"]
    for name in names { try Self.run("CREATE DATABASE \(name)", at: url) }
    let result = Result {
      let (old, new) = (
        url.setting("dbname", to: names[0]), url.setting("dbname", to: names[1])
      )
      for address in [old, new] { try PostgresZoneStore(address).close() }
      _ = try mover(.folder(stage.store), .database(old)).run()
      try body(old, new)
    }
    for name in names { try Self.run("DROP DATABASE \(name) WITH (FORCE)", at: url) }
    try result.get()
  }

  @Test(.enabled(if: server != nil, need), arguments: AccountMover.Point.allCases)
  func aKilledMoveBetweenDatabasesIsCompleted(_ point: AccountMover.Point) throws {
    try withDatabases { old, new in
      try killAndRepeat(point, .database(old), .database(new))
    }
  }

  /// The mover was suspended: its lease ends, and a device saves.
  private func saveAfterTheLease(at address: PostgresAddress) throws(CommandFailure) {
    do {
      try Self.run("UPDATE accounts SET moving_until = 1", at: address)
      let relay = try PostgresZoneStore(address)
      defer { relay.close() }
      guard case .saved = try Self.save("between", in: relay) else { throw Self.killed }
    } catch {
      throw CommandFailure("\(error)")
    }
  }

  @Test(.enabled(if: server != nil, need))
  func aSaveAfterTheLeaseIsInTheCopyOfTheNextAttempt() throws {
    try withDatabases { old, new in
      var attempts = 0
      _ = try mover(
        .database(old), .database(new),
        reach: { point throws(CommandFailure) in
          guard point == .copiedRows else { return }
          attempts += 1
          if attempts == 1 { try saveAfterTheLease(at: old) }
        }
      ).run()
      #expect(attempts == 2)
      try expectHome(.database(new), records: ["r7", "between"])
      try expectDeparted(.database(old))
    }
  }

  @Test(.enabled(if: server != nil, need))
  func nothingThatARunningRelayAcknowledgedIsLost() throws {
    try withDatabases { old, new in
      let saved = Locked<[String]>([])
      let (isWarm, isOver) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      Thread.detachNewThread {
        defer { isOver.signal() }
        do {
          try Self.saveUntilItMoves(at: old, saved, isWarm)
        } catch {
          Issue.record(error)
          isWarm.signal()
        }
      }
      isWarm.wait()
      _ = try mover(.database(old), .database(new)).run()
      isOver.wait()
      let names = saved.withLock { $0 }
      try expectHome(.database(new), records: names + ["r7"])
    }
  }

  /// A relay's saves, until it is told where the account is.
  private static func saveUntilItMoves(
    at address: PostgresAddress, _ saved: Locked<[String]>, _ isWarm: DispatchSemaphore
  ) throws {
    let relay = try PostgresZoneStore(address)
    defer { relay.close() }
    var number: UInt64 = 0
    while true {
      number += 1
      switch try save("n\(number)", in: relay, batch: number) {
      case .saved:
        saved.withLock { $0.append("n\(number)") }
        if number == 5 { isWarm.signal() }
      case .refused(let refusal) where refusal.code == .accountMoving: break
      case .refused(let refusal):
        #expect(refusal == StoreRefusals.moved(to: relayAddress))
        return
      case let other:
        Issue.record("\(other)")
        return
      }
    }
  }

  /// The switch was committed, and its answer was lost: the mover sends it again.
  @Test(.enabled(if: server != nil, need)) func aDepartureWhoseAnswerWasLostCounts() throws {
    try withDatabases { old, new in
      _ = try mover(
        .database(old), .database(new),
        reach: { point throws(CommandFailure) in
          if point == .copiedRows { try depart(from: old, to: new) }
        }
      ).run()
      try expectHome(.database(new))
      try expectDeparted(.database(old))
    }
  }

  private func depart(
    from old: PostgresAddress, to new: PostgresAddress
  ) throws(CommandFailure) {
    do {
      let (source, target) = (try PostgresZoneStore(old), try PostgresZoneStore(new))
      defer {
        source.close()
        target.close()
      }
      guard case .residence(.arriving(let id, let version)) = try target.read(.residence(account)),
        case .token(let token) = try source.read(.newestToken(account))
      else { throw Self.killed }
      let frozen = AccountVersion(account: account, token: token, membershipVersion: version)
      let step = MoveStep.depart(AccountMove(id: id, frozen: frozen), relay: Self.relayAddress)
      guard try source.commit([.move(step)], wall: 0) == [.done] else { throw Self.killed }
    } catch {
      throw CommandFailure("\(error)")
    }
  }

  @Test(.enabled(if: server != nil, need)) func oneDatabaseIsOneStoreWhateverItsAddress() throws {
    try withDatabases { old, new in
      let other = StoreLocation.database(old.setting("connect_timeout", to: "9"))
      #expect(throws: CommandFailure.self) {
        try StoreMove.requireDifferentStores(.database(old), other)
      }
      try StoreMove.requireDifferentStores(.database(old), .database(new))
    }
  }

  @Test(.enabled(if: server != nil, need)) func sessionsOfOlderRelaysEnd() throws {
    try withDatabases { _, new in
      let session = PostgresConnection(new)
      try session.perform("test") { () throws(PostgresFault) in
        _ = try session.run(
          PostgresStatement(
            "", "UPDATE schema_version SET oldest = 6, moves_since = NULL"))
      }
      try OldRelays.exclude(from: new)
      #expect(throws: PostgresFault.self) {
        _ = try session.run(PostgresStatement("", "SELECT 1::bigint"))
      }
      // Those that begin afterwards stay.
      let relay = try PostgresZoneStore(new)
      try OldRelays.exclude(from: new)
      #expect(try relay.read(.accountCount) == .count(0))
      relay.close()
    }
  }
}
