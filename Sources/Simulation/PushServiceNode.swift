import LockstepModel
import LockstepRuntime
import LockstepWire

/// A push service, as far as its connections: it reads the requests of relays, and answers them as
/// it is ordered.
package struct PushServiceNode: Node, ~Copyable {
  package typealias News = Never

  package init() {}

  package enum Order: Sendable {
    case answer(ConnectionID, status: Int, retryAfter: Int?)
    /// Ends the connection without an answer.
    case cut(ConnectionID)
  }

  package struct Push: Sendable {
    package var connection: ConnectionID
    package var target: String
    package var headers: HTTPHeaders
    package var body: [UInt8]
  }

  package enum Report: Sendable {
    case opened(ConnectionID)
    case pushed(Push)
    case invalid(String)
  }

  private struct Reading {
    var parser = HTTPRequestParser()
    var head: HTTPRequestHead?
    var body: [UInt8] = []
  }

  private var connections: [ConnectionID: Reading] = [:]
  private var actions = ActionQueue<NodeAction<NoJob, Report, Never>>()

  package var nextDeadline: Instant? { nil }

  package mutating func nextAction() -> NodeAction<NoJob, Report, Never>? { actions.popFirst() }

  package mutating func handle(_ event: NodeEvent<NoJob, Order, Never>, at moment: Moment) {
    switch event {
    case .opened(let id, _):
      connections[id] = Reading()
      actions.append(.report(.opened(id)))
    case .closed(let id, _): connections[id] = nil
    case .ordered(.answer(let id, let status, let retryAfter)):
      guard connections[id] != nil else { return }
      var headers = HTTPHeaders()
      if let retryAfter { headers.append("Retry-After", String(retryAfter)) }
      actions.append(.send(id, HTTPWriter.response(status: status, headers: headers)))
    case .ordered(.cut(let id)):
      guard connections.removeValue(forKey: id) != nil else { return }
      actions.append(.close(id, .now))
    case .drained, .holding, .connectionRejected, .finished, .deadlineReached, .stopping: break
    }
  }

  package mutating func received(_ id: ConnectionID, _ bytes: RawSpan, at moment: Moment) {
    guard var reading = connections[id] else { return }
    reading.parser.receive(bytes)
    do throws(Refusal) {
      while let event = try reading.parser.next() {
        switch event {
        case .head(let head):
          reading.head = head
          reading.body = []
        case .body(let bytes): reading.body += bytes
        case .end:
          guard let head = reading.head else { continue }
          actions.append(
            .report(
              .pushed(
                Push(
                  connection: id, target: head.target.text, headers: head.headers,
                  body: reading.body))))
        }
      }
    } catch {
      actions.append(.report(.invalid(error.detail)))
    }
    connections[id] = reading
  }
}
