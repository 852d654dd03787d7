import LockstepClient
import LockstepCrypto
import LockstepModel
import LockstepRuntime
import LockstepWebPush
import LockstepWire

/// The devices of a wake bench, their push service, and the devices that make the changes: one
/// change for each device. Sleeping devices read and decrypt their push, and fetch what they lack
/// over a connection of its own.
package struct WakeLoadNode: Node, ~Copyable {
  package typealias Order = LoadOrder
  package typealias News = Never

  package enum Report: LoadThreadReport {
    /// All devices are as they are to be before the first change.
    case ready
    /// All devices have their change.
    case done(WakeRun)
    case failed(String)
    /// The node has stopped, as ordered. `pushes`: all that arrived.
    case stopped(pushes: Int)

    package var failure: String? { if case .failed(let reason) = self { reason } else { nil } }

    package var isLast: Bool {
      switch self {
      case .failed, .stopped: true
      case .ready, .done: false
      }
    }
  }

  /// Use of a connection.
  private enum Use {
    /// A relay's connection to the push service.
    case push(HTTPRequestParser, target: String, body: [UInt8])
    /// Saves, one after the other; `member`: the one under way.
    case saver(HTTPResponseParser, member: Int?)
    /// A woken device that fetches its changes.
    case fetch(HTTPResponseParser, member: Int, body: [UInt8])
    case socket(RawSocket, member: Int)
  }

  private let relay: RelayAddress
  private let way: WakeWay
  private let members: [WakeMember]
  private let key: P256PrivateKey
  private let auth: [UInt8]
  /// Nanoseconds between two changes.
  private let interval: Int64
  /// Name of the record that this run creates in each account.
  private let record: String
  private var random: SeededRandom
  private var uses: [ConnectionID: Use] = [:]
  private var connections: UInt64 = 0
  private var isReady = false
  private var isFinished = false
  private var begunAt: Instant?
  /// Changes that are due and wait for a connection.
  private var waiting = FIFOQueue<Int>()
  private var idleSavers: [ConnectionID] = []
  private var dueCount = 0
  private var savedCount = 0
  private var arrivedCount = 0
  private var hasArrived: [Bool]
  private var openSockets = 0
  private var unopened: FIFOQueue<Int>
  private var run = WakeRun()
  private var actions = ActionQueue<NodeAction<NoJob, Report, Never>>()

  /// `rate`: changes per second; 0: as fast as the saves are answered.
  package init(
    _ members: [WakeMember], by way: WakeWay, rate: Int, to relay: RelayAddress,
    key: P256PrivateKey, auth: [UInt8], random: SeededRandom
  ) {
    self.members = members
    self.way = way
    self.relay = relay
    self.key = key
    self.auth = auth
    self.random = random
    record = "r" + String(self.random.next(), radix: 16)
    interval = rate == 0 ? 0 : 1_000_000_000 / Int64(rate)
    hasArrived = Array(repeating: false, count: members.count)
    unopened = FIFOQueue()
    if way == .socket { for index in members.indices { unopened.append(index) } }
    for _ in 0..<WakePlan.saverConnections {
      open(.saver(HTTPResponseParser(), member: nil))
    }
    openSocketsNext()
  }

  // MARK: node

  package var nextDeadline: Instant? {
    guard !isFinished, begunAt != nil, dueCount < members.count else { return nil }
    return dueAt(dueCount)
  }

  package mutating func nextAction() -> NodeAction<NoJob, Report, Never>? { actions.popFirst() }

  package mutating func handle(_ event: NodeEvent<NoJob, LoadOrder, Never>, at moment: Moment) {
    switch event {
    case .opened(let id, _): handleOpened(id)
    case .closed(let id, let cause): handleClosed(id, cause)
    case .ordered(.openWindow):
      begunAt = moment.instant
      makeDueChanges(at: moment.instant)
    case .deadlineReached: makeDueChanges(at: moment.instant)
    case .stopping: finish(.stopped(pushes: run.pushes))
    case .ordered(.closeWindow), .drained, .holding, .connectionRejected, .finished: break
    }
  }

  package mutating func received(_ id: ConnectionID, _ bytes: RawSpan, at moment: Moment) {
    guard !isFinished, let use = uses.removeValue(forKey: id) else { return }
    do throws(Refusal) {
      switch use {
      case .push(let parser, let target, let body):
        try readPush(id, parser, target, body, bytes)
      case .saver(let parser, let member): try readSave(id, parser, member, bytes, at: moment)
      case .fetch(let parser, let member, let body):
        try readFetch(id, parser, member, body, bytes, at: moment)
      case .socket(let socket, let member): readSocket(id, socket, member, bytes, at: moment)
      }
    } catch {
      fail(error.detail)
    }
  }

  // MARK: connections

  private mutating func open(_ use: Use) {
    connections += 1
    let id = ConnectionID.outgoing(connections)
    uses[id] = use
    actions.append(.open(id, relay.peer))
  }

  private mutating func handleOpened(_ id: ConnectionID) {
    switch uses[id] {
    case nil: uses[id] = .push(HTTPRequestParser(), target: "", body: [])
    case .saver:
      idleSavers.append(id)
      saveNext()
      reportReady()
    case .fetch(var parser, let member, let body):
      parser.expectAnswer(to: "GET")
      uses[id] = .fetch(parser, member: member, body: body)
      let since = RequestTarget.QueryItem(name: "since", value: members[member].since.text)
      actions.append(
        .send(
          id,
          HTTPWriter.request(
            method: "GET",
            target: RequestTarget(path: ["v1", "changes"], query: [since]), host: relay.authority,
            headers: [
              "Authorization": "Bearer " + members[member].token, "Connection": "close",
            ])))
    case .socket(var socket, let member):
      actions.append(.send(id, socket.opened()))
      uses[id] = .socket(socket, member: member)
    case .push: break
    }
  }

  private mutating func handleClosed(_ id: ConnectionID, _ cause: CloseCause) {
    switch uses.removeValue(forKey: id) {
    // The relay keeps a connection to a push service only while it has pushes for it.
    case .push, nil: break
    case .saver, .fetch, .socket: fail("a connection to the relay was lost: \(cause)")
    }
  }

  private mutating func openSocketsNext() {
    while uses.count - idleSavers.count - openSockets < 64, let member = unopened.popFirst() {
      let socket = RawSocket(
        .outgoing(connections + 1), to: relay, token: members[member].token,
        random: random.branch())
      open(.socket(socket, member: member))
    }
  }

  private mutating func reportReady() {
    let hasSockets = way != .socket || openSockets == members.count
    guard !isReady, hasSockets, idleSavers.count == WakePlan.saverConnections else { return }
    isReady = true
    actions.append(.report(.ready))
  }

  // MARK: changes

  private mutating func makeDueChanges(at now: Instant) {
    while dueCount < members.count, dueAt(dueCount) <= now {
      waiting.append(dueCount)
      dueCount += 1
    }
    saveNext()
  }

  private func dueAt(_ member: Int) -> Instant {
    Instant(nanoseconds: (begunAt?.nanoseconds ?? 0) + Int64(member) * interval)
  }

  private mutating func saveNext() {
    while !waiting.isEmpty, let id = idleSavers.popLast(), let member = waiting.popFirst() {
      var parser = HTTPResponseParser()
      parser.expectAnswer(to: "PUT")
      uses[id] = .saver(parser, member: member)
      actions.append(
        .send(
          id,
          HTTPWriter.request(
            method: "PUT",
            target: RequestTarget(path: ["v1", "zones", "Bench", "records", record]),
            host: relay.authority,
            headers: [
              "Authorization": "Bearer " + members[member].saverToken,
              "Content-Type": "application/json", "If-None-Match": "*",
            ],
            body: Array(#"{"type":"Bench","fields":{"text":"one small change"}}"#.utf8))))
    }
  }

  private mutating func readSave(
    _ id: ConnectionID, _ parser: HTTPResponseParser, _ member: Int?, _ bytes: RawSpan,
    at moment: Moment
  ) throws(Refusal) {
    var parser = parser
    parser.receive(bytes)
    while let event = try parser.next() {
      switch event {
      case .head(let head) where head.status >= 300:
        return fail("a save was answered with \(head.status)")
      case .head, .body: break
      case .end:
        uses[id] = .saver(HTTPResponseParser(), member: nil)
        idleSavers.append(id)
        savedCount += 1
        if way == .none, savedCount == members.count { finishRun(at: moment.instant) }
        return saveNext()
      }
    }
    uses[id] = .saver(parser, member: member)
  }

  // MARK: devices

  private mutating func readPush(
    _ id: ConnectionID, _ parser: HTTPRequestParser, _ target: String, _ body: [UInt8],
    _ bytes: RawSpan
  ) throws(Refusal) {
    var (parser, target, body) = (parser, target, body)
    parser.receive(bytes)
    while let event = try parser.next() {
      switch event {
      case .head(let head): (target, body) = (head.target.text, [])
      case .body(let more): body += more
      case .end:
        actions.append(.send(id, HTTPWriter.response(status: 201)))
        wake(target, body)
      }
    }
    uses[id] = .push(parser, target: target, body: body)
  }

  private mutating func wake(_ target: String, _ body: [UInt8]) {
    guard let member = Int(target.dropFirst("/d/".count)), members.indices.contains(member),
      let content = PushMessage.decrypt(body, key: key, auth: auth), WakePayload(content) != nil
    else { return fail("a push could not be read") }
    run.pushes += 1
    // A repeated push would find nothing new.
    if !hasArrived[member] { open(.fetch(HTTPResponseParser(), member: member, body: [])) }
  }

  private mutating func readFetch(
    _ id: ConnectionID, _ parser: HTTPResponseParser, _ member: Int, _ body: [UInt8],
    _ bytes: RawSpan, at moment: Moment
  ) throws(Refusal) {
    var (parser, body) = (parser, body)
    parser.receive(bytes)
    while let event = try parser.next() {
      switch event {
      case .head(let head) where head.status != 200:
        return fail("a fetch was answered with \(head.status)")
      case .head: break
      case .body(let more): body += more
      case .end:
        let page = try ChangePage.decoded(body: body)
        guard !page.changes.isEmpty else { return fail("a woken device found no change") }
        actions.append(.close(id, .now))
        return recordArrival(member, at: moment.instant)
      }
    }
    uses[id] = .fetch(parser, member: member, body: body)
  }

  private mutating func readSocket(
    _ id: ConnectionID, _ socket: RawSocket, _ member: Int, _ bytes: RawSpan, at moment: Moment
  ) {
    var socket = socket
    socket.receive(bytes)
    while let event = socket.next() {
      switch event {
      case .opened:
        let hello = DeviceMessage.hello(token: nil, since: members[member].since)
        actions.append(.send(id, socket.frame(of: hello)))
      case .text(let text):
        if text.starts(with: #"{"op":"welcome""#.utf8) {
          openSockets += 1
        } else if PageSummary(text).map({ $0.records > 0 }) == true {
          recordArrival(member, at: moment.instant)
        }
      case .ended(let reason): return fail(reason)
      }
    }
    for reply in socket.drainReplies() { actions.append(.send(id, reply)) }
    uses[id] = .socket(socket, member: member)
    openSocketsNext()
    reportReady()
  }

  private mutating func recordArrival(_ member: Int, at now: Instant) {
    guard !hasArrived[member] else { return }
    hasArrived[member] = true
    arrivedCount += 1
    run.latency.record(nanoseconds: now.nanoseconds - dueAt(member).nanoseconds)
    if arrivedCount == members.count { finishRun(at: now) }
  }

  private mutating func finishRun(at now: Instant) {
    run.nanoseconds = now.nanoseconds - dueAt(0).nanoseconds
    actions.append(.report(.done(run)))
  }

  // MARK: end

  private mutating func fail(_ reason: String) { finish(.failed(reason)) }

  private mutating func finish(_ report: Report) {
    guard !isFinished else { return }
    isFinished = true
    for id in uses.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
      actions.append(.close(id, .now))
    }
    uses = [:]
    actions.append(.report(report))
  }
}
