import LockstepModel
import LockstepStorage
import Testing

@testable import LockstepRelay

struct ChunkUploadTests {
  private func upload() throws -> ChunkUpload {
    ChunkUpload(try #require(ChunkHash(text: String(repeating: "0", count: 64))))
  }

  @Test func bytesAreHandedOnAPartAtATime() throws {
    var upload = try upload()
    expect(upload.nextStep(), is: nil)
    upload.take([1, 2])
    #expect(!upload.isBegun)
    expect(upload.nextStep(), is: .append([1, 2]))
    #expect(upload.isBegun)
    // Bytes that come meanwhile are joined.
    upload.take([3])
    upload.take([4, 5])
    expect(upload.nextStep(), is: nil)
    #expect(upload.heldBytes == 5)
    upload.stepDone()
    #expect(upload.heldBytes == 3)
    upload.end()
    expect(upload.nextStep(), is: .append([3, 4, 5]))
    expect(upload.nextStep(), is: nil)
    upload.stepDone()
    expect(upload.nextStep(), is: .finish)
    expect(upload.nextStep(), is: nil)
    #expect(!upload.isFinished)
    upload.stepDone()
    #expect(upload.isFinished)
    expect(upload.nextStep(), is: nil)
    #expect(upload.received == 5)
    #expect(upload.heldBytes == 0)
  }

  @Test func aChunkWithoutBytesIsBegunAndFinished() throws {
    var upload = try upload()
    upload.end()
    expect(upload.nextStep(), is: .append([]))
    upload.stepDone()
    expect(upload.nextStep(), is: .finish)
  }

  @Test func aPartIsNeverLargerThanItMayBe() throws {
    var upload = try upload()
    let size = Limits.chunkPortionBytes
    let bytes = (0..<3 * size + 1).map { UInt8(truncatingIfNeeded: $0) }
    upload.take(Array(bytes[..<(size - 1)]))
    upload.take(Array(bytes[(size - 1)...]))
    upload.end()
    var parts: [[UInt8]] = []
    while case .append(let part) = upload.nextStep() {
      parts.append(part)
      upload.stepDone()
    }
    #expect(parts.map(\.count) == [size, size, size, 1])
    #expect(parts.flatMap { $0 } == bytes)
  }

  @Test func itIsFullWhenOneMoreReceiptMightNotFit() throws {
    var upload = try upload()
    let room = Limits.chunkWaitingBytes - Limits.receiveBytes
    upload.take([UInt8](repeating: 0, count: room))
    #expect(!upload.isFull)
    _ = upload.nextStep()
    upload.take([0])
    #expect(upload.isFull)
    upload.stepDone()
    #expect(!upload.isFull)
  }

  @Test func partsAreCountedAsTheyCome() throws {
    var upload = try upload()
    upload.take([UInt8](repeating: 0, count: Limits.chunkPortionBytes - 1))
    #expect(upload.partsReceived == 0)
    upload.take([0])
    #expect(upload.partsReceived == 1)
  }
}
