import LockstepCrypto
import LockstepModel
import LockstepStorage
import Testing

@testable import LockstepClient

struct ChunkReaderTests {
  private let one = OrderID(rawValue: 1)
  private let two = OrderID(rawValue: 2)

  /// Returns a chunk of `count` bytes, and its bytes.
  private func chunk(_ count: Int, file: UInt64 = 7) throws -> (HeldChunk, [UInt8]) {
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    let hash = try #require(ChunkHash(bytes: SHA256.hash(bytes)))
    return (HeldChunk(hash: hash, file: file, bytes: count), bytes)
  }

  private func portion(_ offset: Int, _ bytes: ArraySlice<UInt8>, last: Bool)
    -> Result<ChunkPortion, ChunkFailure>
  {
    .success(ChunkPortion(offset: offset, bytes: Array(bytes), isLast: last))
  }

  @Test func aChunkOfTheHomeIsReadInPortions() throws {
    let size = Limits.chunkPortionBytes + 10
    let (chunk, bytes) = try chunk(size)
    var reader = ChunkReader()
    reader.addOrder(one, chunk.hash, offset: 0, count: .max)
    #expect(reader.next() == .find(one, chunk.hash))
    #expect(reader.next() == nil)
    reader.found(one, .success(chunk))
    #expect(reader.next() == .read(one, chunk, offset: 0, count: Limits.chunkPortionBytes))
    #expect(reader.next() == nil)
    let cut = Limits.chunkPortionBytes
    reader.read(one, .success(.bytes(Array(bytes[..<cut]))))
    #expect(reader.next() == .report(one, portion(0, bytes[..<cut], last: false)))
    #expect(reader.next() == .read(one, chunk, offset: cut, count: 10))
    reader.read(one, .success(.bytes(Array(bytes[cut...]))))
    #expect(reader.next() == .report(one, portion(cut, bytes[cut...], last: true)))
    #expect(reader.next() == nil)
    #expect(reader.isEmpty)
  }

  @Test(arguments: [(4, 3, 4, 3), (8, 9, 8, 2), (10, 5, 10, 0), (99, 5, 99, 0), (-4, 3, 0, 3)])
  func aRangeIsReadAsFarAsTheChunkGoes(
    offset: Int, count: Int, readAt: Int, read: Int
  ) throws {
    let (chunk, bytes) = try chunk(10)
    var reader = ChunkReader()
    reader.addOrder(one, chunk.hash, offset: offset, count: count)
    _ = reader.next()
    reader.found(one, .success(chunk))
    #expect(reader.next() == .read(one, chunk, offset: readAt, count: read))
    let part = bytes.dropFirst(readAt).prefix(read)
    reader.read(one, .success(.bytes(Array(part))))
    #expect(reader.next() == .report(one, portion(readAt, part, last: true)))
    #expect(reader.isEmpty)
  }

  @Test func aChunkThatIsNotInTheHomeIsDownloadedOnceForAllWhoWait() throws {
    let (chunk, bytes) = try chunk(3)
    var reader = ChunkReader()
    reader.addOrder(one, chunk.hash, offset: 0, count: 9)
    reader.addOrder(two, chunk.hash, offset: 1, count: 9)
    #expect(reader.next() == .find(one, chunk.hash))
    reader.found(one, .success(nil))
    #expect(reader.next() == .download(chunk.hash))
    #expect(reader.next() == .find(two, chunk.hash))
    reader.found(two, .success(nil))
    #expect(reader.next() == nil)
    #expect(reader.awaits(chunk.hash))
    reader.downloaded(chunk.hash, .success(()))
    #expect(reader.next() == .find(one, chunk.hash))
    reader.found(one, .success(chunk))
    #expect(reader.next() == .read(one, chunk, offset: 0, count: 3))
    reader.read(one, .success(.bytes(bytes)))
    #expect(reader.next() == .report(one, portion(0, bytes[...], last: true)))
    #expect(reader.next() == .find(two, chunk.hash))
  }

  @Test func whatCannotBeHadIsToldToAllWhoWait() throws {
    let (chunk, _) = try chunk(3)
    var reader = ChunkReader()
    reader.addOrder(one, chunk.hash, offset: 0, count: 9)
    _ = reader.next()
    reader.found(one, .success(nil))
    #expect(reader.next() == .download(chunk.hash))
    reader.downloaded(chunk.hash, .failure(.unavailable))
    #expect(reader.next() == .report(one, .failure(.unavailable)))
    #expect(reader.isEmpty)
  }

