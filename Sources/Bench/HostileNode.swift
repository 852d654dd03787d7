import LockstepClient
import LockstepModel
import LockstepRuntime
import LockstepSimulation
import LockstepWire

/// Task that one connection of a hostile bench repeats.
package enum HostileTask: Sendable, Hashable {
  /// Saves or reads one small record, fifty times a second: the victim.
  case saves
  case reads
  /// Saves this many full batches, then ends.
  case fills(batches: Int)
  /// Fills a zone with this many full batches, then deletes it.
  case deletesZone(batches: Int)
  /// Saves a record that names the maximum number of chunks, none of which exists.
  case namesChunks
  /// Reads a zone without records, in an account that has many.
  case readsEmptyZone
  /// Saves records of the largest size.
  case floods
  /// Requests full pages and reads none of them.
  case neverReads
  /// Opens a socket and sends most of a message of the maximum size instead of a hello.
  case sendsHalf
  /// Opens a socket and sends a message byte by byte, ten bytes per second.
  case drips
  /// Tries wrong pairing codes, from this address behind a proxy.
  case guesses(from: String)
  /// Opens a socket, says hello, closes it after the answer, and starts again immediately.
  case reconnects

  var isVictim: Bool { self == .saves || self == .reads }

  /// True if each of its connections begins with an upgrade, whatever was sent on the previous one.
  fileprivate var isSocket: Bool { self == .sendsHalf || self == .drips || self == .reconnects }
}

/// One connection, with the token of its requests.
package struct HostileClient: Sendable, Hashable {
  package var token: String
  package var task: HostileTask

  package init(token: String, task: HostileTask) {
    self.token = token
    self.task = task
  }
}

