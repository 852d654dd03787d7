import LockstepApps
import LockstepClient
import LockstepCommandLine
import LockstepJSON
import LockstepModel
import LockstepRuntime
import LockstepStorage
import LockstepWire
import Testing

@testable import Lockstep

/// Drives the node of a home with its replica in memory, without a relay, and with commands as
/// numbered connections.
struct HomeStage: ~Copyable {
  /// True if the store performs its jobs; otherwise they wait.
  var isReading: Bool
  /// True if a connection attempt gets no answer at all; otherwise it is refused.
  var isSilent = false
  private(set) var closed: [ConnectionID] = []
  /// Commands whose requests are not read at the moment.
  private(set) var paused: [ConnectionID] = []
  /// Reports, except for those to the mirror.
  private(set) var reports: [HomeReport] = []
  private(set) var told: [AgentReport] = []
  /// Requests of commands to the mirror.
  private(set) var asked: [(ConnectionID, JSONValue)] = []

  private var node: HomeNode
  private var replica: Replica<MemoryReplicaStore>
  private let files = MemoryChunkStore()
  private var jobs: [(JobID, AgentJob)] = []
  private var sent: [ConnectionID: [UInt8]] = [:]
  private var now: Int64 = 0

  /// - Parameters:
  ///   - clockOffset: Offset of the relay's clock, as stored in the home.
  ///   - rules: Merge rules of a further zone.
  ///   - scope: Part of the account for which the device is paired.
  init(
    isReading: Bool = true, clockOffset: Int64 = 0, rules: RuleTable? = nil,
    scope: DeviceScope = .everything
  ) throws {
    self.isReading = isReading
    let identity = HomeIdentity(
      relay: "http://relay:5625",
      credentials: Credentials(
        account: AccountID(rawValue: 1), device: DeviceID(rawValue: 2), token: "secret",
        scope: scope),
      deviceName: "phone")
    let store = MemoryReplicaStore()
    try store.write([
      .setIdentity(identity), .setValue(key: "clock.offset", String(clockOffset)),
    ])
    let apps = AppCatalog.all
    replica = Replica(store: store, apps: apps + (rules.map { [RuleApp($0)] } ?? []))
    node = HomeNode(
      identity: identity, configuration: AgentConfiguration(), random: SeededRandom(seed: 1),
      appZones: apps.map(\.zone), at: Moment(instant: Instant(nanoseconds: 0), wall: Self.epoch))
    settle()
  }

  private static let epoch: Int64 = 1_795_262_400_000

  private var moment: Moment {
    Moment(instant: Instant(nanoseconds: now), wall: Self.epoch + now / 1_000_000)
  }

  mutating func connect(_ number: UInt64) {
    let opening = Opening(listenerKind: .control, peer: .local(path: ""))
    node.handle(.opened(ConnectionID(rawValue: number), opening), at: moment)
    settle()
  }

  mutating func gone(_ number: UInt64) {
    node.handle(.closed(ConnectionID(rawValue: number), .endOfStream), at: moment)
    settle()
  }

  /// Reports that the command has read bytes, and that `unsent` bytes still wait.
  mutating func drained(_ number: UInt64, unsent: Int) {
    node.handle(.drained(ConnectionID(rawValue: number), unsent: unsent), at: moment)
    settle()
  }

  mutating func send(_ number: UInt64, _ bytes: [UInt8]) {
    node.received(ConnectionID(rawValue: number), bytes.span.bytes, at: moment)
    settle()
  }

  mutating func ask(_ number: UInt64, _ request: HomeRequest) {
    send(number, request.line.serialized() + [UInt8(ascii: "\n")])
  }

  /// Sends a request of a program in another language.
  mutating func ask(_ number: UInt64, _ line: JSONValue) {
    send(number, line.serialized() + [UInt8(ascii: "\n")])
  }

  /// Handles an order of the mirror.
  mutating func order(_ order: HomeOrder) {
    node.handle(.ordered(order), at: moment)
    settle()
  }

  mutating func stop() {
    node.handle(.stopping, at: moment)
    settle()
  }

  /// Advances the time, and reaches every deadline at its instant.
  mutating func pass(milliseconds: Int64) {
    let end = now + milliseconds * 1_000_000
    while let deadline = node.nextDeadline, deadline.nanoseconds <= end {
      now = max(now, deadline.nanoseconds)
      node.handle(.deadlineReached, at: moment)
      settle()
    }
    now = end
  }

  /// Returns the lines that were sent to a command since the last call.
  mutating func lines(_ number: UInt64) -> [JSONValue] {
    let bytes = sent.removeValue(forKey: ConnectionID(rawValue: number)) ?? []
    return bytes.split(separator: UInt8(ascii: "\n")).compactMap { line in
      do {
        return try JSONValue(parsing: Array(line))
      } catch {
        Issue.record("\(String(decoding: line, as: UTF8.self)) is not JSON: \(error)")
        return nil
      }
    }
  }

  /// Returns the value of the single answer that was sent to a command.
  mutating func answer(_ number: UInt64) throws -> JSONValue {
    let lines = lines(number)
    #expect(lines.count == 1)
    let reply = try #require(lines.first.flatMap(HomeReply.init))
    switch reply {
    case .success(let value): return value
    case .failure(let reason): throw CommandFailure(reason)
    }
  }

  /// Number of jobs that the store has not performed.
  var waitingJobs: Int { jobs.count }

  func outboxCount() throws -> Int { try replica.store.outbox().count }

  mutating func settle() {
    while true {
      while let action = node.nextAction() { perform(action) }
      guard isReading, !jobs.isEmpty else { return }
      let (id, job) = jobs.removeFirst()
      node.handle(.finished(id, AgentWork.perform(job, on: &replica, files: files)), at: moment)
    }
  }

  private mutating func perform(_ action: NodeAction<AgentJob, HomeReport, Never>) {
    switch action {
    case .run(let id, let job): jobs.append((id, job))
    case .send(let id, let bytes): sent[id, default: []] += bytes
    case .close(let id, _): if !id.isOutgoing { closed.append(id) }
    case .open(let id, _):
      if !isSilent { node.handle(.closed(id, .connectFailed("refused")), at: moment) }
    case .report(.agentReport(let report)): told.append(report)
    case .report(.mirrorRequest(let id, let request)): asked.append((id, request))
    case .report(let report): reports.append(report)
    case .pauseReading(let id): paused.append(id)
    case .resumeReading(let id): paused.removeAll { $0 == id }
    case .multicast: break
    }
  }
}
