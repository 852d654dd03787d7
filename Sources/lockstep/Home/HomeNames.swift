import LockstepClient
import LockstepEventLoop
import LockstepModel
import LockstepStorage
import Synchronization

/// When the relay is to be asked what the account's devices are called.
struct NamesNeed {
  /// What somebody looks at is asked about at most this often.
  static let lookMilliseconds: Int64 = 60_000
  /// Devices that the relay did not name, as such that were removed; beyond it they are forgotten.
  private static let strangersMax = 1_000

  private var isInReach = false
  private var isAsking = false
  private var askedAt: Instant?
  private var named: Set<DeviceID> = []
  private var strangers: Set<DeviceID> = []
  private var isWanted = false

  /// With each new connection, and where a device has changed something that has no name yet.
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

  /// A command shows names: another device may be called otherwise by now.
  mutating func shown(at now: Instant) {
    guard let askedAt, askedAt.advanced(milliseconds: Self.lookMilliseconds) > now else {
      isWanted = true
      return
    }
  }

  /// Whether to ask now.
  mutating func takeTurn(at now: Instant) -> Bool {
    guard isInReach, isWanted, !isAsking else { return false }
    isWanted = false
    isAsking = true
    askedAt = now
    return true
  }

  /// nil: the relay gave no answer. The next connection, or the next look, asks again.
  mutating func answered(_ names: [DeviceID: String]?) {
    isAsking = false
    if let names { named = Set(names.keys) }
  }
}

/// Keeps what a held home knows of its devices' names fresh, beside the agent, so that no command
/// waits for the relay to show what the home holds.
final class HomeNames: Sendable {
  private struct State: Sendable {
    var need = NamesNeed()
    /// Only a process that stays asks.
    var isBegun = false
  }

  private let relay: RelayCall?
  private let token: String
  private let log: Log
  private let post: @Sendable (HomeOrder) -> Void
  private let state = Mutex(State())

  /// `post`: to the node of the home.
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

  /// An answer that is on its way is waited for by nobody.
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
    // What was wanted meanwhile.
    askIfNeeded()
  }
}

extension RelayCall {
  /// What the account's devices are called; nil where the relay cannot be asked.
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
