import LockstepModel
import LockstepWire

/// One device of a load with an open socket: the messages it sends, and its handling of answers.
/// The owner has the socket and the clock.
struct LoadWorker {
  enum Step {
    case send(DeviceMessage)
    /// The task is done.
    case done
    case failed(String)
  }

  static let zone = Name(trusted: "Load")
  private static let type = Name(trusted: "Load")
  let task: LoadTask
  private var random: SeededRandom
  private(set) var isSignedIn = false
  private(set) var isDone = false
  private(set) var records = 0
  private(set) var deferredRequests = 0
  /// Time of the next save of a steady saver, or of the retry of a deferred request.
  private(set) var deadline: Instant?
  private var steps: [Step] = []

  // State of a steady saver.
  private var begun: Instant?
  private var saves = 0
  /// Unanswered saves, oldest first: the due time of each, and true if it is counted.
  private var unanswered: [(id: BatchID, due: Instant, isCounted: Bool)] = []
  private var isWindowOpen = false
  private var latency = LatencyHistogram()

  // State of an uploader.
  private var recordsSent = 0
  private var batchesInFlight = 0

  // State of a reader.
  private var cursor: ChangeToken?
  private var fetches = 0

  init(_ task: LoadTask, random: SeededRandom) {
    self.task = task
    self.random = random
    if case .catchUp(let since) = task { cursor = since }
  }

  mutating func drainSteps() -> [Step] {
    defer { steps.removeAll(keepingCapacity: true) }
    return steps
  }

  /// Sends hello. Call it when the socket is open.
  mutating func sendHello() { steps.append(.send(.hello(token: nil, since: cursor))) }

  mutating func handleMessage(_ bytes: [UInt8], at now: Instant) {
    if let page = PageSummary(bytes) { return handlePage(page) }
    do throws(Refusal) {
      switch try RelayMessage.decode(bytes) {
      case .welcome(_, _, let token, _, _): handleWelcome(newest: token, at: now)
      case .saved(let id, let answer): handleSaved(id, answer, at: now)
      case .changed: if isReading { sendFetch() }
      case .error(_, let refusal): handleRefusal(refusal, at: now)
      case .changes, .time, .reconnect, .unknown: break
      }
    } catch {
      steps.append(.failed(error.detail))
    }
  }

  /// Handles the deadline.
  mutating func handleDeadline(at now: Instant) {
    guard let deadline, deadline <= now else { return }
    self.deadline = nil
    if case .save = task { sendDueSaves(at: now) } else { sendFetch() }
  }

  private mutating func handleWelcome(newest: ChangeToken, at now: Instant) {
    isSignedIn = true
    switch task {
    case .save:
      begun = now
      sendDueSaves(at: now)
    case .upload: sendBatches()
    case .snapshot: sendFetch()
    case .catchUp: if cursor?.isSamePosition(as: newest) == true { finish() }
    }
  }

  private mutating func finish() {
    isDone = true
    steps.append(.done)
  }

  /// Handles a refusal. An overloaded relay names the time of the retry; any other refusal is a
  /// fault of the bench.
  private mutating func handleRefusal(_ refusal: Refusal, at now: Instant) {
    guard isReading, refusal.code == .overloaded else {
      steps.append(.failed(refusal.detail))
      return
    }
    deferredRequests += 1
    deadline = now.advanced(milliseconds: refusal.retryAfterMilliseconds ?? 1_000)
  }

  // MARK: Steady saves

  mutating func openWindow() { isWindowOpen = true }

  mutating func closeWindow() { isWindowOpen = false }

  /// True if all counted saves of the last window are answered.
  var isWindowAnswered: Bool { !isWindowOpen && !unanswered.contains(where: \.isCounted) }

  /// Returns the latencies of the last window and resets them.
  mutating func drainWindow() -> LatencyHistogram {
    defer { latency = LatencyHistogram() }
    return latency
  }

  private mutating func sendDueSaves(at now: Instant) {
    guard case .save(let rate, let bytes) = task, let begun else { return }
    while true {
      let due = Instant(
        nanoseconds: begun.nanoseconds + Int64(saves) * 1_000_000_000 / Int64(rate))
      guard due <= now else {
        deadline = due
        return
      }
      let request = batch(1, from: saves, of: bytes)
      saves += 1
      unanswered.append((request.id, due, isWindowOpen))
      steps.append(.send(.save(request)))
    }
  }

  private mutating func handleSaved(_ id: BatchID, _ answer: SaveAnswer, at now: Instant) {
    for result in answer.results {
      guard case .saved = result else {
        steps.append(.failed("a record of the bench was not saved: \(result)"))
        return
      }
      records += 1
    }
    switch task {
    case .save:
      guard let first = unanswered.first, first.id == id else {
        steps.append(.failed("the relay answered a save that is not the oldest"))
        return
      }
      unanswered.removeFirst()
      if first.isCounted {
        latency.record(nanoseconds: now.nanoseconds - first.due.nanoseconds)
      }
    case .upload:
      batchesInFlight -= 1
      sendBatches()
    case .snapshot, .catchUp: break
    }
  }

