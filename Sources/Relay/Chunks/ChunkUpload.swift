import LockstepModel
import LockstepStorage

/// One `PUT` of a chunk of a file: takes its bytes as they come, and hands them on a part at a
/// time, so that never more than a few parts of it lie in memory. A pure value: it knows neither
/// connections nor stores.
struct ChunkUpload: Sendable {
  /// What the files are to do next.
  enum Step: Hashable, Sendable {
    case append([UInt8])
    case finish
  }

  private enum Stage: Hashable {
    /// Nothing has been handed on. → writing
    case new
    /// → finishing
    case writing
    /// All has been written; whether it is what the hash names is being found out. → finished
    case finishing
    case finished
  }

  let hash: ChunkHash
  /// What it is written to; nil until it is known whose it is.
  var file: ChunkFile?
  /// Bytes of it that have come.
  private(set) var received = 0
  private var stage = Stage.new
  /// What has come and was not handed on, in parts of at most `Limits.chunkPortionBytes`.
  private var waiting: [[UInt8]] = []
  private var waitingBytes = 0
  /// A step was told, and is not done.
  private var isUnderWay = false
  private var underWayBytes = 0
  private var isWhole = false

  init(_ hash: ChunkHash) { self.hash = hash }

  /// Bytes that are in memory for it.
  var heldBytes: Int { waitingBytes + underWayBytes }

  /// Whether as much as may comes in at once would be more than may be held.
  var isFull: Bool { heldBytes + Limits.receiveBytes > Limits.chunkWaitingBytes }

  /// The files have heard of it.
  var isBegun: Bool { stage != .new }

  var isFinished: Bool { stage == .finished }

  /// How many parts have come in full: while this number rises, the upload is not too slow.
  var partsReceived: Int { received / Limits.chunkPortionBytes }

  mutating func take(_ bytes: [UInt8]) {
    received += bytes.count
    waitingBytes += bytes.count
    var rest = bytes[...]
    while !rest.isEmpty {
      let last = waiting.indices.last { waiting[$0].count < Limits.chunkPortionBytes }
      let place = last ?? waiting.count
      if last == nil { waiting.append([]) }
      let part = rest.prefix(Limits.chunkPortionBytes - waiting[place].count)
      waiting[place] += part
      rest = rest.dropFirst(part.count)
    }
  }

  /// No more comes.
  mutating func end() { isWhole = true }

  /// What to do now; nil while the last step is under way, or until more has come. A chunk without
  /// bytes is begun all the same.
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

  /// The last step is done.
  mutating func stepDone() {
    isUnderWay = false
    underWayBytes = 0
    if stage == .finishing { stage = .finished }
  }
}
