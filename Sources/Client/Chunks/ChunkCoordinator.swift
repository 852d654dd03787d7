import LockstepModel
import LockstepStorage
import LockstepWire

/// What an agent has under way with chunks of files.
struct ChunkCoordinator {
  /// A chunk that is being written into the home.
  struct Addition: Hashable, Sendable {
    var order: OrderID
    var chunk: HeldChunk
    var failure: ChunkFailure?
  }

  /// What a job on the files was given for.
  enum FileJobPurpose: Hashable, Sendable {
    case append(OrderID)
    case finish(OrderID)
    case read(OrderID)
    /// For the upload of this number.
    case upload(UInt64)
    /// Into the file of this number, so many bytes.
    case downloadAppend(UInt64, count: Int)
    case downloadFinish(UInt64)
    case remove
    case list
  }

  /// Where the care for files and chunks that nothing names stands.
  enum Care: Hashable, Sendable {
    /// Files that hold no chunk, as after a crash, come first.
    case sweeping(after: ChunkFile?)
    case collecting(after: ChunkHash?)
  }

  /// Orders that came before the home was read.
  var early: [AgentOrder] = []
  var additions: [Addition] = []
  var reader = ChunkReader()
  var jobs: [(id: JobID, errand: FileJobPurpose)] = []
  var care = Care.sweeping(after: nil)

  var transfer = ChunkTransfer()
  /// Where the relay is asked what it lacks.
  var questions: HTTPExchange?
  var uploads: [DeviceChunkUpload] = []
  var nextUpload: UInt64 = 0
  /// In the order in which they were asked for.
  var fetches: [ChunkFetchRequest] = []
  /// The connections that they share.
  var lines: [ChunkConnection] = []
  /// The device has a way to the relay, as the uploads were last told.
  var isOnline = false
  var backoff = Backoff()
  /// How long until the relay is asked again about chunks that nobody had, milliseconds.
  var lackingMilliseconds = Limits.lackingFirstMilliseconds
  /// It is time to ask whether the relay has what records name; and when it was asked last.
  var isCheckDue = false
  /// A check was begun on this connection. What is offered after a restore of the relay comes with
  /// a new one.
  var isChecking = false
  var checkedAt: Instant?
  var output: UplinkOutput

  /// The connections are numbered from here.
  init(firstNumber: UInt64) { output = UplinkOutput(firstNumber: firstNumber) }
}

/// A chunk that comes down, and what it has of the agent.
struct ChunkFetchRequest {
  var download: DeviceChunkDownload
  var backoff = Backoff()
  /// The first byte to ask for, as soon as a connection is free.
  var ask: Int?
  /// The connection in use, by its place.
  var line: Int?
  /// When to try again.
  var resumeAt: Instant?
  /// When its progress was told last.
  var toldAt: Instant?

  init(download: DeviceChunkDownload) { self.download = download }
}
