import LockstepModel
import LockstepRuntime
import LockstepStorage
import Testing

@testable import LockstepRelay

/// The order in which many sleeping devices are woken.
struct WakeSchedulerTests {
  private let now = Instant(nanoseconds: 0)

  private let entry = DeviceWakes.Entry(
    WakeRegistration(
      id: Name(trusted: "w"), endpoint: "https://push.example", p256dh: [], auth: []),
    keyMadeAt: 1, codeHash: nil)

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
      scheduler.begin(
        due.map { id in
          ClaimedWake(
            id: id, .change, newest: WakeMark(generation: 1, sequence: 1), entries: [entry])
        })
      #expect(scheduler.next(at: now) == .awaitResult || due.count < Limits.wakesAtOnce)
      for id in due {
        let push = scheduler.addPush(id, entry.registration, for: .wake(toldKey: nil))
        scheduler.finish(push, .sent, sentAt: 0)
      }
      woken.formUnion(due)
      waiting.subtract(due)
    }
    #expect(woken.count == 10_000)
  }

  /// An account has many devices, whose push service takes its time.
  @Test func noAccountTakesTheTurnsOfOthers() {
    var scheduler = WakeScheduler(at: now)
    let many = (1...100).map {
      SleeperID(account: AccountID(rawValue: 1), device: DeviceID(rawValue: UInt64($0)))
    }
    let other = SleeperID(account: AccountID(rawValue: 2), device: DeviceID(rawValue: 1))
    let query = SleeperQuery.accounts([many[0].account, other.account])
    for account in [many[0].account, other.account] {
      scheduler.follow(account)
      scheduler.recordChange(account, at: now)
    }
    let soon = now.advanced(milliseconds: Limits.wakeGatherMilliseconds)
    #expect(scheduler.next(at: soon) == .look(query))
    let due = scheduler.handle(found(many + [other]), of: query, at: soon, wall: 0) { _ in false }
    #expect(due == many.prefix(Limits.wakesOfAccountAtOnce) + [other])
    scheduler.begin(
      due.map { id in
        ClaimedWake(
          id: id, .change, newest: WakeMark(generation: 1, sequence: 1), entries: [entry])
      })
    // The rest follow as soon as there is room, and not before.
    let later = soon.advanced(milliseconds: Limits.wakesOfAccountMilliseconds)
    let rest = SleeperQuery.accounts([many[0].account])
    for id in due {
      let push = scheduler.addPush(id, entry.registration, for: .wake(toldKey: nil))
      if id != due[0] { scheduler.finish(push, .sent, sentAt: 0) }
    }
    _ = scheduler.next(at: soon)
    _ = scheduler.handle(
      DueWakes(), of: .after(nil, limit: Limits.wakesPerRequest), at: soon, wall: 0
    ) { _ in false }
    #expect(scheduler.next(at: soon) == .wait(later))
    #expect(scheduler.next(at: later) == .look(rest))
    let next = scheduler.handle(
      found(Array(many.dropFirst(16))), of: rest, at: later, wall: 0
    ) { _ in false }
    #expect(next.count == Limits.wakesOfAccountAtOnce - 1)
  }

  /// As many devices are found as one request handles, none of them due: only accounts that may
  /// have more are asked again, and nothing is left after that.
  @Test(arguments: [(accounts: 256, devices: 1, looks: 2), (accounts: 3, devices: 100, looks: 2)])
  func accountsWithManyDevicesAreLookedAtOnce(
    _ accounts: Int, _ devices: Int, _ looks: Int
  ) throws {
    var scheduler = WakeScheduler(at: now)
    // Half of the numbers are negative in the order of a database.
    let all = (0..<accounts).map {
      AccountID(rawValue: UInt64($0) &+ (.max >> 1) &- UInt64(accounts / 2))
    }.uniqueInSortOrder
    for account in all {
      scheduler.follow(account)
      scheduler.recordChange(account, at: now)
    }
    let later = now.advanced(milliseconds: Limits.wakeGatherMilliseconds)
    var asked: [[AccountID]] = []
    while case .look(let query) = scheduler.next(at: later), asked.count < 9 {
      guard case .accounts(let accounts) = query else {
        // The pass over all devices finds none.
        _ = scheduler.handle(DueWakes(), of: query, at: later, wall: 0) { _ in false }
        continue
      }
      asked.append(accounts)
      var answer = DueWakes()
      let ids = accounts.uniqueInSortOrder.flatMap { account in
        (1...devices).map { SleeperID(account: account, device: DeviceID(rawValue: UInt64($0))) }
      }.prefix(query.limit)
      answer.accounts = Set(ids.map(\.account))
      answer.next = ids.count == query.limit ? ids.last : nil
      _ = scheduler.handle(answer, of: query, at: later, wall: 0) { _ in false }
    }
    #expect(asked.count == looks)
    #expect(asked.last == [all[all.count - 1]])
    let nextPass = later.advanced(milliseconds: Limits.wakeSweepMilliseconds)
    #expect(scheduler.next(at: later) == .wait(nextPass))
  }

  @Test func accountsThatChangeAllTheTimeDoNotKeepPassesBack() {
    var scheduler = WakeScheduler(at: now)
    let account = ids(1)[0].account
    scheduler.follow(account)
    var queries: [SleeperQuery] = []
    for second in 1...4 {
      let instant = now.advanced(milliseconds: Int64(second) * 1_000)
      scheduler.recordChange(account, at: now)
      guard case .look(let query) = scheduler.next(at: instant) else {
        Issue.record("it does not look")
        return
      }
      queries.append(query)
      var answer = DueWakes()
      if case .after = query { answer.next = ids(1)[0] }
      _ = scheduler.handle(answer, of: query, at: instant, wall: 0) { _ in false }
    }
    let limit = Limits.wakesPerRequest
    #expect(
      queries == [
        .accounts([account]), .after(nil, limit: limit), .accounts([account]),
        .after(ids(1)[0], limit: limit),
      ])
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
