import Foundation
import LockstepCommandLine
import LockstepModel
import LockstepStorage
import LockstepStorageFiles
import LockstepStorageSQLite
import Stages
import Testing

@testable import LockstepRelayService
@testable import LockstepStoragePostgres

struct StoreMoveTests {
  private let stage: BackupStage
  private var old: StoreLocation { .folder(stage.store) }
  private var new: String { stage.directory.path("new") }

  init() throws {
    stage = try BackupStage()
    try stage.fill()
  }

  private func move(
    _ from: StoreLocation, _ to: StoreLocation, goesOn: @escaping () -> Bool = { true }
  ) throws -> StoreMove.Outcome {
    try StoreMove(
      from: from, to: to, wall: 0, opening: .random(in: 1 ... .max),
      progress: BackupStage.silence, interruption: Interruption { !goesOn() }
    ).run()
  }

  private func contents(_ path: String) throws -> Set<String> {
    Set(
      try FileManager.default.contentsOfDirectory(atPath: path).filter {
        !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm")
      })
  }

  private func open(_ path: String) throws -> SQLiteZoneStore {
    try SQLiteZoneStore(directory: path, opening: .random(in: 1 ... .max))
  }

  @Test func whatWasMovedIsWholeAndGoesOn() throws {
    let outcome = try move(old, .folder(new))
    #expect(outcome.lost.isEmpty && outcome.lostBefore == 0 && outcome.aside == nil)
    #expect(outcome.totals[.accounts] == 1 && outcome.totals[.records] == 1)
    #expect(outcome.totals[.chunks] == 1 && outcome.totals.chunkBytes == 5)
    #expect(try contents(new) == ["chunks", "lock", "zones.sqlite"])
    let found = try stage.inspect(new)
    #expect(found.faults.isEmpty && found.counts.records == 1 && found.counts.chunks == 1)
    let store = try open(new)
    #expect(!store.wasRestored)
    store.close()
    // The old store is undamaged too, and is an older copy.
    #expect(try stage.inspect(stage.store).faults.isEmpty)
    let left = try open(stage.store)
    #expect(left.wasRestored)
  }

  /// A move ends whenever it is interrupted, and leaves no store.
  @Test func anInterruptedMoveLeavesNoStore() throws {
    var questions = 0
    while true {
      var left = questions
      do throws(CommandFailure) {
        _ = try StoreMove(
          from: old, to: .folder(new), wall: 0, opening: 5, progress: BackupStage.silence,
          interruption: Interruption {
            left -= 1
            return left < 0
          }
        ).run()
        break
      } catch {
        #expect(error == Interruption.failure("the move"))
      }
      #expect(try contents(new) == ["lock"])
      let source = try MoveSource(old, retirement: 5)
      #expect(!source.rows.isOlderCopy)
      source.close()
      questions += 1
    }
    #expect(questions > 8)
    #expect(try stage.inspect(new).faults.isEmpty)
  }

