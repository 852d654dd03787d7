import LockstepModel
import LockstepWire

/// One device of a load with an open socket: the messages it sends, and its handling of answers.
/// The owner has the socket and the clock.
struct LoadWorker {
  enum Step {
    case say(DeviceMessage)
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
  private(set) var putOff = 0
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
  private var named = 0
  private var batchesUnderWay = 0

  // State of a reader.
  private var cursor: ChangeToken?
  private var fetches = 0

  init(_ task: LoadTask, random: SeededRandom) {
    self.task = task
    self.random = random
    if case .catchUp(let since) = task { cursor = since }
  }

  mutating func takeSteps() -> [Step] {
    defer { steps.removeAll(keepingCapacity: true) }
    return steps
  }

  /// Sends hello. Call it when the socket is open.
  mutating func greet() { steps.append(.say(.hello(token: nil, since: cursor))) }

  mutating func heard(_ bytes: [UInt8], at now: Instant) {
    if let page = PageSummary(bytes) { return heard(page) }
    do throws(Refusal) {
      switch try RelayMessage.decode(bytes) {
      case .welcome(_, _, let token, _, _): welcomed(newest: token, at: now)
      case .saved(let id, let answer): saved(id, answer, at: now)
      case .changed: if isReading { fetch() }
      case .error(_, let refusal): refused(refusal, at: now)
      case .changes, .time, .reconnect, .unknown: break
      }
    } catch {
      steps.append(.failed(error.detail))
    }
  }

  /// Handles the deadline.
  mutating func expired(at now: Instant) {
    guard let deadline, deadline <= now else { return }
    self.deadline = nil
    if case .save = task { saveWhatIsDue(at: now) } else { fetch() }
  }

  private mutating func welcomed(newest: ChangeToken, at now: Instant) {
    isSignedIn = true
    switch task {
    case .save:
      begun = now
      saveWhatIsDue(at: now)
    case .upload: upload()
    case .snapshot: fetch()
    case .catchUp: if cursor?.isSamePlace(as: newest) == true { finish() }
    }
  }

  private mutating func finish() {
    isDone = true
    steps.append(.done)
  }

  /// Handles a refusal. An overloaded relay names the time of the retry; any other refusal is a
  /// fault of the bench.
  private mutating func refused(_ refusal: Refusal, at now: Instant) {
    guard isReading, refusal.code == .overloaded else {
      steps.append(.failed(refusal.detail))
      return
    }
    putOff += 1
    deadline = now.advanced(milliseconds: refusal.retryAfterMilliseconds ?? 1_000)
  }

  // MARK: Steady saves

  mutating func openWindow() { isWindowOpen = true }

  mutating func closeWindow() { isWindowOpen = false }

  /// True if all counted saves of the last window are answered.
  var isWindowAnswered: Bool { !isWindowOpen && !unanswered.contains(where: \.isCounted) }

  /// Returns the latencies of the last window and resets them.
  mutating func takeWindow() -> LatencyHistogram {
    defer { latency = LatencyHistogram() }
    return latency
  }

  private mutating func saveWhatIsDue(at now: Instant) {
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
      steps.append(.say(.save(request)))
    }
  }

  private mutating func saved(_ id: BatchID, _ answer: SaveAnswer, at now: Instant) {
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
        steps.append(.failed("an answer came for another save than the oldest"))
        return
      }
      unanswered.removeFirst()
      if first.isCounted {
        latency.record(nanoseconds: now.nanoseconds - first.due.nanoseconds)
      }
    case .upload:
      batchesUnderWay -= 1
      upload()
    case .snapshot, .catchUp: break
    }
  }

  // MARK: Upload

  private mutating func upload() {
    guard case .upload(let first, let wanted, let bytes) = task else { return }
    while named < wanted, batchesUnderWay < Limits.socketRequests {
      let count = min(batchRecords(of: bytes), wanted - named)
      steps.append(.say(.save(batch(count, from: first + named, of: bytes))))
      named += count
      batchesUnderWay += 1
    }
    if batchesUnderWay == 0, !isDone { finish() }
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

  private mutating func fetch() {
    fetches += 1
    steps.append(.say(.fetch(id: "\(fetches)", FetchQuery(since: cursor))))
  }

  private mutating func heard(_ page: PageSummary) {
    guard isReading else { return }
    records += page.records
    cursor = page.token
    if !page.more { return finish() }
    // The relay pushes missed changes by itself, unless they are being fetched.
    if fetches > 0 { fetch() }
  }
}
