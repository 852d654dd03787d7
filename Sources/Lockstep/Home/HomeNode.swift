import LockstepClient
import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepRuntime
import LockstepStorage
import LockstepWire

/// Node of the process that holds a home: its agent, and the commands that send requests through
/// the home's socket. It contains no app logic: requests to an app go to the agent unchanged.
///
/// Programs in other languages use the same socket as a local store (`SidecarRequest`). Their
/// requests are performed in order; a program that does not read its answers gets no further ones.
package struct HomeNode: Node, ~Copyable {
  package typealias CommitJob = Agent.CommitJob
  package typealias CommitOutcome = Agent.CommitOutcome
  package typealias FileJob = Agent.FileJob
  package typealias FileOutcome = Agent.FileOutcome
  package typealias Order = HomeOrder
  package typealias Report = HomeReport
  package typealias News = Never

  /// Maximum number of connected commands; a person has a few terminals.
  private static let clientsMax = 32
  /// Maximum bytes of a request: an order with two records of maximum size, such as an edited memo.
  static let lineBytesMax = 4 << 20
  /// Unsent bytes beyond which a client gets no ticks. A stopped terminal (Ctrl-S) reads no lines,
  /// and the ticks would be old by the time it continues.
  private static let untickedBytesMin = 64 << 10
  /// Unsent bytes beyond which a client is disconnected; it can connect again.
  private static let unsentBytesMax = 8 << 20
  /// Requests of a sidecar's client that are performed at once; the next ones wait in the socket.
  private static let requestsMax = 16
  /// Unsent bytes beyond which no further request of a sidecar's client is performed, and changes
  /// wait in its watches.
  private static let unansweredBytesMax = 256 << 10
  /// Watches of one sidecar's client: a program watches a few zones.
  private static let watchesMax = 16

  private struct Client {
    let id: ConnectionID
    var input: [UInt8] = []
    var watch: Watch?
    var watchesMirror = false
    /// Bytes that the client has not read yet.
    var unsent = 0
    /// True after the first `SidecarRequest`.
    var isSidecar = false
    var recordWatches: [RecordWatch] = []
    var isPaused = false

    /// True if it is disconnected for the bytes that it does not read. A sidecar's client gets no
    /// more than it has asked for.
    var isDisconnectedIfSlow: Bool { !isSidecar || watch != nil || watchesMirror }
  }

  /// Records of a zone whose changes are sent to a client.
  private struct RecordWatch {
    let id: JSONValue
    let zone: Name
    let type: Name?
    /// Names of the records that the client knows.
    var shown: Set<Name> = []
    /// Names of records that have changed since they were sent, each once, in the order of the
    /// first change. A client that reads slowly gets the last state of each.
    var changed: [Name] = []
    var changedNames: Set<Name> = []
    /// True while the records are being read.
    var isReading = true
    /// True once the list was sent.
    var isListed = false

    mutating func noteChange(of record: Record) {
      guard record.zone == zone, type == nil || record.type == type || shown.contains(record.name),
        changedNames.insert(record.name).inserted
      else { return }
      changed.append(record.name)
    }
  }

  /// A view that is sent to a client after every change.
  private struct Watch {
    let app: String
    let question: JSONValue
    let isTicking: Bool
    /// `stableJSON` of the view sent last. A client without ticks gets a view only if that has
    /// changed.
    var stableJSON: JSONValue?
    /// Time at which the view changes without any event.
    var changesAt: Instant?
    /// True while the agent's answer is outstanding.
    var isRequested = false
    /// True if something changed since the view was requested.
    var isStale = false
  }

  /// A request that waits for the agent.
  private struct PendingRequest {
    let client: ConnectionID
    var isForWatch = false
    /// Time of the answer at the latest.
    var deadline: Instant?
    var sidecar: PendingSidecarRequest?
    var order: PendingOrder?
  }

  /// An order with terms: a sync, the order itself and its answer, another sync and the status.
  private struct PendingOrder {
    let app: String
    let order: JSONValue
    var terms: OrderTerms
    var isPerformed = false
  }

  /// A `SidecarRequest` that waits for the agent.
  private struct PendingSidecarRequest {
    enum Purpose {
      case answer
      /// The list, or changes, of the watch at this index.
      case watch(Int)
      case sync
    }

    let id: JSONValue
    let purpose: Purpose
    /// True if the answer may have any number of records.
    var isList = false
    let result = SidecarResult()
  }

  /// Makes the type one that is only ever handled by address. The compiler checks every method that
  /// borrows a noncopyable value against all its leaves, unless it is of such a type: that was nine
  /// tenths of this module's build.
  private let byAddress: any Sendable = ()
  /// nil until the home has joined an account.
  private var identity: HomeIdentity?
  private var agent: Agent
  private var status = AgentStatus()
  /// False until the home has been read; until then the requests of commands stay in their input.
  private var isReady = false
  private var clients: [Client] = []
  private var pending: [OrderID: PendingRequest] = [:]
  private var pendingOrders: [OrderID] = []
  private var orders: UInt64 = 0
  /// State of the mirror, as reported last; nil before the first report.
  private var mirror: JSONValue?
  /// Source of the names of new records.
  private var random: SeededRandom
  /// Zones in which only an app of this program makes edits.
  private let appZones: [Name]
  private var actions = ActionQueue<NodeAction<AgentJob, HomeReport, Never>>()

  package init(
    identity: HomeIdentity?, configuration: AgentConfiguration, random: SeededRandom,
    appZones: [Name] = [], at moment: Moment
  ) {
    self.identity = identity
    self.appZones = appZones
    var generator = random
    self.random = generator.branch()
    agent = Agent(configuration, random: random, at: moment)
  }

  package mutating func received(_ id: ConnectionID, _ bytes: RawSpan, at moment: Moment) {
    if id.isOutgoing {
      agent.received(id, bytes, at: moment)
    } else if let index = clients.firstIndex(where: { $0.id == id }) {
      bytes.withUnsafeBytes { clients[index].input.append(contentsOf: $0) }
      handleLines(of: id, at: moment)
    }
    flushActions(at: moment)
  }

  package mutating func handle(
    _ event: NodeEvent<AgentOutcome, HomeOrder, Never>, at moment: Moment
  ) {
    switch event {
    case .opened(let id, let opening) where !id.isOutgoing: addClient(id, opening)
    case .closed(let id, _) where !id.isOutgoing: clients.removeAll { $0.id == id }
    case .drained(let id, let unsent) where !id.isOutgoing:
      if let index = clients.firstIndex(where: { $0.id == id }) {
        clients[index].unsent = unsent
        continueClient(id, at: moment)
      }
    case .opened(let id, let opening): agent.handle(.opened(id, opening), at: moment)
    case .closed(let id, let cause): agent.handle(.closed(id, cause), at: moment)
    case .drained(let id, let unsent): agent.handle(.drained(id, unsent: unsent), at: moment)
    case .finished(let job, let outcome): agent.handle(.finished(job, outcome), at: moment)
    case .deadlineReached:
      agent.handle(.deadlineReached, at: moment)
      answerOverdueRequests(at: moment)
      requestDueViews(at: moment)
    case .ordered(let order): handleOrder(order, at: moment)
    case .holding, .connectionRejected: break
    case .stopping:
      answerPerformedOrders()
      agent.handle(.ordered(.stop), at: moment)
    }
    flushActions(at: moment)
  }

  package mutating func nextAction() -> NodeAction<AgentJob, HomeReport, Never>? {
    actions.popFirst()
  }

  package var nextDeadline: Instant? {
    (pendingOrders.map { pending[$0]?.deadline } + clients.map { nextTick(of: $0) }
      + [agent.nextDeadline])
      .compactMap(\.self).min()
  }

  private static let busy = SidecarFault(
    code: "busy",
    message: "the process that holds this home has \(clientsMax) connections already; close one, "
      + "or try again")

  private mutating func addClient(_ id: ConnectionID, _ opening: Opening) {
    guard clients.count < Self.clientsMax else {
      let bytes = Self.busy.line(.null).serialized() + [UInt8(ascii: "\n")]
      actions.append(.send(id, bytes))
      return actions.append(.close(id, .afterSending))
    }
    clients.append(Client(id: id))
  }

  private mutating func handleLines(of id: ConnectionID, at moment: Moment) {
    while isReady, let index = clients.firstIndex(where: { $0.id == id }), !isBusy(clients[index]),
      let end = clients[index].input.firstIndex(of: UInt8(ascii: "\n"))
    {
      let line = Array(clients[index].input[..<end])
      clients[index].input.removeSubrange(...end)
      handleLine(line, from: id, at: moment)
    }
    guard let index = clients.firstIndex(where: { $0.id == id }) else { return }
    let isBusy = isBusy(clients[index])
    if clients[index].input.count > Self.lineBytesMax, !isBusy {
      clients.remove(at: index)
      return actions.append(.close(id, .now))
    }
    let isPaused = isBusy || hasUnansweredRequests(clients[index])
    guard clients[index].isPaused != isPaused else { return }
    clients[index].isPaused = isPaused
    actions.append(isPaused ? .pauseReading(id) : .resumeReading(id))
  }

  private mutating func handleLine(_ line: [UInt8], from id: ConnectionID, at moment: Moment) {
    let value: JSONValue
    do throws(JSONFault) {
      value = try JSONValue(parsing: line)
    } catch {
      let fault = SidecarFault(
        code: "notJSON", message: "the line is no JSON object: \(error); see docs/sidecar.md")
      return send(fault.line(.null), to: id)
    }
    guard value["verb"] != nil else { return handleSidecarLine(value, from: id, at: moment) }
    guard let request = HomeRequest(value) else {
      return answer(
        id, .failure("unknown request: the process that holds this home may have another version"))
    }
    handleRequest(request, for: id, at: moment)
  }

  private mutating func handleRequest(
    _ request: HomeRequest, for id: ConnectionID, at moment: Moment
  ) {
    switch request {
    case .order(let app, let order, nil):
      agent.handle(.ordered(.perform(newOrder(for: id), app: app, order)), at: moment)
    case .order(let app, let order, let terms?):
      let order = PendingOrder(app: app, order: order, terms: terms)
      terms.before > 0
        ? sync(order, milliseconds: terms.before, for: id, at: moment)
        : perform(order, for: id, at: moment)
    case .show(let app, let question):
      actions.append(.report(.viewRequested))
      agent.handle(.ordered(.show(newOrder(for: id), app: app, question)), at: moment)
    case .sync(let milliseconds):
      let order = newOrder(
        for: id, deadline: moment.instant.advanced(milliseconds: milliseconds))
      agent.handle(.ordered(.syncNow(order)), at: moment)
    case .status: answerStatus(id)
    case .names(let names):
      agent.handle(.ordered(.nameDevices(names)), at: moment)
      answer(id, .success(["names": .number(JSONNumber(Int64(names.count)))]))
      requestViews(at: moment)
    case .mirror(let request): actions.append(.report(.mirrorRequest(id, request)))
    case .mirrorStatus: answer(id, .success(mirror ?? ["files": []]))
    case .wakes(let request): actions.append(.report(.wakesRequest(id, request)))
    case .watchMirror:
      guard let index = clients.firstIndex(where: { $0.id == id }) else { return }
      clients[index].watchesMirror = true
      // Before its first report it is not known whether the mirror has files.
      if let mirror { send(HomeNode.mirrorLine(mirror), to: id) }
      sendStatus(to: index)
    case .setSyncing(let zone, let isOn):
      agent.handle(.ordered(.setSyncing(newOrder(for: id), zone: zone, isOn)), at: moment)
    case .seal(let keys, let zone, let secret):
      let plain = zone.map { PlainRecords.taken(in: $0) } ?? .replaced
      agent.handle(
        .ordered(.seal(newOrder(for: id), keys, plain: plain, deviceSecret: secret)), at: moment)
    case .answerRestore(let app, let wipes):
      agent.handle(
        .ordered(.answerRestore(newOrder(for: id), app: app, wipes: wipes)), at: moment)
    case .credentials:
      guard let identity else { return answer(id, .failure(HomeNode.notJoined)) }
      answer(id, .success(HomeStatus.credentials(identity, cursor: agent.cursor)))
    case .watch(let app, let question, let isTicking):
      guard let index = clients.firstIndex(where: { $0.id == id }) else { return }
      actions.append(.report(.viewRequested))
      clients[index].watch = Watch(app: app, question: question, isTicking: isTicking)
      requestView(index, at: moment)
      sendStatus(to: index)
    }
  }

  /// Handles an order of the mirror or of `HomeNames`.
  private mutating func handleOrder(_ order: HomeOrder, at moment: Moment) {
    switch order {
    case .agent(.nameDevices(let names)):
      agent.handle(.ordered(.nameDevices(names)), at: moment)
      requestViews(at: moment)
    case .agent(let order): agent.handle(.ordered(order), at: moment)
    case .answer(let id, let reply): answer(id, reply)
    case .mirrorState(let mirror):
      self.mirror = mirror
      for client in clients
      where client.watchesMirror && client.unsent <= Self.untickedBytesMin {
        send(HomeNode.mirrorLine(mirror), to: client.id)
      }
    }
  }

  private static func mirrorLine(_ mirror: JSONValue) -> JSONValue {
    .object([JSONMember("mirror", mirror)])
  }

  private mutating func newOrder(
    for id: ConnectionID, isForWatch: Bool = false, deadline: Instant? = nil,
    sidecar: PendingSidecarRequest? = nil, order: PendingOrder? = nil
  ) -> OrderID {
    orders += 1
    let number = OrderID(rawValue: orders)
    pending[number] = PendingRequest(
      client: id, isForWatch: isForWatch, deadline: deadline, sidecar: sidecar, order: order)
    pendingOrders.append(number)
    return number
  }

  private mutating func removePending(_ order: OrderID) -> PendingRequest? {
    pendingOrders.removeAll { $0 == order }
    return pending.removeValue(forKey: order)
  }

  private mutating func answerOverdueRequests(at moment: Moment) {
    for order in pendingOrders {
      guard let deadline = pending[order]?.deadline, deadline <= moment.instant,
        let overdue = removePending(order)
      else { continue }
      answerSync(overdue, at: moment)
      continueClient(overdue.client, at: moment)
    }
  }

  private mutating func flushActions(at moment: Moment) {
    while let action = agent.nextAction() {
      let forwarded = action.map(job: \.self) { report -> HomeReport? in
        handleReport(report, at: moment)
        return nil
      }
      if let forwarded { actions.append(forwarded) }
    }
    let stalled = clients.filter {
      $0.isDisconnectedIfSlow && $0.unsent > Self.unsentBytesMax
    }
    clients.removeAll { client in stalled.contains { $0.id == client.id } }
    for client in stalled { actions.append(.close(client.id, .now)) }
  }

  private mutating func handleReport(_ report: AgentReport, at moment: Moment) {
    switch report {
    case .ready(let status):
      self.status = status
      forward(report)
      forward(.status(status))
      isReady = true
      for client in clients { handleLines(of: client.id, at: moment) }
    case .answered(let order, let result): handleResult(order, result, at: moment)
    case .changed(let records):
      forward(report)
      requestViews(at: moment)
      noteChanges(records, at: moment)
    case .status(let status):
      forward(report)
      let isSame =
        status.clockOffset == self.status.clockOffset && status.asking == self.status.asking
      self.status = status
      if !isSame { requestViews(at: moment) }
      for index in clients.indices
      where clients[index].watch != nil || clients[index].watchesMirror {
        sendStatus(to: index)
      }
    case .synced(let order, let status):
      self.status = status
      guard let request = removePending(order) else { return forward(report) }
      answerSync(request, at: moment)
      continueClient(request.client, at: moment)
    case .transacted(let order, let result):
      guard let request = removePending(order) else { return forward(report) }
      handleSidecarResult(request, result, at: moment)
    case .storeFailed(let error): actions.append(.report(.failed(error)))
    case .stopped: actions.append(.report(.stopped))
    case .switched(let order, let result):
      guard let request = removePending(order) else { return forward(report) }
      switch result {
      case .success(let isOther):
        answer(request.client, .success(["changed": .bool(isOther)]))
        requestViews(at: moment)
      case .failure(let failure): answer(request.client, .failure(failure.explanation))
      }
    case .joined(_, let result):
      if case .success(let identity) = result { self.identity = identity }
      forward(report)
    case .moved(let identity):
      self.identity = identity
      forward(report)
    case .edited, .read, .stateRead, .statusRead, .chunkAdded, .chunkRead,
      .chunkProgress:
      forward(report)
    // A home does not trace changes.
    case .milestone: break
    }
  }

  private static var notJoined: String {
    localized("this home has not joined an account; see lockstep agent join --help")
  }

  private mutating func answerStatus(_ id: ConnectionID) {
    guard let identity else { return answer(id, .failure(HomeNode.notJoined)) }
    answer(id, .success(HomeStatus(identity: identity, status: status).json))
  }

  /// Forwards the report to the process. All orders that no command gave are its own.
  private mutating func forward(_ report: AgentReport) {
    actions.append(.report(.agentReport(report)))
  }

  private mutating func handleResult(
    _ order: OrderID, _ result: Result<AppView, EditFailure>, at moment: Moment
  ) {
    guard let request = removePending(order) else { return }
    switch result {
    case .success(let view) where request.isForWatch:
      sendView(view, to: request.client, at: moment)
    case .success(let view):
      guard var order = request.order else {
        return answer(request.client, .success(HomeNode.line(view)))
      }
      // At once: the command must know it, even if this process dies during the wait.
      answer(
        request.client, .success(HomeNode.line(view).setting("statusFollows", to: .bool(true))))
      order.isPerformed = true
      order.terms.after > 0
        ? sync(order, milliseconds: order.terms.after, for: request.client, at: moment)
        : answerStatus(request.client)
    case .failure(let failure):
      if let index = clients.firstIndex(where: { $0.id == request.client }), request.isForWatch {
        clients[index].watch = nil
      }
      answer(request.client, .failure(failure.explanation))
    }
  }

  // MARK: orders with terms

  private mutating func sync(
    _ order: PendingOrder, milliseconds: Int64, for id: ConnectionID, at moment: Moment
  ) {
    let deadline = moment.instant.advanced(milliseconds: milliseconds)
    let number = newOrder(for: id, deadline: deadline, order: order)
    agent.handle(.ordered(.syncNow(number)), at: moment)
  }

  /// Continues after a sync, which may have failed.
  private mutating func continueOrder(
    _ order: PendingOrder, for id: ConnectionID, at moment: Moment
  ) {
    if order.isPerformed { return answerStatus(id) }
    var order = order
    if homeStatus?.isInReach != true { order.terms.after = 0 }
    perform(order, for: id, at: moment)
  }

  private mutating func perform(_ order: PendingOrder, for id: ConnectionID, at moment: Moment) {
    if order.terms.asksFirst, let status = homeStatus, status.restoreCount(of: order.app) != nil {
      return answer(id, .success(["status": status.json]))
    }
    let number = newOrder(for: id, order: order)
    agent.handle(.ordered(.perform(number, app: order.app, order.order)), at: moment)
  }

  /// Sends the status after orders that were performed and wait for a sync: the process ends.
  private mutating func answerPerformedOrders() {
    for number in pendingOrders where pending[number]?.order?.isPerformed == true {
      if let request = removePending(number) { answerStatus(request.client) }
    }
  }

  /// The sync status; nil until the home has joined an account.
  private var homeStatus: HomeStatus? {
    identity.map { HomeStatus(identity: $0, status: status) }
  }

  private static func line(_ view: AppView) -> JSONValue {
    ["view": view.json, "lines": .array(view.lines.map { .string($0) })]
  }

  // MARK: programs in other languages

  /// True if the client's next requests have to wait. A list is in memory until the client has read
  /// it, so the lists of a client are read one after the other.
  private func isBusy(_ client: Client) -> Bool {
    guard client.isSidecar else { return false }
    if client.unsent > Self.unansweredBytesMax { return true }
    var requests = 0
    for order in pendingOrders {
      guard let request = pending[order], request.client == client.id else { continue }
      if request.sidecar?.isList == true { return true }
      requests += 1
    }
    return requests >= Self.requestsMax
  }

  /// True if reading pauses until the client's requests are answered: it may end its stream after
  /// them, and a connection whose end was read gets no later answers. `sync` may take long, so the
  /// next requests do not wait for it.
  private func hasUnansweredRequests(_ client: Client) -> Bool {
    guard client.isSidecar else { return false }
    return pendingOrders.contains { order in
      guard let request = pending[order], request.client == client.id else { return false }
      if case .sync = request.sidecar?.purpose { return false }
      return true
    }
  }

  /// Continues with what had to wait for an answer, or for the client to read.
  private mutating func continueClient(_ id: ConnectionID, at moment: Moment) {
    guard let index = clients.firstIndex(where: { $0.id == id }), clients[index].isSidecar else {
      return
    }
    readChanges(of: index, at: moment)
    handleLines(of: id, at: moment)
  }

  private mutating func handleSidecarLine(
    _ line: JSONValue, from client: ConnectionID, at moment: Moment
  ) {
    guard let index = clients.firstIndex(where: { $0.id == client }) else { return }
    clients[index].isSidecar = true
    var id = JSONValue.null
    do throws(SidecarFault) {
      id = try SidecarRequest.id(of: line)
      let request = try SidecarRequest(line, random: &random)
      try handleSidecarRequest(request, id, index, at: moment)
    } catch {
      send(error.line(id), to: client)
    }
  }

  private mutating func handleSidecarRequest(
    _ request: SidecarRequest, _ id: JSONValue, _ index: Int, at moment: Moment
  ) throws(SidecarFault) {
    let client = clients[index].id
    var pending = PendingSidecarRequest(id: id, purpose: .answer)
    let result = pending.result
    switch request {
    case .hello: send(hello(id), to: client)
    case .status: send(["id": id, "status": try statusJSON()], to: client)
    case .edits(let edits, let isTransaction):
      let script = SidecarScript.edits(
        edits, isTransaction: isTransaction, id, appZones: appZones, result)
      transact(pending, script, for: client, at: moment)
    case .record(let key):
      transact(pending, SidecarScript.record(key, id, result), for: client, at: moment)
    case .records(let zone, let type):
      pending.isList = true
      let script = SidecarScript.records(zone: zone, type: type, namesThem: false, id, result)
      transact(pending, script, for: client, at: moment)
    case .conflicts(let zone):
      pending.isList = true
      transact(pending, SidecarScript.conflicts(zone: zone, id, result), for: client, at: moment)
    case .decide(let key, let keepLocal):
      let script = SidecarScript.decide(key, keepLocal: keepLocal, id, result)
      transact(pending, script, for: client, at: moment)
    case .watch(let zone, let type):
      let watches = clients[index].recordWatches.count
      guard watches < Self.watchesMax else {
        throw SidecarFault(
          code: "tooManyWatches",
          message: "a connection has at most \(Self.watchesMax) watches; open another one")
      }
      clients[index].recordWatches.append(RecordWatch(id: id, zone: zone, type: type))
      let pending = PendingSidecarRequest(id: id, purpose: .watch(watches), isList: true)
      let script = SidecarScript.records(
        zone: zone, type: type, namesThem: true, id, pending.result)
      transact(pending, script, for: client, at: moment)
    case .sync(let milliseconds):
      _ = try statusJSON()
      let order = newOrder(
        for: client, deadline: moment.instant.advanced(milliseconds: milliseconds),
        sidecar: PendingSidecarRequest(id: id, purpose: .sync))
      agent.handle(.ordered(.syncNow(order)), at: moment)
    }
  }

  private mutating func transact(
    _ request: PendingSidecarRequest, _ script: @escaping EditScript, for client: ConnectionID,
    at moment: Moment
  ) {
    let order = newOrder(for: client, sidecar: request)
    agent.handle(.ordered(.transact(order, script)), at: moment)
  }

  private func hello(_ id: JSONValue) -> JSONValue {
    func text(_ value: String?) -> JSONValue { value.map { .string($0) } ?? .null }
    return [
      "id": id, "protocol": .number(JSONNumber(SidecarRequest.version)),
      "account": text(identity?.credentials.account.text),
      "device": text(identity?.credentials.device.text), "deviceName": text(identity?.deviceName),
      "relay": text(identity?.relay),
    ]
  }

  private func statusJSON() throws(SidecarFault) -> JSONValue {
    guard let identity else { throw SidecarFault(.notJoined) }
    return HomeStatus(identity: identity, status: status).json
  }

  /// Answers `sync` with the status.
  private mutating func answerSync(_ request: PendingRequest, at moment: Moment) {
    if let order = request.order { return continueOrder(order, for: request.client, at: moment) }
    guard let sidecar = request.sidecar else { return answerStatus(request.client) }
    do throws(SidecarFault) {
      send(["id": sidecar.id, "status": try statusJSON()], to: request.client)
    } catch {
      send(error.line(sidecar.id), to: request.client)
    }
  }

  private mutating func handleSidecarResult(
    _ request: PendingRequest, _ result: Result<[Record], EditFailure>, at moment: Moment
  ) {
    guard let sidecar = request.sidecar else { return }
    let content = sidecar.result.value
    let client = request.client
    switch (result, sidecar.purpose) {
    case (.failure(let failure), .watch(let watch)):
      if let index = clients.firstIndex(where: { $0.id == client }) {
        endWatch(watch, of: index, SidecarFault(failure))
      }
    case (.failure(let failure), _):
      // After a failure of the store, that of the script may be missing.
      var fault = SidecarFault(failure)
      if case .refused = failure { fault = content.fault ?? fault }
      send(fault.line(sidecar.id), to: client)
    case (.success, .watch(let watch)): sendRecords(content, watch, of: client)
    case (.success, _):
      for line in content.lines { sendBytes(line, to: client) }
    }
    continueClient(client, at: moment)
  }

  private mutating func sendRecords(
    _ content: SidecarResult.Content, _ watch: Int, of client: ConnectionID
  ) {
    guard let index = clients.firstIndex(where: { $0.id == client }) else { return }
    clients[index].recordWatches[watch].isReading = false
    let id = clients[index].recordWatches[watch].id
    guard clients[index].recordWatches[watch].isListed else {
      clients[index].recordWatches[watch].isListed = true
      clients[index].recordWatches[watch].shown = Set(content.read.map(\.name))
      for line in content.lines { sendBytes(line, to: client) }
      return
    }
    var changed: [JSONValue] = []
    var deleted: [JSONValue] = []
    for (name, json) in content.read {
      if let json {
        changed.append(json)
        clients[index].recordWatches[watch].shown.insert(name)
      } else if clients[index].recordWatches[watch].shown.remove(name) != nil {
        deleted.append(.string(name.text))
      }
    }
    var members = [JSONMember("id", id)]
    if !changed.isEmpty { members.append(JSONMember("changed", .array(changed))) }
    if !deleted.isEmpty { members.append(JSONMember("deleted", .array(deleted))) }
    if members.count > 1 { send(.object(members), to: client) }
  }

  /// A watch whose records cannot be read ends, so that the program opens another one.
  private mutating func endWatch(_ watch: Int, of index: Int, _ fault: SidecarFault) {
    let client = clients[index].id
    send(fault.line(clients[index].recordWatches[watch].id), to: client)
    // It stays busy reading, so nothing more is sent for it.
    clients[index].recordWatches[watch].changed = []
    clients[index].recordWatches[watch].isReading = true
  }

  private mutating func noteChanges(_ records: [Record], at moment: Moment) {
    for index in clients.indices where !clients[index].recordWatches.isEmpty {
      for watch in clients[index].recordWatches.indices {
        for record in records { clients[index].recordWatches[watch].noteChange(of: record) }
      }
      readChanges(of: index, at: moment)
    }
  }

  /// Maximum number of changed records that are read for one line.
  private static let changesMax = 100

  /// Reads what has changed for the watches of a client, unless it does not read its lines.
  private mutating func readChanges(of index: Int, at moment: Moment) {
    guard clients[index].unsent <= Self.unansweredBytesMax else { return }
    for watch in clients[index].recordWatches.indices {
      let state = clients[index].recordWatches[watch]
      guard !state.isReading, !state.changed.isEmpty else { continue }
      let names = Array(state.changed.prefix(Self.changesMax))
      clients[index].recordWatches[watch].changed.removeFirst(names.count)
      clients[index].recordWatches[watch].changedNames.subtract(names)
      clients[index].recordWatches[watch].isReading = true
      let request = PendingSidecarRequest(id: state.id, purpose: .watch(watch))
      let script = SidecarScript.changes(
        zone: state.zone, type: state.type, names, request.result)
      transact(request, script, for: clients[index].id, at: moment)
    }
  }

  // MARK: watching clients

  /// Requests the view that a client watches.
  private mutating func requestView(_ index: Int, at moment: Moment) {
    guard let watch = clients[index].watch else { return }
    clients[index].watch?.changesAt = nil
    guard !watch.isRequested else {
      clients[index].watch?.isStale = true
      return
    }
    clients[index].watch?.isRequested = true
    let order = newOrder(for: clients[index].id, isForWatch: true)
    agent.handle(.ordered(.show(order, app: watch.app, watch.question)), at: moment)
  }

  private mutating func requestViews(at moment: Moment) {
    for index in clients.indices { requestView(index, at: moment) }
  }

  private mutating func sendView(_ view: AppView, to id: ConnectionID, at moment: Moment) {
    guard let index = clients.firstIndex(where: { $0.id == id }), var watch = clients[index].watch
    else { return }
    let isNew = watch.stableJSON != view.stableJSON
    let relayTime = agent.relayTime(at: moment)
    watch.stableJSON = view.stableJSON
    watch.isRequested = false
    watch.changesAt = view.changesAt.map {
      moment.instant.advanced(milliseconds: max(1, $0 - relayTime))
    }
    let wasStale = watch.isStale
    watch.isStale = false
    clients[index].watch = watch
    if isNew || (watch.isTicking && clients[index].unsent <= Self.untickedBytesMin) {
      // A client that counts by itself uses the relay's clock, as all others do.
      let clock = JSONValue.number(JSONNumber(relayTime - moment.wall))
      send(HomeNode.line(view).setting("clock", to: clock), to: id)
    }
    if wasStale { requestView(index, at: moment) }
  }

  /// Returns the time at which a client with ticks is due for its view.
  private func nextTick(of client: Client) -> Instant? {
    guard let watch = client.watch, watch.isTicking, !watch.isRequested else { return nil }
    return watch.changesAt
  }

  private mutating func requestDueViews(at moment: Moment) {
    for index in clients.indices {
      if let due = nextTick(of: clients[index]), due <= moment.instant {
        requestView(index, at: moment)
      }
    }
  }

  private mutating func sendStatus(to index: Int) {
    guard let identity else { return }
    let status = HomeStatus(identity: identity, status: status).json
    send(.object([JSONMember("status", status)]), to: clients[index].id)
  }

  private mutating func answer(_ id: ConnectionID, _ reply: HomeReply) {
    send(reply.line, to: id)
  }

  private mutating func send(_ line: JSONValue, to id: ConnectionID) {
    sendBytes(line.serialized() + [UInt8(ascii: "\n")], to: id)
  }

  private mutating func sendBytes(_ bytes: [UInt8], to id: ConnectionID) {
    guard let index = clients.firstIndex(where: { $0.id == id }) else { return }
    actions.append(.send(id, bytes))
    // `drained` reports what the kernel has no room for; from then on bytes are added up here.
    guard clients[index].unsent > 0 else { return }
    clients[index].unsent += bytes.count
  }
}
