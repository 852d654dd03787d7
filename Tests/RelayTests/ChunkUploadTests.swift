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
    upload.receive([1, 2])
    #expect(!upload.isBegun)
    expect(upload.nextStep(), is: .append([1, 2]))
    #expect(upload.isBegun)
    // Bytes that come meanwhile are joined.
    upload.receive([3])
    upload.receive([4, 5])
    expect(upload.nextStep(), is: nil)
    #expect(upload.heldBytes == 5)
    upload.completeStep()
    #expect(upload.heldBytes == 3)
    upload.endBody()
    expect(upload.nextStep(), is: .append([3, 4, 5]))
    expect(upload.nextStep(), is: nil)
    upload.completeStep()
    expect(upload.nextStep(), is: .finish)
    expect(upload.nextStep(), is: nil)
    #expect(!upload.isFinished)
    upload.completeStep()
    #expect(upload.isFinished)
    expect(upload.nextStep(), is: nil)
    #expect(upload.received == 5)
    #expect(upload.heldBytes == 0)
  }

  @Test func aChunkWithoutBytesIsBegunAndFinished() throws {
    var upload = try upload()
    upload.endBody()
    expect(upload.nextStep(), is: .append([]))
    upload.completeStep()
    expect(upload.nextStep(), is: .finish)
  }

  @Test func aPartIsNeverLargerThanItMayBe() throws {
    var upload = try upload()
    let size = Limits.chunkPortionBytes
    let bytes = (0..<3 * size + 1).map { UInt8(truncatingIfNeeded: $0) }
    upload.receive(Array(bytes[..<(size - 1)]))
    upload.receive(Array(bytes[(size - 1)...]))
    upload.endBody()
    var parts: [[UInt8]] = []
    while case .append(let part) = upload.nextStep() {
      parts.append(part)
      upload.completeStep()
    }
    #expect(parts.map(\.count) == [size, size, size, 1])
    #expect(parts.flatMap { $0 } == bytes)
  }

  @Test func itIsFullWhenOneMoreReceiptMightNotFit() throws {
    var upload = try upload()
    let room = Limits.chunkWaitingBytes - Limits.receiveBytes
    upload.receive([UInt8](repeating: 0, count: room))
    #expect(!upload.isFull)
    _ = upload.nextStep()
    upload.receive([0])
    #expect(upload.isFull)
    upload.completeStep()
    #expect(!upload.isFull)
  }

  @Test func partsAreCountedAsTheyCome() throws {
    var upload = try upload()
    upload.receive([UInt8](repeating: 0, count: Limits.chunkPortionBytes - 1))
    #expect(upload.partsReceived == 0)
    upload.receive([0])
    #expect(upload.partsReceived == 1)
  }
}
