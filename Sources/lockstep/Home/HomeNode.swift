import Apps
import Changes
import Devices
import Link
import Storage
import Tools

/// The process that holds a home: its agent, and the commands that hand it their orders through
/// the home's socket.
struct HomeNode: Node, ~Copyable {
  typealias Job = AgentJob
  typealias Outcome = AgentOutcome
  typealias Order = Never
  typealias Report = HomeReport
  typealias News = Never

  /// Commands that may be connected at a time; a person has a few terminals.
  private static let clientsMax = 32
  private static let lineBytesMax = 64 << 10
  /// A terminal that is halted (Ctrl-S) takes no lines: beyond this it gets no ticks, which would
  /// be old by the time it goes on.
  private static let untickedBytesMin = 64 << 10
  /// Beyond this a client that takes nothing is cut off; it can ask anew.
  private static let unsentBytesMax = 1 << 20

  private struct Client {
    let id: ConnectionID
    var input: [UInt8] = []
    var isWatching = false
    /// The last screen that a watcher was shown: it is told of changes alone, unless it ticks.
    var face: TimerScreen.Face?
    var isTicking = false
    /// Bytes that wait for the client to take them.
    var unsent = 0
  }

  /// A request that waits for its agent.
  private struct Pending {
    let client: ConnectionID
    /// When to answer in any case.
    var deadline: Instant?
  }

  private let identity: HomeIdentity
  private var agent: Agent
  private var status = SyncStatus()
  /// The home was read; until then what commands ask waits in their input.
  private var isReady = false
  private var current: Record?
  private var settings: Record?
  private var clients: [Client] = []
  private var pending: [OrderID: Pending] = [:]
  private var waiting: [OrderID] = []
  private var orders: UInt64 = 0
  /// When the line of a ticking watcher's screen reads otherwise.
  private var nextTick: Instant?
  private var stateOrder: OrderID?
  private var settingsOrder: OrderID?
  private var actions = ActionQueue<NodeAction<AgentJob, HomeReport, Never>>()

  init(
    identity: HomeIdentity, configuration: AgentConfiguration, random: SeededRandom,
    at moment: Moment
  ) {
    self.identity = identity
    agent = Agent(configuration, random: random, at: moment)
  }

  mutating func received(_ id: ConnectionID, _ bytes: RawSpan, at moment: Moment) {
    if id.isOutgoing {
      agent.received(id, bytes, at: moment)
    } else if let index = clients.firstIndex(where: { $0.id == id }) {
      bytes.withUnsafeBytes { clients[index].input.append(contentsOf: $0) }
      takeLines(of: id, at: moment)
    }
    settle(at: moment)
  }

  mutating func handle(_ event: NodeEvent<AgentOutcome, Never, Never>, at moment: Moment) {
    switch event {
    case .opened(let id, let opening) where !id.isOutgoing: welcome(id, opening)
    case .closed(let id, _) where !id.isOutgoing: clients.removeAll { $0.id == id }
    case .drained(let id, let unsent) where !id.isOutgoing:
      if let index = clients.firstIndex(where: { $0.id == id }) { clients[index].unsent = unsent }
    case .opened(let id, let opening): agent.handle(.opened(id, opening), at: moment)
    case .closed(let id, let cause): agent.handle(.closed(id, cause), at: moment)
    case .drained(let id, let unsent): agent.handle(.drained(id, unsent: unsent), at: moment)
    case .finished(let job, let outcome): agent.handle(.finished(job, outcome), at: moment)
    case .deadlineReached:
      agent.handle(.deadlineReached, at: moment)
      answerOverdue(at: moment)
      if let nextTick, nextTick <= moment.instant { tick(at: moment) }
    case .stopping: agent.handle(.ordered(.stop), at: moment)
    }
    settle(at: moment)
  }

  mutating func nextAction() -> NodeAction<AgentJob, HomeReport, Never>? { actions.popFirst() }

  var nextDeadline: Instant? {
    (waiting.map { pending[$0]?.deadline } + [nextTick, agent.nextDeadline]).compactMap(\.self)
      .min()
  }

