import LockstepClient
import LockstepModel
import LockstepRuntime
import LockstepStorage
import LockstepStorageSQLite
import Synchronization

#if os(Linux)
  import LockstepEventLoop
#endif

/// A device that holds its home: the store, the agent on a thread of its own, and the socket on
/// which other processes look into the home. Passes orders to the agent, and its reports to those
/// who wait for them.
final class DeviceEngine: Sendable {
  /// Called on the agent's thread; must not block.
  typealias Handler = @Sendable (AgentReport) -> Void

  /// Orders and listeners, shared with the agent's thread.
  private final class SharedState: Sendable {
    struct State {
      var orders: [OrderID: Handler] = [:]
      var listeners: [UInt64: Handler] = [:]
      var nextNumber = HomeOrder.firstNumber
      var status = AgentStatus()
      var identity: HomeIdentity?
      var isReady = false
      var hasEnded = false
      /// True from an edit until the next status, which counts it.
      var hasUncountedEdit = false
      /// True while a call makes the home a device of an account.
      var isJoining = false
      /// Calls that wait for the first status or for the end.
      var waiting: [CheckedContinuation<Void, Never>] = []
      /// Posts to the node, once there is one.
      var post: (@Sendable (HomeOrder) -> Void)?
    }

    let state: Mutex<State>
    /// Result of the removal of the home's data, once it was asked for and has happened.
    let removal = Mutex<Removal>(.none)

    enum Removal {
      case none
      case wanted
      case failed(HomeFault)
    }

    init(_ identity: HomeIdentity?) { state = Mutex(State(identity: identity)) }

    func handle(_ report: AgentReport) {
      let (handler, listeners, resumed) = state.withLock {
        state -> (Handler?, [Handler], [CheckedContinuation<Void, Never>]) in
        var resumed: [CheckedContinuation<Void, Never>] = []
        switch report {
        case .ready(let status):
          state.status = status
          state.isReady = true
          swap(&resumed, &state.waiting)
        case .status(let status):
          state.status = status
          state.hasUncountedEdit = false
        case .transacted(_, .success(let records)):
          state.hasUncountedEdit = state.hasUncountedEdit || !records.isEmpty
        case .joined(_, .success(let identity)):
          state.identity = identity
          // The next status is reported after this. The last one fails for lack of an account.
          if case .failed = state.status.state { state.status.state = .starting }
        case .moved(let identity): state.identity = identity
        default: break
        }
        let handler = report.order.flatMap {
          report.isLastOfOrder ? state.orders.removeValue(forKey: $0) : state.orders[$0]
        }
        return (handler, state.listeners.sorted { $0.key < $1.key }.map(\.value), resumed)
      }
      handler?(report)
      for listener in listeners { listener(report) }
      for continuation in resumed { continuation.resume() }
    }

    /// Answers a command on the home's socket.
    func answer(_ client: ConnectionID, _ reply: HomeReply) {
      let post = state.withLock { $0.post }
      post?(.answer(client, reply))
    }

    /// Removes the home's data while its lock is held, if `close` has asked for it.
    func removeDataIfWanted(of folder: HomeFolder) {
      removal.withLock { removal in
        guard case .wanted = removal else { return }
        do throws(HomeFault) {
          try folder.removeData()
          removal = .none
        } catch {
          removal = .failed(error)
        }
      }
    }

    /// Ends all that waits: nothing will be reported any more.
    func end() {
      let (handlers, listeners, waiting) = state.withLock {
        state -> ([Handler], [Handler], [CheckedContinuation<Void, Never>]) in
        defer { (state.orders, state.listeners, state.waiting) = ([:], [:], []) }
        state.post = nil
        state.hasEnded = true
        state.status.state = .stopped
        return (Array(state.orders.values), Array(state.listeners.values), state.waiting)
      }
      for handler in handlers + listeners { handler(.stopped) }
      for continuation in waiting { continuation.resume() }
    }
  }

  private let driver: any DeviceDriver<HomeOrder>
  private let shared: SharedState
  let folder: HomeFolder
  let trust: Trust

  private init(
    _ driver: any DeviceDriver<HomeOrder>, _ shared: SharedState, _ folder: HomeFolder,
    _ trust: Trust
  ) {
    self.driver = driver
    self.shared = shared
    self.folder = folder
    self.trust = trust
  }

  // MARK: opening

