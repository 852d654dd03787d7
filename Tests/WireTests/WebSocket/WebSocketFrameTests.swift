import LockstepModel
import LockstepWire
import Testing

struct WebSocketFrameTests {
  /// RFC 6455 section 5.7.
  @Test func theExamplesAreWrittenAlike() {
    let hello = Array("Hello".utf8)
    #expect(WebSocketFrame.text(hello) == [0x81, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f])
    #expect(
      WebSocketFrame.text(hello, mask: 0x37fa_213d)
        == [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58])
    #expect(WebSocketFrame.ping(hello) == [0x89, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f])
    #expect(
      WebSocketFrame.pong(hello, mask: 0x37fa_213d)
        == [0x8a, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58])
    let payload = [UInt8](repeating: 7, count: 65_536)
    #expect(
      WebSocketFrame.binary(Array(payload.prefix(256))) == [0x82, 0x7E, 1, 0] + payload[..<256])
    #expect(WebSocketFrame.binary(payload) == [0x82, 0x7F, 0, 0, 0, 0, 0, 1, 0, 0] + payload)
  }

  @Test func lengthsTakeTheirShortestForm() {
    #expect(WebSocketFrame.binary([UInt8](repeating: 0, count: 125)).count == 2 + 125)
    #expect(WebSocketFrame.binary([UInt8](repeating: 0, count: 126)).count == 4 + 126)
    #expect(WebSocketFrame.binary([UInt8](repeating: 0, count: 65_535)).count == 4 + 65_535)
    #expect(WebSocketFrame.binary([UInt8](repeating: 0, count: 65_536)).count == 10 + 65_536)
  }

  @Test func maskingAgreesWithTheRule() {
    var random = SeededRandom(seed: 9)
    for count in 0..<70 {
      let payload = randomBytes(count, using: &random)
      let mask = UInt32.random(in: 0...(.max), using: &random)
      #expect(WebSocketFrame.binary(payload, mask: mask) == frame(0x82, payload, mask: mask))
    }
  }

  @Test func closingSaysWhy() {
    #expect(WebSocketFrame.close(code: nil) == [0x88, 0x00])
    #expect(WebSocketFrame.close(code: 1000) == [0x88, 0x02, 0x03, 0xE8])
    #expect(WebSocketFrame.close(code: 1012, reason: "x") == [0x88, 0x03, 0x03, 0xF4, 0x78])
  }

  @Test func aLongReasonIsCutBetweenCharacters() {
    for shift in 0..<4 {
      let reason = String(repeating: "a", count: shift) + String(repeating: "😀", count: 100)
      let bytes = WebSocketFrame.close(code: 1008, reason: reason)
      #expect(bytes.count <= 2 + WebSocketFrame.controlBytes)
      guard case .close(1008, let read)? = WebSocketReading(bytes).events.first else {
        return #expect(Bool(false))
      }
      #expect(reason.hasPrefix(read))
      #expect(read.utf8.count > 119)
    }
  }
}
