import LockstepModel
import LockstepStorage
import LockstepWire

/// Download of a chunk from the relay into a file of the home, over as many connections as needed:
/// the bytes from a broken connection are kept, and the rest is requested. A pure state machine:
/// its methods take events, and `next` returns actions until there are none. Uses no files, no
/// sockets and no clock.
struct DeviceChunkDownload {
  enum Action: Hashable {
    /// `GET`, starting at this byte.
    case request(first: Int)
    /// Answered by `bytesWritten`.
    case append([UInt8])
    /// All bytes are in the file; answered by `fileFinished`.
    case finish
    /// The file accepts no more data for now; `resume`: it accepts data again.
    case pause
    case resume
    /// Waits, until `retry`.
    case wait(retryAfterMilliseconds: Int64?)
    /// The account has moved to the relay that the refusal names.
    case follow(Refusal)
    /// Discards the bytes that were written.
    case discard
    /// The download has ended. nil: the file is complete, and is the chunk.
    case end(ChunkFailure?)
  }

  private enum Stage {
    /// → requested
    case waiting
    /// → receiving, refused, waiting, over
    case requested
    /// → complete, waiting, over
    case receiving
    /// An answer without the bytes. → waiting, over
    case refused(HTTPResponseHead, body: [UInt8])
    /// All bytes have arrived. → over, waiting
    case complete
    case over
  }

  let hash: ChunkHash
  /// Number of the file.
  let file: UInt64
  /// Bytes passed to the file so far.
  private(set) var received = 0
  /// Size of the whole chunk in bytes, once the relay has sent it.
  private(set) var size: Int?
  private var stage = Stage.waiting
  /// Bytes that arrived before and are sent again.
  private var skip = 0
  private var writing = 0
  private var isPaused = false
  /// Consecutive attempts without progress.
  private var failures = 0
  private var receivedBefore = 0
  private var mismatches = 0
  private var pending: [Action] = []

  init(_ hash: ChunkHash, file: UInt64) {
    self.hash = hash
    self.file = file
    retry()
  }

  /// True if the connection is in use.
  var isRequesting: Bool {
    switch stage {
    case .requested, .receiving, .refused: true
    case .waiting, .complete, .over: false
    }
  }

  var hasNext: Bool { !pending.isEmpty }

  mutating func next() -> Action? { pending.isEmpty ? nil : pending.removeFirst() }

  // MARK: the relay's answer

  mutating func retry() {
    guard case .waiting = stage else { return }
    stage = .requested
    receivedBefore = received
    pending.append(.request(first: received))
  }

  mutating func receiveHead(_ head: HTTPResponseHead) {
    guard case .requested = stage else { return }
    switch head.status {
    case 200: skip = received
    case 206 where DeviceChunkDownload.firstByte(of: head) == received && received > 0: skip = 0
    default:
      stage = .refused(head, body: [])
      return
    }
    stage = .receiving
    guard case .length(let count) = head.framing else { return }
    size = received - skip + count
  }

  mutating func receiveBody(_ bytes: [UInt8]) {
    switch stage {
    case .refused(let head, var body):
      body += bytes.prefix(max(0, Limits.smallBodyBytes - body.count))
      stage = .refused(head, body: body)
    case .receiving:
      let fresh = Array(bytes.dropFirst(skip))
      skip -= bytes.count - fresh.count
      guard received + fresh.count <= Limits.chunkBytes else {
        return fail(
          .refused(Refusal(.bodyTooLarge, "The relay's answer is larger than a chunk may be.")))
      }
      if !fresh.isEmpty { write(fresh) }
    case .waiting, .requested, .complete, .over: break
    }
  }

  /// Handles the end of the answer.
  mutating func endAnswer() {
    switch stage {
    case .refused(let head, let body):
      let relayRefusal = Refusal.fromRelay(status: head.status, headers: head.headers, body: body)
      if relayRefusal == nil, ![206, 416].contains(head.status) {
        let refusal = Refusal.intercepted(status: head.status, headers: head.headers)
        return retryLater(refusal.detail, refusal)
      }
      handleRefusal(
        relayRefusal ?? .intercepted(status: head.status, headers: head.headers), head.status)
    case .receiving:
      guard size == nil || received == size else {
        return connectionBroken("the answer was cut off")
      }
      stage = .complete
      if received == 0 { write([]) }
      finishIfWritten()
    case .waiting, .requested, .complete, .over: break
    }
  }

  /// Handles the loss of the connection.
  mutating func connectionBroken(_ reason: String) {
    guard isRequesting else { return }
    retryLater(reason, nil)
  }

  // MARK: the file

  mutating func bytesWritten(_ count: Int, _ result: Result<ChunkResult, StorageError>) {
    if case .over = stage { return }
    writing -= count
    if let failure = ChunkFailure(result) { return fail(failure) }
    if isPaused, 2 * writing <= Limits.chunkWaitingBytes {
      isPaused = false
      if case .receiving = stage { pending.append(.resume) }
    }
    finishIfWritten()
  }

  mutating func fileFinished(_ result: Result<ChunkResult, StorageError>) {
    guard case .complete = stage else { return }
    guard case .success(.refused(let refusal)) = result, refusal.code == .hashMismatch else {
      return endDownload(ChunkFailure(result))
    }
    // The file was removed. Bytes may be corrupted in transit, but hardly again and again.
    received = 0
    size = nil
    mismatches += 1
    guard mismatches < Limits.chunkMismatches else { return endDownload(.refused(refusal)) }
    stage = .waiting
    pending.append(.wait(retryAfterMilliseconds: nil))
  }

  private mutating func write(_ bytes: [UInt8]) {
    received += bytes.count
    writing += bytes.count
    pending.append(.append(bytes))
    guard writing > Limits.chunkWaitingBytes, !isPaused else { return }
    isPaused = true
    pending.append(.pause)
  }

  private mutating func finishIfWritten() {
    if case .complete = stage, writing == 0 { pending.append(.finish) }
  }

  // MARK: failures

  private mutating func handleRefusal(_ refusal: Refusal, _ status: Int) {
    if status == 404 { return fail(.unavailable) }
    // The range is not the requested one: request the whole chunk again.
    let isOtherRange = status == 206 || status == 416
    if refusal.code == .accountMoved { pending.append(.follow(refusal)) }
    guard [.retry, .followRelay].contains(refusal.code.advice) || isOtherRange else {
      return fail(.refused(refusal))
    }
    if isOtherRange {
      if received > 0 { pending.append(.discard) }
      received = 0
      size = nil
    }
    retryLater(refusal.detail.isEmpty ? refusal.code.title : refusal.detail, refusal)
  }

  private mutating func retryLater(_ reason: String, _ refusal: Refusal?) {
    failures = received > receivedBefore ? 1 : failures + 1
    isPaused = false
    guard failures < Limits.chunkTries else { return fail(.unreachable(reason: reason)) }
    stage = .waiting
    pending.append(.wait(retryAfterMilliseconds: refusal?.retryAfterMilliseconds))
  }

  private mutating func fail(_ failure: ChunkFailure) {
    pending.append(.discard)
    endDownload(failure)
  }

  private mutating func endDownload(_ failure: ChunkFailure?) {
    stage = .over
    pending.append(.end(failure))
  }

  /// Returns the first byte of the part that `Content-Range` names (RFC 9110 section 14.4).
  private static func firstByte(of head: HTTPResponseHead) -> Int? {
    guard let field = head.headers["Content-Range"], field.hasPrefix("bytes ") else { return nil }
    return Int(field.dropFirst(6).prefix { $0 != "-" })
  }
}
