import LockstepClient
import LockstepModel
import LockstepRuntime
import LockstepWire

/// Request of a device that was paired for a part of the account, about a zone of another part.
package enum ScopeQuestion: String, Sendable, CaseIterable {
  case record = "a record"
  case changes = "the changes of a zone"
  case chunk = "a chunk"

  /// Status of each answer to it.
  var status: Int { self == .chunk ? 404 : 403 }
}

/// Subject of the request. A time that differs between the first two shows what the device must not
/// learn; the third shows how much the times of equal requests differ.
package enum ScopeSubject: Sendable, CaseIterable {
  /// Is in the account.
  case there
  /// Is nobody's.
  case missing
  /// Is nobody's either.
  case control
}

/// One kind of request.
package struct ScopeProbe: Hashable, Sendable {
  package var question: ScopeQuestion
  package var subject: ScopeSubject

  package static let all = ScopeQuestion.allCases.flatMap { question in
    ScopeSubject.allCases.map { ScopeProbe(question: question, subject: $0) }
  }
}

/// Names that the requests of a scope timing use. Those of one question have equal lengths, so that
/// their requests do too.
package struct ScopeTimingNames: Sendable {
  /// Zone of the device, and the zone beyond its scope.
  package static let own = Name(trusted: "Todos")
  package static let foreign = Name(trusted: "Journal")
  /// Record that the foreign zone has.
  package static let record = Name(trusted: "0")

  /// Chunk that a record of the foreign zone alone names, and two that nobody has.
  package let foreignChunk: ChunkHash
  package let missingChunks: [ChunkHash]

  package init(foreignChunk: ChunkHash, missingChunks: [ChunkHash]) {
    self.foreignChunk = foreignChunk
    self.missingChunks = missingChunks
  }

  func target(_ probe: ScopeProbe) -> RequestTarget {
    let zone =
      switch probe.subject {
      case .there: Self.foreign.text
      case .missing: "Nothing"
      case .control: "Nowhere"
      }
    let chunk =
      switch probe.subject {
      case .there: foreignChunk
      case .missing: missingChunks.first ?? foreignChunk
      case .control: missingChunks.last ?? foreignChunk
      }
    return switch probe.question {
    case .record: RequestTarget(path: ["v1", "zones", zone, "records", Self.record.text])
    case .changes:
      RequestTarget(path: ["v1", "changes"], query: [.init(name: "zone", value: zone)])
    case .chunk: RequestTarget(path: ["v1", "chunks", chunk.text])
    }
  }
}

/// Times of the answers, in nanoseconds, by kind of request.
package struct ScopeTimings: Sendable {
  package var nanoseconds: [ScopeProbe: [Int64]] = [:]

  package init() {}
}

/// A device that sends one request after the other on one connection: in each round every kind of
/// request once, in random order, so that what changes in the course of a run changes all of them
/// alike. Measures the time from each request to the end of its answer.
package struct ScopeTimingNode: Node, ~Copyable {
  package typealias Order = LoadOrder
  package typealias News = Never

  package enum Report: LoadThreadReport {
    case done(ScopeTimings)
    case failed(String)
    /// The node has stopped, as ordered.
    case stopped

    package var failure: String? { if case .failed(let reason) = self { reason } else { nil } }

    package var isLast: Bool {
      switch self {
      case .failed, .stopped: true
      case .done: false
      }
    }
  }

  /// Rounds at the beginning that do not count: connections and caches are new.
  package static let warmUpRounds = 100

  private let relay: RelayAddress
  private let token: String
  private let names: ScopeTimingNames
  private let rounds: Int
  private let id = ConnectionID.outgoing(1)
  private var random: SeededRandom
  private var parser = HTTPResponseParser()
  /// Requests of this round that are not sent yet.
  private var waiting: [ScopeProbe] = []
  private var round = 0
  private var current: (probe: ScopeProbe, sentAt: Instant)?
  private var timings = ScopeTimings()
  private var isDone = false
  private var isFinished = false
  private var actions = ActionQueue<NodeAction<NoJob, Report, Never>>()

  /// `rounds`: those that count; each takes one request of each kind.
  package init(
    token: String, names: ScopeTimingNames, rounds: Int, to relay: RelayAddress,
    random: SeededRandom
  ) {
    self.token = token
    self.names = names
    self.rounds = rounds
    self.relay = relay
    self.random = random
    actions.append(.open(id, relay.peer))
  }

  package var nextDeadline: Instant? { nil }

  package mutating func nextAction() -> NodeAction<NoJob, Report, Never>? { actions.popFirst() }

  package mutating func handle(_ event: NodeEvent<NoJob, LoadOrder, Never>, at moment: Moment) {
    switch event {
    case .opened: sendNext(at: moment.instant)
    case .closed(_, let cause) where !isDone:
      finish(.failed("the connection ended (\(cause)); is the relay overloaded?"))
    case .stopping: finish(.stopped)
    case .closed, .ordered, .deadlineReached, .drained, .connectionRejected, .finished, .holding:
      break
    }
  }

  package mutating func received(_ id: ConnectionID, _ bytes: RawSpan, at moment: Moment) {
    parser.receive(bytes)
    do throws(Refusal) {
      while !isFinished, let event = try parser.next() {
        switch event {
        case .head(let head): checkStatus(head.status)
        case .body: break
        case .end: handleAnswer(at: moment.instant)
        }
      }
    } catch {
      finish(.failed(error.detail))
    }
  }

  private mutating func sendNext(at now: Instant) {
    if waiting.isEmpty {
      waiting = ScopeProbe.all.shuffled(using: &random)
      round += 1
    }
    let probe = waiting.removeLast()
    var headers = HTTPHeaders()
    headers.append("Authorization", "Bearer " + token)
    let bytes = HTTPWriter.request(
      method: "GET", target: names.target(probe), host: relay.authority, headers: headers)
    parser.expectAnswer(to: "GET")
    current = (probe, now)
    actions.append(.send(id, bytes))
  }

  private mutating func checkStatus(_ status: Int) {
    guard let question = current?.probe.question, status != question.status else { return }
    finish(.failed("\(question.rawValue) was answered with \(status), not \(question.status)"))
  }

  private mutating func handleAnswer(at now: Instant) {
    guard let (probe, sentAt) = current else {
      return finish(.failed("an answer came without a request"))
    }
    current = nil
    if round > Self.warmUpRounds {
      timings.nanoseconds[probe, default: []].append(now.nanoseconds - sentAt.nanoseconds)
    }
    guard waiting.isEmpty, round == Self.warmUpRounds + rounds else { return sendNext(at: now) }
    isDone = true
    actions.append(.report(.done(timings)))
  }

  private mutating func finish(_ report: Report) {
    guard !isFinished else { return }
    isFinished = true
    actions.append(.close(id, .now))
    actions.append(.report(report))
  }
}
