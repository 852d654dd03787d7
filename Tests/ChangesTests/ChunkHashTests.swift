import Changes
import Testing

struct ChunkHashTests {
  private let text = "00ff" + String(repeating: "0123456789abcdef", count: 3) + "fedcba987654"

  @Test func textAndBytesComeBack() throws {
    let hash = try #require(ChunkHash(text: text))
    #expect(hash.text == text)
    #expect(hash.bytes.count == 32)
    #expect(hash.bytes.prefix(3) == [0x00, 0xFF, 0x01])
    #expect(ChunkHash(bytes: hash.bytes) == hash)
    #expect(ChunkHash(text: text.uppercased()) == hash)
  }

  @Test func whatIsNoHashIsRefused() {
    #expect(ChunkHash(text: String(text.dropLast())) == nil)
    #expect(ChunkHash(text: text + "0") == nil)
    #expect(ChunkHash(text: String(text.dropLast()) + "g") == nil)
    #expect(ChunkHash(bytes: Array(repeating: 0, count: 31)) == nil)
  }

  @Test func hashesThatDifferInOneBitAreTwo() throws {
    let hash = try #require(ChunkHash(text: text))
    for index in 0..<32 {
      var bytes = hash.bytes
      bytes[index] ^= 1
      let other = try #require(ChunkHash(bytes: bytes))
      #expect(other != hash)
      #expect((other < hash) != (hash < other))
      #expect(place(of: other) != place(of: hash), "chosen alike, they would crowd a table")
    }
  }

  private func place(of hash: ChunkHash) -> Int {
    var hasher = Hasher()
    hash.hash(into: &hasher)
    return hasher.finalize()
  }
}
