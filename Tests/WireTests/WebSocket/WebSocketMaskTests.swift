import LockstepModel
import Testing

@testable import LockstepWire

struct WebSocketMaskTests {
  @Test func chunksMaskAsTheWholeDoes() {
    var random = SeededRandom(seed: 7)
    for _ in 0..<200 {
      let bytes = randomBytes(Int.random(in: 0...80, using: &random), using: &random)
      let key = UInt32.random(in: 0...(.max), using: &random)
      var whole = bytes
      whole.withUnsafeMutableBytes { WebSocketMask.apply(key, to: $0) }
      var chunks: [UInt8] = []
      for var chunk in randomCut(of: bytes, using: &random) {
        let turned = WebSocketMask.rotated(key, by: chunks.count)
        chunk.withUnsafeMutableBytes { WebSocketMask.apply(turned, to: $0) }
        chunks += chunk
      }
      #expect(chunks == whole)
      chunks.withUnsafeMutableBytes { WebSocketMask.apply(key, to: $0) }
      #expect(chunks == bytes)
    }
  }
}
