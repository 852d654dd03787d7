import LockstepModel
import LockstepWire

@testable import LockstepClient

/// A random life of a sync engine: events that a device, a relay and a replica could cause, in any
/// order. Its twin is `Tests/WebClientTests/client/support/engineWalk.js`.
struct EngineWalk: EngineScene {
  enum Event: String, CaseIterable {
    case loaded, hello, online, offline, fetchNow, poll, tryEverything, resume, clockMeasured
    case transportChanged, edit, jobDone, next, push, hint, streamPage, streamRefused, longPollPage
    case longPollRefused, longPollCut, fetchedPage, fetchRefused, saved, saveRefused
    // This engine's alone.
    case saveTooLarge, movedBack
  }

  /// A change of one of the engine's three states.
  struct Transition: Hashable {
    var machine: String
    var from: String
    var to: String
    var event: String
  }

  /// A job of the replica that is not done.
  private struct Job {
    var change: Change
    var isOffered: Bool

    enum Change {
      case edit, freezeBatch, apply, refuseBatch, forgetCursor, other
    }
  }

  private(set) var found: Set<Transition> = []
  private var engine = SyncEngine()
  private var random: SeededRandom
  /// Sequence number of the device's cursor, and of the relay's newest change.
  private var cursor: Int64? = 1
  private var newest: Int64 = 1
  private var hasEdits = false
  private var frozenBatch: BatchID?
  private var batches: UInt64 = 0
  private var jobs: [Job] = []
  private var fetches = false
  private var waits = false
  private var listens = false
  private var saves: BatchID?
  private var isGreeted = false
  private var isPaused = false
  private var isAnswered = false
  private var hasFailed = false

  private static let saveRefusals: [RefusalCode] = [
    .planRequired, .clockAhead, .batchMismatch, .batchAborted, .storeRestored, .recordTooLarge,
    .overloaded, .badToken,
  ]
  private static let fetchRefusals: [RefusalCode] = [
    .overloaded, .overloaded, .tokenExpired, .badToken,
  ]

  init(seed: UInt64) {
    random = SeededRandom(seed: seed)
    engine.loaded(position, outbox)
  }

  /// Lets one event happen that is possible now.
  mutating func step() {
    let weights = Event.allCases.map { weight(of: $0) }
    var number = Int.random(in: 0..<weights.reduce(0, +), using: &random)
    for (event, weight) in zip(Event.allCases, weights) {
      number -= weight
      if number < 0 {
        perform(event)
        break
      }
    }
    if hasFailed { perform(.offline) }
  }

  private mutating func perform(_ event: Event) {
    let before = engine
    happen(event)
    record("fetch", before.fetch.rawValue, engine.fetch.rawValue, event)
    record("save", before.save.name, engine.save.name, event)
    record("stream", before.stream.rawValue, engine.stream.rawValue, event)
  }

  private mutating func record(_ machine: String, _ from: String, _ to: String, _ event: Event) {
    guard from != to else { return }
    found.insert(Transition(machine: machine, from: from, to: to, event: event.rawValue))
  }

  /// The weight of an event; 0 if it is not possible now.
  private func weight(of event: Event) -> Int {
    let isOnline = engine.transport != nil
    let isOnSocket = engine.transport == .webSocket
    return switch event {
    case .loaded: !isOnline && jobs.isEmpty ? 1 : 0
    case .hello: !isOnline && !isGreeted ? 4 : 0
    case .online: isOnline ? 0 : 8
    case .offline: isOnline || isGreeted ? 1 : 0
    case .fetchNow, .tryEverything, .movedBack: isOnline ? 1 : 0
    case .poll: isOnline ? (waits ? 12 : 3) : 0
    case .resume: isPaused ? 16 : 0
    case .clockMeasured: engine.isClockTrusted ? 0 : 16
    case .transportChanged: changes.isEmpty ? 0 : waits ? 6 : 1
    case .edit: jobs.count < 3 ? 3 : 0
    case .jobDone: jobs.isEmpty ? 0 : 32
    case .next: 64
    case .push: isOnSocket ? 4 : 0
    case .hint: isOnSocket || listens ? 2 : 0
    case .streamPage: listens ? 4 : 0
    case .streamRefused: listens ? 2 : 0
    case .longPollPage: waits ? 3 : 0
    case .longPollRefused, .longPollCut: waits ? 4 : 0
    case .fetchedPage: fetches ? 12 : 0
    case .fetchRefused: fetches ? 2 : 0
    case .saved: saves == nil ? 0 : 24
    case .saveRefused: saves == nil ? 0 : 8
    case .saveTooLarge: saves == nil ? 0 : 2
    }
  }

  private mutating func happen(_ event: Event) {
    switch event {
    case .loaded: engine.loaded(position, outbox)
    case .hello:
      isGreeted = true
      _ = engine.beginHello()
    case .online: connect()
    case .offline: disconnect()
    case .fetchNow: engine.fetchNow()
    case .poll: engine.poll()
    case .tryEverything: engine.tryEverything()
    case .resume:
      isPaused = false
      engine.resume()
    case .clockMeasured: engine.isClockTrusted = true
    case .transportChanged: engine.changeTransport(pick(changes))
    case .edit: jobs.append(Job(change: .edit, isOffered: engine.beginOffer() != nil))
    case .jobDone: finishJob()
    case .next: performNext()
    case .push: engine.page(page(), .push)
    case .hint:
      newest += 1
      engine.hint(token(newest))
    case .streamPage: engine.page(page(), .stream)
    case .streamRefused: refuse(.stream)
    case .longPollPage: answer(.longPoll)
    case .longPollRefused: refuse(.longPoll)
    case .longPollCut:
      waits = false
      engine.longPollCut()
    case .fetchedPage: answer(.fetch)
    case .fetchRefused: refuse(.fetch)
    case .saved, .saveRefused, .saveTooLarge: endSave(event)
    case .movedBack: engine.positionMovedBack(to: position)
    }
  }

