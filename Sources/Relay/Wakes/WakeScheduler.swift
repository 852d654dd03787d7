import LockstepModel
import LockstepRuntime
import LockstepStorage

/// Decides when the store is asked which sleeping devices are to be woken, and keeps the wakes that
/// are being sent. One node of a process has it.
///
/// The accounts' changes themselves are the durable list of what is due: a device is to be woken if
/// its account has changes after the position up to which the device has them. So nothing is lost
/// with the process, and a save writes nothing more. A pass over all devices with registrations
/// finds what was not announced: after the start, if another relay made the change, and wakes that
/// are to be repeated.
struct WakeScheduler: Sendable {
  /// Next step.
  enum Step: Hashable, Sendable {
    case look(SleeperQuery)
    /// Nothing before that time.
    case wait(Instant)
    /// The store is asked already; a result follows.
    case awaitResult
  }

  /// Request to the store that is under way. The arrows name the legal next states.
  private enum Stage: Hashable, Sendable {
    /// → looking
    case idle
    /// It looks for devices that are to be woken. → claiming, idle
    case looking
    /// It begins the wakes that were found. → idle
    case claiming
  }

  /// A wake that is being sent: results so far, and the number of pushes without one.
  private struct Wake: Sendable {
    var purpose: WakePurpose
    var results: [WakeResult] = []
    var unfinished: Int
  }

  enum Purpose: Hashable, Sendable {
    /// `toldKey`: time of the relay's newest key, if the push tells the device of it.
    case wake(toldKey: Int64?)
    case verification
  }

  /// One push to one registration.
  private struct Push: Sendable {
    var id: SleeperID
    var registration: Name
    var endpoint: String
    var purpose: Purpose
  }

  /// Accounts with a device that has registered.
  private var accounts: Set<AccountID> = []
  /// Accounts to be looked at, and the earliest time of each.
  private var changed: [AccountID: Instant] = [:]
  /// Devices whose last connection ended a moment ago, until they may be woken.
  private var left: [SleeperID: Instant] = [:]
  private var stage = Stage.idle
  /// The last device of the pass under way; nil between two passes.
  private var passed: SleeperID?
  private var nextPass: Instant
  /// True if accounts were looked at last: a pass that is due goes first then.
  private var isPassNext = false
  private var wakes: [SleeperID: Wake] = [:]
  /// Number of `wakes` of each account that has some.
  private var wakeCounts: [AccountID: Int] = [:]
  private var pushes: [UInt64: Push] = [:]
  private var lastPush: UInt64 = 0
  private var reports: [WakeReport] = []

  init(at now: Instant) { nextPass = now }

  /// Number of pushes without a result.
  var pushCount: Int { pushes.count }

  // MARK: events

  /// Records that a device has registered.
  mutating func follow(_ account: AccountID) { accounts.insert(account) }

  /// Records a change of an account.
  mutating func recordChange(_ account: AccountID, at now: Instant) {
    guard accounts.contains(account) else { return }
    plan(account, at: now.advanced(milliseconds: Limits.wakeGatherMilliseconds))
  }

  /// Records that a device's last connection has ended.
  mutating func recordLeaving(_ id: SleeperID, at now: Instant) {
    guard accounts.contains(id.account) else { return }
    let until = now.advanced(milliseconds: Limits.wakeDelayMilliseconds)
    left[id] = until
    plan(id.account, at: until)
  }

  /// Lets the next pass over all devices begin now.
  mutating func planPass(at now: Instant) { if passed == nil { nextPass = now } }

  private mutating func plan(_ account: AccountID, at instant: Instant) {
    if let planned = changed[account], planned <= instant { return }
    changed[account] = instant
  }

  // MARK: looking

  /// Returns the next step. With `.look`, the store must be asked, and `handle` or `fail` called.
  mutating func next(at now: Instant) -> Step {
    guard stage == .idle, wakes.count < Limits.wakesAtOnce else { return .awaitResult }
    let due = changed.filter { $0.value <= now }.map(\.key).sorted().prefix(Limits.wakesPerRequest)
    let isPassDue = nextPass <= now
    if !due.isEmpty, !(isPassDue && isPassNext) {
      for account in due { changed[account] = nil }
      stage = .looking
      isPassNext = true
      return .look(.accounts(Array(due)))
    }
    if isPassDue {
      stage = .looking
      isPassNext = false
      return .look(.after(passed, limit: Limits.wakesPerRequest))
    }
    return .wait(changed.values.min().map { min($0, nextPass) } ?? nextPass)
  }

