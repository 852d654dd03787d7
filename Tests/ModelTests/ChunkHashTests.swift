import LockstepModel
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

  /// Every byte at every position: a digit has its value, and any other byte is refused.
  @Test func everyByteAtEveryPlaceIsReadForWhatItIs() {
    let digits = Array("0123456789abcdef".utf8)
    let upper = Array("0123456789ABCDEF".utf8)
    for place in 0..<64 {
      var text = [UInt8](repeating: UInt8(ascii: "5"), count: 64)
      for byte: UInt8 in 0...127 {
        text[place] = byte
        let value = digits.firstIndex(of: byte) ?? upper.firstIndex(of: byte)
        var expected = [UInt8](repeating: 0x55, count: 32)
        let (shift, kept): (Int, UInt8) = place.isMultiple(of: 2) ? (4, 0x05) : (0, 0x50)
        expected[place / 2] = expected[place / 2] & kept | UInt8(value ?? 0) << shift
        let hash = ChunkHash(text: String(decoding: text, as: UTF8.self))
        #expect(hash?.bytes == value.map { _ in expected }, "\(byte) at \(place)")
      }
    }
    #expect(ChunkHash(text: "ä" + String(repeating: "5", count: 62)) == nil)
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
