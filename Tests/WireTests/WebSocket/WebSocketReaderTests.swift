import LockstepModel
import LockstepWire
import Testing

struct WebSocketReaderTests {
  private static let hello = Array("Hello".utf8)

  // MARK: RFC 6455 section 5.7

  @Test(arguments: [
    ([0x81, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f], WebSocketRole.client),
    ([0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58], .server),
    ([0x01, 0x03, 0x48, 0x65, 0x6c, 0x80, 0x02, 0x6c, 0x6f], .client),
  ])
  func theExamplesSayHello(bytes: [UInt8], role: WebSocketRole) {
    for chunks in cuts(of: bytes) {
      let reading = WebSocketReading(chunks, role: role)
      #expect(reading.events == [.text(Self.hello)])
      #expect(reading.fault == nil)
      #expect(reading.bufferedBytes == 0)
    }
  }

  @Test func theExamplesPing() {
    let ping: [UInt8] = [0x89, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f]
    #expect(WebSocketReading(ping).events == [.ping(Self.hello)])
    let pong: [UInt8] = [0x8a, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58]
    #expect(WebSocketReading(pong, role: .server).events == [.pong(Self.hello)])
  }

  @Test(arguments: [
    (256, [0x82, 0x7E, 0x01, 0x00]), (65_536, [0x82, 0x7F, 0, 0, 0, 0, 0, 1, 0, 0]),
  ])
  func theExamplesAreLong(count: Int, header: [UInt8]) {
    var random = SeededRandom(seed: 1)
    let payload = randomBytes(count, using: &random)
    #expect(WebSocketReading(header + payload).events == [.binary(payload)])
  }

  // MARK: messages

