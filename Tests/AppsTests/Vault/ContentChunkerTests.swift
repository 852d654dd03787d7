import LockstepModel
import Testing

@testable import LockstepApps

struct ContentChunkerTests {
  private static let small = ContentChunker.Sizes(least: 256, average: 1_024, most: 4_096)

  private static func noise(_ count: Int, seed: UInt64) -> [UInt8] {
    var random = SeededRandom(seed: seed)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + 8)
    while bytes.count < count {
      let word = random.next()
      for shift in 0..<8 { bytes.append(UInt8(truncatingIfNeeded: word >> (8 * shift))) }
    }
    return Array(bytes.prefix(count))
  }

  /// `portions`: number of bytes per call of `add`.
  private func cut(
    _ bytes: [UInt8], _ sizes: ContentChunker.Sizes = small, seed: UInt64 = 0,
    portions: (Int) -> Int = { _ in 1 << 20 }
  ) -> [[UInt8]] {
    var chunker = ContentChunker(seed: seed, sizes: sizes)
    var chunks: [[UInt8]] = []
    var start = 0
    while start < bytes.count {
      let end = min(bytes.count, start + max(1, portions(start)))
      chunker.add(Array(bytes[start..<end]))
      while let chunk = chunker.next() { chunks.append(chunk) }
      start = end
    }
    if let last = chunker.finish() { chunks.append(last) }
    return chunks
  }

  @Test(arguments: [0, 1, 255, 256, 257, 4_095, 4_096, 4_097, 100_000])
  func chunksJoinToTheFile(_ count: Int) {
    let bytes = Self.noise(count, seed: UInt64(count))
    let chunks = cut(bytes)
    #expect(chunks.flatMap { $0 } == bytes)
    #expect(chunks.allSatisfy { $0.count <= Self.small.most })
    #expect(chunks.dropLast().allSatisfy { $0.count >= Self.small.least })
  }

  @Test func sameWhereverTheInputIsSplit() {
    let bytes = Self.noise(60_000, seed: 1)
    let whole = cut(bytes)
    #expect(whole.count > 20)
    #expect(cut(bytes) { _ in 1 } == whole)
    #expect(cut(bytes) { _ in 255 } == whole)
    var random = SeededRandom(seed: 2)
    #expect(cut(bytes) { _ in Int.random(in: 1...5_000, using: &random) } == whole)
  }

  @Test func bytesThatAreAllAlikeAreCutAtTheMost() {
    let chunks = cut([UInt8](repeating: 0, count: 10_000))
    #expect(chunks.map(\.count) == [4_096, 4_096, 1_808])
  }

  @Test func anotherSeedCutsElsewhere() {
    let bytes = Self.noise(60_000, seed: 1)
    #expect(cut(bytes, seed: 1).map(\.count) != cut(bytes, seed: 2).map(\.count))
  }

  @Test func sizesKeepCloseToTheAverage() {
    let bytes = Self.noise(2_000_000, seed: 3)
    let mean = bytes.count / cut(bytes).count
    #expect((700...1_700).contains(mean), "\(mean)")
  }

  @Test func aByteInsertedAtTheFrontChangesUnderAMegabyte() {
    let bytes = Self.noise(50_000_000, seed: 4)
    let sizes = ContentChunker.Sizes.classes[ContentChunker.Sizes.place(forBytes: bytes.count)]
    let known = Set(cut(bytes, sizes))
    let new = cut([7] + bytes, sizes).filter { !known.contains($0) }
    let changed = new.reduce(0) { $0 + $1.count }
    #expect(changed > 0 && changed < 1_000_000, "\(changed) bytes")
  }

  @Test func aByteChangedInTheMiddleChangesAFewChunks() {
    let bytes = Self.noise(1_000_000, seed: 5)
    var other = bytes
    other[500_000] &+= 1
    let known = Set(cut(bytes))
    let new = cut(other).filter { !known.contains($0) }
    #expect((1...4).contains(new.count), "\(new.count)")
  }

  @Test func everyFileFitsIntoARecord() {
    let classes = ContentChunker.Sizes.classes
    for (bytes, place) in [
      (0, 0), (256 << 20, 0), (256 << 20 + 1, 1), (1 << 30, 1), (1 << 30 + 1, 2),
      (ContentChunker.bytesMax, 2),
    ] {
      #expect(ContentChunker.Sizes.place(forBytes: bytes) == place)
      // The usual number of chunks; if a file needs more, the next class is used.
      #expect(bytes / classes[place].average <= Limits.chunksPerRecord)
    }
    let last = classes[classes.count - 1]
    #expect(ContentChunker.bytesMax / last.least <= Limits.chunksPerRecord)
    #expect(classes.allSatisfy { $0.most + VaultSeal.overhead <= Limits.chunkBytes })
  }
}
