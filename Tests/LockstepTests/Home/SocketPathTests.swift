import LockstepEventLoop
import TemporaryFolders
import Testing

@testable import Lockstep

struct SocketPathTests {
  @Test func aShortPathStaysAsItIs() {
    #expect(SocketPath.of("agent.sock", in: "/run/phone") == "/run/phone/agent.sock")
  }

  @Test func aFolderWithALongNameIsReachedAllTheSame() throws {
    let folder = try TemporaryFolder()
    let long = try folder.longFolder()
    let path = SocketPath.of("agent.sock", in: long)
    #expect(path.utf8.count < 60)
    #expect(SocketPath.of("agent.sock", in: long) == path)
    let listener = try Listener.open(.local(path: path), listenerKind: .control)
    #expect(HomeConnection(socket: path) != nil)
    #expect(HomeConnection(socket: SocketPath.of("other.sock", in: long)) == nil)
    withExtendedLifetime(listener) {}
  }

  @Test func aFolderThatIsNotThereIsNamedAsItIs() {
    let long = "/nowhere/" + String(repeating: "x", count: 150)
    #expect(SocketPath.of("agent.sock", in: long) == long + "/agent.sock")
  }
}
