import LockstepCrypto
import LockstepModel
import LockstepStorage
import LockstepWire

/// One connection for uploads, and the chunk that is being uploaded on it. The chunk is read in
/// portions, as the connection accepts them, and its hash is checked, because a disk may have
/// changed it.
struct DeviceChunkUpload {
  private var line: ChunkConnection
  private(set) var chunk: HeldChunk?
  /// Number of the upload, to recognise late results of an earlier one.
  private(set) var number: UInt64 = 0
  private var readBytes = 0
  private var digest = SHA256()
  private var head: HTTPResponseHead?
  private var answer: [UInt8] = []
  /// Time of the last progress report.
  private var toldAt: Instant?

  init(to relay: RelayAddress) { line = ChunkConnection(to: relay) }

  var isBusy: Bool { chunk != nil }
  var id: ConnectionID? { line.id }
  var deadline: Instant? { line.deadline }

  // MARK: the chunk

  mutating func begin(
    _ chunk: HeldChunk, number: UInt64, token: String, at now: Instant,
    _ output: inout UplinkOutput
  ) -> [ChunkConnection.Event] {
    self.chunk = chunk
    self.number = number
    readBytes = 0
    digest = SHA256()
    head = nil
    answer = []
    toldAt = now
    return line.ask(
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
  mutating func supply(
    _ bytes: [UInt8], at now: Instant, _ output: inout UplinkOutput
  ) -> [ChunkConnection.Event]? {
    guard let chunk, bytes.count == nextPart.count else { return nil }
    digest.update(bytes)
    readBytes += bytes.count
    if readBytes == chunk.bytes, digest.finish() != chunk.hash.bytes { return nil }
    return line.supply(bytes, at: now, &output)
  }

  mutating func take(_ event: ChunkConnection.Event) {
    switch event {
    case .head(let head): self.head = head
    case .body(let bytes): answer += bytes.prefix(max(0, Limits.smallBodyBytes - answer.count))
    case .wants, .end, .broken: break
    }
  }

  /// Result of the complete answer.
  var result: ChunkTransfer.Upload {
    guard let head else { return .broken }
    // The relay's answer has no body; the page of an intermediary has one.
    if head.status == 200 || head.status == 201, answer.isEmpty { return .stored }
    return .refused(
      Refusal.told(status: head.status, headers: head.headers, body: answer)
        ?? .intercepted(status: head.status, headers: head.headers))
  }

  /// Returns the number of bytes sent, if a progress report is due.
  mutating func progress(at now: Instant) -> Int? {
    guard let last = toldAt,
      last.advanced(milliseconds: Limits.chunkProgressMilliseconds) <= now
    else { return nil }
    toldAt = now
    return max(0, readBytes - line.unsent)
  }

  /// Ends the upload. A connection in the middle of it cannot be reused.
  mutating func end(_ output: inout UplinkOutput) {
    if line.isBusy { line.close(&output) }
    chunk = nil
  }

  mutating func stop(_ output: inout UplinkOutput) {
    line.close(&output)
    chunk = nil
  }

  // MARK: the connection

  mutating func opened(at now: Instant, _ output: inout UplinkOutput) -> [ChunkConnection.Event] {
    line.opened(at: now, &output)
  }

  mutating func drained(_ unsent: Int, at now: Instant) -> [ChunkConnection.Event] {
    line.drained(unsent, at: now)
  }

  mutating func received(
    _ bytes: RawSpan, at now: Instant, _ output: inout UplinkOutput
  ) -> [ChunkConnection.Event] {
    line.received(bytes, at: now, &output)
  }

  mutating func closed(_ cause: CloseCause) -> [ChunkConnection.Event] { line.closed(cause) }

  mutating func expired(at now: Instant, _ output: inout UplinkOutput) -> [ChunkConnection.Event] {
    line.expired(at: now, &output)
  }
}
