import LockstepJSON
import LockstepModel
import LockstepWire
import Testing

@testable import LockstepRelay

/// Sockets that send slowly, or much, or never answer: none of their bytes stay in memory for long.
struct SlowSenderTests {
  /// Returns the head of a text frame of `count` bytes, without these bytes.
  private func head(ofText count: Int) -> [UInt8] {
    Array(WebSocketFrame.text(Array(repeating: 0x20, count: count), mask: 0).dropLast(count))
  }

  /// Returns a fragment of a text that is not the last one.
  private func fragment(_ part: [UInt8], isFirst: Bool = true) -> [UInt8] {
    var frame = WebSocketFrame.text(part, mask: 0)
    frame[0] = isFirst ? 0x01 : 0x00
    return frame
  }

  @Test func aStrangerAnnouncesNoLargeMessage() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    for token in [nil, device.token] {
      let socket = try SocketClient(relay, token: token)
      relay.send(socket.id, head(ofText: 4_097))
      _ = try socket.all()
      #expect(socket.closeCode == 1009)
      #expect(relay.entries[0].node.services.currentStatus.bodyBytes == 0)
    }
    let socket = try SocketClient(relay, as: device)
    relay.send(socket.id, head(ofText: Limits.messageBytes))
    #expect(try socket.all().isEmpty)
    #expect(!socket.isClosed, "once it was welcomed it may")
  }

  @Test func aLongHelloIsNotReadBeforeItIsWhole() throws {
    let relay = TestRelay()
    let socket = try SocketClient(relay)
    let part = Array(repeating: UInt8(ascii: " "), count: 3_000)
    relay.send(socket.id, fragment(part))
    #expect(!socket.isClosed)
    relay.send(socket.id, fragment(part, isFirst: false))
    _ = try socket.all()
    #expect(socket.closeCode == 1009)
  }

  @Test func whoDripsAMessageIsDropped() throws {
    let relay = TestRelay()
    let socket = try SocketClient(relay, as: relay.newAccount())
    socket.answersPings = false
    relay.send(socket.id, head(ofText: 100_000))
    var milliseconds: Int64 = 0
    while milliseconds < Limits.requestMilliseconds - 2_000 {
      relay.advance(2_000)
      milliseconds += 2_000
      relay.send(socket.id, [UInt8(ascii: " ")])
      #expect(!socket.isClosed)
    }
    relay.advance(2_000)
    _ = try socket.all()
    #expect(socket.closeCode == 4408)
    #expect(relay.entries[0].node.services.currentStatus.bodyBytes == 0)
  }

  @Test func pongsBetweenFragmentsPutNothingOff() throws {
    let relay = TestRelay()
    let socket = try SocketClient(relay, as: relay.newAccount())
    relay.send(socket.id, fragment([UInt8(ascii: "{")]))
    for _ in 0..<2 {
      relay.advance(Limits.requestMilliseconds / 3)
      relay.send(socket.id, WebSocketFrame.pong([], mask: 0))
      #expect(!socket.isClosed)
    }
    relay.advance(Limits.requestMilliseconds / 3)
    _ = try socket.all()
    #expect(socket.closeCode == 4408)
  }

  @Test func eachMessageHasItsOwnTime() throws {
    let relay = TestRelay {
      $0.isOpen = true
      $0.keepAliveMilliseconds = 3_600_000
    }
    let socket = try SocketClient(relay, as: relay.newAccount())
    let frame = WebSocketFrame.text(Array(#"{"op":"time","id":"t","t0":1}"#.utf8), mask: 0)
    var count = 0
    relay.send(socket.id, Array(frame.prefix(10)))
    for _ in 0..<5 {
      relay.advance(Limits.requestMilliseconds - 1_000)
      // The rest of one message, and the beginning of the next.
      relay.send(socket.id, Array(frame.dropFirst(10)) + frame.prefix(10))
      for message in try socket.all() { if case .time = message { count += 1 } }
    }
    #expect(count == 5)
    #expect(!socket.isClosed)
  }

  @Test func whoAnswersNoPingIsDroppedWhateverHeSays() throws {
    let relay = TestRelay()
    let socket = try SocketClient(relay, as: relay.newAccount())
    socket.answersPings = false
    for number in 0..<40 where !socket.isClosed {
      relay.advance(Limits.keepAliveMilliseconds / 5)
      socket.call(.time(id: "t\(number)", t0: JSONNumber(1)))
      _ = try socket.all()
    }
    #expect(socket.isClosed)
    #expect(socket.pings == 2)
  }

  @Test func whoAnswersPingsStays() throws {
    let relay = TestRelay()
    let socket = try SocketClient(relay, as: relay.newAccount())
    for _ in 0..<40 {
      relay.advance(Limits.keepAliveMilliseconds / 5)
      #expect(try socket.all().isEmpty)
    }
    #expect(!socket.isClosed)
  }
}
