import LockstepModel
import Testing

@testable import LockstepWire

/// Compressed messages in the reader (RFC 7692).
struct InflaterTests {
  private static let hello = Array("Hello".utf8)
  /// "Hello" in the five compressed forms of RFC 7692 section 7.2.3.
  private static let fixed: [UInt8] = [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]
  private static let stored: [UInt8] = [0x00, 0x05, 0x00, 0xFA, 0xFF] + hello + [0x00]
  private static let last: [UInt8] = [0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00]
  private static let twoBlocks: [UInt8] =
    [0xF2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xCA, 0xC9, 0xC9, 0x07, 0x00]
  private static let again: [UInt8] = [0xF2, 0x00, 0x11, 0x00, 0x00]

  private func reading(
    _ bytes: [UInt8], context: Bool = false, limit: Int = 1 << 20
  ) -> WebSocketReading {
    let terms = DeflateTerms(sending: nil, receivesContext: context)
    let all = cuts(of: bytes).map {
      WebSocketReading($0, role: .client, maximumMessageBytes: limit, deflate: terms)
    }
    for other in all { #expect(other == all[0]) }
    return all[0]
  }

  @Test func theExamplesOfTheRFCSayHello() {
    for payload in [Self.fixed, Self.stored, Self.last, Self.twoBlocks] {
      let two = frame(0xC1, payload) + frame(0xC2, payload)
      #expect(reading(two).events == [.text(Self.hello), .binary(Self.hello)])
      // Nothing is held between messages.
      #expect(reading(two).bufferedBytes == 0)
      #expect(reading(two, context: true).events == [.text(Self.hello), .binary(Self.hello)])
    }
    let fragments =
      frame(0x41, [0xF2, 0x48, 0xCD]) + frame(0x89) + frame(0x80, [0xC9, 0xC9, 7, 0])
    #expect(reading(fragments).events == [.ping([]), .text(Self.hello)])
  }

  @Test func aMessageMayReferToTheOneBeforeWhereThatIsAgreed() {
    let two = frame(0xC1, Self.fixed) + frame(0xC1, Self.again)
    #expect(reading(two, context: true).events == [.text(Self.hello), .text(Self.hello)])
    #expect(reading(two).events == [.text(Self.hello)])
    #expect(reading(two).fault == 1007)
    // Also after a block marked as the last, which does not end the connection's data.
    let three = frame(0xC1, Self.last) + frame(0x81, Self.hello) + frame(0xC1, Self.again)
    #expect(
      reading(three, context: true).events
        == [.text(Self.hello), .text(Self.hello), .text(Self.hello)])
  }

