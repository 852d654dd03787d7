import Glibc
import LockstepRuntime
import LockstepWire
import TemporaryFolders
import Testing

@testable import LockstepEventLoop

struct ConnectingTests {
  @Test func outgoingConnectionSendsFramesQueuedBeforeItOpened() throws {
    var echo = ScriptedNode()
    echo.echoes = true
    let far = try RunningGroup(echo)
    let near = try RunningGroup()
    let id = ConnectionID.outgoing(5)
    near.order(.open(id, far.address))
    near.order(.send(id, Array("early".utf8)))
    #expect(near.journal.received(id, count: 5) == Array("early".utf8))
    #expect(near.journal.entries().first == .opened(id, .outgoing))
    near.end()
    far.end()
  }

  @Test func localSocketIsReachedByItsPath() throws {
    let folder = try TemporaryFolder()
    let address = PeerAddress.local(path: folder.path + "/control")
    let listener = try Listener.open(address, listenerKind: .control)[0]
    let running = try RunningGroup()
    let id = ConnectionID.outgoing(1)
    running.order(.open(id, address))
    #expect(try running.journal.opened() == id)
    running.end()
    withExtendedLifetime(listener) {}
  }

  @Test func refusedConnectionIsReported() throws {
    let closed = try Listener.open(.host("127.0.0.1", port: 0), listenerKind: .public)[0].address
    let running = try RunningGroup()
    let id = ConnectionID.outgoing(1)
    running.order(.open(id, closed))
    #expect(try running.journal.cause(of: id) == .connectFailed("Connection refused"))
    running.end()
  }

  @Test func unknownHostNameIsAFailureAndTheLoopContinues() throws {
    let running = try RunningGroup()
    let id = ConnectionID.outgoing(1)
    running.order(.open(id, .host("no-such-host.invalid", port: 80)))
    let socket = try running.connect()
    _ = try running.journal.opened()
    guard case .connectFailed(let words) = try running.journal.cause(of: id) else {
      Issue.record("another cause")
      return
    }
    #expect(!words.isEmpty)
    withExtendedLifetime(socket) {}
    running.end()
  }

  @Test func nameIsResolvedAndEachAddressTried() throws {
    let far = try RunningGroup()
    guard case .host(_, let port) = far.address else { return }
    let near = try RunningGroup()
    let id = ConnectionID.outgoing(2)
    // The name may also mean ::1, which has no listener; then the next address is used.
    near.order(.open(id, .host("localhost", port: port)))
    #expect(try near.journal.opened() == id)
    near.end()
    far.end()
  }

  @Test func connectionClosedBeforeItOpensIsNotReported() throws {
    let far = try RunningGroup()
    // All in one turn: in later turns the first connection may already be open.
    var node = ScriptedNode()
    node.actions.append(.open(.outgoing(1), far.address))
    node.actions.append(.close(.outgoing(1), .now))
    node.actions.append(.open(.outgoing(2), far.address))
    let near = try RunningGroup(node)
    #expect(try near.journal.opened() == .outgoing(2))
    near.end()
    #expect(
      !near.journal.entries().contains { told in
        if case .opened(.outgoing(1), _) = told { return true }
        if case .closed(.outgoing(1), _) = told { return true }
        return false
      })
    far.end()
  }

  @Test func outcomeOfTheFirstActionIsReportedAtOnce() throws {
    let folder = try TemporaryFolder()
    var node = ScriptedNode()
    node.actions.append(.open(.outgoing(1), .local(path: folder.path + "/nobody")))
    let running = try RunningGroup(node)
    guard case .connectFailed = try running.journal.cause(of: .outgoing(1)) else {
      Issue.record("another cause")
      return
    }
    running.end()
  }

  @Test func tooLongAPathFails() throws {
    let running = try RunningGroup()
    let path = String(repeating: "x", count: 200)
    running.order(.open(.outgoing(1), .local(path: path)))
    guard case .connectFailed = try running.journal.cause(of: .outgoing(1)) else {
      Issue.record("another cause")
      return
    }
    running.end()
  }
}
