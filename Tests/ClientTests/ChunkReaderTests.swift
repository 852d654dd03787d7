import LockstepCrypto
import LockstepModel
import LockstepStorage
import Testing

@testable import LockstepClient

struct ChunkReaderTests {
  private let one = OrderID(rawValue: 1)
  private let two = OrderID(rawValue: 2)

  /// A piece of so many bytes, and its bytes.
  private func piece(_ count: Int, file: UInt64 = 7) throws -> (HeldChunk, [UInt8]) {
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    let hash = try #require(ChunkHash(bytes: SHA256.hash(bytes)))
    return (HeldChunk(hash: hash, file: file, bytes: count), bytes)
  }

  private func portion(_ offset: Int, _ bytes: ArraySlice<UInt8>, last: Bool)
    -> Result<ChunkPortion, ChunkFailure>
  {
    .success(ChunkPortion(offset: offset, bytes: Array(bytes), isLast: last))
  }

  @Test func aPieceOfTheHomeIsReadInPortions() throws {
    let size = Limits.chunkPieceBytes + 10
    let (piece, bytes) = try piece(size)
    var reader = ChunkReader()
    reader.order(one, piece.hash, offset: 0, count: .max)
    #expect(reader.next() == .find(one, piece.hash))
    #expect(reader.next() == nil)
    reader.found(one, .success(piece))
    #expect(reader.next() == .read(one, piece, offset: 0, count: Limits.chunkPieceBytes))
    #expect(reader.next() == nil)
    let cut = Limits.chunkPieceBytes
    reader.read(one, .success(.bytes(Array(bytes[..<cut]))))
    #expect(reader.next() == .report(one, portion(0, bytes[..<cut], last: false)))
    #expect(reader.next() == .read(one, piece, offset: cut, count: 10))
    reader.read(one, .success(.bytes(Array(bytes[cut...]))))
    #expect(reader.next() == .report(one, portion(cut, bytes[cut...], last: true)))
    #expect(reader.next() == nil)
    #expect(reader.isEmpty)
  }

  @Test(arguments: [(4, 3, 4, 3), (8, 9, 8, 2), (10, 5, 10, 0), (99, 5, 99, 0), (-4, 3, 0, 3)])
  func aRangeIsReadAsFarAsThePieceGoes(
    offset: Int, count: Int, readAt: Int, read: Int
  ) throws {
    let (piece, bytes) = try piece(10)
    var reader = ChunkReader()
    reader.order(one, piece.hash, offset: offset, count: count)
    _ = reader.next()
    reader.found(one, .success(piece))
    #expect(reader.next() == .read(one, piece, offset: readAt, count: read))
    let part = bytes.dropFirst(readAt).prefix(read)
    reader.read(one, .success(.bytes(Array(part))))
    #expect(reader.next() == .report(one, portion(readAt, part, last: true)))
    #expect(reader.isEmpty)
  }

  @Test func aPieceThatIsNotInTheHomeIsDownloadedOnceForAllWhoWait() throws {
    let (piece, bytes) = try piece(3)
    var reader = ChunkReader()
    reader.order(one, piece.hash, offset: 0, count: 9)
    reader.order(two, piece.hash, offset: 1, count: 9)
    #expect(reader.next() == .find(one, piece.hash))
    reader.found(one, .success(nil))
    #expect(reader.next() == .download(piece.hash))
    #expect(reader.next() == .find(two, piece.hash))
    reader.found(two, .success(nil))
    #expect(reader.next() == nil)
    #expect(reader.awaits(piece.hash))
    reader.downloaded(piece.hash, .success(()))
    #expect(reader.next() == .find(one, piece.hash))
    reader.found(one, .success(piece))
    #expect(reader.next() == .read(one, piece, offset: 0, count: 3))
    reader.read(one, .success(.bytes(bytes)))
    #expect(reader.next() == .report(one, portion(0, bytes[...], last: true)))
    #expect(reader.next() == .find(two, piece.hash))
  }

  @Test func whatCannotBeHadIsToldToAllWhoWait() throws {
    let (piece, _) = try piece(3)
    var reader = ChunkReader()
    reader.order(one, piece.hash, offset: 0, count: 9)
    _ = reader.next()
    reader.found(one, .success(nil))
    #expect(reader.next() == .download(piece.hash))
    reader.downloaded(piece.hash, .failure(.nowhere))
    #expect(reader.next() == .report(one, .failure(.nowhere)))
    #expect(reader.isEmpty)
  }

