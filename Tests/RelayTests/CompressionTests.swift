import LockstepModel
import LockstepWire
import Testing

@testable import LockstepRelay

/// Large messages on a socket, for clients that take them compressed (RFC 7692).
struct CompressionTests {
  /// Returns a save of a record with this number of bytes.
  private func save(_ bytes: Int, _ number: Int, name: String = "r") -> DeviceMessage {
    var request = RelayTests.save(name, id: batch(number))
    let text = String(repeating: "ab", count: bytes / 2)
    request.mutations[0].fields = Array(#"{"v":"\#(text)"}"#.utf8)
    return .save(request)
  }

  /// Returns the first byte received: 0xC1 is a compressed text.
  private func firstByte(_ socket: SocketClient) -> UInt8? {
    socket.relay.wire(socket.id).incoming.first
  }

  /// Returns the token before the account's first save.
  private func start(_ socket: SocketClient) throws -> ChangeToken {
    socket.call(.fetch(id: "start", FetchQuery()))
    guard case .changes("start", let page)? = try socket.next() else {
      throw Refusal(.internalError, "no page came")
    }
    return page.token
  }

  private func pushedTag(_ socket: SocketClient) throws -> ChangeTag? {
    guard case .changes(nil, let page)? = try socket.next() else { return nil }
    return page.changes.first?.tag
  }

  @Test func aPushIsCompressedOnceForAllThatTakeItSo() throws {
    let relay = TestRelay(nodes: 2)
    let device = try relay.newAccount()
    let saver = try SocketClient(relay, as: device)
    let token = try start(saver)
    var small: [SocketClient] = []
    var plain: [SocketClient] = []
    for node in [0, 0, 0, 1] {
      small.append(
        try SocketClient(
          relay, node: node, as: device, since: token, deflate: .withoutContext))
      plain.append(try SocketClient(relay, node: node, as: device, since: token))
    }
    let before = relay.multicasts.count
    saver.call(save(20_000, 1))
    let sent = relay.multicasts[before...]
    #expect(sent.map(\.receivers).sorted() == [1, 1, 3, 3])
    #expect(sent.filter { $0.bytes < 1_000 }.map(\.receivers).sorted() == [1, 3])
    for socket in small {
      #expect(firstByte(socket) == 0xC1)
      #expect(try pushedTag(socket) == 1)
    }
    for socket in plain {
      #expect(firstByte(socket) == 0x81)
      #expect(try pushedTag(socket) == 1)
    }
    // A small message is sent uncompressed to all sockets together.
    saver.call(save(200, 2))
    #expect(relay.multicasts.suffix(2).map(\.receivers).sorted() == [2, 6])
    for socket in small + plain {
      #expect(firstByte(socket) == 0x81)
      #expect(try pushedTag(socket) == 2)
    }
  }

  @Test func answersArePagesAreAndSavesMayBeCompressed() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let socket = try SocketClient(relay, as: device, deflate: .withoutContext)
    #expect(socket.deflate?.sending != nil)
    let held = relay.wire(socket.id)
    let token = try start(socket)
    // The save is sent compressed, because the test client compresses large messages.
    socket.call(save(500_000, 1))
    guard case .saved? = try socket.next() else { return #expect(Bool(false)) }
    socket.call(.fetch(id: "f", FetchQuery()))
    #expect(firstByte(socket) == 0xC1)
    #expect(held.incoming.count < 5_000)
    guard case .changes("f", let page)? = try socket.next() else { return #expect(Bool(false)) }
    #expect(page.changes.first?.fields?.count ?? 0 > 500_000)
    // The answer to a conflict contains the whole record.
    var request = RelayTests.save("r", base: 0, id: batch(2))
    request.mutations[0].baseTag = 0
    socket.call(.save(request))
    #expect(firstByte(socket) == 0xC1)
    guard case .saved(_, let answer)? = try socket.next(), case .conflict? = answer.results.first
    else { return #expect(Bool(false)) }
    // Missed changes are compressed too.
    let late = try SocketClient(relay, token: device.token, deflate: .withoutContext)
    late.call(.hello(token: nil, since: token))
    #expect(relay.wire(late.id).incoming.count < 5_000)
    #expect(try late.all().count == 2)
  }

  @Test func aRelayMayDoWithout() throws {
    let relay = TestRelay {
      $0.isOpen = true
      $0.compresses = false
    }
    let socket = try SocketClient(
      relay, as: relay.newAccount(), deflate: .withoutContext)
    #expect(socket.deflate == nil)
    socket.call(save(5_000, 1))
    guard case .saved? = try socket.next() else { return #expect(Bool(false)) }
    let marked = WebSocketFrame.text(
      Array(repeating: 0x20, count: 5_000), mask: 7,
      deflate: .init(windowBits: 12, keepsContext: false))
    relay.send(socket.id, marked)
    #expect(try socket.all().isEmpty)
    #expect(socket.closeCode == 1002)
  }

  @Test func aMalformedOfferIsRefused() throws {
    let response = try HTTPClient(TestRelay()).call(
      "GET", "/v1/socket",
      headers: [
        ("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ("Sec-WebSocket-Extensions", "permessage-deflate; ="),
      ])
    #expect(response.status == 400)
  }

  @Test func aBombClosesItsConnectionAlone() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let bystander = try SocketClient(relay, as: device, deflate: .withoutContext)
    let socket = try SocketClient(relay, as: device, deflate: .withoutContext)
    let zeros = [UInt8](repeating: 0x20, count: Limits.messageBytes + 1)
    let bomb = WebSocketFrame.text(
      zeros, mask: 7, deflate: .init(windowBits: 15, keepsContext: false))
    #expect(bomb.count < 10_000)
    relay.send(socket.id, bomb)
    #expect(try socket.all().isEmpty)
    #expect(socket.closeCode == 1009)
    #expect(socket.isClosed)
    bystander.call(save(2_000, 1))
    guard case .saved? = try bystander.next() else { return #expect(Bool(false)) }
  }

  @Test func whatIsInflatedWithCountsAsHeld() throws {
    // Room for the state of some connections within a compressed message, but not of all.
    let relay = TestRelay {
      $0.isOpen = true
      $0.limits.bodyBudgetBytes = 500 << 10
    }
    let device = try relay.newAccount()
    var sockets: [SocketClient] = []
    for _ in 0..<20 {
      sockets.append(try SocketClient(relay, as: device, deflate: .withoutContext))
    }
    // The beginning of a compressed message: only its first byte.
    for socket in sockets { relay.send(socket.id, [0x41, 0x81, 0, 0, 0, 0, 0xF2]) }
    for socket in sockets { _ = try socket.all() }
    let closed = sockets.filter(\.isClosed)
    #expect((5...15).contains(closed.count))
    #expect(closed.allSatisfy { $0.closeCode == 1013 || $0.closeCode == 4429 })
  }
}