  @Test func controlFramesComeBetweenFragments() {
    let bytes =
      frame(0x01, Array("é".utf8.prefix(1)), mask: 1) + frame(0x89, [7], mask: 2)
      + frame(0x00, [], mask: 3) + frame(0x8A, [], mask: 4)
      + frame(0x00, Array("é".utf8.suffix(1)), mask: 0xFFFF_FFFF) + frame(0x80, [0x21], mask: 0)
      + frame(0x82, [0xFF], mask: 5) + frame(0x81, [], mask: 6)
      + frame(0x88, [0x03, 0xE8] + Array("bye".utf8), mask: 7) + frame(0x81, [0x41], mask: 8)
    for chunks in cuts(of: bytes) {
      let reading = WebSocketReading(chunks, role: .server)
      #expect(
        reading.events == [
          .ping([7]), .pong([]), .text(Array("é!".utf8)), .binary([0xFF]), .text([]),
          .close(code: 1000, reason: "bye"),
        ])
      #expect(reading.fault == nil)
      #expect(reading.bufferedBytes == 0)
    }
  }

  @Test func whatIsWrittenIsReadAgain() {
    var random = SeededRandom(seed: 2)
    for count in [0, 1, 2, 124, 125, 126, 127, 4_000, 65_535, 65_536, 200_001] {
      let payload = (0..<count).map { _ in UInt8.random(in: 0x20...0x7E, using: &random) }
      for role in [WebSocketRole.server, .client] {
        let mask = role == .server ? UInt32.random(in: 0...(.max), using: &random) : nil
        var bytes = WebSocketFrame.text(payload, mask: mask)
        bytes += WebSocketFrame.binary(payload, mask: mask)
        bytes += WebSocketFrame.ping(Array(payload.prefix(125)), mask: mask)
        bytes += WebSocketFrame.pong(Array(payload.prefix(125)), mask: mask)
        bytes += WebSocketFrame.close(code: 4_501, reason: "gone", mask: mask)
        let expected: [WebSocketEvent] = [
          .text(payload), .binary(payload), .ping(Array(payload.prefix(125))),
          .pong(Array(payload.prefix(125))), .close(code: 4_501, reason: "gone"),
        ]
        for chunks in [[bytes], randomCut(of: bytes, using: &random)] {
          #expect(WebSocketReading(chunks, role: role).events == expected)
        }
      }
    }
  }

  @Test func anIdleReaderHoldsNothing() throws {
    var reader = WebSocketReader(role: .client, maximumMessageBytes: 100)
    reader.receive(frame(0x01, [0x41, 0x42]).span.bytes)
    #expect(try reader.next() == nil)
    #expect(reader.bufferedBytes == 2)
    reader.receive(frame(0x80, [0x43]).span.bytes)
    #expect(reader.bufferedBytes == 5)
    #expect(try reader.next() == .text([0x41, 0x42, 0x43]))
    #expect(try reader.next() == nil)
    #expect(reader.bufferedBytes == 0)
  }

  // MARK: faults

  /// Each as a server sends it, and masked, as a client sends it.
  @Test(arguments: [
    ([0xC1, 0x00], 1002), ([0xA1, 0x00], 1002), ([0x91, 0x00], 1002),  // reserved bits
    ([0x83, 0x00], 1002), ([0x87, 0x00], 1002), ([0x8B, 0x00], 1002), ([0x8F, 0x00], 1002),
    ([0x09, 0x00], 1002), ([0x08, 0x00], 1002), ([0x0A, 0x00], 1002),  // control in fragments
    ([0x89, 0x7E, 0x00, 0x7E], 1002), ([0x88, 0x7F], 1002), ([0x8A, 0x7E], 1002),
    ([0x82, 0x7E, 0x00, 0x7D], 1002), ([0x82, 0x7E, 0x00, 0x00], 1002),  // not the shortest
    ([0x82, 0x7F, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], 1002),
    ([0x82, 0x7F, 0x80, 0, 0, 0, 0, 1, 0, 0], 1002),  // the topmost bit
    ([0x82, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], 1002),
    ([0x80, 0x00], 1002), ([0x00, 0x00], 1002),  // continuation without a message
    ([0x01, 0x00, 0x81, 0x00], 1002), ([0x01, 0x00, 0x82, 0x00], 1002),  // begins inside a message
    ([0x02, 0x00, 0x01, 0x00], 1002), ([0x82, 0x85], 1002),  // masked by a server
    ([0x88, 0x01, 0x03], 1002),
    ([0x88, 0x04, 0x03, 0xE8, 0xC3, 0x28], 1007), ([0x88, 0x03, 0x03, 0xE8, 0xC3], 1007),
    ([0x81, 0x02, 0xC3, 0x28], 1007), ([0x81, 0x01, 0xC3], 1007), ([0x81, 0x01, 0x80], 1007),
    ([0x01, 0x01, 0xC3, 0x80, 0x00], 1007), ([0x01, 0x01, 0xC3, 0x80, 0x01, 0x41], 1007),
    ([0x82, 0x7F, 0, 0, 0, 0, 0, 0x10, 0, 1], 1009),
    ([0x02, 0x01, 0, 0, 0x7F, 0, 0, 0, 0, 0, 0x10, 0, 0], 1009),
    ([0x82, 0x7F, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], 1009),
  ])
  func brokenFramesEndTheConnection(bytes: [UInt8], closeCode: Int) {
    for chunks in cuts(of: bytes) {
      let reading = WebSocketReading(chunks, role: .client)
      #expect(reading.events == [])
      #expect(reading.fault.map(Int.init) == closeCode)
      #expect(reading.bufferedBytes == 0)
    }
  }

  @Test func aClientMustMaskAndAServerMustNot() {
    #expect(WebSocketReading([0x81, 0x00], role: .server).fault == 1002)
    #expect(WebSocketReading([0x89, 0x00], role: .server).fault == 1002)
    #expect(WebSocketReading(frame(0x81, mask: 9), role: .client).fault == 1002)
    #expect(WebSocketReading(frame(0x81, mask: 9), role: .server).fault == nil)
  }

  @Test func onlyRegisteredCloseCodesPass() {
    for code in UInt16(0)...UInt16(5_100) {
      let passes = [1000...1003, 1007...1014, 3000...4999].contains { $0.contains(Int(code)) }
      let reading = WebSocketReading(frame(0x88, [UInt8(code >> 8), UInt8(code & 0xFF)]))
      #expect(reading.events == (passes ? [.close(code: code, reason: "")] : []))
      #expect(reading.fault == (passes ? nil : 1002))
    }
    #expect(WebSocketReading(frame(0x88)).events == [.close(code: nil, reason: "")])
    #expect(WebSocketReading(frame(0x88, [0xFF, 0xFF])).fault == 1002)
  }

  @Test func aTextIsRefusedAtItsFirstBadByte() {
    let start = frame(0x01, Array("abc".utf8)) + [0x80, 0x7E, 0x01, 0x00, 0x41, 0xF8]
    #expect(WebSocketReading(start).fault == 1007)
    #expect(WebSocketReading(Array(start.dropLast())).fault == nil)
  }

  @Test func aMessageIsRefusedBeforeItIsHeld() {
    func reading(_ bytes: [UInt8]) -> WebSocketReading {
      WebSocketReading([bytes], role: .client, maximumMessageBytes: 300)
    }
    let full = [UInt8](repeating: 0x41, count: 300)
    #expect(reading(frame(0x81, full)).events == [.text(full)])
    #expect(reading(frame(0x81, length: 301)).fault == 1009)
    let fragments = frame(0x01, full) + frame(0x00) + frame(0x89)
    #expect(reading(fragments + frame(0x80)).events == [.ping([]), .text(full)])
    #expect(reading(fragments + frame(0x80, length: 1)).fault == 1009)
  }

  @Test func nothingComesAfterAFaultOrAClose() throws {
    for bytes in [frame(0x88), frame(0xF1)] {
      var reader = WebSocketReader(role: .client, maximumMessageBytes: 100)
      reader.receive((bytes + frame(0x81)).span.bytes)
      do { _ = try reader.next() } catch {}
      #expect(try reader.next() == nil)
      reader.receive(frame(0x81).span.bytes)
      #expect(try reader.next() == nil)
      #expect(reader.bufferedBytes == 0)
    }
  }

  @Test func damagedFramesGiveTheSameHoweverTheyAreCut() {
    var random = SeededRandom(seed: 4)
    let bytes =
      frame(0x01, Array("häl".utf8), mask: 0x0102_0304) + frame(0x89, [1], mask: 0xA1B2_C3D4)
      + frame(0x80, Array("lo 😀".utf8), mask: 0x5555_AAAA) + frame(0x82, [9, 8], mask: 0)
      + frame(0x81, [UInt8](repeating: 0x61, count: 200), mask: 0x1000_0001)
      + frame(0x88, [0x0F, 0xA0, 0x78], mask: 0x0F0F_0F0F)
    var faults = [0, 0]
    for round in 0..<5_000 {
      let input = round % 10 == 0 ? randomBytes(60, using: &random) : damaged(bytes, using: &random)
      for role in [WebSocketRole.server, .client] {
        let whole = WebSocketReading([input], role: role)
        #expect(WebSocketReading(input.map { [$0] }, role: role) == whole)
        #expect(WebSocketReading(randomCut(of: input, using: &random), role: role) == whole)
        if whole.fault != nil { faults[role == .server ? 0 : 1] += 1 }
      }
    }
    // The damage is neither always fatal nor always harmless; but a client accepts no masked frame.
    #expect((500...4_500).contains(faults[0]))
    #expect(faults[1] > 4_500)
  }
}