  /// Returns true once in `count` times.
  private mutating func chance(_ count: Int) -> Bool {
    Int.random(in: 0..<count, using: &random) == 0
  }

  private mutating func pick<Element>(_ list: [Element]) -> Element {
    list[Int.random(in: 0..<list.count, using: &random)]
  }

  private func token(_ sequence: Int64) -> ChangeToken {
    ChangeToken(generation: 1, sequence: sequence)
  }

  private var position: ChangePosition { cursor.map { .cursor(token($0)) } ?? .nothing }

  private var outbox: OutboxSummary {
    var summary = hasEdits ? waiting : OutboxSummary()
    summary.frozen = frozenBatch
    return summary
  }

  // MARK: the uplink

  private mutating func connect() {
    let transport: Transport = isGreeted ? .webSocket : pick([.events, .longPoll, .poll])
    isGreeted = false
    engine.online(transport, newest: chance(2) ? token(newest) : nil)
  }

  private mutating func disconnect() {
    (fetches, waits, listens, saves) = (false, false, false, nil)
    (isGreeted, isPaused, hasFailed) = (false, false, false)
    engine.offline()
  }

  /// Transports that may follow on the same connection.
  private var changes: [Transport] {
    switch engine.transport {
    case .poll: [.longPoll, .events]
    case .longPoll: waits ? [.events] : [.events, .poll]
    case .webSocket, .events, nil: []
    }
  }

  /// Returns a page: nothing new, or one more change.
  private mutating func page() -> ChangePage {
    if chance(2) { newest += 1 }
    return page(
      position.token, token(newest), more: chance(8), count: cursor == newest ? 0 : 1)
  }

  private mutating func endRequest(_ origin: PageOrigin) {
    switch origin {
    case .fetch: fetches = false
    case .longPoll: waits = false
    case .stream: listens = false
    case .push: break
    }
  }

  private mutating func answer(_ origin: PageOrigin) {
    endRequest(origin)
    engine.page(page(), origin)
  }

  private mutating func refuse(_ origin: PageOrigin) {
    endRequest(origin)
    engine.fetchRefused(Refusal(pick(Self.fetchRefusals), ""), origin)
  }

  private mutating func endSave(_ event: Event) {
    guard let id = saves else { return }
    saves = nil
    switch event {
    case .saved:
      isAnswered = true
      engine.saved(id, SaveAnswer(since: token(newest), token: token(newest), results: []))
    case .saveTooLarge: engine.saveTooLarge(id, Refusal(.bodyTooLarge, ""))
    default: engine.saveRefused(id, Refusal(pick(Self.saveRefusals), ""))
    }
  }

  // MARK: the device

  /// Performs the engine's next action, if there is one.
  private mutating func performNext() {
    switch engine.next() {
    case .freezeBatch: jobs.append(Job(change: .freezeBatch, isOffered: true))
    case .apply(_, let bounds): jobs.append(Job(change: .apply, isOffered: bounds != nil))
    case .refuseBatch: jobs.append(Job(change: .refuseBatch, isOffered: false))
    case .forgetCursor: jobs.append(Job(change: .forgetCursor, isOffered: false))
    case .setAside, .retryRefused, .bringBack: jobs.append(Job(change: .other, isOffered: false))
    case .save(let batch): saves = batch.id
    case .fetch: fetches = true
    case .wait: waits = true
    case .listen: listens = true
    case .pause: isPaused = true
    case .fail: hasFailed = true
    case .measureClock, nil: break
    }
  }

  /// Ends the oldest job of the replica.
  private mutating func finishJob() {
    let job = jobs.removeFirst()
    var applied: Applied?
    switch job.change {
    case .edit: hasEdits = true
    case .freezeBatch: break
    case .apply: applied = applyArrivals()
    case .refuseBatch:
      frozenBatch = nil
      hasEdits = true
    case .forgetCursor: cursor = nil
    case .other: break
    }
    switch job.change {
    case .edit, .freezeBatch, .apply: break
    case .refuseBatch, .forgetCursor, .other: applied = Applied(position: position)
    }
    let batch = job.isOffered ? freeze() : nil
    engine.finished(offered: job.isOffered, applied: applied, batch: batch, outbox: outbox)
  }

  private mutating func applyArrivals() -> Applied {
    let foundGap = chance(8)
    if !foundGap { cursor = newest }
    // The answer to a batch is among the arrivals.
    if isAnswered { frozenBatch = nil }
    var applied = Applied(position: position)
    applied.foundGap = foundGap
    applied.hasAnswer = isAnswered
    applied.clockAhead = chance(16)
    applied.retryLater = chance(16) ? Refusal(.overloaded, "") : nil
    applied.isAtEnd = !foundGap && !chance(3)
    isAnswered = false
    return applied
  }

  /// Returns the batch that the job froze; nil: the stamps could not be trusted.
  private mutating func freeze() -> SaveRequest? {
    guard !chance(4), hasEdits || frozenBatch != nil else { return nil }
    if frozenBatch == nil {
      batches += 1
      frozenBatch = BatchID(high: 1, low: batches)
      hasEdits = false
    }
    var frozen = batch
    frozen.id = frozenBatch ?? frozen.id
    return frozen
  }
}

extension SyncEngine.SaveState {
  /// The name of the state, without its batch.
  var name: String {
    switch self {
    case .idle: "idle"
    case .offering: "offering"
    case .sent: "sent"
    }
  }
}