/// Connections that send requests continuously, one after the other, whatever the answers are. A
/// connection that the relay closes is opened again. Victims send requests at a fixed rate; their
/// latency is measured from the time at which a request was due to its answer.
package struct HostileNode: Node, ~Copyable {
  package typealias Order = LoadOrder
  package typealias Report = LoadReport
  package typealias News = Never

  private struct Slot {
    let client: HostileClient
    var id: ConnectionID
    var parser = HTTPResponseParser()
    var sent = 0
    var isOpen = false
    /// Due time of the current request; nil if there is none.
    var dueAt: Instant?
    var nextDue: Instant?
  }

  private static let paceMilliseconds: Int64 = 20
  private static let dripMilliseconds: Int64 = 100
  /// Pause after a connection was closed.
  private static let pauseMilliseconds: Int64 = 100

  private let relay: RelayAddress
  private var random: SeededRandom
  private var slots: [Slot] = []
  private var connections: UInt64 = 0
  private var isReady = false
  private var isFinished = false
  private var isWindowOpen = false
  private var latency = LatencyHistogram()
  private var doneCount = 0
  private var actions = ActionQueue<NodeAction<NoJob, LoadReport, Never>>()

  package init(_ clients: [HostileClient], to relay: RelayAddress, random: SeededRandom) {
    self.relay = relay
    self.random = random
    for client in clients {
      slots.append(Slot(client: client, id: .outgoing(0)))
      open(slots.count - 1)
    }
  }

  package var nextDeadline: Instant? {
    isFinished ? nil : slots.compactMap { $0.dueAt == nil ? $0.nextDue : nil }.min()
  }

  package mutating func nextAction() -> NodeAction<NoJob, LoadReport, Never>? {
    actions.popFirst()
  }

  package mutating func received(_ id: ConnectionID, _ bytes: RawSpan, at moment: Moment) {
    guard let index = index(of: id) else { return }
    switch slots[index].client.task {
    case .neverReads: return actions.append(.pauseReading(id))
    case .sendsHalf: return sendHalf(index)
    case .drips: return
    case .reconnects: return sendHelloOrReconnect(index)
    case .saves, .reads, .fills, .deletesZone, .namesChunks, .readsEmptyZone, .floods, .guesses:
      break
    }
    slots[index].parser.receive(bytes)
    do throws(Refusal) {
      while let event = try slots[index].parser.next() {
        if case .end = event { handleResponse(index, at: moment.instant) }
      }
    } catch {
      actions.append(.close(id, .now))
      handleClosed(index, at: moment.instant)
    }
  }

  package mutating func handle(_ event: NodeEvent<NoJob, LoadOrder, Never>, at moment: Moment) {
    switch event {
    case .opened(let id, _):
      guard let index = index(of: id) else { return }
      slots[index].isOpen = true
      sendRequest(index, dueAt: moment.instant)
      if !isReady, slots.allSatisfy(\.isOpen) {
        isReady = true
        actions.append(.report(.ready))
      }
    case .closed(_, .connectFailed(let reason)) where !isReady:
      finish(.failed("a connection was not made: \(reason)"))
    case .closed(let id, _):
      if let index = index(of: id) { handleClosed(index, at: moment.instant) }
    case .deadlineReached: sendDueRequests(at: moment.instant)
    case .ordered(.openWindow): isWindowOpen = true
    case .ordered(.closeWindow):
      isWindowOpen = false
      // A request that an attack blocks for good must count too, or the result would look idle.
      for case let dueAt? in slots.map(\.dueAt) {
        latency.record(nanoseconds: moment.instant.nanoseconds - dueAt.nanoseconds)
      }
      actions.append(.report(.window(latency)))
      latency = LatencyHistogram()
    case .stopping: finish(.stopped)
    case .drained, .connectionRejected, .finished, .holding: break
    }
  }

  // MARK: Connections

  private func index(of id: ConnectionID) -> Int? { slots.firstIndex { $0.id == id } }

  private mutating func open(_ index: Int) {
    connections += 1
    slots[index].id = .outgoing(connections)
    slots[index].parser = HTTPResponseParser()
    if slots[index].client.task.isSocket { slots[index].sent = 0 }
    slots[index].nextDue = nil
    actions.append(.open(slots[index].id, relay.peer))
  }

  private mutating func handleClosed(_ index: Int, at now: Instant) {
    slots[index].isOpen = false
    slots[index].dueAt = nil
    slots[index].nextDue = now.advanced(milliseconds: Self.pauseMilliseconds)
  }

  private mutating func sendDueRequests(at now: Instant) {
    for index in slots.indices where slots[index].dueAt == nil {
      guard let due = slots[index].nextDue, due <= now else { continue }
      if slots[index].isOpen { sendRequest(index, dueAt: due) } else { open(index) }
    }
  }

  // MARK: Requests

  private mutating func sendRequest(_ index: Int, dueAt: Instant) {
    slots[index].dueAt = dueAt
    slots[index].nextDue = nil
    let (method, bytes) = request(of: index)
    slots[index].sent += 1
    slots[index].parser.expectAnswer(to: method)
    actions.append(.send(slots[index].id, bytes))
    guard slots[index].client.task == .drips else { return }
    slots[index].dueAt = nil
    slots[index].nextDue = dueAt.advanced(milliseconds: Self.dripMilliseconds)
  }

  private mutating func handleResponse(_ index: Int, at now: Instant) {
    let task = slots[index].client.task
    guard let dueAt = slots[index].dueAt else { return }
    if case .fills(let batches) = task, slots[index].sent >= batches {
      slots[index].dueAt = nil
      doneCount += 1
      if doneCount == slots.count { actions.append(.report(.done(LoadResult()))) }
      return
    }
    guard task.isVictim else { return sendRequest(index, dueAt: now) }
    if isWindowOpen { latency.record(nanoseconds: now.nanoseconds - dueAt.nanoseconds) }
    slots[index].dueAt = nil
    let next = dueAt.advanced(milliseconds: Self.paceMilliseconds)
    slots[index].nextDue = next
    if next <= now { sendRequest(index, dueAt: next) }
  }

  private mutating func request(of index: Int) -> (method: String, bytes: [UInt8]) {
    let (client, number) = (slots[index].client, slots[index].sent)
    switch client.task {
    case .saves:
      return save(client, "Victim", [record("\(number % 100)", bytes: 100)])
    case .reads: return read(client, [("limit", "1")])
    case .fills: return save(client, "Large", fullBatch("\(number)"))
    case .deletesZone(let batches):
      guard number % (batches + 1) == batches else {
        return save(client, "Deleted", fullBatch("\(number % (batches + 1))"))
      }
      return ("DELETE", call(client, "DELETE", ["v1", "zones", "Deleted"]))
    case .namesChunks:
      var film = record("film", bytes: 100)
      film.chunks = (0..<Limits.chunksPerRecord).compactMap { _ in
        ChunkHash(bytes: (0..<32).map { _ in UInt8.random(in: 0 ... .max, using: &random) })
      }
      return save(client, "Films", [film])
    case .readsEmptyZone: return read(client, [("zone", "Nothing"), ("limit", "1")])
    case .floods:
      return save(
        client, "Flood",
        (0..<2).map { record("\((2 * number + $0) % 200)", bytes: 900_000) })
    case .neverReads: return read(client, [("limit", "\(Limits.pageRecords)")])
    case .guesses(let address):
      let code = String((0..<12).map { _ in "0123456789".randomElement(using: &random) ?? "0" })
      let description = DeviceDescription(deviceName: "guest", platform: "bench", appVersion: "1")
      return (
        "POST",
        call(
          client, "POST", ["v1", "devices"],
          body: JoinRequest(code: code, account: nil, description: description).encodedBody(),
          from: address)
      )
    case .drips where number > 0:
      let frame = frame([UInt8](repeating: UInt8(ascii: " "), count: 1_024))
      return ("GET", [frame[min(number, frame.count) - 1]])
    case .sendsHalf, .drips, .reconnects:
      let nonce = (0..<16).map { _ in UInt8.random(in: 0 ... .max, using: &random) }
      let headers = WebSocketHandshake.offer(key: WebSocketHandshake.key(nonce: nonce))
      return (
        "GET",
        HTTPWriter.request(
          method: "GET", target: RequestTarget(path: ["v1", "socket"]), host: relay.authority,
          headers: headers)
      )
    }
  }

  private mutating func sendHalf(_ index: Int) {
    guard slots[index].sent == 1 else { return }
    slots[index].sent += 1
    let frame = frame([UInt8](repeating: UInt8(ascii: " "), count: Limits.messageBytes))
    actions.append(.send(slots[index].id, Array(frame.dropLast(1_024))))
  }

  private mutating func sendHelloOrReconnect(_ index: Int) {
    slots[index].sent += 1
    guard slots[index].sent > 2 else {
      let hello = DeviceMessage.hello(token: slots[index].client.token, since: nil)
      return actions.append(.send(slots[index].id, frame(hello.encoded())))
    }
    actions.append(.close(slots[index].id, .now))
    slots[index].isOpen = false
    slots[index].dueAt = nil
    open(index)
  }

  private mutating func frame(_ text: [UInt8]) -> [UInt8] {
    WebSocketFrame.text(text, mask: UInt32.random(in: 0 ... .max, using: &random))
  }

  private func fullBatch(_ batch: String) -> [Mutation] {
    (0..<Limits.batchRecords).map { record("\(batch) \($0)", bytes: 100) }
  }

  private func record(_ name: String, bytes: Int) -> Mutation {
    let fields = "{\"text\":\"\(String(repeating: "x", count: bytes))\"}"
    return Mutation(
      name: Name(trusted: name), type: Name(trusted: "Load"), fields: Array(fields.utf8),
      modifiedAt: 0, baseTag: nil)
  }

  private mutating func save(
    _ client: HostileClient, _ zone: String, _ mutations: [Mutation]
  ) -> (String, [UInt8]) {
    let request = SaveRequest(
      id: BatchID(random: &random), zone: Name(trusted: zone), atomic: false,
      mutations: mutations)
    return (
      "POST", call(client, "POST", ["v1", "zones", zone, "records"], body: request.encodedBody())
    )
  }

  private func read(
    _ client: HostileClient, _ query: [(String, String)]
  ) -> (String, [UInt8]) {
    let items = query.map { RequestTarget.QueryItem(name: $0.0, value: $0.1) }
    return ("GET", call(client, "GET", ["v1", "changes"], query: items))
  }

  private func call(
    _ client: HostileClient, _ method: String, _ path: [String],
    query: [RequestTarget.QueryItem] = [], body: [UInt8]? = nil, from address: String? = nil
  ) -> [UInt8] {
    var headers = HTTPHeaders()
    if let address {
      headers.append("X-Forwarded-For", address)
    } else {
      headers.append("Authorization", "Bearer " + client.token)
    }
    if body != nil { headers.append("Content-Type", "application/json") }
    return HTTPWriter.request(
      method: method, target: RequestTarget(path: path, query: query), host: relay.authority,
      headers: headers, body: body)
  }

  private mutating func finish(_ report: LoadReport) {
    guard !isFinished else { return }
    isFinished = true
    for slot in slots { actions.append(.close(slot.id, .now)) }
    actions.append(.report(report))
  }
}
