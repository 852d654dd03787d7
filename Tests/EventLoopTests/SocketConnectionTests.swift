import Testing

@testable import LockstepEventLoop

struct SocketConnectionTests {
  private func interest(
    _ stage: SocketConnection.Stage, isPaused: Bool = false, isBlocked: Bool = false
  ) -> Poller.Interest {
    var connection = SocketConnection()
    connection.stage = stage
    connection.isPaused = isPaused
    connection.isBlocked = isBlocked
    return connection.wantedInterest
  }

  @Test func pollReportsOnlyNeededEvents() {
    #expect(interest(.lookingUp) == [])
    #expect(interest(.connecting) == .writing)
    #expect(interest(.open) == .reading)
    #expect(interest(.open, isPaused: true) == [])
    #expect(interest(.open, isBlocked: true) == [.reading, .writing])
    #expect(interest(.open, isPaused: true, isBlocked: true) == .writing)
    #expect(interest(.closing, isBlocked: true) == .writing)
    #expect(interest(.closing) == [])
    #expect(interest(.lingering, isPaused: true) == .reading)
    #expect(interest(.ended) == [])
  }

  @Test func recordIsSmall() {
    #expect(MemoryLayout<SocketConnection>.stride <= 88)
  }
}