  /// Opens the home, and begins to sync if it has joined an account. Blocks for file operations.
  ///
  /// - Parameter relay: Address of the relay, which may have moved; nil: the one that the home has.
  static func open(
    _ folder: HomeFolder, relay: RelayAddress?, apps: [any App],
    _ configuration: AgentConfiguration,
    trust: Trust
  ) throws(LockstepError) -> DeviceEngine {
    do {
      guard let lock = try folder.lock() else { throw LockstepError.homeInUse(path: folder.path) }
      FileCopies(folder).removeUnused()
      let store = try SQLiteReplicaStore(home: folder.path)
      let identity = try identity(in: store, relay)
      let shared = SharedState(identity)
      let held = Held(lock)
      let driver = try DevicePlatform.driver(
        folder, store: store, identity: identity, apps: apps, configuration: configuration,
        trust: trust, report: { handle($0, shared) },
        ended: {
          shared.removeDataIfWanted(of: folder)
          held.release()
          shared.end()
        })
      shared.state.withLock { $0.post = { driver.post($0) } }
      try driver.start()
      return DeviceEngine(driver, shared, folder, trust)
    } catch let error as LockstepError {
      throw error
    } catch let error as StorageError {
      throw LockstepError(error)
    } catch {
      throw .home(path: folder.path, reason: "\(error)")
    }
  }

  /// Address that the app has named last.
  private static let namedRelay = "relay.named"

  /// Returns the home's identity. If the app names another address than before, the relay has got
  /// that address; but not one that the account has left.
  private static func identity(in store: SQLiteReplicaStore, _ relay: RelayAddress?)
    throws(StorageError) -> HomeIdentity?
  {
    var identity = try store.identity()
    guard let relay, try store.value(namedRelay) != relay.url else { return identity }
    var changes = [ReplicaChange.setValue(key: namedRelay, relay.url)]
    let former = FormerRelays(try store.value(FormerRelays.key))
    if let known = identity?.relay, known != relay.url, !former.contains(relay.url) {
      identity?.relay = relay.url
      if let identity { changes.append(.setIdentity(identity)) }
    }
    try store.write(changes)
    return identity
  }

  private static func handle(_ report: HomeReport, _ shared: SharedState) {
    switch report {
    case .agentReport(let report): shared.handle(report)
    case .mirrorRequest(let client, _):
      shared.answer(client, .failure("the app that holds this home keeps no vault files"))
    case .wakesRequest(let client, _):
      shared.answer(client, .failure("the app that holds this home handles its wakes itself"))
    // The agent reports the first two as well.
    case .failed, .stopped, .viewRequested: break
    }
  }

  /// The home's lock, until the home is released.
  private final class Held: @unchecked Sendable {
    private var lock: DirectoryLock?
    init(_ lock: DirectoryLock) { self.lock = lock }
    func release() { lock = nil }
  }

  /// Waits until the home has been read.
  func ready() async {
    await withCheckedContinuation { continuation in
      let isDone = shared.state.withLock { state in
        if state.isReady || state.hasEnded { return true }
        state.waiting.append(continuation)
        return false
      }
      if isDone { continuation.resume() }
    }
  }

  /// Stops, and waits until the pending work is durable and the home is released.
  func close() async {
    stop()
    await withCheckedContinuation { continuation in
      let isDone = shared.state.withLock { state in
        if state.hasEnded { return true }
        state.waiting.append(continuation)
        return false
      }
      if isDone { continuation.resume() }
    }
  }

  /// Closes, and removes the home's data before another process can open it.
  func closeRemovingData() async throws(LockstepError) {
    shared.removal.withLock { $0 = .wanted }
    await close()
    let removal = shared.removal.withLock { $0 }
    if case .failed(let fault) = removal {
      throw .home(path: folder.path, reason: fault.reason)
    }
  }

  var hasEnded: Bool { shared.state.withLock { $0.hasEnded } }

  /// Returns the home's identity, if it has joined an account before. Throws if another call is
  /// about to join.
  func beginJoining() throws(LockstepError) -> HomeIdentity? {
    try shared.state.withLock { state throws(LockstepError) in
      if state.hasEnded { throw .closed }
      if state.isJoining { throw .busy }
      state.isJoining = true
      return state.identity
    }
  }

  func endJoining() { shared.state.withLock { $0.isJoining = false } }

  func stop() { driver.stop() }

