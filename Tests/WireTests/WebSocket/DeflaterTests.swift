import CZlib
import LockstepModel
import Testing

@testable import LockstepWire

struct DeflaterTests {
  private static let records = Array(
    String(repeating: #"{"zone":"Timer","name":"a","type":"Phase","tag":17},"#, count: 100).utf8)

  /// Inflates all messages of `frames`, one after another, with zlib alone, as another program
  /// would.
  private func inflated(_ frames: [[UInt8]], windowBits: Int) -> [UInt8] {
    var input: [UInt8] = []
    for frame in frames {
      input += frame[WebSocketFrame.payloadStart(ofPlain: frame)...] + [0, 0, 0xFF, 0xFF]
    }
    var output = [UInt8](repeating: 0, count: 1 << 20)
    var stream = z_stream()
    let code = inflateInit2_(
      &stream, -Int32(windowBits), ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    #expect(code == Z_OK)
    let count = input.withUnsafeMutableBufferPointer { input in
      output.withUnsafeMutableBufferPointer { output in
        stream.next_in = input.baseAddress
        stream.avail_in = UInt32(input.count)
        stream.next_out = output.baseAddress
        stream.avail_out = UInt32(output.count)
        #expect(inflate(&stream, Z_SYNC_FLUSH) == Z_OK)
        return output.count - Int(stream.avail_out)
      }
    }
    inflateEnd(&stream)
    return Array(output[..<count])
  }

  @Test func aLargeTextIsCompressedIntoOneFrame() {
    for windowBits in 9...15 {
      var deflater = Deflater(.init(windowBits: windowBits, keepsContext: false))
      let frame = deflater.text(Self.records)
      #expect(frame[0] == 0xC1)
      #expect(frame.count < Self.records.count / 10)
      #expect(inflated([frame], windowBits: windowBits) == Self.records)
      // The second message does not depend on the first.
      #expect(deflater.text(Self.records) == frame)
      #expect(deflater.frame(of: WebSocketFrame.text(Self.records)) == frame)
      #expect(deflater.binary(Self.records)[0] == 0xC2)
    }
  }

  @Test func smallTextsAndWhatDoesNotShrinkStayPlain() {
    var random = SeededRandom(seed: 1)
    var deflater = Deflater(.init(windowBits: 12, keepsContext: false))
    let small = Array(Self.records.prefix(Limits.deflateBytes - 1))
    #expect(deflater.text(small) == WebSocketFrame.text(small))
    #expect(deflater.frame(of: WebSocketFrame.text(small)) == WebSocketFrame.text(small))
    #expect(deflater.text(small + [0x20]).count < small.count)
    let noise = randomBytes(100_000, using: &random)
    #expect(deflater.binary(noise) == WebSocketFrame.binary(noise))
    #expect(deflater.frame(of: WebSocketFrame.text(noise)) == WebSocketFrame.text(noise))
    #expect(deflater.text(Self.records, mask: 7)[1] & 0x80 == 0x80)
  }

  @Test func aKeptContextMakesTheSecondMessageSmaller() {
    let letter = Array("A letter that is sent a second time, with another word in it.".utf8)
    var deflater = Deflater(.init(windowBits: 9, keepsContext: true), leastBytes: nil)
    let frames = [
      deflater.text(letter), deflater.text([]), deflater.text([]), deflater.text(letter),
    ]
    #expect(frames.allSatisfy { $0[0] == 0xC1 })
    #expect(frames[1] == [0xC1, 1, 0])
    #expect(frames[3].count < 10)
    #expect(inflated(frames, windowBits: 9) == letter + letter)
  }

  @Test func whoSendsSeldomKeepsNoDeflater() {
    let terms = DeflateTerms.Sending(windowBits: 12, keepsContext: false)
    #expect(WebSocketFrame.text(Self.records, deflate: nil) == WebSocketFrame.text(Self.records))
    var deflater = Deflater(terms)
    #expect(
      WebSocketFrame.text(Self.records, mask: 3, deflate: terms)
        == deflater.text(Self.records, mask: 3))
  }
}