  @Test func whoWaitsForTheRelayHoldsUpNobody() throws {
    let (piece, bytes) = try piece(3)
    let (other, _) = try self.piece(4, file: 8)
    var reader = ChunkReader()
    reader.order(one, other.hash, offset: 0, count: 9)
    reader.order(two, piece.hash, offset: 0, count: 9)
    _ = reader.next()
    reader.found(one, .success(nil))
    #expect(reader.next() == .download(other.hash))
    #expect(reader.next() == .find(two, piece.hash))
    reader.found(two, .success(piece))
    _ = reader.next()
    reader.read(two, .success(.bytes(bytes)))
    #expect(reader.next() == .report(two, portion(0, bytes[...], last: true)))
  }

  @Test func aFileThatIsGoneOrCutOffIsReplacedByTheRelays() throws {
    let (piece, bytes) = try piece(3)
    for answer in [ChunkResult.refused(Refusal(.notFound, "")), .bytes(Array(bytes.dropLast()))] {
      var reader = ChunkReader()
      reader.order(one, piece.hash, offset: 0, count: 9)
      _ = reader.next()
      reader.found(one, .success(piece))
      _ = reader.next()
      reader.read(one, .success(answer))
      if case .refused = answer {
        // Another file may hold it by now.
        #expect(reader.next() == .find(one, piece.hash))
        reader.found(one, .success(piece))
      }
      #expect(reader.next() == .drop(piece))
      #expect(reader.next() == .download(piece.hash))
    }
  }

  @Test func aFileThatWasReplacedMeanwhileIsReadOnFrom() throws {
    let (piece, bytes) = try piece(Limits.chunkPieceBytes + 1)
    var newer = piece
    newer.file = 9
    var reader = ChunkReader()
    reader.order(one, piece.hash, offset: 0, count: .max)
    _ = reader.next()
    reader.found(one, .success(piece))
    _ = reader.next()
    reader.read(one, .success(.bytes(Array(bytes.dropLast()))))
    _ = reader.next()
    _ = reader.next()
    reader.read(one, .success(.refused(Refusal(.notFound, ""))))
    #expect(reader.next() == .find(one, piece.hash))
    reader.found(one, .success(newer))
    #expect(reader.next() == .read(one, newer, offset: Limits.chunkPieceBytes, count: 1))
    reader.read(one, .success(.bytes([bytes[bytes.count - 1]])))
    #expect(
      reader.next()
        == .report(one, portion(Limits.chunkPieceBytes, bytes.suffix(1), last: true)))
  }

  @Test func aWholePieceWithOtherBytesIsNotToldAsWhole() throws {
    let (piece, bytes) = try piece(Limits.chunkPieceBytes + 1)
    var reader = ChunkReader()
    reader.order(one, piece.hash, offset: 0, count: .max)
    _ = reader.next()
    reader.found(one, .success(piece))
    _ = reader.next()
    reader.read(one, .success(.bytes(Array(bytes.dropLast()))))
    _ = reader.next()
    _ = reader.next()
    reader.read(one, .success(.bytes([bytes[bytes.count - 1] ^ 1])))
    #expect(reader.next() == .drop(piece))
    #expect(reader.next() == .report(one, .failure(.damaged)))
    #expect(reader.isEmpty)
  }

  @Test func aDiskThatFailsIsTold() throws {
    let (piece, _) = try piece(3)
    let error = StorageError.readOnly(path: "p")
    var reader = ChunkReader()
    reader.order(one, piece.hash, offset: 0, count: 9)
    _ = reader.next()
    reader.found(one, .success(piece))
    _ = reader.next()
    reader.read(one, .failure(error))
    #expect(reader.next() == .report(one, .failure(.storage(error))))
    reader.order(two, piece.hash, offset: 0, count: 9)
    _ = reader.next()
    reader.found(two, .failure(.storage(error)))
    #expect(reader.next() == .report(two, .failure(.storage(error))))
    #expect(reader.isEmpty)
  }

  @Test func asManyOrdersWaitAsMayBe() throws {
    let (piece, _) = try piece(3)
    var reader = ChunkReader()
    for number in 0..<UInt64(Limits.pieceReads) {
      reader.order(OrderID(rawValue: 10 + number), piece.hash, offset: 0, count: 1)
    }
    reader.order(one, piece.hash, offset: 0, count: 1)
    #expect(reader.next() == .report(one, .failure(.busy)))
    reader.stop()
    var told = 0
    while let action = reader.next() {
      guard case .report(_, .failure(.stopping)) = action else { continue }
      told += 1
    }
    #expect(told == Limits.pieceReads)
    #expect(reader.isEmpty)
  }
}
