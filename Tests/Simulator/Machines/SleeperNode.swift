import LockstepModel
import LockstepRuntime
import LockstepWire

/// A device that sleeps, while it is awake: it fetches the changes after its cursor by HTTP, page
/// by page, and ends the connection. Written from the protocol alone, separate from the agent.
struct SleeperNode: Node, ~Copyable {
  typealias Order = Never
  typealias News = Never

  enum Report: Sendable {
    /// A page was read, and the cursor is its token now.
    case moved(ChangePage)
    /// All changes are read.
    case done
    /// The relay refused the cursor: the device reads everything.
    case reset
    /// The relay could not be reached, or refused the request.
    case failed
    case invalid(String)
  }

  private let token: String
  private var cursor: ChangeToken?
  private let connection: ConnectionID
  private var parser = HTTPResponseParser()
  private var status = 0
  private var body: [UInt8] = []
  private var endsAt: Instant
  private var isOver = false
  private var actions = ActionQueue<NodeAction<NoJob, Report, Never>>()

  private static let address = PeerAddress.host("relay.test", port: 5625)
  /// Time after which the device gives up, and sleeps again.
  private static let patienceMilliseconds: Int64 = 15_000

  init(token: String, cursor: ChangeToken?, connection: UInt64, at moment: Moment) {
    self.token = token
    self.cursor = cursor
    self.connection = ConnectionID.outgoing(connection)
    endsAt = moment.instant.advanced(milliseconds: SleeperNode.patienceMilliseconds)
    actions.append(.open(self.connection, SleeperNode.address))
  }

  var nextDeadline: Instant? { isOver ? nil : endsAt }

  mutating func nextAction() -> NodeAction<NoJob, Report, Never>? { actions.popFirst() }

  mutating func handle(_ event: NodeEvent<NoJob, Never, Never>, at moment: Moment) {
    guard !isOver else { return }
    switch event {
    case .opened: fetch()
    case .closed: end(.failed)
    case .deadlineReached where endsAt <= moment.instant:
      actions.append(.close(connection, .now))
      end(.failed)
    case .deadlineReached, .drained, .holding, .connectionRejected, .finished, .stopping: break
    }
  }

  mutating func received(_ id: ConnectionID, _ bytes: RawSpan, at moment: Moment) {
    guard !isOver else { return }
    parser.receive(bytes)
    do throws(Refusal) {
      while !isOver, let event = try parser.next() {
        switch event {
        case .head(let head):
          status = head.status
          body = []
        case .body(let bytes): body += bytes
        case .end: try handleAnswer()
        }
      }
    } catch {
      actions.append(.close(connection, .now))
      end(.invalid(error.detail))
    }
  }

  private mutating func fetch() {
    var query = [RequestTarget.QueryItem(name: "limit", value: "50")]
    if let cursor { query.append(.init(name: "since", value: cursor.text)) }
    var headers = HTTPHeaders()
    headers.append("Authorization", "Bearer \(token)")
    parser.expectAnswer(to: "GET")
    actions.append(
      .send(
        connection,
        HTTPWriter.request(
          method: "GET", target: RequestTarget(path: ["v1", "changes"], query: query),
          host: "relay.test:5625", headers: headers)))
  }

  private mutating func handleAnswer() throws(Refusal) {
    switch status {
    case 200:
      let page = try ChangePage.decoded(body: body)
      cursor = page.token
      actions.append(.report(.moved(page)))
      // The last request shows that the last page has arrived.
      if page.more || !page.changes.isEmpty { return fetch() }
      actions.append(.close(connection, .afterSending))
      end(.done)
    case 400, 410:
      cursor = nil
      actions.append(.report(.reset))
      fetch()
    default:
      actions.append(.close(connection, .now))
      end(.failed)
    }
  }

  private mutating func end(_ report: Report) {
    isOver = true
    actions.append(.report(report))
  }
}
