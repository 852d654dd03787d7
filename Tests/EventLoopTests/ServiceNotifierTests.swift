import CLinux
import Glibc
import Testing

@testable import LockstepEventLoop

struct ServiceNotifierTests {
  @Test func aNameInTheAbstractNamespaceIsReached() throws {
    // A socket that is bound to the empty address gets a name in the abstract namespace.
    let listener = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
    defer { close(listener) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    var length = socklen_t(2)
    withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        #expect(bind(listener, pointer, 2) == 0)
        length = socklen_t(MemoryLayout<sockaddr_un>.size)
        #expect(getsockname(listener, pointer, &length) == 0)
      }
    }
    let name = withUnsafeBytes(of: address.sun_path) {
      String(decoding: $0[1..<(Int(length) - 2)], as: UTF8.self)
    }
    let notifier = try #require(try ServiceNotifier(socket: "@" + name))
    #expect(notifier.send(["READY=1", "STATUS=x"]))
    var buffer = [UInt8](repeating: 0, count: 64)
    let count = recv(listener, &buffer, buffer.count, 0)
    #expect(String(decoding: buffer.prefix(max(0, count)), as: UTF8.self) == "READY=1\nSTATUS=x")
  }

  @Test func aManagerThatHasGoneIsNoTrouble() throws {
    let notifier = try #require(try ServiceNotifier(socket: "/nowhere/at/all"))
    #expect(!notifier.send(["READY=1"]))
  }

  @Test func aPathThatIsNotASocketIsRefused() throws {
    for name in ["", "@", "relative", "a@b", "/" + String(repeating: "x", count: 108)] {
      #expect(try ServiceNotifier(socket: name) == nil, "\(name)")
    }
  }
}
