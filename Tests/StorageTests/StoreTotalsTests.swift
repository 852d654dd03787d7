import LockstepModel
import LockstepStorage
import Testing

struct StoreTotalsTests {
  private static func record(_ tag: ChangeTag, fields: [UInt8]?) -> ExportedRecord {
    ExportedRecord(
      account: AccountID(rawValue: 1),
      record: Record(
        zone: Name(trusted: "Z"), name: Name(trusted: "r\(tag)"), type: Name(trusted: "T"),
        fields: fields, modifiedAt: 1, device: DeviceID(rawValue: 1), tag: tag),
      deletedAt: fields == nil ? 5 : nil)
  }

  private static func chunk(_ seed: UInt8, bytes: Int) throws -> ExportedChunk {
    let hash = try #require(ChunkHash(bytes: [UInt8](repeating: seed, count: 32)))
    let file = ChunkFile(account: AccountID(rawValue: 1), number: UInt64(seed))
    return ExportedChunk(
      hash: hash, stored: StoredChunk(file: file, bytes: bytes), uses: 1, leaseUntil: 0,
      isUnverified: false)
  }

  @Test func portionsAddUpToTheWhole() throws {
    let records = (1...5 as ClosedRange<ChangeTag>).map {
      Self.record($0, fields: $0 == 2 ? nil : [])
    }
    let chunks = [try Self.chunk(1, bytes: 10), try Self.chunk(2, bytes: 32)]
    var whole = StoreTotals()
    whole.add(.records(records))
    whole.add(.chunks(chunks))
    for cut in 0...5 {
      var parts = StoreTotals()
      parts.add(.records(Array(records[..<cut])))
      parts.add(.records(Array(records[cut...])))
      for chunk in chunks { parts.add(.chunks([chunk])) }
      #expect(parts == whole)
    }
    #expect(whole[.records] == 5 && whole.tombstones == 1)
    #expect(whole[.chunks] == 2 && whole.chunkBytes == 42)
    #expect(whole[.accounts] == 0 && !whole.isEmpty && StoreTotals().isEmpty)
  }

  @Test func aDifferenceNamesTheFirstThatIsAnother() {
    var wanted = StoreTotals()
    wanted[.devices] = 3
    wanted.tombstones = 2
    var held = wanted
    #expect(held.difference(from: wanted) == nil)
    held.tombstones = 1
    #expect(held.difference(from: wanted) == "1 of 2 tombstones are there")
    held[.devices] = 4
    #expect(held.difference(from: wanted) == "4 of 3 devices are there")
  }
}
