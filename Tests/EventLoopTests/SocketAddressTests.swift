import Glibc
import LockstepModel
import LockstepWire
import Testing

@testable import LockstepEventLoop

struct SocketAddressTests {
  @Test(arguments: [
    ("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("[::1]", "::1"),
    ("::ffff:192.0.2.7", "192.0.2.7"), ("2001:DB8::0:1", "2001:db8::1"),
  ])
  func literalAddressIsReadAndWritten(text: String, written: String) throws {
    let addresses = try SocketAddress.lookUp(text, port: 80, as: .literal)
    #expect(addresses.map(\.peer) == [.host(written, port: 80)])
    #expect(addresses.map(\.ip) == [IPAddress(written)])
  }

  @Test func everyNumberOfAnAddressIsWritten() throws {
    for number in 0...255 {
      let text = "\(number).0.\(255 - number).\(number)"
      let addresses = try SocketAddress.lookUp(text, port: 1, as: .literal)
      #expect(addresses.map(\.peer) == [.host(text, port: 1)])
    }
  }

  @Test func nameIsNoLiteral() {
    #expect {
      _ = try SocketAddress.lookUp("localhost", port: 80, as: .literal)
    } throws: { error in
      (error as? SocketAddress.LookupFault)?.isName == true
    }
  }

  @Test func pathFitsOrItsLimitIsReported() throws {
    let longest = String(repeating: "x", count: 107)
    #expect(try SocketAddress(path: longest).family == AF_UNIX)
    for path in [longest + "x", "", "a\0b"] {
      #expect {
        _ = try SocketAddress(path: path)
      } throws: { error in
        (error as? SocketAddress.PathLimit)?.bytes == 107
      }
    }
  }
}
