import LockstepCrypto
import LockstepModel
import LockstepRuntime
import LockstepStorage
import LockstepWire

/// One connection for uploads, and the chunk that is being uploaded on it. The chunk is read in
/// portions, as the connection accepts them, and its hash is checked, because a disk may have
/// changed it.
struct DeviceChunkUpload {
  private var connection: ChunkConnection
  private(set) var chunk: HeldChunk?
  /// Number of the upload, to recognise late results of an earlier one.
  private(set) var number: UInt64 = 0
  private var readBytes = 0
  private var digest = SHA256()
  private var head: HTTPResponseHead?
  private var answer: [UInt8] = []
  /// Time of the last progress report.
  private var progressReportedAt: Instant?

  init(to relay: RelayAddress) { connection = ChunkConnection(to: relay) }

  var isBusy: Bool { chunk != nil }
  var id: ConnectionID? { connection.id }
  var deadline: Instant? { connection.deadline }

  // MARK: the chunk

  mutating func beginUpload(
    _ chunk: HeldChunk, number: UInt64, token: String, at now: Instant,
    _ output: inout UplinkOutput
  ) -> [ChunkConnection.Event] {
    self.chunk = chunk
    self.number = number
    readBytes = 0
    digest = SHA256()
    head = nil
    answer = []
    progressReportedAt = now
    return connection.sendRequest(
      ChunkConnection.Request(
        method: "PUT", hash: chunk.hash, token: token, bodyBytes: chunk.bytes),
      at: now, &output)
  }

  /// Range of the file to read next.
  var nextPart: Range<Int> {
    let end = min(readBytes + Limits.chunkPortionBytes, chunk?.bytes ?? 0)
    return readBytes..<max(readBytes, end)
  }

  /// Sends the bytes that were read; returns nil if they do not match the chunk.
  mutating func supplyBody(
    _ bytes: [UInt8], at now: Instant, _ output: inout UplinkOutput
  ) -> [ChunkConnection.Event]? {
    guard let chunk, bytes.count == nextPart.count else { return nil }
    digest.update(bytes)
    readBytes += bytes.count
    if readBytes == chunk.bytes, digest.finish() != chunk.hash.bytes { return nil }
    return connection.supplyBody(bytes, at: now, &output)
  }

  mutating func handleEvent(_ event: ChunkConnection.Event) {
    switch event {
    case .head(let head): self.head = head
    case .body(let bytes): answer += bytes.prefix(max(0, Limits.smallBodyBytes - answer.count))
    case .wantsBody, .end, .broken: break
    }
  }

  /// Result of the complete answer.
  var result: ChunkTransfer.Upload {
    guard let head else { return .broken }
    // The relay's answer has no body; the page of an intermediary has one.
    if head.status == 200 || head.status == 201, answer.isEmpty { return .stored }
    return .refused(
      Refusal.fromRelay(status: head.status, headers: head.headers, body: answer)
        ?? .intercepted(status: head.status, headers: head.headers))
  }

  /// Returns the number of bytes sent, if a progress report is due.
  mutating func progress(at now: Instant) -> Int? {
    guard let last = progressReportedAt,
      last.advanced(milliseconds: Limits.chunkProgressMilliseconds) <= now
    else { return nil }
    progressReportedAt = now
    return max(0, readBytes - connection.unsent)
  }

  /// Ends the upload. A connection in the middle of it cannot be reused.
  mutating func endUpload(_ output: inout UplinkOutput) {
    if connection.isBusy { connection.close(&output) }
    chunk = nil
  }

  mutating func stop(_ output: inout UplinkOutput) {
    connection.close(&output)
    chunk = nil
  }

  // MARK: the connection

  mutating func opened(at now: Instant, _ output: inout UplinkOutput) -> [ChunkConnection.Event] {
    connection.opened(at: now, &output)
  }

  mutating func drained(_ unsent: Int, at now: Instant) -> [ChunkConnection.Event] {
    connection.drained(unsent, at: now)
  }

  mutating func received(
    _ bytes: RawSpan, at now: Instant, _ output: inout UplinkOutput
  ) -> [ChunkConnection.Event] {
    connection.received(bytes, at: now, &output)
  }

  mutating func closed(_ cause: CloseCause) -> [ChunkConnection.Event] { connection.closed(cause) }

  mutating func expired(at now: Instant, _ output: inout UplinkOutput) -> [ChunkConnection.Event] {
    connection.expired(at: now, &output)
  }
}