  private mutating func welcome(_ id: ConnectionID, _ opening: Opening) {
    guard clients.count < Self.clientsMax else {
      actions.append(.close(id, .now))
      return
    }
    clients.append(Client(id: id))
  }

  private mutating func takeLines(of id: ConnectionID, at moment: Moment) {
    while isReady, let index = clients.firstIndex(where: { $0.id == id }),
      let end = clients[index].input.firstIndex(of: UInt8(ascii: "\n"))
    {
      let line = Array(clients[index].input[..<end])
      clients[index].input.removeSubrange(...end)
      take(line, from: id, at: moment)
    }
    if let index = clients.firstIndex(where: { $0.id == id }),
      clients[index].input.count > Self.lineBytesMax
    {
      clients.remove(at: index)
      actions.append(.close(id, .now))
    }
  }

  private mutating func take(_ line: [UInt8], from id: ConnectionID, at moment: Moment) {
    do throws(JSONFault) {
      guard let request = HomeRequest(try JSONValue(parsing: line)) else {
        return answer(id, .failure("this home's process does not know that request"))
      }
      perform(request, for: id, at: moment)
    } catch {
      answer(id, .failure("the request is not JSON"))
    }
  }

  private mutating func perform(_ request: HomeRequest, for id: ConnectionID, at moment: Moment) {
    switch request {
    case .timer(let event):
      let order = newOrder(for: id)
      agent.handle(.ordered(.edit(order, .timer(event, settings: settings))), at: moment)
    case .sync(let milliseconds):
      let order = newOrder(
        for: id, deadline: moment.instant.advanced(milliseconds: milliseconds))
      agent.handle(.ordered(.syncNow(order)), at: moment)
    case .screen: answer(id, .success(shown(screen(at: moment))))
    case .status: answer(id, .success(HomeStatus(identity: identity, status: status).json))
    case .credentials: answer(id, .success(HomeStatus.secret(identity)))
    case .watch(let isTicking):
      guard let index = clients.firstIndex(where: { $0.id == id }) else { return }
      clients[index].isWatching = true
      clients[index].isTicking = isTicking
      show(to: index, at: moment)
      tellStatus(to: index)
      armTick(at: moment)
    }
  }

  private mutating func newOrder(for id: ConnectionID, deadline: Instant? = nil) -> OrderID {
    orders += 1
    let order = OrderID(rawValue: orders)
    pending[order] = Pending(client: id, deadline: deadline)
    waiting.append(order)
    return order
  }

  private mutating func finish(_ order: OrderID) -> Pending? {
    waiting.removeAll { $0 == order }
    return pending.removeValue(forKey: order)
  }

  private mutating func answerOverdue(at moment: Moment) {
    for order in waiting {
      guard let deadline = pending[order]?.deadline, deadline <= moment.instant,
        let overdue = finish(order)
      else { continue }
      answer(overdue.client, .success(HomeStatus(identity: identity, status: status).json))
    }
  }

  /// Relay time, as far as it is known.
  private func relayTime(at moment: Moment) -> Int64 { moment.wall + (status.clockOffset ?? 0) }

  private func screen(at moment: Moment) -> TimerScreen {
    TimerScreen(TimerApp.state(of: current), at: relayTime(at: moment))
  }

  private mutating func settle(at moment: Moment) {
    while let action = agent.nextAction() {
      switch action {
      case .report(let report): take(report, at: moment)
      case .open(let id, let address): actions.append(.open(id, address))
      case .send(let id, let bytes): actions.append(.send(id, bytes))
      case .multicast(let bytes, let ids): actions.append(.multicast(bytes, ids))
      case .close(let id, let manner): actions.append(.close(id, manner))
      case .pauseReading(let id): actions.append(.pauseReading(id))
      case .resumeReading(let id): actions.append(.resumeReading(id))
      case .run(let id, let lane, let job): actions.append(.run(id, lane, job))
      }
    }
    let stalled = clients.filter { $0.unsent > Self.unsentBytesMax }
    clients.removeAll { $0.unsent > Self.unsentBytesMax }
    for client in stalled { actions.append(.close(client.id, .now)) }
  }

