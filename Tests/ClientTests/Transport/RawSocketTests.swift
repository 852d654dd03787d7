import LockstepClient
import LockstepModel
import LockstepWire
import Testing

@testable import LockstepClient

struct RawSocketTests {
  private func socket() -> RawSocket {
    RawSocket(
      .outgoing(1), to: RelayAddress(host: "relay", port: 1), token: "secret",
      random: SeededRandom(seed: 1))
  }

  /// Returns the server's answer to the request that opens the socket.
  private func answer(to request: [UInt8]) throws -> [UInt8] {
    var parser = HTTPRequestParser()
    parser.receive(request.span.bytes)
    guard case .head(let head) = try parser.next() else {
      throw Refusal(.badRequest, "no request came")
    }
    #expect(head.headers["Authorization"] == "Bearer secret")
    return HTTPWriter.response(status: 101, headers: try WebSocketHandshake.answer(to: head))
  }

  @Test func itStandsAndHearsByteByByte() throws {
    var socket = socket()
    var bytes = try answer(to: socket.opened())
    bytes += WebSocketFrame.text(Array("hello".utf8)) + WebSocketFrame.ping([7])
    bytes += WebSocketFrame.close(code: 4501, reason: "revoked")
    var reported: [String] = []
    for byte in bytes {
      socket.receive([byte].span.bytes)
      while let event = socket.next() {
        switch event {
        case .opened: reported.append("stands")
        case .text(let text): reported.append(String(decoding: text, as: UTF8.self))
        case .ended(let reason): reported.append(reason)
        }
      }
    }
    #expect(reported == ["stands", "hello", "the relay closed the socket (4501): revoked"])
    #expect(socket.drainReplies().count == 1, "the ping's answer")
    #expect(socket.drainReplies().isEmpty)
  }

  @Test func anotherAnswerThanASocketIsTheEnd() throws {
    var socket = socket()
    _ = socket.opened()
    socket.receive(HTTPWriter.response(status: 503).span.bytes)
    guard case .ended(let reason)? = socket.next() else {
      Issue.record("503 opens no socket")
      return
    }
    #expect(reason.contains("503"))
    #expect(socket.next() == nil)
  }

  @Test func whatItSaysIsMasked() throws {
    var socket = socket()
    var reader = WebSocketReader(role: .server, maximumMessageBytes: 1_000)
    let message = DeviceMessage.hello(token: nil, since: nil)
    reader.receive(socket.frame(of: message).span.bytes)
    #expect(try reader.next() == .text(message.encoded()))
  }
}