  @Test func aMoveThatDidNotEndIsDoneAgain() throws {
    // State after a crash: among the rows, and in the middle of the replacement.
    try FileManager.default.createDirectory(
      atPath: new + "/moved.partial/chunks", withIntermediateDirectories: true)
    try Data().write(to: URL(fileURLWithPath: new + "/moved.partial/zones.sqlite"))
    for mark in [false, true] {
      if mark { try Data().write(to: URL(fileURLWithPath: new + "/restoring")) }
      if mark { #expect(throws: StorageError.self) { try open(new) } }
      _ = try move(old, .folder(new))
      #expect(try contents(new).isSuperset(of: ["chunks", "lock", "zones.sqlite"]))
      #expect(try !contents(new).contains("restoring"))
      #expect(try stage.inspect(new).faults.isEmpty)
    }
  }

  // MARK: Chunks

  @Test func chunksThatAreNotWholeAreNamedAndAskedForAgain() throws {
    let store = try stage.open()
    for number in 8...10 as ClosedRange<UInt64> {
      try stage.add(Array("chunk \(number)".utf8), number: number, to: store)
    }
    let large = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
    try stage.add(large, number: 11, to: store)
    store.close()
    let path = stage.store + "/"
    try FileManager.default.removeItem(atPath: path + BackupStage.chunk(8))
    try Data("other".utf8).write(to: URL(fileURLWithPath: path + BackupStage.chunk(9)))
    let outcome = try move(old, .folder(new))
    let lost = outcome.lost.sorted { $0.chunk.stored.file < $1.chunk.stored.file }
    #expect(lost.map(\.chunk.stored.file.number) == [8, 9])
    #expect(lost.map(\.defect) == ["is missing", "has other bytes than its hash says"])
    #expect(lost[0].text.hasPrefix("the chunk \(lost[0].chunk.hash.text) of account 0"))
    let found = try stage.inspect(new)
    #expect(found.faults.isEmpty && found.lostChunks == 2 && found.counts.chunks == 5)
    let words = StoreMove(
      from: old, to: .folder(new), wall: 0, opening: 1, progress: BackupStage.silence,
      interruption: Interruption { false }
    ).text(of: outcome, milliseconds: 1_234)
    #expect(words.contains("in 1.2 s:") && words.contains("5 chunks of files"))
    #expect(words.contains("The old store remains; do not start a relay on it"))
    // A second move: the chunks count as lost before by now.
    let next = try move(.folder(new), .folder(stage.directory.path("next")))
    #expect(next.lost.isEmpty && next.lostBefore == 2)
  }

  @Test func withoutAFolderOfChunksAllAreMissing() throws {
    try FileManager.default.removeItem(atPath: stage.store + "/chunks")
    #expect(try move(old, .folder(new)).lost.map(\.defect) == ["is missing"])
  }

  /// An abandoned move leaves no draft, and only chunks with the bytes of their hash are kept.
  @Test func whatIsGivenUpIsGone() throws {
    let target = try MoveTarget(.folder(new), wall: 0)
    let file = ChunkFile(account: AccountID(rawValue: 1), number: 1)
    #expect(try target.files.perform(.append(file, Array("some".utf8))) == .done)
    let other = try #require(ChunkHash(bytes: [UInt8](repeating: 3, count: 32)))
    let finished = try target.files.perform(.finish(file, expecting: other))
    #expect(finished == .refused(StoreRefusals.hashMismatch))
    #expect(FolderTree.exists(new + "/moved.partial"))
    try target.abandon()
    target.close()
    #expect(try contents(new) == ["lock"])
  }

  // MARK: Refusals

  private func refusal(_ from: StoreLocation, _ to: StoreLocation) throws -> String {
    let failure = #expect(throws: CommandFailure.self) { try move(from, to) }
    return try #require(failure?.message)
  }

  @Test func whatIsInUseIsRefused() throws {
    let relay = try stage.open()
    #expect(try refusal(old, .folder(new)).contains("stop all relays on it first"))
    relay.close()
    let other = try open(new)
    #expect(try refusal(old, .folder(new)).contains("stop all relays on it first"))
    other.close()
    #expect(!FileManager.default.fileExists(atPath: new + "/moved.partial"))
  }

  @Test func aStoreWithAccountsStaysAndOneWithoutIsMovedAside() throws {
    let other = try open(new)
    other.close()
    let aside = try #require(try move(old, .folder(new)).aside)
    #expect(aside == new + "/replaced-1970-01-01T00-00-00Z")
    #expect(try contents(aside).contains("zones.sqlite"))
    let again = try refusal(old, .folder(new))
    #expect(again.contains("with 1 account; name another place"))
    #expect(try stage.inspect(new).counts.accounts == 1)
  }

  @Test func aStoreIsNotMovedOntoItselfNorFromNowhere() throws {
    #expect(try refusal(old, old).contains("the same store"))
    #expect(try refusal(old, .folder(stage.store + "/.")).contains("the same store"))
    let nowhere = StoreLocation.folder(stage.directory.path("nowhere"))
    #expect(try refusal(nowhere, .folder(new)).contains("there is no store of a relay"))
    #expect(!FileManager.default.fileExists(atPath: stage.directory.path("nowhere")))
    #expect(!FileManager.default.fileExists(atPath: new))
  }

  // MARK: Databases

  private static let server = ProcessInfo.processInfo.environment["LOCKSTEP_POSTGRES"]
  private static let need: Comment =
    "LOCKSTEP_POSTGRES names no server: run this by scripts/with-postgres"

  /// Creates a database for the duration of `body`.
  private func withDatabase(_ body: (PostgresAddress) throws -> Void) throws {
    let url = try PostgresAddress(try #require(Self.server))
    let name = "test_" + String(UInt64.random(in: 0 ... .max), radix: 36)
    let session = PostgresConnection(url)
    defer { session.close() }
    func run(_ sql: String) throws {
      try session.perform("test") { () throws(PostgresFault) in
        _ = try session.run(PostgresStatement("", sql), within: 60_000)
      }
    }
    try run("CREATE DATABASE \(name)")
    let result = Result { try body(url.setting("dbname", to: name)) }
    try run("DROP DATABASE \(name) WITH (FORCE)")
    try result.get()
  }

  @Test(.enabled(if: server != nil, need)) func throughADatabaseAndBackAllIsThere() throws {
    let store = try stage.open()
    let large = (0..<900_000).map { UInt8(truncatingIfNeeded: $0 / 11) }
    try stage.add(large, number: 1 << 63, to: store)
    try stage.add(Array("lost".utf8), number: 9, to: store)
    store.close()
    try FileManager.default.removeItem(atPath: stage.store + "/" + BackupStage.chunk(9))
    try withDatabase { address in
      let into = try move(old, .database(address))
      #expect(into.lost.count == 1 && into.totals[.chunks] == 3)
      let relay = try RelayStore(.database(address), rules: StoreRules())
      #expect(!relay.wasRestored)
      let held = try refusal(.database(address), .folder(new))
      #expect(held.contains("a relay (process") && held.contains("stop all relays"))
      (relay.writer as? PostgresZoneStore)?.close()
      let back = try move(.database(address), .folder(new))
      #expect(back.lost.isEmpty && back.lostBefore == 1 && back.totals == into.totals)
      // It was moved, so it is an older copy when it is opened.
      #expect(try PostgresZoneStore(address).wasRestored)
    }
    let found = try stage.inspect(new)
    #expect(found.faults.isEmpty && found.counts.chunks == 3 && found.lostChunks == 1)
    #expect(try !open(new).wasRestored)
  }

  @Test(.enabled(if: server != nil, need)) func anInterruptedMoveLeavesAnEmptyDatabase() throws {
    try withDatabase { address in
      var questions = 0
      while true {
        var left = questions
        do throws(CommandFailure) {
          _ = try StoreMove(
            from: old, to: .database(address), wall: 0, opening: 5, progress: BackupStage.silence,
            interruption: Interruption {
              left -= 1
              return left < 0
            }
          ).run()
          break
        } catch {
          #expect(error == Interruption.failure("the move"))
        }
        let store = try PostgresZoneStore(address)
        #expect(try store.read(.accountCount) == .count(0))
        #expect(!store.wasRestored)
        store.close()
        questions += 1
      }
      #expect(questions > 8)
    }
  }
}