  // MARK: Upload

  private mutating func sendBatches() {
    guard case .upload(let first, let wanted, let bytes) = task else { return }
    while recordsSent < wanted, batchesInFlight < Limits.socketRequests {
      let count = min(batchRecords(of: bytes), wanted - recordsSent)
      steps.append(.send(.save(batch(count, from: first + recordsSent, of: bytes))))
      recordsSent += count
      batchesInFlight += 1
    }
    if batchesInFlight == 0, !isDone { finish() }
  }

  /// Returns the maximum number of records in a batch, by count and by bytes.
  private func batchRecords(of bytes: Int) -> Int {
    max(1, min(Limits.batchRecords, (Limits.batchBytes - 1_024) / (bytes + 192)))
  }

  private mutating func batch(_ count: Int, from first: Int, of bytes: Int) -> SaveRequest {
    let padding = String(repeating: "x", count: max(0, bytes - 32))
    let mutations = (first..<first + count).map { number in
      Mutation(
        name: Name(trusted: "\(number)"), type: Self.type,
        fields: Array(#"{"number":\#(number),"padding":"\#(padding)"}"#.utf8), modifiedAt: 0,
        baseTag: nil)
    }
    return SaveRequest(
      id: BatchID(random: &random), zone: Self.zone, atomic: false, mutations: mutations)
  }

  // MARK: Read

  private var isReading: Bool {
    switch task {
    case .save, .upload: false
    case .snapshot, .catchUp: !isDone
    }
  }

  private mutating func sendFetch() {
    fetches += 1
    steps.append(.send(.fetch(id: "\(fetches)", FetchQuery(since: cursor))))
  }

  private mutating func handlePage(_ page: PageSummary) {
    guard isReading else { return }
    records += page.records
    cursor = page.token
    if !page.more { return finish() }
    // The relay pushes missed changes by itself, unless they are being fetched.
    if fetches > 0 { sendFetch() }
  }
}

/// A device of a load: its token and its task.
package struct LoadDevice: Sendable {
  package var token: String
  package var task: LoadTask

  package init(token: String, task: LoadTask) {
    self.token = token
    self.task = task
  }
}

/// Task of one device of a load.
package enum LoadTask: Sendable, Hashable {
  /// Saves one record this many times a second, independent of earlier saves, until it is stopped.
  /// `recordBytes`: bytes of a record's fields.
  case save(rate: Int, recordBytes: Int)
  /// Uploads this many records of this size, in batches of the maximum size, with as many
  /// concurrent batches as a socket may have. The record names are numbers, starting at `first`.
  case upload(first: Int, records: Int, recordBytes: Int)
  /// Reads the whole account, page by page.
  case snapshot
  /// Reconnects with this cursor and waits for all missed changes.
  case catchUp(since: ChangeToken)

  /// True if the task ends by itself.
  package var isFinite: Bool {
    switch self {
    case .save: false
    case .upload, .snapshot, .catchUp: true
    }
  }
}

package enum LoadOrder: Sendable {
  /// Start of the window: saves due from now on are counted.
  case openWindow
  /// End of the window. The result is reported after the last counted save is answered.
  case closeWindow
}

/// Report of a node that runs on a `LoadThread`.
package protocol LoadThreadReport: Sendable {
  /// Reason for which the node has failed; nil if it has not.
  var failure: String? { get }
  /// True if the node reports nothing after it.
  var isLast: Bool { get }
}

package enum LoadReport: LoadThreadReport {
  /// All devices are signed in.
  case ready
  /// Latencies of the counted saves, from due time to answer.
  case window(LatencyHistogram)
  /// All finite tasks are done.
  case done(LoadResult)
  /// A device failed, for this reason; the node reports nothing after it.
  case failed(String)
  /// The node has stopped, as ordered.
  case stopped

  package var failure: String? { if case .failed(let reason) = self { reason } else { nil } }

  package var isLast: Bool {
    switch self {
    case .failed, .stopped: true
    case .ready, .window, .done: false
    }
  }
}

/// Result of a load.
package struct LoadResult: Sendable {
  /// Number of records saved or read.
  package var records = 0
  package var bytesReceived = 0
  /// Time from the node's start to the end of the last device's task.
  package var nanoseconds: Int64 = 0
  /// Time from the node's start to the end of each device's task.
  package var devices = LatencyHistogram()
  /// Number of requests that the relay deferred (`overloaded`) and that were repeated.
  package var deferredRequests = 0

  package init() {}
}