  @Test func anEmptyMessageIsAnEmptyBlock() {
    for payload: [UInt8] in [[0x00], [], [0x00, 0x00, 0x00, 0xFF, 0xFF], [0x03, 0x00]] {
      #expect(reading(frame(0xC1, payload)).events == [.text([])])
      #expect(reading(frame(0xC1, payload)).fault == nil)
    }
    #expect(reading(frame(0x41, Array(Self.fixed.dropLast())) + frame(0x80, [0])).events.count == 1)
    // The sender did not remove the end of its flush.
    #expect(
      reading(frame(0xC1, Self.fixed + [0x00, 0x00, 0xFF, 0xFF])).events == [.text(Self.hello)])
  }

  private static let broken: [[UInt8]] = [
    [0xFF], [0x07], [0x06, 0x00], Array(fixed.dropLast()), Array(fixed.prefix(3)),
    Array(stored.dropLast(3)), [0x00, 0x05, 0x00, 0xFA, 0xFE],
    [0xF2, 0x48, 0xCD, 0xC9, 0xFF, 0xFF],
    fixed + [0x00],
  ]

  @Test(arguments: broken)
  func whatIsNoDeflateIsRefused(_ payload: [UInt8]) {
    #expect(reading(frame(0xC2, payload)).events == [])
    #expect(reading(frame(0xC2, payload)).fault == 1007)
    #expect(reading(frame(0xC2, payload)).bufferedBytes == 0)
  }

  @Test func aTextIsCheckedOnceItIsInflated() {
    var deflater = Deflater(.init(windowBits: 12, keepsContext: false), leastBytes: nil)
    #expect(reading(deflater.text(Array("né".utf8))).events == [.text(Array("né".utf8))])
    for bad: [UInt8] in [[0xC3], [0x41, 0xFF], [0xED, 0xA0, 0x80]] {
      #expect(reading(deflater.text(bad)).fault == 1007)
      #expect(reading(deflater.binary(bad)).events == [.binary(bad)])
    }
  }

  @Test func onlyTheFirstFrameOfAMessageIsMarked() {
    let firsts: [UInt8] = [0xC0, 0xC9, 0xC8, 0xCA, 0xE1, 0xD1, 0xA1]
    for first in firsts { #expect(reading(frame(first)).fault == 1002) }
    #expect(reading(frame(0x41) + frame(0xC0)).fault == 1002)
    // Not even that if no compression was agreed.
    #expect(WebSocketReading(frame(0xC1, Self.fixed)).fault == 1002)
  }

  // MARK: decompression bombs

  /// Zeros, compressed to a thousandth.
  private func bomb(_ count: Int) -> [UInt8] {
    var deflater = Deflater(.init(windowBits: 15, keepsContext: false), leastBytes: nil)
    let frame = deflater.binary([UInt8](repeating: 0, count: count))
    return Array(frame[WebSocketFrame.payloadStart(ofPlain: frame)...])
  }

  @Test func aBombIsRefusedAsSoonAsItIsTooMuch() throws {
    let limit = 1 << 16
    #expect(reading(frame(0xC2, bomb(limit)), limit: limit).events.count == 1)
    #expect(reading(frame(0xC2, bomb(limit + 1)), limit: limit).fault == 1009)
    // The fault comes before the end of the message and of its frame; and of 64 MiB at most one
    // chunk beyond the limit was written.
    let payload = bomb(64 << 20)
    let terms = DeflateTerms(sending: nil, receivesContext: false)
    var reader = WebSocketReader(role: .client, maximumMessageBytes: limit, deflate: terms)
    var most = 0
    var fed = 0
    do throws(WebSocketFault) {
      for byte in frame(0x42, length: UInt64(payload.count)) + payload {
        reader.receive([byte].span.bytes)
        fed += 1
        _ = try reader.next()
        most = max(most, reader.bufferedBytes)
      }
      Issue.record("64 MiB were taken")
    } catch {
      #expect(error.closeCode == 1009)
    }
    #expect(fed < 200)
    #expect(most <= limit + Inflater.stateBytes + 20)
    #expect(reader.bufferedBytes == 0)
  }

  @Test func emptyBlocksWithoutEndAreTooMuchAsWell() {
    let limit = 1_000
    let empty: [UInt8] = [0x00, 0x00, 0x00, 0xFF, 0xFF]
    let payload = (0..<400).flatMap { _ in empty }
    #expect(reading(frame(0x42, payload), limit: limit).fault == 1009)
    let fragments = frame(0x42) + (0..<400).flatMap { _ in frame(0x00, empty) }
    #expect(reading(fragments, limit: limit).fault == 1009)
    #expect(reading(fragments, limit: 4_000).fault == nil)
  }

  @Test func anEndlessMessageOfEmptyFragmentsHoldsNothing() throws {
    for first: UInt8 in [0x01, 0x41] {
      let terms = DeflateTerms(sending: nil, receivesContext: false)
      var reader = WebSocketReader(role: .client, maximumMessageBytes: 100, deflate: terms)
      reader.receive(frame(first).span.bytes)
      let fragments = (0..<10_000).flatMap { _ in frame(0x00) }
      for _ in 0..<20 {
        reader.receive(fragments.span.bytes)
        #expect(try reader.next() == nil)
        #expect(reader.bufferedBytes == 0)
      }
    }
  }

  // MARK: values

  @Test func aCopyGoesOnByItself() throws {
    let terms = DeflateTerms(sending: nil, receivesContext: true)
    var reader = WebSocketReader(role: .client, maximumMessageBytes: 100, deflate: terms)
    reader.receive(frame(0xC1, Self.fixed).span.bytes)
    #expect(try reader.next() == .text(Self.hello))
    #expect(reader.bufferedBytes == Inflater.stateBytes)
    reader.receive(frame(0x41, Array(Self.fixed.prefix(3))).span.bytes)
    #expect(try reader.next() == nil)
    var copy = reader
    reader.receive(frame(0x80, Array(Self.fixed.dropFirst(3))).span.bytes)
    copy.receive(frame(0x80, [0xFF]).span.bytes)
    #expect(throws: WebSocketFault.self) { try copy.next() }
    #expect(try reader.next() == .text(Self.hello))
    reader.receive(frame(0xC1, Self.again).span.bytes)
    #expect(try reader.next() == .text(Self.hello))
  }

  @Test func whatIsCompressedIsReadAgainHoweverItIsCutAndDamaged() {
    var random = SeededRandom(seed: 9)
    for round in 0..<300 {
      let keeps = round % 2 == 0
      var deflater = Deflater(
        .init(windowBits: 9 + round % 7, keepsContext: keeps), leastBytes: nil)
      var bytes: [UInt8] = []
      var said: [WebSocketEvent] = []
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let payload = (0..<Int.random(in: 0...3_000, using: &random)).map { _ in
          UInt8.random(in: 0x61...0x64, using: &random)
        }
        bytes += deflater.text(payload)
        said.append(.text(payload))
      }
      let terms = DeflateTerms(sending: nil, receivesContext: keeps)
      func read(_ chunks: [[UInt8]]) -> WebSocketReading {
        WebSocketReading(chunks, role: .client, deflate: terms)
      }
      #expect(read(randomCut(of: bytes, using: &random)).events == said)
      let bad = damaged(bytes, using: &random)
      let whole = read([bad])
      #expect(read(bad.map { [$0] }) == whole)
      #expect(read(randomCut(of: bad, using: &random)) == whole)
    }
  }
}
