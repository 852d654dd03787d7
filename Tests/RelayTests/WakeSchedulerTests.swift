import LockstepModel
import LockstepRuntime
import LockstepStorage
import Testing

@testable import LockstepRelay

/// The order in which many sleeping devices are woken.
struct WakeSchedulerTests {
  private let now = Instant(nanoseconds: 0)

  private func ids(_ count: Int) -> [SleeperID] {
    (1...count).map {
      SleeperID(account: AccountID(rawValue: UInt64($0)), device: DeviceID(rawValue: 1))
    }
  }

  private func found(_ ids: [SleeperID]) -> DueWakes {
    var found = DueWakes()
    found.due = ids
    found.accounts = Set(ids.map(\.account))
    return found
  }

  /// Ten thousand devices are due after an outage: each is woken, and no more at a time than the
  /// queue to one push service takes.
  @Test func manyDueDevicesAreWokenInPortions() throws {
    var scheduler = WakeScheduler(at: now)
    let all = ids(10_000)
    var waiting = Set(all)
    for id in waiting { scheduler.follow(id.account) }
    var woken: Set<SleeperID> = []
    var last: SleeperID?
    var steps = 0
    while !waiting.isEmpty {
      steps += 1
      try #require(steps < 1_000)
      guard case .look(let query) = scheduler.next(at: now) else {
        Issue.record("nothing to do with \(waiting.count) devices left")
        return
      }
      let asked: [SleeperID]
      switch query {
      case .accounts(let accounts):
        asked = all.filter { waiting.contains($0) && accounts.contains($0.account) }
      case .after(let after, let limit):
        #expect(after == last)
        let first = after.map { Int($0.account.rawValue) } ?? 0
        asked = Array(all.dropFirst(first).prefix(limit))
        last = asked.last
      }
      var answer = found(asked.filter { waiting.contains($0) })
      if case .after = query { answer.next = last == all.last ? nil : last }
      let due = scheduler.handle(answer, of: query, at: now, wall: 0) { _ in false }
      #expect(due.count <= Limits.wakesAtOnce)
      if due.isEmpty { continue }
      #expect(scheduler.next(at: now) == .awaitResult, "while the store begins them")
      scheduler.begin(due.map { (id: $0, pushes: 1) })
      #expect(scheduler.next(at: now) == .awaitResult || due.count < Limits.wakesAtOnce)
      for id in due {
        let registration = WakeRegistration(
          id: Name(trusted: "w"), endpoint: "https://push.example", p256dh: [], auth: [])
        let push = scheduler.addPush(id, registration, for: .wake(toldKey: nil))
        scheduler.finish(push, .sent, sentAt: 0)
      }
      woken.formUnion(due)
      waiting.subtract(due)
    }
    #expect(woken.count == 10_000)
  }

  @Test func wakesThatTheStoreDidNotBeginAreLookedForAgain() {
    var scheduler = WakeScheduler(at: now)
    let id = ids(1)[0]
    scheduler.follow(id.account)
    scheduler.recordChange(id.account, at: now)
    let later = now.advanced(milliseconds: Limits.wakeGatherMilliseconds)
    guard case .look(let query) = scheduler.next(at: later) else {
      Issue.record("it does not look")
      return
    }
    let due = scheduler.handle(found([id]), of: query, at: later, wall: 0) { _ in false }
    #expect(due == [id])
    scheduler.failClaim()
    guard case .look(.after) = scheduler.next(at: later) else {
      Issue.record("no pass follows")
      return
    }
  }
}
