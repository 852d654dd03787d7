import LockstepModel
import Testing

@testable import LockstepWire

struct WebSocketMaskTests {
  @Test func piecesMaskAsTheWholeDoes() {
    var random = SeededRandom(seed: 7)
    for _ in 0..<200 {
      let bytes = randomBytes(Int.random(in: 0...80, using: &random), using: &random)
      let key = UInt32.random(in: 0...(.max), using: &random)
      var whole = bytes
      whole.withUnsafeMutableBytes { WebSocketMask.apply(key, to: $0) }
      var pieces: [UInt8] = []
      for var piece in randomCut(of: bytes, using: &random) {
        let turned = WebSocketMask.rotated(key, by: pieces.count)
        piece.withUnsafeMutableBytes { WebSocketMask.apply(turned, to: $0) }
        pieces += piece
      }
      #expect(pieces == whole)
      pieces.withUnsafeMutableBytes { WebSocketMask.apply(key, to: $0) }
      #expect(pieces == bytes)
    }
  }
}
