import LockstepModel
import LockstepWire
import Testing

@testable import LockstepRelay

/// Changes to an account with very many sockets, which are sent together.
struct CrowdTests {
  /// A crowd of sockets, and one more that saves.
  private struct Crowd {
    let relay: TestRelay
    let device: TestDevice
    let saver: SocketClient
    var sockets: [SocketClient] = []
    let start: ChangeToken

    init(_ relay: TestRelay = TestRelay(), count: Int = Limits.crowdConnections) throws {
      self.relay = relay
      device = try relay.newAccount()
      saver = try SocketClient(relay, as: device)
      saver.call(.fetch(id: "f", FetchQuery()))
      guard case .changes("f", let page)? = try saver.next() else {
        throw Refusal(.internalError, "no answer to the fetch")
      }
      start = page.token
      for _ in 0..<count { sockets.append(try SocketClient(relay, as: device, since: start)) }
    }

    func save(_ numbers: ClosedRange<Int>, by socket: SocketClient? = nil) {
      for number in numbers {
        (socket ?? saver).sendMessage(.save(RelayTests.save("r\(number)", id: batch(number))))
      }
    }

    /// Tags that the socket received, each of which must follow on the one before.
    func tags(_ socket: SocketClient) throws -> [ChangeTag] {
      var cursor = start
      return try socket.all().map { message in
        let (since, token): (ChangeToken, ChangeToken)
        switch message {
        case .changes(nil, let page): (since, token) = (page.since ?? start, page.token)
        case .saved(_, let answer): (since, token) = (answer.since, answer.token)
        default: throw Refusal(.internalError, "\(message)")
        }
        #expect(since == cursor)
        cursor = token
        return token.sequence
      }
    }
  }

  @Test func savesOfOneTurnAreSentTogether() throws {
    let crowd = try Crowd()
    let before = crowd.relay.multicasts.count
    crowd.save(1...8)
    crowd.relay.runUntilIdle()
    let sent = crowd.relay.multicasts[before...].map(\.receivers)
    #expect(sent == [crowd.sockets.count])
    for socket in crowd.sockets { #expect(try crowd.tags(socket) == Array(1...8)) }
    #expect(try crowd.tags(crowd.saver) == Array(1...8))
  }

  @Test func changesWaitForSavesThatAreUnderWayButNotForLong() throws {
    let crowd = try Crowd()
    crowd.save(1...2)
    crowd.relay.runCommits(1)
    while crowd.relay.deliverCommitEvent(0) {}
    let socket = crowd.sockets[0]
    #expect(try socket.next() == nil)
    let wait = Int64(crowd.sockets.count + 1) * Limits.crowdNanosecondsPerSocket
    let deadline = crowd.relay.entries[0].node.nextDeadline
    #expect(deadline?.nanoseconds == crowd.relay.moment.instant.nanoseconds + wait)
    // The second save stays under way.
    crowd.relay.moment.instant = try #require(deadline)
    crowd.relay.deliver(0, .deadlineReached)
    guard case .changes(nil, let page)? = try socket.next() else {
      Issue.record("no push came")
      return
    }
    #expect(page.token.sequence == 1)
    #expect(try crowd.saver.all().count == 1)
  }

  @Test func aSocketThatSavesGetsTheChangesOfOthersBeforeItsAnswer() throws {
    let crowd = try Crowd()
    crowd.save(1...2)
    crowd.save(3...4, by: crowd.sockets[5])
    crowd.save(5...5)
    crowd.relay.runUntilIdle()
    for socket in crowd.sockets + [crowd.saver] {
      #expect(try crowd.tags(socket) == Array(1...5))
    }
  }

  @Test func everyoneMaySaveAtOnce() throws {
    let crowd = try Crowd()
    for (index, socket) in crowd.sockets.enumerated() {
      crowd.save(index + 1...index + 1, by: socket)
    }
    crowd.relay.runUntilIdle()
    let tags = (1...crowd.sockets.count).map(ChangeTag.init)
    for socket in crowd.sockets + [crowd.saver] { #expect(try crowd.tags(socket) == tags) }
    #expect(crowd.relay.readsDone == 0 || crowd.relay.entries[0].reads.isEmpty)
  }

  @Test func socketsThatComeAndGoMeanwhileMissNothing() throws {
    let crowd = try Crowd()
    crowd.save(1...2)
    crowd.relay.runCommits(1)
    while crowd.relay.deliverCommitEvent(0) {}
    // The first change is still to be sent.
    crowd.relay.cut(crowd.sockets[3].id)
    let late = try SocketClient(crowd.relay, as: crowd.device, since: crowd.start)
    crowd.relay.runUntilIdle()
    // What it missed comes as one page.
    #expect(try crowd.tags(late).last == 2)
    for socket in crowd.sockets where !socket.isClosed {
      #expect(try crowd.tags(socket) == [1, 2])
    }
  }

  @Test func aSocketThatFetchesMeanwhileMissesNothing() throws {
    let crowd = try Crowd()
    crowd.save(1...2)
    crowd.relay.runCommits(1)
    while crowd.relay.deliverCommitEvent(0) {}
    let socket = crowd.sockets[0]
    socket.sendMessage(.fetch(id: "f", FetchQuery(since: crowd.start)))
    crowd.relay.runUntilIdle()
    let pages = try socket.all().map { message -> ChangePage in
      guard case .changes(_, let page) = message else { throw Refusal(.internalError, "") }
      return page
    }
    #expect(pages.flatMap(\.changes).map(\.tag) == [1, 2])
  }

  @Test func aSlowSocketGetsAHintAndTheOthersTheChanges() throws {
    let relay = TestRelay {
      $0.isOpen = true
      $0.limits.sendQueueBytes = 1_000
    }
    let crowd = try Crowd(relay)
    let slow = crowd.sockets[0]
    relay.setTakesBytes(slow.id, false)
    for number in 1...8 {
      crowd.save(number...number)
      relay.advance(10)
      relay.runUntilIdle()
    }
    relay.setTakesBytes(slow.id, true)
    let last = try #require(try slow.all().last)
    guard case .changed(let token) = last else {
      Issue.record("\(last)")
      return
    }
    #expect(token.sequence == 8)
    for socket in crowd.sockets.dropFirst() { #expect(try crowd.tags(socket) == Array(1...8)) }
  }

  @Test func accountsDoNotMix() throws {
    let relay = TestRelay()
    let crowds = [try Crowd(relay), try Crowd(relay)]
    for number in 1...3 { for crowd in crowds { crowd.save(number...number) } }
    relay.runUntilIdle()
    for crowd in crowds {
      for socket in crowd.sockets { #expect(try crowd.tags(socket) == [1, 2, 3]) }
    }
  }

  @Test func aRevokedDeviceGetsWhatCameBefore() throws {
    let crowd = try Crowd()
    crowd.save(1...2)
    crowd.relay.runCommits(1)
    while crowd.relay.deliverCommitEvent(0) {}
    let credentials = crowd.device.credentials
    let origin = CommitOrigin(node: 0, connection: nil)
    crowd.relay.deliver(0, .news(.revoked(credentials.account, credentials.device, by: origin)))
    let socket = crowd.sockets[0]
    guard case .changes(nil, let page)? = try socket.next() else {
      Issue.record("no push came")
      return
    }
    #expect(page.token.sequence == 1)
  }
}
