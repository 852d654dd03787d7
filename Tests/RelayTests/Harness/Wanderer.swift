import LockstepModel
import LockstepRuntime
import LockstepWire
import Testing

@testable import LockstepRelay

/// A device that changes its transport to the relay at any moment, and keeps only its cursor. It
/// follows the protocol's rule: it moves the cursor by a page that follows or covers it, and
/// fetches if anything else comes.
final class Wanderer {
  enum Way: CaseIterable {
    case socket, events, longPoll, poll
  }

  let relay: TestRelay
  let device: TestDevice
  private(set) var cursor: ChangeToken?
  private(set) var records: [RecordKey: Record] = [:]
  private(set) var breaches: [String] = []
  /// Number of pages that moved the cursor, by transport.
  private(set) var served = Dictionary(uniqueKeysWithValues: Way.allCases.map { ($0, 0) })
  /// Number of pages that did not fit, and were noticed.
  private(set) var gaps = 0
  /// True if the network may lose bytes in the middle of a stream, which no real network does.
  var mayLose = false
  private(set) var way = Way.poll
  private var random: SeededRandom
  private var socket: SocketClient?
  private var socketFetches = 0
  private var stream: EventsClient?
  /// The token of the stream's last page; before that, the token of the request.
  private var told: ChangeToken?
  /// A client for requests, and whether an answer is pending.
  private var client: HTTPClient?
  private var isAsking = false
  private var mustFetch = false

  init(_ relay: TestRelay, as device: TestDevice, random: SeededRandom) {
    self.relay = relay
    self.device = device
    self.random = random
  }

  var connections: [ConnectionID] { [socket?.id, stream?.id, client?.id].compactMap { $0 } }

  // MARK: changes of transport

  func change(to way: Way) throws {
    try leave()
    self.way = way
    let node = Int.random(in: relay.entries.indices, using: &random)
    switch way {
    case .socket:
      let socket = try SocketClient(relay, node: node)
      let since = Int.random(in: 0..<5, using: &random) == 0 ? nil : cursor
      socket.sendMessage(.hello(token: device.token, since: since))
      self.socket = socket
      mustFetch = since == nil
    case .events:
      // A browser sends its last event's id; other clients send the token in the query.
      let byHeader = Bool.random(using: &random)
      stream = EventsClient(
        relay, node: node, as: device, since: byHeader ? nil : cursor,
        lastEventID: byHeader ? cursor?.text : nil, settles: false)
      told = cursor
      mustFetch = cursor == nil
    case .longPoll, .poll: mustFetch = true
    }
  }

  /// Cuts all connections, in the middle of any message.
  private func leave() throws {
    for id in connections {
      let wire = relay.wire(id)
      let bytes = wire.incoming.count + wire.waiting.count
      let arrives = Int.random(in: 0...bytes, using: &random)
      wire.incoming = Array((wire.incoming + wire.waiting).prefix(arrives))
      wire.waiting = []
    }
    try take()
    if Int.random(in: 0..<4, using: &random) == 0, let id = connections.first {
      // Half a request, or half a frame.
      let bytes = HTTPClient.bytes("GET", "/v1/changes", token: device.token)
      relay.send(id, Array(bytes.prefix(Int.random(in: 1..<bytes.count, using: &random))))
    }
    for id in connections { relay.cut(id) }
    (socket, stream, client) = (nil, nil, nil)
    (socketFetches, isAsking, mustFetch) = (0, false, false)
  }

  // MARK: requests

  /// Sends the request that is due now.
  func act() {
    switch way {
    case .socket:
      guard mustFetch, socketFetches == 0 else { return }
      mustFetch = false
      socketFetches += 1
      socket?.sendMessage(.fetch(id: "f", FetchQuery(since: cursor, limit: limit())))
    case .events: if mustFetch { ask(wait: 0) }
    case .longPoll: ask(wait: 60)
    case .poll: if mustFetch { ask(wait: 0) }
    }
  }

  /// Makes the next poll due.
  func poll() { if way == .poll { mustFetch = true } }

  private func ask(wait: Int) {
    guard !isAsking else { return }
    let client = client ?? HTTPClient(relay, node: Int.random(in: 0...1, using: &random))
    self.client = client
    isAsking = true
    mustFetch = false
    let since = cursor.map { "&since=\($0.text)" } ?? ""
    client.send("GET", "/v1/changes?wait=\(wait)&limit=\(limit())\(since)", token: device.token)
  }

  private func limit() -> Int {
    Bool.random(using: &random) ? Limits.pageRecords : Int.random(in: 1...9, using: &random)
  }

  // MARK: answers and events

  func take() throws {
    while let message = try socket?.next() { take(message) }
    if let code = socket?.closeCode { breaches.append("the socket was closed with \(code)") }
    while let event = try stream?.next() { take(event) }
    guard isAsking, let response = try client?.next() else { return }
    isAsking = false
    guard response.status == 200 else {
      breaches.append("answered \(response.status) \(response.code ?? "")")
      return
    }
    let page = try ChangePage.decoded(body: response.body)
    apply(page)
    if page.more { mustFetch = true }
  }

  private func take(_ message: RelayMessage) {
    switch message {
    case .changes(let id, let page):
      apply(page)
      guard id != nil else { return }
      socketFetches -= 1
      if page.more { mustFetch = true }
    case .changed(let token): hint(token)
    case .welcome, .reconnect: break
    case .error(_, let refusal): breaches.append("refused: \(refusal.code) \(refusal.detail)")
    case .saved, .time, .unknown: breaches.append("an unexpected message came")
    }
  }

  private func take(_ event: RelayEvent) {
    switch event {
    case .changes(let page):
      // The stream's own promise, regardless of this device's cursor.
      if page.since != told, told != nil, !mayLose {
        breaches.append("\(page.since?.text ?? "-") on a stream behind \(told?.text ?? "-")")
      }
      told = page.token
      if stream?.lastID != page.token.text { breaches.append("an id that is not the token") }
      apply(page)
    case .changed(let token): hint(token)
    case .error(let refusal): breaches.append("the stream ended: \(refusal.detail)")
    case .unknown: breaches.append("an unknown event came")
    }
  }

  private func hint(_ token: ChangeToken) {
    if cursor.map({ $0.pinned == nil && $0.covers(token) }) != true { mustFetch = true }
  }

  private func apply(_ page: ChangePage) {
    guard page.since == cursor || isOverlap(page) else {
      if cursor.map({ $0.pinned == nil && $0.covers(page.token) }) == true { return }
      gaps += 1
      mustFetch = true
      return
    }
    served[way, default: 0] += page.changes.isEmpty ? 0 : 1
    for record in page.changes where (records[record.key]?.tag ?? 0) < record.tag {
      records[record.key] = record
    }
    cursor = page.token
  }

  private func isOverlap(_ page: ChangePage) -> Bool {
    guard let cursor, let since = page.since, cursor.pinned == nil, since.pinned == nil,
      page.token.pinned == nil
    else { return false }
    return cursor.covers(since) && page.token.covers(cursor)
  }
}