  @Test func whoWaitsForTheRelayHoldsUpNobody() throws {
    let (chunk, bytes) = try chunk(3)
    let (other, _) = try self.chunk(4, file: 8)
    var reader = ChunkReader()
    reader.addOrder(one, other.hash, offset: 0, count: 9)
    reader.addOrder(two, chunk.hash, offset: 0, count: 9)
    _ = reader.next()
    reader.found(one, .success(nil))
    #expect(reader.next() == .download(other.hash))
    #expect(reader.next() == .find(two, chunk.hash))
    reader.found(two, .success(chunk))
    _ = reader.next()
    reader.read(two, .success(.bytes(bytes)))
    #expect(reader.next() == .report(two, portion(0, bytes[...], last: true)))
  }

  @Test func aFileThatIsGoneOrCutOffIsReplacedByTheRelays() throws {
    let (chunk, bytes) = try chunk(3)
    for answer in [ChunkResult.refused(Refusal(.notFound, "")), .bytes(Array(bytes.dropLast()))] {
      var reader = ChunkReader()
      reader.addOrder(one, chunk.hash, offset: 0, count: 9)
      _ = reader.next()
      reader.found(one, .success(chunk))
      _ = reader.next()
      reader.read(one, .success(answer))
      if case .refused = answer {
        // Another file may hold it by now.
        #expect(reader.next() == .find(one, chunk.hash))
        reader.found(one, .success(chunk))
      }
      #expect(reader.next() == .drop(chunk))
      #expect(reader.next() == .download(chunk.hash))
    }
  }

  @Test func aFileThatWasReplacedMeanwhileIsReadOnFrom() throws {
    let (chunk, bytes) = try chunk(Limits.chunkPortionBytes + 1)
    var newer = chunk
    newer.file = 9
    var reader = ChunkReader()
    reader.addOrder(one, chunk.hash, offset: 0, count: .max)
    _ = reader.next()
    reader.found(one, .success(chunk))
    _ = reader.next()
    reader.read(one, .success(.bytes(Array(bytes.dropLast()))))
    _ = reader.next()
    _ = reader.next()
    reader.read(one, .success(.refused(Refusal(.notFound, ""))))
    #expect(reader.next() == .find(one, chunk.hash))
    reader.found(one, .success(newer))
    #expect(reader.next() == .read(one, newer, offset: Limits.chunkPortionBytes, count: 1))
    reader.read(one, .success(.bytes([bytes[bytes.count - 1]])))
    #expect(
      reader.next()
        == .report(one, portion(Limits.chunkPortionBytes, bytes.suffix(1), last: true)))
  }

  @Test func aWholeChunkWithOtherBytesIsNotToldAsWhole() throws {
    let (chunk, bytes) = try chunk(Limits.chunkPortionBytes + 1)
    var reader = ChunkReader()
    reader.addOrder(one, chunk.hash, offset: 0, count: .max)
    _ = reader.next()
    reader.found(one, .success(chunk))
    _ = reader.next()
    reader.read(one, .success(.bytes(Array(bytes.dropLast()))))
    _ = reader.next()
    _ = reader.next()
    reader.read(one, .success(.bytes([bytes[bytes.count - 1] ^ 1])))
    #expect(reader.next() == .drop(chunk))
    #expect(reader.next() == .report(one, .failure(.damaged)))
    #expect(reader.isEmpty)
  }

  @Test func aDiskThatFailsIsTold() throws {
    let (chunk, _) = try chunk(3)
    let error = StorageError.readOnly(path: "p")
    var reader = ChunkReader()
    reader.addOrder(one, chunk.hash, offset: 0, count: 9)
    _ = reader.next()
    reader.found(one, .success(chunk))
    _ = reader.next()
    reader.read(one, .failure(error))
    #expect(reader.next() == .report(one, .failure(.storage(error))))
    reader.addOrder(two, chunk.hash, offset: 0, count: 9)
    _ = reader.next()
    reader.found(two, .failure(.storage(error)))
    #expect(reader.next() == .report(two, .failure(.storage(error))))
    #expect(reader.isEmpty)
  }

  @Test func asManyOrdersWaitAsMayBe() throws {
    let (chunk, _) = try chunk(3)
    var reader = ChunkReader()
    for number in 0..<UInt64(Limits.chunkReads) {
      reader.addOrder(OrderID(rawValue: 10 + number), chunk.hash, offset: 0, count: 1)
    }
    reader.addOrder(one, chunk.hash, offset: 0, count: 1)
    #expect(reader.next() == .report(one, .failure(.busy)))
    reader.stop()
    var reported = 0
    while let action = reader.next() {
      guard case .report(_, .failure(.stopping)) = action else { continue }
      reported += 1
    }
    #expect(reported == Limits.chunkReads)
    #expect(reader.isEmpty)
  }
}