  /// Handles what the store found. Returns the devices of which a wake is to be begun, no more than
  /// may be sent at a time; the others are looked at again. If there are any, `begin` or
  /// `failClaim` must be called.
  /// `isConnected`: true for a device with a connection in this process.
  mutating func handle(
    _ found: DueWakes, of query: SleeperQuery, at now: Instant, wall: Int64,
    isConnected: (SleeperID) -> Bool
  ) -> [SleeperID] {
    accounts.formUnion(found.accounts)
    reports += found.reports
    switch query {
    case .accounts(let asked):
      // The devices of the accounts may be more than one request handles.
      if let last = found.next {
        for account in asked.inSortOrder(from: last.account) { plan(account, at: now) }
      }
    case .after:
      passed = found.next
      if passed == nil {
        nextPass = now.advanced(milliseconds: Limits.wakeSweepMilliseconds)
      }
    }
    if let nextAt = found.nextAt, nextAt - wall < Limits.wakeSweepMilliseconds {
      let instant = now.advanced(milliseconds: max(0, nextAt - wall) + 1)
      for account in found.accounts { plan(account, at: instant) }
    }
    left = left.filter { now < $0.value }
    // Those that have just left are looked at again when they may be woken.
    for id in found.due { if let until = left[id] { plan(id.account, at: until) } }
    let due = found.due.filter { id in
      wakes[id] == nil && left[id] == nil && !isConnected(id)
    }
    let fair = shares(of: due, at: now)
    let room = Limits.wakesAtOnce - wakes.count
    for id in fair.dropFirst(room) { plan(id.account, at: now) }
    stage = fair.isEmpty ? .idle : .claiming
    return Array(fair.prefix(room))
  }

  /// Leaves out devices of accounts of which many wakes are sent already: slow push services of one
  /// must not hold back the wakes of others. They are looked at again a little later.
  private mutating func shares(of due: [SleeperID], at now: Instant) -> [SleeperID] {
    var counts = wakeCounts
    let later = now.advanced(milliseconds: Limits.wakesOfAccountMilliseconds)
    return due.filter { id in
      let count = counts[id.account, default: 0]
      guard count < Limits.wakesOfAccountAtOnce else {
        plan(id.account, at: later)
        return false
      }
      counts[id.account] = count + 1
      return true
    }
  }

  /// Handles a store that could not be asked: the pass that follows later finds what is due.
  mutating func fail(at now: Instant) {
    stage = .idle
    passed = nil
    nextPass = now.advanced(milliseconds: Limits.wakeSweepMilliseconds)
  }

  // MARK: sending

  /// Records the wakes that were begun; a push to each of their entries follows.
  mutating func begin(_ begun: [ClaimedWake]) {
    stage = .idle
    for wake in begun {
      let began = Wake(purpose: wake.purpose, unfinished: wake.entries.count)
      guard wakes.updateValue(began, forKey: wake.id) == nil else { continue }
      wakeCounts[wake.id.account, default: 0] += 1
    }
  }

  /// Handles a store that has begun no wake: the pass that follows later finds what is due.
  mutating func failClaim() { stage = .idle }

  /// Returns the number of a push of a wake that was begun, or of one that carries a code.
  mutating func addPush(
    _ id: SleeperID, _ registration: WakeRegistration, for purpose: Purpose
  ) -> UInt64 {
    lastPush += 1
    pushes[lastPush] = Push(
      id: id, registration: registration.id, endpoint: registration.endpoint, purpose: purpose)
    return lastPush
  }

  /// Returns the device and the endpoint of a push without a result.
  func target(of number: UInt64) -> (id: SleeperID, endpoint: String)? {
    pushes[number].map { ($0.id, $0.endpoint) }
  }

  /// Records the result of a push. `sentAt`: time at which it was sent; nil if it was not.
  mutating func finish(_ number: UInt64, _ outcome: WakeResult.Outcome, sentAt: Int64?) {
    guard let push = pushes.removeValue(forKey: number) else { return }
    var result = WakeResult(
      id: push.registration, endpoint: push.endpoint, outcome: outcome, sentAt: sentAt)
    switch push.purpose {
    case .verification: reports.append(WakeReport(id: push.id, event: .verification(result)))
    case .wake(let toldKey):
      result.toldKey = toldKey
      guard var wake = wakes[push.id] else { return }
      wake.results.append(result)
      wake.unfinished -= 1
      if wake.unfinished > 0 {
        wakes[push.id] = wake
        return
      }
      wakes[push.id] = nil
      countEnd(of: push.id.account)
      reports.append(WakeReport(id: push.id, event: .finished(wake.purpose, wake.results)))
    }
  }

  private mutating func countEnd(of account: AccountID) {
    let count = wakeCounts[account, default: 1] - 1
    wakeCounts[account] = count > 0 ? count : nil
  }

  /// Returns reports for the store, at most `Limits.wakesPerRequest`.
  mutating func takeReports() -> [WakeReport] {
    let taken = Array(reports.prefix(Limits.wakesPerRequest))
    reports.removeFirst(taken.count)
    return taken
  }
}
