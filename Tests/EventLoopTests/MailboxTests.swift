import LockstepModel
import Synchronization
import Testing

@testable import LockstepEventLoop

struct MailboxTests {
  @Test func manyThreadsLoseNothingAndKeepTheirOrder() throws {
    let mailbox = try Mailbox<(writer: Int, number: Int)>(isBlocking: true)
    let writers = try (0..<8).map { writer in
      try LoopThread("writer") {
        for number in 0..<2_000 { mailbox.post((writer, number)) }
      }
    }
    var expected = [Int](repeating: 0, count: 8)
    var batch: [(writer: Int, number: Int)] = []
    while expected.contains(where: { $0 < 2_000 }), mailbox.waitForMessages(into: &batch) {
      for (writer, number) in batch {
        #expect(number == expected[writer])
        expected[writer] = number + 1
      }
      batch.removeAll(keepingCapacity: true)
    }
    for writer in writers { writer.join() }
    #expect(expected == [Int](repeating: 2_000, count: 8))
  }

  @Test func readerDoesNotSleepOverMessages() throws {
    let mailbox = try Mailbox<Int>(isBlocking: true)
    mailbox.post(1)
    #expect(!mailbox.prepareToSleep())
    var taken: [Int] = []
    mailbox.drain(into: &taken)
    #expect(taken == [1])
    #expect(mailbox.prepareToSleep())
  }

  @Test func aReaderWaitsNoLongerThanItWants() throws {
    let mailbox = try Mailbox<Int>(isBlocking: true)
    var taken: [Int] = []
    for end in [Int64.min, 0, SystemClock.instant().nanoseconds + 1_000_000] {
      let isOpen = mailbox.waitForMessages(into: &taken, until: Instant(nanoseconds: end))
      #expect(isOpen)
      #expect(taken.isEmpty)
    }
    let writer = try LoopThread("writer") { mailbox.post(1) }
    while taken.isEmpty { _ = mailbox.waitForMessages(into: &taken, until: nil) }
    writer.join()
    #expect(taken == [1])
    taken = []
    mailbox.close()
    let isOpen = mailbox.waitForMessages(into: &taken, until: nil)
    #expect(!isOpen)
  }

  @Test func batchIsAppendedAtTheEnd() throws {
    let mailbox = try Mailbox<Int>(isBlocking: true)
    mailbox.post(1)
    var batch = [2, 3]
    mailbox.post(allOf: &batch)
    #expect(batch.isEmpty)
    mailbox.post(allOf: &batch)
    var taken: [Int] = []
    mailbox.drain(into: &taken)
    #expect(taken == [1, 2, 3])
  }

  /// A node must not answer that a plan holds while another does not know it yet.
  @Test func noReaderGetsItsMessagesBeforeAllMailboxesHaveTheirs() throws {
    let mailboxes = try (0..<3).map { _ in try Mailbox<Int>(isBlocking: true) }
    let (isHeld, isRead) = (
      try Mailbox<Void>(isBlocking: true), try Mailbox<Void>(isBlocking: true)
    )
    let isFree = Locked(false)
    let holder = try LoopThread("holder") {
      mailboxes[2].state.withLock { _ in
        isHeld.post(())
        // The first reader comes meanwhile, if it can.
        var signs: [Void] = []
        _ = isRead.waitForMessages(
          into: &signs, until: SystemClock.instant().advanced(milliseconds: 300))
        isFree.withLock { $0 = true }
      }
    }
    var signs: [Void] = []
    while signs.isEmpty { _ = isHeld.waitForMessages(into: &signs, until: nil) }
    let writer = try LoopThread("writer") {
      var lists = [[1], [], [2]]
      Mailbox.post(&lists, to: mailboxes)
    }
    var taken: [Int] = []
    while taken.isEmpty { _ = mailboxes[0].waitForMessages(into: &taken, until: nil) }
    let wasFree = isFree.withLock { $0 }
    isRead.post(())
    #expect(wasFree && taken == [1])
    writer.join()
    holder.join()
    taken = []
    mailboxes[2].drain(into: &taken)
    #expect(taken == [2] && mailboxes[1].isEmpty)
  }

  @Test func closedMailboxDeliversWaitingMessagesAndDropsLaterOnes() throws {
    let mailbox = try Mailbox<Int>(isBlocking: true)
    mailbox.post(1)
    mailbox.close()
    mailbox.post(2)
    var taken: [Int] = []
    #expect(mailbox.waitForMessages(into: &taken))
    #expect(taken == [1])
    taken.removeAll()
    #expect(!mailbox.waitForMessages(into: &taken))
  }

  @Test func closingWakesTheReader() throws {
    let mailbox = try Mailbox<Int>(isBlocking: true)
    let over = RunningGroup.Box(false)
    let reader = try LoopThread("reader") {
      var taken: [Int] = []
      while mailbox.waitForMessages(into: &taken) {}
      over.change { $0 = true }
    }
    mailbox.close()
    reader.join()
    #expect(over.contents)
  }
}
