import LockstepClient
import LockstepEventLoop
import LockstepModel
import LockstepStorage
import Synchronization

/// Decides when to ask the relay for the names of the account's devices.
struct NamesNeed {
  /// Minimum time in milliseconds between requests that are made because a command shows names.
  static let lookMilliseconds: Int64 = 60_000
  /// Maximum number of remembered devices that the relay did not name, such as removed ones. Beyond
  /// it all are forgotten.
  private static let strangersMax = 1_000

  private var isInReach = false
  private var isAsking = false
  private var askedAt: Instant?
  private var named: Set<DeviceID> = []
  private var strangers: Set<DeviceID> = []
  private var isWanted = false

  /// Requests names after each new connection, and if a device without a name has changed a record.
  mutating func told(_ report: AgentReport) {
    switch report {
    case .ready(let status), .status(let status), .synced(_, let status):
      if !isInReach, status.transport != nil { isWanted = true }
      isInReach = status.transport != nil
    case .changed(let records):
      for record in records
      where !named.contains(record.device) && strangers.insert(record.device).inserted {
        isWanted = true
      }
      if strangers.count > Self.strangersMax { strangers = [] }
    case .edited, .told, .switched, .read, .statusRead, .chunkAdded, .chunkRead, .chunkProgress,
      .milestone, .storeFailed, .stopped:
      break
    }
  }

  /// Requests names because a command shows them, and another device may have been renamed.
  mutating func shown(at now: Instant) {
    guard let askedAt, askedAt.advanced(milliseconds: Self.lookMilliseconds) > now else {
      isWanted = true
      return
    }
  }

  /// Returns true if the relay is to be asked now.
  mutating func takeTurn(at now: Instant) -> Bool {
    guard isInReach, isWanted, !isAsking else { return false }
    isWanted = false
    isAsking = true
    askedAt = now
    return true
  }

  /// Handles the answer; nil if the relay gave none. The next connection or the next view asks
  /// again.
  mutating func answered(_ names: [DeviceID: String]?) {
    isAsking = false
    if let names { named = Set(names.keys) }
  }
}

/// Keeps a held home's names of devices up to date, beside the agent, so that no command waits for
/// the relay to show local data.
final class HomeNames: Sendable {
  private struct State: Sendable {
    var need = NamesNeed()
    /// True in a process that keeps running; only such a process asks.
    var isBegun = false
  }

  private let relay: RelayCall?
  private let token: String
  private let log: Log
  private let post: @Sendable (HomeOrder) -> Void
  private let state = Mutex(State())

  /// `post`: sends an order to the home's node.
  init(
    _ identity: HomeIdentity, _ trust: Trust, log: Log,
    post: @escaping @Sendable (HomeOrder) -> Void
  ) {
    relay = RelayAddress(url: identity.relay).map { RelayCall(relay: $0, trust: trust) }
    token = identity.credentials.token
    self.log = log
    self.post = post
  }

  func begin() {
    state.withLock { $0.isBegun = true }
    askIfNeeded()
  }

  /// Does not wait for an answer that is on its way.
  func stop() { state.withLock { $0.isBegun = false } }

  func told(_ report: AgentReport) {
    state.withLock { $0.need.told(report) }
    askIfNeeded()
  }

  func shown() {
    state.withLock { $0.need.shown(at: SystemClock.instant()) }
    askIfNeeded()
  }

  private func askIfNeeded() {
    guard let relay else { return }
    let isTurn = state.withLock { state in
      state.isBegun && state.need.takeTurn(at: SystemClock.instant())
    }
    guard isTurn else { return }
    do throws(SystemFault) {
      try LoopThread("names") { [self] in ask(relay) }.detach()
    } catch {
      log.warning("the devices' names cannot be asked for: \(error)")
      state.withLock { $0.need.answered(nil) }
    }
  }

  private func ask(_ relay: RelayCall) {
    let names = relay.deviceNames(token: token)
    let isBegun = state.withLock { state in
      state.need.answered(names)
      return state.isBegun
    }
    if isBegun, let names { post(.agent(.nameDevices(names))) }
    // Names may have been requested meanwhile.
    askIfNeeded()
  }
}

extension RelayCall {
  /// Returns the names of the account's devices, or nil if the relay cannot be asked.
  func deviceNames(
    token: String, milliseconds: Int64 = Limits.answerMilliseconds
  ) -> [DeviceID: String]? {
    do throws(CommandFailure) {
      let list = try devices(token: token, milliseconds: milliseconds)
      let names = list.devices.map { ($0.id, $0.description.deviceName) }
      return Dictionary(names) { first, _ in first }
    } catch {
      return nil
    }
  }
}