  // MARK: orders

  func post(_ order: AgentOrder) { driver.post(.agent(order)) }

  var status: SyncStatus {
    shared.state.withLock { state in
      var status = SyncStatus(state.status, hasJoined: state.identity != nil)
      if state.hasUncountedEdit {
        if status.state == .inSync { status.state = .syncing }
        status.waiting = max(1, status.waiting)
      }
      return status
    }
  }

  var engineStatus: AgentStatus { shared.state.withLock { $0.status } }

  var identity: HomeIdentity? { shared.state.withLock { $0.identity } }

  /// Passes an order to the agent, and returns its report.
  ///
  /// - Parameters:
  ///   - isCancellable: Throws `closed` as soon as the task is cancelled; the order is carried out
  ///     nevertheless. For orders that wait for the network.
  ///   - handle: Called with the report on the agent's thread, before any later report.
  func perform(
    _ make: (OrderID) -> AgentOrder, isCancellable: Bool = false, handle: Handler? = nil
  ) async throws(LockstepError) -> AgentReport {
    let order = Mutex<OrderID?>(nil)
    let report = await withTaskCancellationHandler {
      await withCheckedContinuation { (continuation: CheckedContinuation<AgentReport, Never>) in
        let id = addOrder { report in
          handle?(report)
          continuation.resume(returning: report)
        }
        guard let id else { return continuation.resume(returning: .stopped) }
        order.withLock { $0 = id }
        driver.post(.agent(make(id)))
        if isCancellable && Task.isCancelled { cancel(id) }
      }
    } onCancel: {
      if isCancellable, let id = order.withLock({ $0 }) { cancel(id) }
    }
    if case .stopped = report { throw .closed }
    return report
  }

  /// Stops to wait for the report of an order.
  private func cancel(_ id: OrderID) {
    shared.state.withLock { $0.orders.removeValue(forKey: id) }?(.stopped)
  }

  /// Passes an order to the agent, and returns its reports, of which there may be several.
  func reports(of make: (OrderID) -> AgentOrder) -> AsyncStream<AgentReport> {
    let (stream, continuation) = AsyncStream.makeStream(of: AgentReport.self)
    let id = addOrder { report in
      continuation.yield(report)
      if report.isLastOfOrder { continuation.finish() }
    }
    guard let id else {
      continuation.yield(.stopped)
      continuation.finish()
      return stream
    }
    driver.post(.agent(make(id)))
    return stream
  }

  /// Returns the id of an order whose reports `handler` gets; nil after the end of the engine.
  private func addOrder(_ handler: @escaping Handler) -> OrderID? {
    shared.state.withLock { state -> OrderID? in
      guard !state.hasEnded else { return nil }
      state.nextNumber += 1
      let id = OrderID(rawValue: state.nextNumber)
      state.orders[id] = handler
      return id
    }
  }

  /// Calls `handler` with every report from now on, until `stopListening`. After the end of the
  /// engine it is called once with `stopped`.
  func listen(_ handler: @escaping Handler) -> UInt64 {
    let number = shared.state.withLock { state -> UInt64? in
      guard !state.hasEnded else { return nil }
      state.nextNumber += 1
      state.listeners[state.nextNumber] = handler
      return state.nextNumber
    }
    if number == nil { handler(.stopped) }
    return number ?? 0
  }

  func stopListening(_ number: UInt64) {
    _ = shared.state.withLock { $0.listeners.removeValue(forKey: number) }
  }
}

extension AgentReport {
  /// False if more reports about the same order follow.
  fileprivate var isLastOfOrder: Bool {
    if case .chunkRead(_, .success(let portion)) = self { portion.isLast } else { true }
  }

  /// The order that is reported about; nil for reports about none.
  fileprivate var order: OrderID? {
    switch self {
    case .edited(let id, _), .transacted(let id, _), .answered(let id, _), .switched(let id, _),
      .read(let id, _), .stateRead(let id, _), .statusRead(let id, _), .chunkAdded(let id, _),
      .chunkRead(let id, _), .synced(let id, _), .joined(let id, _):
      id
    case .ready, .moved, .changed, .chunkProgress, .milestone, .status, .storeFailed, .stopped: nil
    }
  }
}

extension HomeReport {
  /// True for the report that says that the node is done.
  var isLast: Bool {
    if case .stopped = self { true } else { false }
  }
}
