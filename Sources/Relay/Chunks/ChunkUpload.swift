import LockstepModel
import LockstepStorage

/// One `PUT` of a chunk of a file: accepts its bytes as they arrive, and passes them on one part at
/// a time, so that only a few parts are in memory. A pure value: it uses neither connections nor
/// stores.
struct ChunkUpload: Sendable {
  /// The next operation on the chunk store.
  enum Step: Hashable, Sendable {
    case append([UInt8])
    case finish
  }

  private enum Stage: Hashable {
    /// Nothing was passed on yet. → writing
    case new
    /// → finishing
    case writing
    /// All bytes are written; they are compared with the hash. → finished
    case finishing
    case finished
  }

  let hash: ChunkHash
  /// The file to write to; nil until the account is known.
  var file: ChunkFile?
  /// Bytes received so far.
  private(set) var received = 0
  private var stage = Stage.new
  /// Received bytes that were not passed on yet, in parts of at most `Limits.chunkPortionBytes`.
  private var waiting: [[UInt8]] = []
  private var waitingBytes = 0
  /// True while a step is under way.
  private var isUnderWay = false
  private var underWayBytes = 0
  private var isWhole = false

  init(_ hash: ChunkHash) { self.hash = hash }

  /// Bytes in memory for this upload.
  var heldBytes: Int { waitingBytes + underWayBytes }

  /// True if the bytes of one more receive could exceed the limit of held bytes.
  var isFull: Bool { heldBytes + Limits.receiveBytes > Limits.chunkWaitingBytes }

  /// True if the chunk store has been given a first step.
  var isBegun: Bool { stage != .new }

  var isFinished: Bool { stage == .finished }

  /// Number of complete parts received: while it rises, the upload is not too slow.
  var partsReceived: Int { received / Limits.chunkPortionBytes }

  mutating func receive(_ bytes: [UInt8]) {
    received += bytes.count
    waitingBytes += bytes.count
    var rest = bytes[...]
    while !rest.isEmpty {
      let last = waiting.indices.last { waiting[$0].count < Limits.chunkPortionBytes }
      let index = last ?? waiting.count
      if last == nil { waiting.append([]) }
      let part = rest.prefix(Limits.chunkPortionBytes - waiting[index].count)
      waiting[index] += part
      rest = rest.dropFirst(part.count)
    }
  }

  /// Marks the body as complete.
  mutating func endBody() { isWhole = true }

  /// Returns the next step; nil while a step is under way, or until more bytes arrive. A chunk
  /// without bytes is started all the same.
  mutating func nextStep() -> Step? {
    guard !isUnderWay, stage == .new || stage == .writing else { return nil }
    if !waiting.isEmpty || (isWhole && stage == .new) {
      let part = waiting.isEmpty ? [] : waiting.removeFirst()
      waitingBytes -= part.count
      underWayBytes = part.count
      isUnderWay = true
      stage = .writing
      return .append(part)
    }
    guard isWhole else { return nil }
    isUnderWay = true
    stage = .finishing
    return .finish
  }

  /// Marks the step under way as done.
  mutating func completeStep() {
    isUnderWay = false
    underWayBytes = 0
    if stage == .finishing { stage = .finished }
  }
}
