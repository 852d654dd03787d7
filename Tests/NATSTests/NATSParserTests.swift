import LockstepModel
import LockstepNATS
import Testing

struct NATSParserTests {
  private static let stream =
    "INFO {\"server_id\":\"A\",\"version\":\"2.9.10\",\"max_payload\":1048576,"
    + "\"auth_required\":true} \r\n+OK\r\nPING\r\nMSG lockstep.1.all 1 5\r\nh\r\nlo\r\n"
    + "msg lockstep.1.a\t2 reply.to 0\r\n\r\nPONG\r\n-ERR 'Slow Consumer'\r\n"
  private static let operations: [NATSOperation] = [
    .info(NATSServerInfo(version: "2.9.10", payloadLimit: 1_048_576, requiresLogin: true)),
    .ok, .ping,
    .message(subject: "lockstep.1.all", subscription: 1, payload: Array("h\r\nlo".utf8)),
    .message(subject: "lockstep.1.a", subscription: 2, payload: []),
    .pong, .error("Slow Consumer"),
  ]

  private func parse(_ pieces: [[UInt8]]) throws -> [NATSOperation] {
    var parser = NATSParser()
    var operations: [NATSOperation] = []
    for piece in pieces {
      parser.append(piece)
      while let operation = try parser.next() { operations.append(operation) }
    }
    return operations
  }

  private func parse(_ text: String) throws -> [NATSOperation] { try parse([Array(text.utf8)]) }

  @Test func piecesOfAnySizeAreTheSame() throws {
    let bytes = Array(Self.stream.utf8)
    for size in 1...bytes.count {
      let pieces = stride(from: 0, to: bytes.count, by: size).map {
        Array(bytes[$0..<min(bytes.count, $0 + size)])
      }
      #expect(try parse(pieces) == Self.operations, "pieces of \(size)")
    }
  }

  @Test(arguments: [
    "HELLO\r\n", "PING\n", "HTTP/1.1 400 Bad Request\r\n", "\r\n", "INFO [1]\r\n", "INFO {\r\n",
    "MSG a 1\r\n", "MSG a x 3\r\nabc\r\n", "MSG a 1 -1\r\n", "MSG a 1 70000\r\n",
    "MSG a 1 99999999999999999999\r\n", "MSG a 1 b c 3\r\n", "MSG a 1 3\r\nabcd\r\n",
    "\u{0}\u{1}\r\n",
  ]) func anotherProtocolIsRefused(text: String) {
    #expect(throws: NATSFault.self) { try parse(text) }
  }

  @Test func aLineThatDoesNotEndIsRefused() {
    #expect(throws: NATSFault.self) {
      try parse([Array(repeating: UInt8(ascii: "x"), count: 70 << 10)])
    }
  }

  @Test func unknownMembersAndTypesOfInfoAreIgnored() throws {
    let operations = try parse("INFO {\"version\":7,\"max_payload\":1e999,\"x\":null}\r\n")
    #expect(operations == [.info(NATSServerInfo(version: "", payloadLimit: 0))])
  }

  @Test func anErrorsTextIsShortAndPrintable() throws {
    let operations = try parse("-ERR 'a\u{1B}[2J\u{7}\(String(repeating: "x", count: 400))'\r\n")
    #expect(operations == [.error("a?[2J?" + String(repeating: "x", count: 192))])
  }

  @Test(arguments: 0..<200) func anyBytesAreHandled(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var bytes = Array(Self.stream.utf8)
    for _ in 0..<(1 + random.next() % 4) {
      bytes[Int(random.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: random.next())
    }
    do {
      #expect(try parse([bytes]).count <= 60)
    } catch {
      #expect(error is NATSFault)
    }
  }
}