  private mutating func take(_ report: AgentReport, at moment: Moment) {
    switch report {
    case .ready(let status):
      self.status = status
      orders += 2
      stateOrder = OrderID(rawValue: orders - 1)
      settingsOrder = OrderID(rawValue: orders)
      for (order, key) in [
        (OrderID(rawValue: orders - 1), TimerApp.stateKey),
        (OrderID(rawValue: orders), TimerApp.settingsKey),
      ] {
        agent.handle(.ordered(.readRecord(order, key)), at: moment)
      }
    case .read(let order, let result): takeRead(order, result, at: moment)
    case .edited(let order, let result): takeEdit(order, result, at: moment)
    case .changed(let records): takeChanges(records, at: moment)
    case .status(let status):
      let isSameClock = status.clockOffset == self.status.clockOffset
      self.status = status
      if !isSameClock { tick(at: moment) }
      for index in clients.indices where clients[index].isWatching { tellStatus(to: index) }
    case .synced(let order, let status):
      self.status = status
      guard let asked = finish(order) else { return }
      answer(asked.client, .success(HomeStatus(identity: identity, status: status).json))
    case .storeFailed(let error): actions.append(.report(.failed(error)))
    case .stopped: actions.append(.report(.stopped))
    case .statusRead, .pieceAdded, .pieceRead, .pieceProgress: break
    }
  }

  private mutating func takeRead(
    _ order: OrderID, _ result: Result<[Record], StorageError>, at moment: Moment
  ) {
    guard case .success(let records) = result else { return }
    if order == stateOrder, current == nil { current = records.first }
    if order == settingsOrder {
      if settings == nil { settings = records.first }
      isReady = true
      for client in clients { takeLines(of: client.id, at: moment) }
    }
  }

  private mutating func takeEdit(
    _ order: OrderID, _ result: Result<Record, EditFailure>, at moment: Moment
  ) {
    guard let asked = finish(order) else { return }
    switch result {
    case .success(let record):
      current = record
      answer(asked.client, .success(shown(screen(at: moment))))
    case .failure(let failure): answer(asked.client, .failure(failure.explanation))
    }
  }

  private mutating func takeChanges(_ records: [Record], at moment: Moment) {
    for record in records {
      if record.key == TimerApp.stateKey { current = record }
      if record.key == TimerApp.settingsKey { settings = record }
    }
    for index in clients.indices where clients[index].isWatching { show(to: index, at: moment) }
    armTick(at: moment)
  }

  private mutating func tick(at moment: Moment) {
    for index in clients.indices
    where clients[index].isTicking && clients[index].unsent <= Self.untickedBytesMin {
      clients[index].face = nil
      show(to: index, at: moment)
    }
    armTick(at: moment)
  }

  private mutating func armTick(at moment: Moment) {
    guard clients.contains(where: \.isTicking) else {
      nextTick = nil
      return
    }
    let screen = screen(at: moment)
    nextTick = screen.nextLineAt.map { moment.instant.advanced(milliseconds: $0 - screen.at) }
  }

  private func shown(_ screen: TimerScreen) -> JSONValue {
    .object([JSONMember("screen", screen.json), JSONMember("line", .string(screen.line))])
  }

  private mutating func show(to index: Int, at moment: Moment) {
    let screen = screen(at: moment)
    guard clients[index].face != screen.face else { return }
    clients[index].face = screen.face
    tell(clients[index].id, shown(screen))
  }

  private mutating func tellStatus(to index: Int) {
    let status = HomeStatus(identity: identity, status: status).json
    tell(clients[index].id, .object([JSONMember("status", status)]))
  }

  private mutating func answer(_ id: ConnectionID, _ reply: HomeReply) { tell(id, reply.line) }

  private mutating func tell(_ id: ConnectionID, _ line: JSONValue) {
    guard let index = clients.firstIndex(where: { $0.id == id }) else { return }
    let bytes = line.serialized() + [UInt8(ascii: "\n")]
    actions.append(.send(id, bytes))
    // What the kernel has no room for is told by `drained`; from then on it adds up.
    guard clients[index].unsent > 0 else { return }
    clients[index].unsent += bytes.count
  }
}
