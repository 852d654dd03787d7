import LockstepModel
import LockstepWire
import Testing

@testable import LockstepRelay

/// A device on a socket that follows the protocol exactly, and records every breach of the relay's
/// promises.
final class ModelDevice {
  let relay: TestRelay
  let device: TestDevice
  private(set) var socket: SocketClient
  private(set) var cursor: ChangeToken?
  private(set) var records: [RecordKey: Record] = [:]
  private(set) var breaches: [String] = []
  /// The last messages, for a report.
  private(set) var talk: [String] = []
  /// The token of the last hint.
  private var hint: ChangeToken?
  private var fetches = 0
  private var requests = 0
  private var pendingSaves: [BatchID: SaveRequest] = [:]

  init(_ relay: TestRelay, node: Int, as device: TestDevice) throws {
    self.relay = relay
    self.device = device
    socket = try SocketClient(relay, node: node)
    socket.sendMessage(.hello(token: device.token, since: nil))
  }

  /// True if a hint names a newer token than the known one.
  private var isHinted: Bool {
    guard let hint else { return false }
    return !(cursor.map { $0.covers(hint) } ?? false)
  }

  /// True if the device has nothing more to do by itself.
  var isQuiet: Bool { !isHinted && fetches == 0 }

  func reconnect(node: Int) throws {
    relay.cut(socket.id)
    socket = try SocketClient(relay, node: node)
    note("> hello")
    socket.sendMessage(.hello(token: device.token, since: cursor))
    hint = nil
    fetches = 0
    pendingSaves = [:]
  }

  func save(_ request: SaveRequest) {
    pendingSaves[request.id] = request
    note("> save")
    socket.sendMessage(.save(request))
  }

  /// Requests a page, unless a request is pending.
  func fetch(limit: Int = Limits.pageRecords) {
    guard fetches == 0 else { return }
    requests += 1
    fetches += 1
    note("> fetch")
    socket.sendMessage(.fetch(id: "f\(requests)", FetchQuery(since: cursor, limit: limit)))
  }

  /// Acts on a hint, if there is one.
  func actOnHint() {
    if isHinted && fetches == 0 { fetch() }
  }

  func takeMessages() throws {
    for message in try socket.all() { take(message) }
    if let code = socket.closeCode { breach("closed with \(code)") }
  }

  private func take(_ message: RelayMessage) {
    note("< \(ModelDevice.short(message))")
    switch message {
    case .welcome, .reconnect: break
    case .changes(nil, let page): takePush(page)
    case .changes(_, let page): takeAnswer(page)
    case .changed(let token): hint = token
    case .saved(let id, let answer): takeSaved(id, answer)
    case .time, .unknown: breach("an unexpected message came")
    case .error(_, let refusal): breach("refused: \(refusal.code) \(refusal.detail)")
    }
  }

  private func takePush(_ page: ChangePage) {
    check(page)
    guard page.since == cursor, cursor != nil else {
      // Only a page that was sent before our fetch reached the relay may not fit.
      if fetches == 0 {
        breach("a gap: \(page.since?.text ?? "-") does not follow \(cursor?.text ?? "-")")
      }
      return
    }
    for record in page.changes { records[record.key] = record }
    cursor = page.token
  }

  private func takeAnswer(_ page: ChangePage) {
    check(page)
    fetches -= 1
    for record in page.changes where (records[record.key]?.tag ?? 0) < record.tag {
      records[record.key] = record
    }
    if cursor.map({ page.token.covers($0) }) ?? true { cursor = page.token }
    if page.more { fetch() }
  }

  private func takeSaved(_ id: BatchID, _ answer: SaveAnswer) {
    guard let request = pendingSaves.removeValue(forKey: id) else {
      breach("an answer to nothing")
      return
    }
    for (mutation, result) in zip(request.mutations, answer.results) {
      guard case .saved(let name, let tag) = result else { continue }
      let key = RecordKey(zone: request.zone, name: name)
      if (records[key]?.tag ?? 0) >= tag { continue }
      records[key] = Record(
        zone: request.zone, name: name, type: mutation.type ?? name, fields: mutation.fields,
        modifiedAt: mutation.modifiedAt, device: device.credentials.device, tag: tag)
    }
    if answer.since == cursor {
      cursor = answer.token
    } else if cursor != nil, !isHinted, fetches == 0 {
      breach("saved: \(answer.since.text) does not follow \(cursor?.text ?? "-")")
    }
  }

  private func check(_ page: ChangePage) {
    let tags = page.changes.map(\.tag)
    let isOrdered = zip(tags, tags.dropFirst()).allSatisfy { $0 < $1 }
    let isWithin = tags.allSatisfy { ($0 > page.since?.sequence ?? 0) && $0 <= page.token.sequence }
    // The pages of a snapshot have another order.
    if page.since != nil && page.since?.pinned == nil && page.token.pinned == nil {
      if !isOrdered { breach("tags out of order: \(tags)") }
      if !isWithin { breach("tags \(tags) are not within \(page.since?.text ?? "") and the token") }
    }
  }

  private func note(_ line: String) {
    talk.append("\(line)  [at \(cursor?.text ?? "-")]")
    if talk.count > 30 { talk.removeFirst() }
  }

  private func breach(_ what: String) {
    breaches.append(([what] + talk).joined(separator: "\n  "))
  }

  private static func short(_ message: RelayMessage) -> String {
    switch message {
    case .changes(let id, let page):
      "changes \(id ?? "") \(page.since?.text ?? "-") → \(page.token.text) \(page.more)"
    case .saved(_, let answer): "saved \(answer.since.text) → \(answer.token.text)"
    case .changed(let token): "changed \(token.text)"
    case .welcome(_, _, let token, _, _): "welcome \(token.text)"
    case .time, .reconnect, .unknown: "?"
    case .error(_, let refusal): "error \(refusal.code)"
    }
  }
}

/// A device that asks by HTTP: with a long-poll, or a plain poll if `wait` is 0.
final class ModelPoller {
  let relay: TestRelay
  let device: TestDevice
  let wait: Int
  private let client: HTTPClient
  private(set) var cursor: ChangeToken?
  private(set) var records: [RecordKey: Record] = [:]
  private(set) var breaches: [String] = []
  private(set) var isAsking = false

  init(_ relay: TestRelay, node: Int, as device: TestDevice, wait: Int) {
    self.relay = relay
    self.device = device
    self.wait = wait
    client = HTTPClient(relay, node: node)
  }

  func ask() {
    guard !isAsking else { return }
    isAsking = true
    let since = cursor.map { "&since=\($0.text)" } ?? ""
    client.send("GET", "/v1/changes?wait=\(wait)\(since)", token: device.token)
  }

  func takeAnswer() throws {
    guard let response = try client.next() else { return }
    isAsking = false
    guard response.status == 200 else {
      breaches.append("answered \(response.status)")
      return
    }
    let page = try ChangePage.decoded(body: response.body)
    if page.since != cursor { breaches.append("the page follows another token") }
    for record in page.changes {
      if let held = records[record.key], held.tag >= record.tag {
        breaches.append("\(record.name) with tag \(record.tag) came twice")
      }
      records[record.key] = record
    }
    cursor = page.token
  }
}
