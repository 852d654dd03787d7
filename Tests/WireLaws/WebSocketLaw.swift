import LockstepModel
import LockstepWire

extension WireLaw {
  /// Maximum bytes of a message in this law.
  private static let messageBytes = 1 << 16

  /// Frames of a WebSocket. Bits of the first byte, from the lowest: read as a client; with
  /// compression; with a context that is kept.
  package static func webSocket(_ bytes: [UInt8]) throws(BrokenLaw) {
    guard let first = bytes.first else { return }
    let role: WebSocketRole = first & 1 == 0 ? .server : .client
    let terms = DeflateTerms(
      sending: .init(windowBits: 9 + Int(first >> 3 & 3) * 2, keepsContext: first & 4 != 0),
      receivesContext: first & 4 != 0)
    let deflate = first & 2 == 0 ? nil : terms
    let stream = Array(bytes.dropFirst())
    let reading = try agreed(stream) { (chunks) throws(BrokenLaw) in
      try WebSocketReading(chunks, role, deflate)
    }
    try checkAgain(reading.events, role, deflate, terms)
  }

  /// Encodes the events as the other end would send them, and checks that they read the same.
  private static func checkAgain(
    _ events: [WebSocketEvent], _ role: WebSocketRole, _ deflate: DeflateTerms?,
    _ terms: DeflateTerms
  ) throws(BrokenLaw) {
    let mask: UInt32? = role == .server ? 0xA1B2_C3D4 : nil
    var deflater = Deflater(
      .init(windowBits: terms.sending?.windowBits ?? 9, keepsContext: terms.receivesContext),
      leastBytes: nil)
    var said: [UInt8] = []
    for event in events {
      switch event {
      case .text(let payload):
        said +=
          deflate == nil
          ? WebSocketFrame.text(payload, mask: mask) : deflater.text(payload, mask: mask)
      case .binary(let payload):
        said +=
          deflate == nil
          ? WebSocketFrame.binary(payload, mask: mask) : deflater.binary(payload, mask: mask)
      case .ping(let payload): said += WebSocketFrame.ping(payload, mask: mask)
      case .pong(let payload): said += WebSocketFrame.pong(payload, mask: mask)
      case .close(let code, let reason):
        said += WebSocketFrame.close(code: code, reason: reason, mask: mask)
      }
    }
    let again = try WebSocketReading([said], role, deflate)
    try expect(
      again.events == events && again.closeCode == nil, "\(events) reads \(again) said again")
  }

  private struct WebSocketReading: Equatable {
    var events: [WebSocketEvent] = []
    var closeCode: UInt16?

    init(_ chunks: [[UInt8]], _ role: WebSocketRole, _ deflate: DeflateTerms?) throws(BrokenLaw) {
      var reader = WebSocketReader(
        role: role, maximumMessageBytes: messageBytes, deflate: deflate)
      for chunk in chunks {
        reader.receive(chunk.span.bytes)
        do throws(WebSocketFault) {
          while let event = try reader.next() { events.append(event) }
        } catch {
          closeCode = error.closeCode
        }
        // The message, an incomplete frame header or control frame, and zlib's state.
        let bound = messageBytes + 140 + (48 << 10)
        try expect(
          reader.bufferedBytes <= (closeCode == nil ? bound : 0),
          "\(reader.bufferedBytes) bytes are held")
      }
    }
  }
}
