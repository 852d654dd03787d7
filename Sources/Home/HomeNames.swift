import Lockstep
import LockstepClient
import LockstepCommandLine
import LockstepEventLoop
import LockstepModel
import LockstepStorage
import Synchronization

/// Schedule of requests to the relay for the names of the account's devices.
struct NamesSchedule {
  /// Minimum time in milliseconds between requests that are made because a command shows names.
  static let viewIntervalMilliseconds: Int64 = 60_000
  /// Maximum number of remembered devices that the relay did not name, such as removed ones. Beyond
  /// it all are forgotten.
  private static let unnamedMax = 1_000

  private var isInReach = false
  private var isRequesting = false
  private var requestedAt: Instant?
  private var named: Set<DeviceID> = []
  private var unnamed: Set<DeviceID> = []
  private var isWanted = false

  /// Requests names after each new connection, and if a device without a name has changed a record.
  mutating func handleReport(_ report: AgentReport) {
    switch report {
    case .ready(let status), .status(let status), .synced(_, let status):
      if !isInReach, status.transport != nil { isWanted = true }
      isInReach = status.transport != nil
    case .changed(let records):
      for record in records
      where !named.contains(record.device) && unnamed.insert(record.device).inserted {
        isWanted = true
      }
      if unnamed.count > Self.unnamedMax { unnamed = [] }
    case .edited, .transacted, .joined, .moved, .answered, .switched, .read, .stateRead,
      .statusRead,
      .chunkAdded, .chunkRead, .chunkProgress, .milestone, .storeFailed, .stopped:
      break
    }
  }

  /// Requests names because a command shows them, and another device may have been renamed.
  mutating func recordView(at now: Instant) {
    guard let requestedAt,
      requestedAt.advanced(milliseconds: Self.viewIntervalMilliseconds) > now
    else {
      isWanted = true
      return
    }
  }

  /// Returns true if a request is due, and records it as sent.
  mutating func beginRequestIfDue(at now: Instant) -> Bool {
    guard isInReach, isWanted, !isRequesting else { return false }
    isWanted = false
    isRequesting = true
    requestedAt = now
    return true
  }

  /// Handles the answer; nil if the relay gave none. The next connection or the next view repeats
  /// the request.
  mutating func handleAnswer(_ names: [DeviceID: String]?) {
    isRequesting = false
    if let names { named = Set(names.keys) }
  }
}

/// Updates a held home's names of devices independently of the agent, so that no command waits for
/// the relay to show local data.
final class HomeNames: Sendable {
  private struct State: Sendable {
    var schedule = NamesSchedule()
    /// True in a process that keeps running; only such a process requests names.
    var isRunning = false
    var relay: RelayCall?
  }

  private let trust: Trust
  private let token: String
  private let log: Log
  private let post: @Sendable (HomeOrder) -> Void
  private let state = Mutex(State())

  /// `post`: sends an order to the home's node.
  init(
    _ identity: HomeIdentity, _ trust: Trust, log: Log,
    post: @escaping @Sendable (HomeOrder) -> Void
  ) {
    self.trust = trust
    token = identity.credentials.token
    self.log = log
    self.post = post
    setRelay(identity)
  }

  private func setRelay(_ identity: HomeIdentity) {
    let relay = RelayAddress(url: identity.relay).map { RelayCall(relay: $0, trust: trust) }
    state.withLock { $0.relay = relay }
  }

  func start() {
    state.withLock { $0.isRunning = true }
    requestIfDue()
  }

  /// Does not wait for an outstanding answer.
  func stop() { state.withLock { $0.isRunning = false } }

  func handleReport(_ report: AgentReport) {
    if case .moved(let identity) = report { setRelay(identity) }
    state.withLock { $0.schedule.handleReport(report) }
    requestIfDue()
  }

  func recordView() {
    state.withLock { $0.schedule.recordView(at: SystemClock.instant()) }
    requestIfDue()
  }

  private func requestIfDue() {
    let due = state.withLock { state -> RelayCall? in
      guard state.isRunning, let relay = state.relay else { return nil }
      return state.schedule.beginRequestIfDue(at: SystemClock.instant()) ? relay : nil
    }
    guard let relay = due else { return }
    do throws(SystemFault) {
      try LoopThread("names") { [self] in requestNames(of: relay) }.detach()
    } catch {
      log.warning("cannot request the devices' names: \(error)")
      state.withLock { $0.schedule.handleAnswer(nil) }
    }
  }

  private func requestNames(of relay: RelayCall) {
    let names = relay.deviceNames(token: token)
    let isRunning = state.withLock { state in
      state.schedule.handleAnswer(names)
      return state.isRunning
    }
    if isRunning, let names { post(.agent(.nameDevices(names))) }
    // Names may have been requested meanwhile.
    requestIfDue()
  }
}

extension RelayCall {
  /// Returns the names of the account's devices, or nil if the relay cannot be asked.
  package func deviceNames(
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
