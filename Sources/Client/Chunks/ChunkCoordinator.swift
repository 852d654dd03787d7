import LockstepModel
import LockstepRuntime
import LockstepStorage

/// Folder of a home's chunk files. It is the account's, unless the home got its first chunk before
/// it joined one: then it stays `home`.
package enum ChunkFolder {
  package static let home = AccountID(rawValue: 0)
  /// Key of the home's value that says so.
  package static let key = "pieces.folder"
}

/// State of an agent's work on chunks of files.
struct ChunkCoordinator {
  /// A chunk that is being written into the home.
  struct Addition: Hashable, Sendable {
    var order: OrderID
    var chunk: HeldChunk
    var failure: ChunkFailure?
  }

  /// Purpose of a job on the files.
  enum FileJobPurpose: Hashable, Sendable {
    case append(OrderID)
    case finish(OrderID)
    case read(OrderID)
    /// Reads for the upload with this number.
    case upload(UInt64)
    /// Appends `count` bytes to the file with this number.
    case downloadAppend(UInt64, count: Int)
    case downloadFinish(UInt64)
    case remove
    case list
  }

  /// Progress of the cleanup of files and chunks that nothing names.
  enum Cleanup: Hashable, Sendable {
    /// First removes files that hold no chunk, as after a crash.
    case sweeping(after: ChunkFile?)
    case collecting(after: ChunkHash?)
  }

  /// `ChunkFolder.home`, if the home keeps its files there; nil for the account's folder.
  var folder: AccountID?
  /// Orders that arrived before the home was read.
  var early: [AgentOrder] = []
  var additions: [Addition] = []
  var reader = ChunkReader()
  var jobs: [(id: JobID, purpose: FileJobPurpose)] = []
  var cleanup = Cleanup.sweeping(after: nil)

  var transfer = ChunkTransfer()
  /// Connection for queries about missing chunks.
  var queryConnection: HTTPExchange?
  var uploads: [DeviceChunkUpload] = []
  var nextUpload: UInt64 = 0
  /// Downloads, in the order of their requests.
  var fetches: [ChunkFetchRequest] = []
  /// Connections that the downloads share.
  var downloadConnections: [ChunkConnection] = []
  /// True if the device is connected to the relay, as last reported to the uploads.
  var isOnline = false
  var backoff = Backoff()
  /// Delay until the next query about chunks that no device had, in milliseconds.
  var lackingMilliseconds = Limits.lackingFirstMilliseconds
  /// True if the check of the chunks that records name is due; `checkedAt` is the time of the last
  /// one.
  var isCheckDue = false
  /// True if a check was begun on this connection. Offers after a restore of the relay begin with a
  /// new connection.
  var isChecking = false
  var checkedAt: Instant?
  var output: UplinkOutput

  /// `firstNumber`: number of the first connection.
  init(firstNumber: UInt64) { output = UplinkOutput(firstNumber: firstNumber) }
}

/// A chunk that is being downloaded, with its resources in the agent.
struct ChunkFetchRequest {
  var download: DeviceChunkDownload
  var backoff = Backoff()
  /// Offset of the first byte to request, as soon as a connection is free.
  var requestOffset: Int?
  /// Index of the connection in use.
  var connection: Int?
  /// Time of the next attempt.
  var resumeAt: Instant?
  /// Time of the last progress report.
  var progressReportedAt: Instant?

  init(download: DeviceChunkDownload) { self.download = download }
}
