import Foundation
import LockstepClient
import LockstepModel
import LockstepSealing
import LockstepStorage
import LockstepStorageSQLite
import Synchronization
import TemporaryFolders
import Testing

@testable import Lockstep

/// Files in zones whose records are sealed. The relay of these homes does not run: what it would
/// store and pass on are the chunks that the homes have.
struct SealedFilesTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test func aFileIsReadableAndItsChunksAreNot() async throws {
    let phone = try await open("phone", keys([1]))
    let text = String(repeating: "the key is under the mat; ", count: 4_000)
    let reference = try await phone.attach(contentsOf: try write(Data(text.utf8)), for: Shot.self)
    #expect(reference.bytes == text.utf8.count && reference.chunks.count == 1)
    #expect(try await content(reference, on: phone) == Data(text.utf8))
    let chunk = try await chunk(reference.chunks[0], on: phone)
    #expect(Data(chunk).range(of: Data("the mat".utf8)) == nil)
    #expect(chunk.count > reference.bytes)
    try await phone.save(Shot(id: "1", image: reference))
    #expect(try await phone.record(Shot.self, id: "1")?.image == reference)
    await phone.close()
  }

  @Test func aLargeFileIsOpenedChunkByChunk() async throws {
    let phone = try await open("phone", keys([1]))
    let mac = try await open("mac", keys([1]))
    let data = Data((0..<9 << 20).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 12) })
    let reference = try await phone.attach(contentsOf: try write(data), for: Shot.self)
    #expect(reference.chunks.count == 3)
    for hash in reference.chunks {
      let carried = try await add(try await chunk(hash, on: phone), to: mac)
      #expect(carried == hash)
    }
    let steps = Mutex<[Int]>([])
    let copy = try await mac.file(reference) { step in
      steps.withLock { $0.append(step.bytesDone) }
    }
    #expect(try Data(contentsOf: copy) == data)
    let reached = steps.withLock { $0 }
    #expect(reached == reached.sorted() && reached.last == data.count)
    await phone.close()
    await mac.close()
  }

  @Test func theSameFileHasTheSameChunksOnEveryDevice() async throws {
    let phone = try await open("phone", keys([1]))
    let mac = try await open("mac", keys([1]))
    let file = try write(Data("hello".utf8))
    let reference = try await phone.attach(contentsOf: file, for: Shot.self)
    #expect(try await mac.attach(contentsOf: file, for: Shot.self) == reference)
    let other = try await mac.attach(contentsOf: file, for: Page.self)
    #expect(Set(other.chunks).isDisjoint(with: reference.chunks))
    await phone.close()
    await mac.close()
  }

  @Test func anEmptyFileIsAFile() async throws {
    let phone = try await open("phone", keys([1]))
    let reference = try await phone.attach(contentsOf: try write(Data()), for: Shot.self)
    #expect(try await content(reference, on: phone).isEmpty)
    await phone.close()
  }

  // MARK: what does not open

  @Test func aDeviceWithoutTheKeyNamesIt() async throws {
    let phone = try await open("phone", keys([1, 2]))
    let reference = try await phone.attach(
      contentsOf: try write(Data("hello".utf8)), for: Shot.self)
    let key = try #require(reference.seal?.key)
    let sealed = try await chunk(reference.chunks[0], on: phone)
    for (name, held) in [("older", keys([1])), ("none", nil)] {
      let device = try await open(name, held)
      _ = try await add(sealed, to: device)
      await #expect(throws: LockstepError.fileKeyMissing(name: "photo", key: key)) {
        try await device.file(reference)
      }
      await device.close()
    }
    await phone.close()
  }

  @Test func aChunkThatDoesNotOpenIsNeverShown() async throws {
    let phone = try await open("phone", keys([1, 2]))
    let older = try await open("older", keys([1]))
    let file = try write(Data("hello".utf8))
    let reference = try await phone.attach(contentsOf: file, for: Shot.self)
    let sealed = try await chunk(reference.chunks[0], on: phone)
    var changed = sealed
    changed[20] ^= 1
    let otherZone = try await phone.attach(contentsOf: file, for: Page.self)
    let otherKey = try await older.attach(contentsOf: file, for: Shot.self)
    let chunks = [
      changed, sealed.dropLast(), sealed + [0], Array("hello".utf8),
      try await chunk(otherZone.chunks[0], on: phone),
      try await chunk(otherKey.chunks[0], on: older),
    ]
    for chunk in chunks {
      let hash = try await add(chunk, to: phone)
      let wrong = FileReference(
        name: "photo", bytes: reference.bytes, chunks: [hash], seal: reference.seal)
      let reason = SealFault.text(ofKind: SealFault.altered.kind)
      await #expect(throws: LockstepError.fileUnreadable(name: "photo", reason: reason)) {
        try await phone.file(wrong)
      }
    }
    #expect(try await content(reference, on: phone) == Data("hello".utf8))
    await phone.close()
    await older.close()
  }

  @Test func aFileOfTheWrongLengthIsNotShown() async throws {
    let phone = try await open("phone", keys([1]))
    let one = try await phone.attach(contentsOf: try write(Data("hello".utf8)), for: Shot.self)
    let two = try await phone.attach(contentsOf: try write(Data("hello!".utf8)), for: Shot.self)
    let mixed = FileReference(name: "photo", bytes: one.bytes, chunks: two.chunks, seal: one.seal)
    let failure = await #expect(throws: LockstepError.self) { try await phone.file(mixed) }
    guard case .fileUnavailable = failure else {
      Issue.record("it failed with \(String(describing: failure))")
      return
    }
    await phone.close()
  }

  // MARK: attaching

  @Test func aFileThatIsNotSealedIsInNoSealedRecord() async throws {
    let phone = try await open("phone", keys([1]))
    let file = try write(Data("hello".utf8))
    let page = try await phone.attach(contentsOf: file, for: Page.self)
    let plain = FileReference(name: "photo", bytes: page.bytes, chunks: page.chunks)
    for reference in [page, plain] {
      let failure = await #expect(throws: LockstepError.self) {
        try await phone.save(Shot(id: "1", image: reference))
      }
      #expect("\(try #require(failure))".contains("attach it"))
    }
    #expect(try await phone.records(Shot.self).isEmpty)
    await phone.close()
  }

  @Test func theTypeIsAskedForWhereTheZoneIsNotClear() async throws {
    let phone = try await open("phone", keys([1]))
    let file = try write(Data("hello".utf8))
    let failure = await #expect(throws: LockstepError.self) {
      try await phone.attach(contentsOf: file)
    }
    #expect("\(try #require(failure))".contains("attach(contentsOf:for:)"))
    await phone.close()
    let oneZone = try await open("phone", nil, records: [Shot.self])
    #expect(try await oneZone.attach(contentsOf: file).seal?.zone.text == Shot.zone)
    await oneZone.close()
    let plain = try await open("plain", nil)
    #expect(try await plain.attach(contentsOf: file).seal == nil)
    #expect(try await plain.attach(contentsOf: file, for: Shot.self).seal == nil)
    await plain.close()
  }

  @Test func aDeviceThatLacksTheKeysOfTheZoneAttachesNothing() async throws {
    let phone = try await open("phone", nil)
    await phone.close()
    let store = try SQLiteReplicaStore(home: folder.path("phone"))
    try store.write([.setValue(key: "seal.locked", #"{"zones":["Photos"]}"#)])
    store.close()
    let again = try await open("phone", nil)
    let file = try write(Data("hello".utf8))
    let failure = await #expect(throws: LockstepError.self) {
      try await again.attach(contentsOf: file, for: Shot.self)
    }
    #expect("\(try #require(failure))".contains("does not have the account's keys"))
    #expect(try await again.attach(contentsOf: file, for: Page.self).seal == nil)
    await again.close()
  }

  // MARK: tools

  private func keys(_ numbers: [UInt8]) -> SealingKeys? {
    let generations = numbers.compactMap {
      KeyGeneration(secret: [UInt8](repeating: $0, count: KeyGeneration.count))
    }
    return AccountKeys(nameSecret: [UInt8](repeating: 9, count: 32), generations: generations)
      .map { .account($0, .all(but: [])) }
  }

  /// Opens a home of an account. One that has joined before keeps its keys.
  private func open(
    _ name: String, _ keys: SealingKeys?,
    records: [any SyncedRecord.Type] = [Shot.self, Page.self]
  ) async throws -> Lockstep {
    let relay = "http://127.0.0.1:1"
    let device = try await Lockstep.open(
      at: URL(filePath: folder.path(name)), relay: try #require(URL(string: relay)),
      records: records)
    guard device.engine.identity == nil else { return device }
    let identity = HomeIdentity(
      relay: relay,
      credentials: Credentials(
        account: AccountID(rawValue: 7), device: DeviceID(rawValue: 1), token: "secret"),
      deviceName: name)
    let report = try await device.engine.perform({ .join($0, identity, JoinedKeys(keys)) })
    guard case .joined(_, .success) = report else { throw LockstepError.notJoined }
    return device
  }

  private func write(_ data: Data) throws -> URL {
    let url = URL(filePath: folder.path("photo"))
    try data.write(to: url)
    return url
  }

  private func content(_ reference: FileReference, on device: Lockstep) async throws -> Data {
    try Data(contentsOf: try await device.file(reference))
  }

  /// Returns a chunk as the home would send it.
  private func chunk(_ hash: ChunkHash, on device: Lockstep) async throws -> [UInt8] {
    var bytes: [UInt8] = []
    for await report in device.engine.reports(of: { .readChunk($0, hash, offset: 0, count: .max) })
    {
      guard case .chunkRead(_, .success(let portion)) = report else { throw LockstepError.closed }
      bytes += portion.bytes
    }
    return bytes
  }

  private func add(_ chunk: [UInt8], to device: Lockstep) async throws -> ChunkHash {
    let report = try await device.engine.perform({ .addChunk($0, chunk) })
    guard case .chunkAdded(_, let result) = report else { throw LockstepError.closed }
    return try result.get()
  }
}

private struct Shot: SyncedRecord {
  static let zone = "Photos"
  var id = RecordID.random()
  var image: FileReference?
}

private struct Page: SyncedRecord {
  static let zone = "Pages"
  var id = RecordID.random()
  var image: FileReference?
}
