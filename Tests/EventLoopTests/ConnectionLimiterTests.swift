import LockstepModel
import LockstepRuntime
import Testing

@testable import LockstepEventLoop

/// Admission of connections, and the return of permits.
struct ConnectionLimiterTests {
  /// Box for a permit: an array cannot hold noncopyable values.
  private final class PermitBox {
    let permit: ConnectionPermit
    init(_ permit: consuming ConnectionPermit) { self.permit = permit }
  }

  /// Keeps the permit, or returns the refusal.
  private func admit(
    _ limiter: ConnectionLimiter, _ host: String, _ permits: inout [PermitBox]
  ) -> ConnectionRejection? {
    switch limiter.admit(Opening(listenerKind: .public, peer: .host(host, port: 4_000))) {
    case .admitted(let permit):
      permits.append(PermitBox(permit))
      return nil
    case .connectionRejected(let reason): return reason
    }
  }

  @Test func placesAreLimitedInAllAndByNetwork() {
    let limiter = ConnectionLimiter(connections: 5, connectionsPerNetwork: 2)
    var permits: [PermitBox] = []
    #expect(admit(limiter, "192.0.2.1", &permits) == nil)
    #expect(admit(limiter, "192.0.2.1", &permits) == nil)
    #expect(admit(limiter, "192.0.2.1", &permits) == .connectionsPerAddress)
    #expect(admit(limiter, "::ffff:192.0.2.1", &permits) == .connectionsPerAddress)
    #expect(admit(limiter, "2001:db8::1", &permits) == nil)
    #expect(admit(limiter, "2001:db8::2:1", &permits) == nil)
    #expect(admit(limiter, "2001:db8::3", &permits) == .connectionsPerAddress)
    #expect(admit(limiter, "2001:db8:0:1::1", &permits) == nil)
    #expect(admit(limiter, "192.0.2.2", &permits) == .connections)
    #expect(limiter.count == 5)
    permits.removeAll()
    #expect(limiter.count == 0)
    #expect(limiter.networkCount == 0)
    #expect(admit(limiter, "192.0.2.1", &permits) == nil)
  }

  @Test func theExemptCountInAllAlone() throws {
    let home = try #require(IPNetwork("127.0.0.0/8"))
    let limiter = ConnectionLimiter(connections: 3, connectionsPerNetwork: 1, exempt: [home])
    var permits: [PermitBox] = []
    for _ in 0..<3 { #expect(admit(limiter, "127.0.0.9", &permits) == nil) }
    #expect(admit(limiter, "127.0.0.9", &permits) == .connections)
    #expect(limiter.networkCount == 0)
  }
}

/// Same rules through sockets: each connection returns its permit exactly once, however it ends.
struct GateLoopTests {
  @Test func connectionsBeyondTheLimitAreClosedAndReported() throws {
    let group = try RunningGroup(limiter: ConnectionLimiter(connections: 2))
    let inside = [try group.connect(), try group.connect()]
    _ = try group.journal.opened(after: 1)
    let outside = try group.connect()
    #expect(outside.receive(1).isEmpty)
    try group.journal.first { $0 == .connectionRejected(.connections) ? true : nil }
    // The two open connections are not affected.
    inside[1].send("hello")
    let id = try group.journal.opened(after: 1)
    #expect(group.journal.received(id, count: 5) == Array("hello".utf8))
    group.end()
  }

  @Test func everyEndGivesThePlaceBackOnce() throws {
    let limiter = ConnectionLimiter(connections: 100, connectionsPerNetwork: 100)
    let group = try RunningGroup(limiter: limiter)
    var sockets: [PlainSocket] = []
    for _ in 0..<6 { sockets.append(try group.connect()) }
    let ids = try (0..<6).map { try group.journal.opened(after: $0) }
    #expect(limiter.count == 6)
    // Ended by: the peer's end, its reset, the node at once, the node after sending, and both at
    // once.
    sockets[0].endWriting()
    sockets[1].reset()
    group.order(.close(ids[2], .now))
    group.order(.send(ids[3], [1, 2, 3]))
    group.order(.close(ids[3], .afterSending))
    group.order(.close(ids[4], .afterSending))
    sockets[4].reset()
    // A lingering connection keeps its permit until its peer ends, too.
    #expect(sockets[3].receive(3) == [1, 2, 3])
    sockets[3].endWriting()
    waitUntil { limiter.count == 1 }
    #expect(limiter.networkCount == 1)
    // The end of the loop also returns the permit.
    group.end()
    #expect(limiter.count == 0)
    #expect(limiter.networkCount == 0)
  }

  @Test func rejectedConnectionsLeaveNothing() throws {
    let limiter = ConnectionLimiter(connections: 1)
    let group = try RunningGroup(limiter: limiter)
    let first = try group.connect()
    let id = try group.journal.opened()
    for _ in 0..<200 {
      let other = try group.connect()
      #expect(other.receive(1).isEmpty)
    }
    #expect(limiter.count == 1)
    first.endWriting()
    _ = try group.journal.cause(of: id)
    waitUntil { limiter.count == 0 }
    let next = try group.connect()
    let nextID = try group.journal.opened(after: 1)
    next.send("in")
    #expect(group.journal.received(nextID, count: 2) == Array("in".utf8))
    let told = group.journal.entries().filter { $0 == .connectionRejected(.connections) }
    #expect(told.count == 200)
    group.end()
  }
}
